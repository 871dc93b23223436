"""Ctrl-C during a call from Python: it ends the work, and its text is how to go on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt_cli import Stamped, answer, load_run, resume, train

SLOW = {"model.backend": "simulated", "model.simulated.latency_ms": 600_000}
FAST = {"model.simulated.latency_ms": 0}


@pytest.fixture(autouse=True)
def terminal() -> Iterator[None]:
    """Ctrl-C as a terminal sends it: a process in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def files() -> None:
    Path("new.csv").write_text("body\nI was billed twice\nI cannot sign in\n", encoding="utf-8")
    Path("s.md").write_text("# Sort\n\nName the queue.\n", encoding="utf-8")


def interrupt(fact: Stamped) -> None:
    """Send Ctrl-C when the run has begun."""
    if fact.event.kind == "run_started":
        os.kill(os.getpid(), signal.SIGINT)


def interrupted_answer() -> str:
    """The text with which a call ends that is interrupted before its first answer."""
    with pytest.raises(KeyboardInterrupt) as stopped:
        answer("new.csv", "s.md", out="a.csv", settings=SLOW, run_id="a", on_event=interrupt)
    return str(stopped.value)


async def in_a_notebook() -> str:
    """A cell runs inside an event loop, and the work in a thread of its own."""
    return interrupted_answer()


@pytest.mark.parametrize("notebook", [False, True], ids=["script", "notebook"])
def test_it_ends_the_work_and_names_what_takes_it_up(*, notebook: bool) -> None:
    if notebook:
        loop = asyncio.new_event_loop()
        said = loop.run_until_complete(in_a_notebook())
        loop.close()
    else:
        said = interrupted_answer()
    stopped = load_run("a")
    hint = f"`skillopt resume {stopped.folder}` takes the run up again"
    assert said == f"stopped by the user: {hint}"
    assert (stopped.status, stopped.answers()) == ("interrupted", [])
    assert not Path("a.csv").exists()
    resumed = resume("a", settings=FAST, allow_drift=True)
    assert resumed.status == "finished"
    assert len(resumed.answers()) == 2
    assert Path("a.csv").read_text(encoding="utf-8").count("line-") == 2


def test_a_training_ends_alike() -> None:
    with pytest.raises(KeyboardInterrupt, match=r"`skillopt resume .*/t` takes the run up again"):
        train("searchqa", preset="tiny", settings=SLOW, run_id="t", on_event=interrupt)
    assert load_run("t").status == "interrupted"
