"""Several skills on the same tasks in one pass."""

from __future__ import annotations

import asyncio

from scores import Target, answer, table_run

from skillopt_cli.core.events import RolloutFinished, StageFinished, StageStarted
from skillopt_cli.core.score import Mark
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages import measure_paired

OLD, NEW = SkillDocument("old\n"), SkillDocument("new\n")
ONE_AT_A_TIME = ("run.workers=1",)


def test_the_arms_take_turns_at_every_task_of_every_draw() -> None:
    target = Target(lambda skill, task: answer(Mark(1.0 if skill == NEW else 0.0, 0.5)))
    run, _, log = table_run(target, ONE_AT_A_TIME, test=2)
    found = asyncio.run(measure_paired(run, {"a": OLD, "b": NEW}, "test", 2))
    order = [(event.task, event.label) for event in log.of(RolloutFinished)]
    assert order == [("e0", "a"), ("e0", "b"), ("e1", "a"), ("e1", "b")] * 2
    assert found["a"].draws == {t: (Mark(0.0, 0.5),) * 2 for t in ("e0", "e1")}
    assert found["b"].averaged.hard == 1.0
    started, ended = log.of(StageStarted), log.of(StageFinished)
    assert [(s.stage, s.label, s.total) for s in started] == [("test", "a", 4), ("test", "b", 4)]
    assert {(s.stage, s.label) for s in ended} == {("test", "a"), ("test", "b")}


def test_arms_that_read_alike_are_measured_once_and_keep_their_texts() -> None:
    region = SkillDocument("old\n\n<!-- APPENDIX_START -->\n<!-- APPENDIX_END -->\n")
    target = Target(lambda skill, task: answer(Mark(1.0, 1.0)))
    run, _, _ = table_run(target, ONE_AT_A_TIME, selection=3)
    found = asyncio.run(measure_paired(run, {"a": OLD, "b": region}, "selection"))
    assert target.asked == ["s0", "s1", "s2"]
    assert found["a"].draws == found["b"].draws
    assert (found["a"].skill, found["b"].skill) == (OLD, region)


def test_the_first_draw_is_that_of_every_other_measurement() -> None:
    target = Target(lambda skill, task: answer(Mark(1.0, 1.0)))
    run, _, _ = table_run(target, ONE_AT_A_TIME, test=2)
    asyncio.run(measure_paired(run, {"a": OLD}, "test", 1))
    asyncio.run(measure_paired(run, {"a": OLD}, "test", 3))
    assert target.asked == ["e0", "e1"] * 3
