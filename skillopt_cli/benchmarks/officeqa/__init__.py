"""OfficeQA: figures looked up in documents, with a bundled sample."""

from skillopt_cli.benchmarks.officeqa.benchmark import SPEC, OfficeQA

__all__ = ["SPEC", "OfficeQA"]
