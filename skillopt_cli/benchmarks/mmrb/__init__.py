"""MMRB: reasoning over several pictures, with a bundled sample."""

from skillopt_cli.benchmarks.mmrb.benchmark import MMRB, SPEC

__all__ = ["MMRB", "SPEC"]
