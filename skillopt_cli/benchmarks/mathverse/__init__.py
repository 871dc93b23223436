"""MathVerse: mathematics with a diagram, chosen or free answers, with a bundled sample."""

from skillopt_cli.benchmarks.mathverse.benchmark import SPEC, MathVerse

__all__ = ["SPEC", "MathVerse"]
