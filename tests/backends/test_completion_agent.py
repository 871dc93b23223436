"""The completion agent: the text it has continued, and how an attempt ends."""

import pytest

from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.backends.completion_agent import CompletionAgent, completion_text
from skillopt_cli.core.errors import AuthFailed, CallTimedOut, RequestRefused
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Brief, ChatReply, Message, Section, Usage
from skillopt_cli.testing import ScriptedChat

BRIEF = Brief(
    "t1",
    "You answer questions.",
    (Section("Context", "Snow is white."), Section("Question", "What is white?")),
    answer_format="Put the answer in <answer> tags.",
    draw=3,
)
TASK = "Context: Snow is white.\nQuestion: What is white?\nAnswer:"
SKILL = SkillDocument("# Skill\n\n- Be brief.  \n\n")


async def attempt(script, skill=SKILL):
    chat = ScriptedChat(script)
    return await CompletionAgent(chat).attempt(BRIEF, skill, None), chat


async def test_the_skill_is_what_the_task_begins_after():
    result, chat = await attempt([ChatReply(" Snow", Usage(1, 10, 2))])
    [request] = chat.requests
    assert request.messages == (
        Message("system", "# Skill\n\n- Be brief."),
        Message("user", TASK),
    )
    assert (result.answer, result.ending, result.usage) == ("Snow", "answered", Usage(1, 10, 2))
    assert result.messages == (*request.messages, Message("assistant", " Snow"))


@pytest.mark.parametrize("text", ["", " \n\n"])
async def test_an_empty_skill_leaves_the_task_alone(text):
    _, chat = await attempt([" Snow"], SkillDocument(text))
    assert chat.requests[0].messages == (Message("user", TASK),)


async def test_every_draw_is_the_same_call():
    _, chat = await attempt([" Snow"])
    assert chat.requests[0].draw == 0


@pytest.mark.parametrize("agent", [CompletionAgent, ChatAgent])
@pytest.mark.parametrize("stage", ["rollout", "measure", "test", "slow_update"])
async def test_a_call_is_booked_to_what_the_attempt_is_for(agent, stage):
    chat = ScriptedChat([" Snow"])
    await agent(chat).attempt(BRIEF.drawn(0, stage), SKILL, None)
    assert [request.stage for request in chat.requests] == [stage]


async def test_nothing_to_say_is_the_models_own_failure():
    result, _ = await attempt([ChatReply(" ")])
    assert (result.ending, result.answer) == ("gave_up", "")


@pytest.mark.parametrize("error", [CallTimedOut("slow"), RequestRefused("too long")])
async def test_a_call_that_could_not_be_made_is_ours(error):
    result, _ = await attempt([error])
    assert result.ending == "broken"
    assert result.error == f"{type(error).__name__}: {error}"


async def test_a_fatal_error_is_raised():
    with pytest.raises(AuthFailed):
        await attempt([AuthFailed("no")])


def test_a_worked_example_ends_with_its_answer():
    assert completion_text(BRIEF, "snow") == f"{TASK} snow"


def test_another_rendering_is_another_target():
    chat = ScriptedChat([])
    assert CompletionAgent(chat).fingerprint != chat.fingerprint
