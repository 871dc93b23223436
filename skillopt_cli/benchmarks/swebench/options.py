"""The settings of the swebench benchmark."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from skillopt_cli.benchmarks.options import BenchmarkOptions

NAME = "swebench"
RunnerName = Literal["auto", "process", "docker"]


class SweOptions(BenchmarkOptions):
    """The `env.*` keys of the swebench benchmark."""

    max_turns: int = Field(50, ge=1)
    """Replies at most."""
    command_timeout: float = Field(60.0, gt=0)
    """Seconds a command of the target may take."""
    test_timeout: float = Field(1800.0, gt=0)
    """Seconds the tests of one instance may take."""
    runner: RunnerName = "auto"
    """process: programs of this machine, with the instance's `python`; docker: the published image
    of the instance; auto: process where the record brings its repository, else docker."""
    repos: str = ""
    """Folder of git clones named owner__name, for records that bring no files of their own."""
