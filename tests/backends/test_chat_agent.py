"""The chat agent: what it sends, and how an attempt ends."""

import pytest

from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.core.errors import AuthFailed, RateLimited, RequestRefused
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import CUT_SHORT, Brief, ChatReply, Message, Section, Usage
from skillopt_cli.testing import ScriptedChat

BRIEF = Brief(
    "t1",
    "You answer questions.",
    (Section("Context", "Snow is white."), Section("Question", "What is white?")),
    answer_format="Put the answer in <answer> tags.",
    draw=3,
)
SKILL = SkillDocument("# Skill\n\n- Be brief.  \n\n")


async def attempt(script, brief=BRIEF, skill=SKILL):
    chat = ScriptedChat(script)
    return await ChatAgent(chat).attempt(brief, skill, None), chat


async def test_the_skill_stands_in_the_system_message_as_it_is():
    result, chat = await attempt([ChatReply("snow", Usage(1, 10, 2))])
    [request] = chat.requests
    system = (
        "You answer questions.\n\n## Skill\n# Skill\n\n- Be brief.  \n\n"
        "\n\nPut the answer in <answer> tags."
    )
    user = "## Context\nSnow is white.\n\n## Question\nWhat is white?"
    assert request.messages == (Message("system", system), Message("user", user))
    assert (request.stage, request.draw, request.schema) == ("rollout", 3, None)
    assert (result.answer, result.ending, result.usage) == ("snow", "answered", Usage(1, 10, 2))
    assert result.messages == (*request.messages, Message("assistant", "snow"))


async def test_an_empty_skill_leaves_no_trace():
    _, chat = await attempt(["snow"], skill=SkillDocument(" \n"))
    assert (
        chat.requests[0].messages[0].content
        == "You answer questions.\n\nPut the answer in <answer> tags."
    )


async def test_no_answer_format_leaves_no_trace():
    _, chat = await attempt(["snow"], brief=Brief("t", "Role.", BRIEF.sections))
    assert chat.requests[0].messages[0].content == f"Role.\n\n## Skill\n{SKILL.text}"


@pytest.mark.parametrize("finish", ["stop", "length"])
async def test_an_empty_answer_is_the_models_own_failure(finish):
    result, _ = await attempt([ChatReply(" \n", finish=finish)])
    assert result.ending == "gave_up"
    assert result.usage.calls == 1
    assert result.messages[-1].role == "assistant"
    assert result.error == (CUT_SHORT if finish == "length" else "")


async def test_a_cut_answer_is_an_answer():
    result, _ = await attempt([ChatReply("The answer", finish="length")])
    assert (result.answer, result.ending) == ("The answer", "answered")


@pytest.mark.parametrize("error", [RateLimited("slow\ndown"), RequestRefused("too\nlong")])
async def test_a_call_that_could_not_be_made_is_a_broken_attempt(error):
    result, chat = await attempt([error])
    assert (result.ending, result.answer, result.usage) == ("broken", "", Usage())
    assert result.error.startswith(f"{type(error).__name__}: ")
    assert "\n" not in result.error
    assert result.messages == chat.requests[0].messages


async def test_a_fatal_error_is_raised():
    with pytest.raises(AuthFailed):
        await attempt([AuthFailed("no")])


def test_the_fingerprint_covers_the_model_and_the_rendering():
    one, other = ScriptedChat([], "one"), ScriptedChat([], "other")
    assert ChatAgent(one).fingerprint != ChatAgent(other).fingerprint
    assert ChatAgent(one).fingerprint != one.fingerprint
    assert ChatAgent(one).name == "one"


async def test_it_opens_and_closes_its_chat_backend():
    class Session(ScriptedChat):
        opened = 0

        async def __aenter__(self):
            self.opened += 1
            return self

        async def __aexit__(self, *_):
            self.opened -= 1

    chat = Session(["snow"])
    async with ChatAgent(chat) as agent:
        assert chat.opened == 1
        await agent.attempt(BRIEF, SKILL, None)
    assert chat.opened == 0
