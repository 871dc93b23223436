"""SWE-bench: faults of repositories fixed with tools, with a bundled sample."""

from skillopt_cli.benchmarks.swebench.benchmark import SPEC, SweBench

__all__ = ["SPEC", "SweBench"]
