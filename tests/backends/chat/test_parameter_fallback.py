"""Parameters a model does not take: found out once, told once, never sent again."""

import asyncio
from dataclasses import replace

import pytest
import pytest_asyncio
from loopback import Answer, loopback

from skillopt_cli.backends.chat.chat_completions import (
    EFFORT_WITH_TOOLS,
    OPTIONAL,
    refused_parameter,
)
from skillopt_cli.backends.chat.openai_compatible import open_openai_compatible
from skillopt_cli.core.errors import RequestRefused
from skillopt_cli.core.task import ChatRequest, Message, Tool
from skillopt_cli.ports import RoleSettings

SCHEMA = {"type": "object"}
FULL = ChatRequest(
    (Message("user", "Hello."),),
    "rollout",
    SCHEMA,
    "ranking",
    tools=(Tool("look", "Looks.", {"type": "object"}),),
    tool_choice="required",
)
GOOD = {
    "choices": [{"message": {"content": "fine"}}],
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "fine"}]}],
}


@pytest_asyncio.fixture
async def server():
    async with loopback() as running:
        yield running


def settings(server, form="chat_completions", **changes):
    role = RoleSettings("target", "m", f"{server.url}/v1", temperature=0.5, reasoning_effort="low")
    return replace(role, max_completion_tokens=9, options={"api": form}, **changes)


def refusing(*names):
    """A server that takes anything but these fields, and says so about the first one it meets."""

    def answer(seen):
        found = next((name for name in names if name in seen.body), None)
        return Answer(body=GOOD) if found is None else Answer(400, unsupported(found))

    return answer


def unsupported(name):
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    return {"error": {"message": message, "param": name, "code": "unsupported_parameter"}}


CASES = [
    ("chat_completions", "max_tokens"),
    ("chat_completions", "temperature"),
    ("chat_completions", "reasoning_effort"),
    ("chat_completions", "response_format"),
    ("chat_completions", "tool_choice"),
    ("responses", "max_output_tokens"),
    ("responses", "temperature"),
    ("responses", "reasoning"),
    ("responses", "text"),
    ("responses", "tool_choice"),
    ("responses", "store"),
]


@pytest.mark.parametrize(("form", "name"), CASES)
async def test_a_refused_parameter_is_left_out_for_good_and_told_once(server, form, name):
    told = []
    server.otherwise = refusing(name)
    role = settings(server, form, on_refused=told.append)
    async with open_openai_compatible(role) as backend:
        assert (await backend.chat(FULL)).text == "fine"
        await backend.chat(FULL)

    first, *later = server.bodies
    assert name in first
    assert len(later) == 2
    for body in later:
        assert body.keys() - {"max_completion_tokens"} == first.keys() - {name}
    assert told == [name]
    assert backend.refused == {name}


@pytest.mark.parametrize(("form", "name"), CASES)
async def test_what_was_found_out_before_is_not_tried_again(server, form, name):
    told = []
    server.otherwise = refusing(name)
    role = settings(server, form, refused=frozenset({name}), on_refused=told.append)
    async with open_openai_compatible(role) as backend:
        await backend.chat(FULL)
    assert len(server.seen) == 1
    assert told == []


@pytest.mark.parametrize("form", ["chat_completions", "responses"])
async def test_calls_in_flight_tell_of_a_parameter_only_once(server, form):
    refuse = refusing("temperature", "reasoning_effort", "reasoning")
    together = asyncio.Barrier(5)
    told = []

    async def answer(seen):
        # All five calls have been sent before the first of them is refused.
        await together.wait()
        return refuse(seen)

    server.otherwise = answer
    role = settings(server, form, on_refused=told.append)
    async with open_openai_compatible(role) as backend:
        replies = await asyncio.gather(*(backend.chat(FULL) for _ in range(5)))
    assert [reply.text for reply in replies] == ["fine"] * 5
    effort = {"chat_completions": "reasoning_effort", "responses": "reasoning"}[form]
    assert told == ["temperature", effort]
    assert len(server.seen) == 15


async def test_all_of_them_can_go_and_the_request_is_still_whole(server):
    server.otherwise = refusing(*OPTIONAL)
    async with open_openai_compatible(settings(server)) as backend:
        await backend.chat(FULL)
    assert server.bodies[-1].keys() == {"model", "messages", "stream", "tools"}


