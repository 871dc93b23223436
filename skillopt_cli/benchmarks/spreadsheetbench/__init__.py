"""SpreadsheetBench: workbooks changed by scripts, with a bundled sample."""

from skillopt_cli.benchmarks.spreadsheetbench.benchmark import SPEC, SpreadsheetBench

__all__ = ["SPEC", "SpreadsheetBench"]
