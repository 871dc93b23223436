"""The chat agent over several turns: tools, replies that lead on, and how an attempt ends."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.core.episode import Heard, ToolCall, ToolResult
from skillopt_cli.core.errors import NetworkFailed
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, ChatReply, Message, Section, Tool, Usage
from skillopt_cli.testing import ScriptedChat

LOOK = Tool("look", "Look at something.", {"type": "object"})
BRIEF = Brief("t", "You play.", (Section("Goal", "Win."),), tools=(LOOK,), max_turns=4)
SKILL = SkillDocument("Be quick.\n")


class Room:
    """Tools give what is in `results`; replies get what is in `answers`, then end it."""

    def __init__(self, results: Mapping[str, ToolResult], *answers: Heard) -> None:
        self.results, self.answers = dict(results), list(answers)
        self.used: list[str] = []
        self.heard: list[str] = []

    async def use(self, call: ToolCall) -> ToolResult:
        self.used.append(call.arguments)
        return self.results[call.arguments]

    async def hear(self, reply: str) -> Heard | None:
        self.heard.append(reply)
        return self.answers.pop(0) if self.answers else None

    async def outcome(self, answer: str) -> Mapping[str, Any]:
        raise AssertionError("is the run's to ask")


def wish(*arguments: str) -> ChatReply:
    calls = tuple(ToolCall(f"c{text}", "look", text) for text in arguments)
    return ChatReply("", Usage(1, 5, 1), "tool_calls", calls)


async def play(room: Room, script: list[Any], brief: Brief = BRIEF) -> tuple[Attempt, ScriptedChat]:
    chat = ScriptedChat(script)
    return await ChatAgent(chat).attempt(replace(brief, episode=room), SKILL, None), chat


async def test_tools_are_run_in_order_and_their_results_come_back() -> None:
    room = Room({"a": ToolResult("an a"), "b": ToolResult("no b", failed=True)})
    made, chat = await play(room, [wish("a", "b"), ChatReply("done", Usage(1, 9, 2))])
    assert room.used == ["a", "b"]
    assert room.heard == ["done"]
    first, second = chat.requests
    assert (first.turn, second.turn) == (0, 1)
    assert first.tools == second.tools == (LOOK,)
    assert second.messages[:2] == first.messages
    assert [(m.role, m.content, m.call_id, m.failed) for m in second.messages[3:]] == [
        ("tool", "an a", "ca", False),
        ("tool", "no b", "cb", True),
    ]
    assert (made.answer, made.ending, made.usage) == ("done", "answered", Usage(2, 14, 3))
    assert made.messages == (*second.messages, Message("assistant", "done"))


async def test_a_call_that_ends_the_game_ends_the_attempt() -> None:
    made, chat = await play(Room({"a": ToolResult("won", over=True)}), [wish("a")])
    assert len(chat.requests) == 1
    assert (made.answer, made.ending) == ("", "answered")
    assert made.messages[-1].content == "won"


async def test_a_reply_leads_on_until_the_episode_has_heard_enough() -> None:
    room = Room({}, Heard("Look again."))
    made, chat = await play(room, ["first", "second"])
    assert room.heard == ["first", "second"]
    assert [m.content for m in chat.requests[1].messages[1:]] == [
        BRIEF.prompt,
        "first",
        "Look again.",
    ]
    assert made.answer == "second"


async def test_what_is_said_afresh_stands_alone_and_is_still_recorded() -> None:
    made, chat = await play(Room({}, Heard("You see a door.", afresh=True)), ["go", "open"])
    assert [m.content for m in chat.requests[1].messages[1:]] == ["You see a door."]
    assert [m.content for m in made.messages[1:]] == [
        BRIEF.prompt,
        "go",
        "You see a door.",
        "open",
    ]


async def test_a_request_continues_where_the_next_one_repeats_it() -> None:
    room = Room({"a": ToolResult("an a")}, Heard("Look again."), Heard("A door.", afresh=True))
    script = [wish("a"), "first", "second", "third"]
    _, chat = await play(room, script, replace(BRIEF, max_turns=5))
    assert [request.continues for request in chat.requests] == [True, True, True, False]
    assert {request.shared for request in chat.requests} == {0}
    _, chat = await play(Room({"a": ToolResult("an a")}), [wish("a")] * 4)
    assert [request.continues for request in chat.requests] == [True, True, True, False]
    _, chat = await play(Room({}, Heard("Again.")), ["one", "two"], replace(BRIEF, tools=()))
    assert [request.continues for request in chat.requests] == [False, True]


async def test_using_up_the_turns_is_giving_up() -> None:
    room = Room({"a": ToolResult("nothing")})
    made, chat = await play(room, [wish("a")] * 4)
    assert len(chat.requests) == 4
    assert (made.ending, made.error) == ("gave_up", "it used up its 4 turns")


async def test_a_failed_call_in_the_middle_breaks_the_attempt_and_keeps_what_was_said() -> None:
    room = Room({"a": ToolResult("an a")})
    made, _ = await play(room, [wish("a"), NetworkFailed("down")])
    assert (made.ending, made.usage.calls) == ("broken", 1)
    assert [m.role for m in made.messages] == ["system", "user", "assistant", "tool"]


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_last_reply_is_no_answer(text: str) -> None:
    made, _ = await play(Room({}), [text])
    assert made.ending == "gave_up"


class Lit(Room):
    """Shows something from the start."""

    async def opening(self) -> str:
        return "## Light\nIt is bright."


async def test_what_an_episode_shows_from_the_start_stands_below_the_brief() -> None:
    made, chat = await play(Lit({}, Heard("on", afresh=True)), ["one", "two"])
    assert made.messages[1].content == "## Goal\nWin.\n\n## Light\nIt is bright."
    assert chat.requests[0].messages == made.messages[:2]
    assert [m.content for m in chat.requests[1].messages[1:]] == ["on"]


def test_it_offers_to_take_turns() -> None:
    assert "turns" in ChatAgent(ScriptedChat([])).offers
