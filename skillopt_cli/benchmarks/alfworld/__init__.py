"""ALFWorld: household tasks played in text through the real engine, with a sample of our own."""

from skillopt_cli.benchmarks.alfworld.benchmark import SPEC, Alfworld

__all__ = ["SPEC", "Alfworld"]
