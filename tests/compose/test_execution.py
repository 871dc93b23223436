"""A run without the command line: from a script, and inside an event loop."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from skillopt_cli.compose.execution import open_run
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.core.errors import Interrupted, SkillOptError
from skillopt_cli.engine.session import Session, train_session

SMALLEST = (
    *("train.num_epochs=1", "train.batch_size=4", "train.train_size=4"),
    *("evaluation.sel_env_num=4", "evaluation.test_env_num=3"),
)


def request_of(*assignments: str) -> RunRequest:
    overrides = Overrides("searchqa", "tiny", assignments=(*SMALLEST, *assignments))
    return RunRequest(settle(overrides, {}).config, {})


def test_a_run_trains_from_a_script_and_leaves_its_summary(tmp_path: Path) -> None:
    with open_run(tmp_path, request_of()) as run:
        assert asyncio.run(run.perform(train_session)) == 0
    assert run.summary["status"] == "finished"
    assert json.loads((tmp_path / "summary.json").read_text("utf-8")) == run.summary


async def test_a_run_trains_inside_an_event_loop(tmp_path: Path) -> None:
    with open_run(tmp_path, request_of()) as run:
        assert await run.perform(train_session) == 0
    assert run.summary["status"] == "finished"


async def test_two_runs_share_a_process(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    with (
        open_run(folders[0], request_of()) as first,
        open_run(folders[1], request_of("train.seed=7")) as second,
    ):
        codes = await asyncio.gather(first.perform(train_session), second.perform(train_session))
    assert codes == [0, 0]


async def test_a_cancelled_caller_is_cancelled(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def work(session: Session) -> None:
        begun.set()
        await _never(session)

    async def call() -> None:
        with open_run(tmp_path, request_of()) as run:
            await run.perform(work)

    caller = asyncio.ensure_future(call())
    await begun.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_cancelling_the_run_alone_interrupts_it(tmp_path: Path) -> None:
    async def work(session: Session) -> None:
        run.cancel()
        await _never(session)

    with pytest.raises(Interrupted) as told, open_run(tmp_path, request_of()) as run:
        await run.perform(work)
    assert told.value.hint == f"`skillopt resume {tmp_path}` takes the run up again"


def test_a_bug_leaves_its_traceback_in_the_run_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(SkillOptError, match="internal error: LookupError"),
        open_run(tmp_path, request_of()),
    ):
        raise LookupError("planted")
    assert "planted" in (tmp_path / "crash.txt").read_text("utf-8")


async def _never(session: Session) -> None:
    await asyncio.Event().wait()
