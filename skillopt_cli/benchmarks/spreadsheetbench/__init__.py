"""SpreadsheetBench: workbooks changed by scripts, with a bundled sample."""

from skillopt_cli.benchmarks.spreadsheetbench.spec import SPEC

__all__ = ["SPEC"]
