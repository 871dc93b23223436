"""The settings of the spreadsheetbench benchmark."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from skillopt_cli.benchmarks.options import BenchmarkOptions

NAME = "spreadsheetbench"
Mode = Literal["single", "multi", "react"]


class SpreadsheetOptions(BenchmarkOptions):
    """The `env.*` keys of the spreadsheetbench benchmark."""

    mode: Mode = "multi"
    """single: one script; multi: scripts until one runs; react: tools in a working folder."""
    max_turns: int = Field(30, ge=1)
    """Replies at most, in the modes multi and react."""
    script_timeout: float = Field(120.0, gt=0)
    """Seconds a script may take."""
    gold_feedback: bool = True
    """In mode multi, tell a wrong script of a *train* task which cells are wrong, as the published
    runs do; selection and test never hear of it."""
    workbooks: str = ""
    """Folder in which the records' `spreadsheet_path` is looked up, beside that of the tasks."""
