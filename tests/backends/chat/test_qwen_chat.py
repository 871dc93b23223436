"""Servers of Qwen models: what is said about thinking, and what is read of it."""

import asyncio
from dataclasses import replace

import pytest
import pytest_asyncio
from loopback import Answer, loopback
from pydantic import SecretStr

from skillopt_cli.backends.chat.qwen_chat import QWEN_URL, SPEC, open_qwen_chat
from skillopt_cli.backends.middleware.reading import Reading
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import BackendError, RequestRefused, ServerFailed, UnknownModel
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, Tool, Usage
from skillopt_cli.ports import RoleSettings

ASKED = ChatRequest((Message("user", "Hello."),), "rollout")


def completion(content, finish="stop", **more):
    message = {"role": "assistant", "content": content, **more}
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5},
    }


@pytest_asyncio.fixture
async def server():
    async with loopback(Answer(200, completion("fine"))) as running:
        yield running


def settings(server, **changes):
    return replace(RoleSettings("target", "qwen", f"{server.url}/v1", timeout=60.0), **changes)


async def ask(role, request=ASKED):
    async with open_qwen_chat(role) as backend:
        return await Reading(backend, "target", lambda fact: None).chat(request)


async def test_a_plain_request_says_nothing_about_thinking(server):
    assert await ask(settings(server, max_completion_tokens=16384)) == ChatReply(
        "fine", Usage(1, 7, 5)
    )
    [seen] = server.seen
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert seen.headers["authorization"] == "Bearer no-key"
    assert seen.body == {
        "model": "qwen",
        "messages": [{"role": "user", "content": "Hello."}],
        "max_tokens": 16384,
        "stream": False,
        "temperature": 0.7,
    }


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        ("server_default", None),
        ("enabled", {"enable_thinking": True}),
        ("disabled", {"enable_thinking": False}),
    ],
)
async def test_thinking_has_three_states(server, thinking, sent):
    await ask(settings(server, options={"thinking": thinking}))
    assert server.bodies[0].get("chat_template_kwargs") == sent


async def test_a_temperature_of_its_own_may_be_zero_and_may_be_left_out(server):
    await ask(settings(server, temperature=0.0))
    await ask(settings(server, options={"temperature": "server_default"}))
    assert server.bodies[0]["temperature"] == 0.0
    assert "temperature" not in server.bodies[1]


@pytest.mark.parametrize(
    ("content", "finish", "more", "text"),
    [
        ("<think>\nHm.\n</think>\n\n7", "stop", {}, "7"),
        ("Hm.\n</think>\n\n7", "stop", {}, "7"),
        ("7", "stop", {"reasoning_content": "Hm."}, "7"),
        ("<think>\nHm, let me", "length", {}, ""),
        (None, "length", {"reasoning_content": "Hm, let me"}, ""),
        ("<think>Hm.</think>", "stop", {}, ""),
    ],
)
async def test_thoughts_are_no_part_of_the_answer(server, content, finish, more, text):
    server.script(Answer(200, completion(content, finish, **more)))
    assert await ask(settings(server)) == ChatReply(text, Usage(1, 7, 5), finish)


async def test_a_tool_call_after_thoughts_is_kept(server):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    server.script(Answer(200, completion("<think>a</think>", "tool_calls", tool_calls=[call])))
    offered = replace(ASKED, tools=(Tool("look", "Look.", {"type": "object"}),))
    reply = await ask(settings(server), offered)
    assert (reply.text, reply.tool_calls) == ("", (ToolCall("c1", "look", "{}"),))


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, {"message": "The model `qwen` does not exist."}, UnknownModel),
        (400, {"message": "chat_template_kwargs is not permitted"}, RequestRefused),
        (500, {"error": {"message": "boom"}}, ServerFailed),
        (200, "{broken", ServerFailed),
        (200, completion(""), ServerFailed),
    ],
)
async def test_failures_are_told_as_those_of_any_server(server, status, body, kind):
    server.script(Answer(status, body))
    with pytest.raises(BackendError) as caught:
        await ask(settings(server, options={"thinking": "enabled"}))
    assert type(caught.value) is kind
    assert len(server.seen) == 1


async def test_two_roles_of_one_process_do_not_mix(server):
    first = settings(server, role="optimizer", model="big", api_key=SecretStr("key-big"))
    first = replace(first, options={"thinking": "enabled"}, temperature=1.0)
    second = settings(server, model="small", options={"thinking": "disabled"})
    async with open_qwen_chat(first) as one, open_qwen_chat(second) as two:
        await asyncio.gather(*(backend.chat(ASKED) for backend in (one, two) * 5))
    found = {
        (
            seen.body["model"],
            seen.headers["authorization"],
            seen.body["temperature"],
            seen.body["chat_template_kwargs"]["enable_thinking"],
        )
        for seen in server.seen
    }
    assert found == {("big", "Bearer key-big", 1.0, True), ("small", "Bearer no-key", 0.7, False)}
    assert one.fingerprint != two.fingerprint


def test_what_is_said_about_thinking_is_part_of_the_fingerprint():
    role = RoleSettings("target", "qwen")
    prints = {
        open_qwen_chat(replace(role, options={"thinking": thinking})).fingerprint
        for thinking in ("server_default", "enabled", "disabled")
    }
    assert len(prints) == 3
    assert all(QWEN_URL in mark for mark in prints)


def test_every_variable_has_a_form_for_one_role_and_one_for_both():
    environment = {
        "QWEN_CHAT_BASE_URL": "http://a/v1",
        "TARGET_QWEN_CHAT_THINKING_MODE": "enabled",
        "QWEN_CHAT_THINKING_MODE": "disabled",
        "TARGET_QWEN_CHAT_MAX_TOKENS": "9",
    }
    assert SPEC.variables_set("target", environment) == {
        "base_url": "QWEN_CHAT_BASE_URL",
        "thinking": "TARGET_QWEN_CHAT_THINKING_MODE",
        "max_completion_tokens": "TARGET_QWEN_CHAT_MAX_TOKENS",
    }
    assert SPEC.variables_set("optimizer", environment)["thinking"] == "QWEN_CHAT_THINKING_MODE"
    assert SPEC.missing({}) == ""
