"""What a tape takes down, and what a model from a recording says."""

from __future__ import annotations

import pytest

from skillopt_cli.backends.middleware.recorder import (
    Cached,
    CallRecorder,
    RecordedCalls,
    RecordedFailures,
    Replayed,
)
from skillopt_cli.core.errors import AuthFailed, NotRecorded, RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Message
from skillopt_cli.store.memory import MemoryStore


def request(text: str, stage: str = "rollout") -> ChatRequest:
    return ChatRequest((Message("user", text),), stage=stage)


class Answering:
    name = fingerprint = "m/1"
    offers = frozenset({"images"})

    def __init__(self, *outcomes: ChatReply | Exception) -> None:
        self.outcomes = list(outcomes)

    async def chat(self, request: ChatRequest) -> ChatReply:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def test_a_tape_holds_each_call_once_with_its_first_use() -> None:
    recorded = RecordedCalls()
    model = CallRecorder(Cached(Answering(ChatReply("a")), MemoryStore()), "target", recorded)
    await model.chat(request("q", "rollout"))
    await model.chat(request("q", "measure"))
    (key,) = recorded.calls
    assert key == request("q").key("m/1")
    assert (recorded.calls[key].role, recorded.calls[key].stage) == ("target", "rollout")
    assert model.offers == frozenset({"images"})


async def test_a_use_that_was_unknown_is_filled_in() -> None:
    recorded = RecordedCalls()
    key = request("q").key("m/1")
    recorded.note_all([key, "other"])
    await CallRecorder(Answering(ChatReply("a")), "target", recorded).chat(request("q"))
    assert [recorded.calls[k].role for k in (key, "other")] == ["target", None]


async def test_failures_a_run_survives_are_noted_and_others_are_not() -> None:
    recorded = RecordedCalls()
    model = CallRecorder(
        Answering(ServerFailed("down"), ChatReply("a"), AuthFailed("no")), "optimizer", recorded
    )
    with pytest.raises(ServerFailed):
        await model.chat(request("q"))
    await model.chat(request("q"))
    with pytest.raises(AuthFailed):
        await model.chat(request("r"))
    (use,) = recorded.calls.values()
    assert [str(error) for error in use.failures] == ["down"]


def replayed(**outcomes: list[Exception | ChatReply]) -> Replayed:
    by_key = {request(text).key("m/1"): said for text, said in outcomes.items()}
    script = RecordedFailures("r.jsonl", by_key, "record it anew")  # type: ignore[arg-type]
    return Replayed("target", "m", "m/1", frozenset({"images"}), script)


async def test_recorded_outcomes_come_in_their_order_and_the_last_one_stays() -> None:
    model = replayed(q=[ServerFailed("down"), ChatReply("a")], r=[RequestRefused("never")])
    with pytest.raises(ServerFailed, match="down"):
        await model.chat(request("q"))
    assert [(await model.chat(request("q"))).text for _ in range(2)] == ["a", "a"]
    for _ in range(2):
        with pytest.raises(RequestRefused, match="never"):
            await model.chat(request("r"))


async def test_what_is_not_recorded_is_fatal_and_says_who_asked_what_for() -> None:
    with pytest.raises(NotRecorded) as caught:
        await replayed().chat(request("q", "reflect"))
    assert caught.value.message == (
        "the target was asked something in stage `reflect` that r.jsonl does not hold"
    )
    assert caught.value.hint == "record it anew"
    assert caught.value.exit_code == 4
