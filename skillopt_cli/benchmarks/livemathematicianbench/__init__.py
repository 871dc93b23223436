"""LiveMathematicianBench: multiple choice about recent theorems, with a bundled sample."""

from skillopt_cli.benchmarks.livemathematicianbench.benchmark import SPEC, LiveMath

__all__ = ["SPEC", "LiveMath"]
