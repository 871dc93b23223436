"""BabyVision: early visual skills, one picture and a judged answer, with a bundled sample."""

from skillopt_cli.benchmarks.babyvision.benchmark import SPEC, BabyVision

__all__ = ["SPEC", "BabyVision"]