async def test_a_server_that_refuses_one_cap_gets_the_other_and_then_none(server):
    server.otherwise = refusing("max_tokens")
    async with open_openai_compatible(settings(server)) as backend:
        await backend.chat(FULL)
        assert server.bodies[-1]["max_completion_tokens"] == 9
        server.otherwise = refusing("max_tokens", "max_completion_tokens")
        await backend.chat(FULL)
        assert not {"max_tokens", "max_completion_tokens"} & server.bodies[-1].keys()


async def test_an_effort_refused_only_together_with_tools_is_kept_without_them(server):
    words = "Function tools with reasoning_effort are not supported for m in this interface."

    def answer(seen):
        both = {"tools", "reasoning_effort"} <= seen.body.keys()
        return Answer(400, {"error": {"message": words}}) if both else Answer(body=GOOD)

    told = []
    server.otherwise = answer
    async with open_openai_compatible(settings(server, on_refused=told.append)) as backend:
        await backend.chat(FULL)
        assert "reasoning_effort" not in server.bodies[-1]
        await backend.chat(replace(FULL, tools=()))
        assert server.bodies[-1]["reasoning_effort"] == "low"
    assert len(server.seen) == 3
    assert told == [EFFORT_WITH_TOOLS]


async def test_a_server_that_keeps_refusing_is_not_asked_for_ever(server):
    server.otherwise = Answer(400, unsupported("temperature"))
    async with open_openai_compatible(settings(server)) as backend:
        with pytest.raises(RequestRefused):
            await backend.chat(FULL)
    assert len(server.seen) == 2


async def test_one_backends_findings_are_not_anothers(server):
    server.otherwise = refusing("temperature")
    for _ in range(2):
        async with open_openai_compatible(settings(server)) as backend:
            await backend.chat(FULL)
    assert ["temperature" in body for body in server.bodies] == [True, False] * 2


SENT = {
    "model",
    "messages",
    "tools",
    "max_tokens",
    "temperature",
    "reasoning_effort",
    "response_format",
}
SENT_RESPONSES = {"model", "input", "max_output_tokens", "temperature", "reasoning", "text"}
WORDINGS = [
    (
        "max_tokens",
        "Unsupported parameter: 'max_tokens' is not supported with this model."
        " Use 'max_completion_tokens' instead.",
        "max_tokens",
    ),
    ("", "Unrecognized request argument supplied: reasoning_effort", "reasoning_effort"),
    (
        "temperature",
        "Unsupported value: 'temperature' does not support 0.5 with this model."
        " Only the default (1) value is supported.",
        "temperature",
    ),
    ("", '[{"type": "extra_forbidden", "loc": ["body", "temperature"]}]', "temperature"),
    ("response_format.json_schema", "Invalid schema", "response_format"),
    ("", "This model does not support response format `json_schema`", "response_format"),
    ("", "This response_format type is unavailable now", "response_format"),
    ("tools", "Tools with reasoning_effort are not supported", EFFORT_WITH_TOOLS),
    # About something else, or about a value: leaving the parameter out would hide it.
    ("", "This model's maximum context length is 4096 tokens; max_tokens is 5000", None),
    ("max_tokens", "max_tokens is too large: 100. This model supports at most 50", None),
    ("messages", "Invalid value for messages", None),
    ("", "Something went wrong with temperature", None),
    ("max_completion_tokens", "Unsupported parameter: 'max_completion_tokens'", None),
    ("", "unknown field min_temperature_x", None),
]


@pytest.mark.parametrize(("param", "message", "expected"), WORDINGS)
def test_the_parameter_is_found_in_what_servers_say(param, message, expected):
    assert refused_parameter(param, message, SENT) == expected


@pytest.mark.parametrize(
    ("param", "message", "expected"),
    [
        ("reasoning.effort", "Unsupported parameter: 'reasoning.effort'", "reasoning"),
        ("text.format", "Invalid parameter: 'text.format' of type json_schema", "text"),
        ("", "'text.format' is not supported", "text"),
        ("", "Unknown parameter: 'reasoning'", "reasoning"),
        ("max_output_tokens", "Invalid value: integer below minimum value", None),
        ("input", "Invalid 'input[0].content'", None),
    ],
)
def test_the_parameter_is_found_in_what_servers_say_of_responses(param, message, expected):
    assert refused_parameter(param, message, SENT_RESPONSES) == expected
