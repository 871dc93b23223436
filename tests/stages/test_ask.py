"""Asking the optimizer: one retry with the fault, and never a part of an answer."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from skillopt_cli.core.errors import AuthFailed, FatalBackendError, RateLimited, RequestRefused
from skillopt_cli.core.events import Degraded
from skillopt_cli.core.task import ChatReply
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.stages import Run
from skillopt_cli.stages.answer_schemas import Merge
from skillopt_cli.stages.ask import Question, ask
from skillopt_cli.testing import EventLog, MemoryStore, ScriptedChat, Toy, toy_run

GOOD = json.dumps({"edits": [{"op": "append", "content": "- x"}]})
QUESTION = Question("merge_final", "material", Merge, "aggregate")


class Asked:
    """A run whose optimizer plays a script, and what came of asking it."""

    def __init__(self, *script: ChatReply | str | BaseException, attempts: int = 1) -> None:
        self.chat = ScriptedChat(script)
        self.store = MemoryStore()
        self.log = EventLog()
        toy = Toy((f"model.retry.max_attempts={attempts}",), optimizer=self.chat)
        self.run: Run = toy_run(toy, self.store, [Subscriber("log", self.log)])

    @property
    def degraded(self) -> list[Degraded]:
        return self.log.of(Degraded)


async def test_a_good_answer_needs_one_call_with_prompt_schema_and_budget() -> None:
    asked = Asked(GOOD)
    answer = await ask(asked.run, replace(QUESTION, budget=3))
    assert answer is not None
    assert [edit.content for edit in answer.edits] == ["- x"]
    (request,) = asked.chat.requests
    system, user = request.messages
    assert (system.role, user.role, user.content) == ("system", "user", "material")
    assert "Give at most 3 edits" in system.content
    assert (request.stage, request.schema_name, request.turn) == ("aggregate", "merge_final", 0)
    assert request.schema == Merge.model_json_schema()
    assert not asked.degraded
    assert not asked.store.files


async def test_without_a_budget_any_number_is_asked_for() -> None:
    asked = Asked(GOOD)
    await ask(asked.run, QUESTION)
    assert "Give any number of edits" in asked.chat.requests[0].messages[0].content


async def test_a_bad_answer_is_asked_for_once_more_with_the_fault() -> None:
    asked = Asked('{"edits": 3}', GOOD)
    assert await ask(asked.run, QUESTION) is not None
    first, second = asked.chat.requests
    assert second.messages[:2] == first.messages
    bad, complaint = second.messages[2:]
    assert (bad.role, bad.content) == ("assistant", '{"edits": 3}')
    assert complaint.role == "user"
    assert "edits: Input should be a valid list" in complaint.content
    assert second.turn == 1
    assert first.identity != second.identity
    assert not asked.degraded


async def test_a_repaired_answer_is_used_and_the_repair_is_announced_and_kept() -> None:
    raw = GOOD.replace("}]}", "},],}").replace("- x", r"\\d and \frac").replace(r"\\d", r"\d")
    asked = Asked(raw)
    answer = await ask(asked.run, QUESTION)
    assert answer is not None
    assert [edit.content for edit in answer.edits] == [r"\d and \frac"]
    (fact,) = asked.degraded
    assert fact.where == "aggregate"
    assert fact.reason.startswith("an answer was repaired: ")
    assert "line 1, column" in fact.reason and "control characters" in fact.reason
    assert list(asked.store.files.values()) == [f"{fact.reason}\n\n{raw}\n"]


async def test_two_bad_answers_are_a_degraded_none_and_both_texts_are_kept() -> None:
    asked = Asked("nothing to say", "still {nothing}")
    assert await ask(asked.run, QUESTION) is None
    assert asked.chat.left == 0
    (fact,) = asked.degraded
    assert fact.where == "aggregate"
    assert fact.reason == "unusable answer: it holds no JSON object"
    texts = sorted(asked.store.files.values())
    assert [path.startswith("parse_errors/merge_final_") for path in asked.store.files] == [
        True
    ] * 2
    assert [text.split("\n\n", 1)[1] for text in texts] == ["nothing to say\n", "still {nothing}\n"]


async def test_an_answer_cut_at_the_token_limit_is_never_used() -> None:  # T25
    whole = ChatReply(GOOD, finish="length")
    asked = Asked(whole, whole)
    assert await ask(asked.run, QUESTION) is None
    assert asked.degraded[0].reason == "unusable answer: it was cut at the token limit"
    again = Asked(whole, GOOD)
    assert await ask(again.run, QUESTION) is not None
    assert "cut at the token limit" in again.chat.requests[1].messages[-1].content


async def test_a_long_bad_answer_is_quoted_in_part_and_an_empty_one_as_such() -> None:
    asked = Asked("x" * 9000, "")
    await ask(asked.run, QUESTION)
    assert len(asked.chat.requests[1].messages[2].content) == 4000
    empty = Asked("", GOOD)
    await ask(empty.run, QUESTION)
    assert empty.chat.requests[1].messages[2].content == "(empty)"


@pytest.mark.parametrize("error", [RateLimited("slow down"), RequestRefused("too long")])
async def test_a_failed_call_is_a_degraded_none(error: Exception) -> None:
    asked = Asked(error)
    assert await ask(asked.run, QUESTION) is None
    assert asked.degraded == [Degraded("aggregate", f"no answer: {error}")]


async def test_a_failure_of_the_second_call_is_one_too() -> None:
    asked = Asked("bad", RateLimited("slow down"))
    assert await ask(asked.run, QUESTION) is None
    assert [fact.reason for fact in asked.degraded] == ["no answer: slow down"]


async def test_a_fatal_error_is_the_runs_end() -> None:
    with pytest.raises(AuthFailed):
        await ask(Asked(AuthFailed("who are you")).run, QUESTION)
    without = replace(Asked().run, optimizer=None)
    with pytest.raises(FatalBackendError):
        await ask(without, QUESTION)


async def test_an_answer_is_asked_for_once_per_journal() -> None:
    asked = Asked("bad", GOOD)
    first = await ask(asked.run, QUESTION)
    second = await ask(asked.run, QUESTION)
    assert first == second
    assert len(asked.chat.requests) == 2


async def test_half_a_surrogate_pair_in_an_answer_is_survived() -> None:
    asked = Asked("\ud83e", GOOD)
    assert await ask(asked.run, QUESTION) is not None
