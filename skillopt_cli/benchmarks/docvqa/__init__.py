"""DocVQA: questions about pages of documents, with a bundled sample."""

from skillopt_cli.benchmarks.docvqa.benchmark import SPEC, DocVQA

__all__ = ["SPEC", "DocVQA"]
