"""What identifies a task and a request, and how usage adds up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skillopt_cli.core.task import ChatRequest, Message, Task, Usage

REQUEST = ChatRequest((Message("user", "hi"),), "reflect", {"type": "object"}, "merge", 1, 0)


def test_a_task_is_what_it_asks_not_what_it_is_called() -> None:
    task = Task("a", "year", {"q": "when?", "golds": ["1912"]})
    assert task.digest == replace(task, id="b").digest
    assert task.digest == replace(task, data={"golds": ["1912"], "q": "when?"}).digest
    for other in (replace(task, kind="place"), replace(task, data={"q": "when?", "golds": []})):
        assert task.digest != other.digest


@pytest.mark.parametrize(
    "change",
    [
        {"messages": (Message("system", "hi"),)},
        {"messages": (Message("user", "ho"),)},
        {"schema": {"type": "array"}},
        {"schema": None},
        {"schema_name": "rank"},
        {"draw": 2},
        {"turn": 1},
    ],
)
def test_whatever_can_alter_a_reply_alters_the_identity(change: dict[str, object]) -> None:
    assert replace(REQUEST, **change).identity != REQUEST.identity  # type: ignore[arg-type]


def test_what_a_call_is_for_does_not() -> None:
    assert replace(REQUEST, stage="aggregate").identity == REQUEST.identity


def test_half_a_surrogate_pair_has_an_identity_too() -> None:
    odd = Message("user", "\ud83e")
    assert replace(REQUEST, messages=(odd,)).identity != REQUEST.identity
    assert Task("a", "k", {"q": "\ud83e"}).digest != Task("a", "k", {"q": "\ud83d"}).digest


def test_usage_adds_up_and_unknown_stays_unknown() -> None:
    assert Usage(1, 10, 2) + Usage(2, 5, None) == Usage(3, 15, 2)
    assert Usage(1, None, None) + Usage(1, None, None) == Usage(2, None, None)
    assert Usage(1, None, 0) + Usage(0, 0, None) == Usage(1, 0, 0)
