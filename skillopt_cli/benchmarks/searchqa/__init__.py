"""SearchQA: open questions over retrieved passages, with a bundled sample."""

from skillopt_cli.benchmarks.searchqa.benchmark import SPEC, SearchQA

__all__ = ["SPEC", "SearchQA"]
