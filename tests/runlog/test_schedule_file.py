"""The schedule of a run in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_cli.runlog.remaining import Schedule
from skillopt_cli.runlog.schedule_file import read_schedule, write_schedule
from skillopt_cli.store.layout import SCHEDULE

PLAN = Schedule(baseline=20.5, steps=(30.0, 40.0), closing=60.0, wave=2.0)


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_schedule(tmp_path) is None
    write_schedule(tmp_path, PLAN)
    assert read_schedule(tmp_path) == PLAN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "1",
        '{"baseline": 1, "steps": [1], "closing": 1}',
        '{"baseline": 1, "steps": 1, "closing": 1, "wave": 1}',
        '{"baseline": 1, "steps": ["1"], "closing": 1, "wave": 1}',
        '{"baseline": NaN, "steps": [], "closing": 1, "wave": 1}',
        '{"baseline": 1, "steps": [Infinity], "closing": 1, "wave": 1}',
        '{"baseline": 1, "steps": [], "closing": -1, "wave": 1}',
        '{"baseline": 1' + "0" * 400 + ', "steps": [], "closing": 1, "wave": 1}',
        "[" * 50_000,
    ],
)
def test_a_damaged_one_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / SCHEDULE).write_text(text, encoding="utf-8")
    assert read_schedule(tmp_path) is None
