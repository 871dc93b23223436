"""Anthropic's interface spoken by its own SDK, against a raw server on the loopback."""

import asyncio
import base64
import hashlib
import re
import socket
import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import pytest_asyncio
from clock import out_of_time
from loopback import Answer, loopback
from pydantic import SecretStr

from skillopt_cli.backends.chat.claude_chat import open_claude_chat
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendError,
    BackendUnusable,
    CallTimedOut,
    NetworkFailed,
    QuotaExhausted,
    RateLimited,
    RequestRefused,
    ServerFailed,
    UnknownModel,
)
from skillopt_cli.core.task import ChatReply, ChatRequest, Image, Message, Tool, Usage
from skillopt_cli.ports import RoleSettings
from skillopt_cli.stages.answer_schemas import FailureAnalysis

# One event loop for all: a client takes 50 ms to make, so most tests share one.
pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-ant-canary-51c4b2"
ASKED = ChatRequest((Message("system", "Be brief."), Message("user", "Hello.")), "rollout")
TOOL = Tool("look", "Look it up.", {"type": "object", "properties": {"word": {"type": "string"}}})


def text(words):
    return {"type": "text", "text": words}


def message(*blocks, stop="end_turn", **more):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": list(blocks),
        "stop_reason": stop,
        "usage": {"input_tokens": 7, "output_tokens": 5},
        **more,
    }


def error(kind, said, **more):
    return {"type": "error", "error": {"type": kind, "message": said, **more}, "request_id": "r"}


FINE = Answer(200, message(text("fine")))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running():
    async with loopback(FINE) as server:
        yield server


@pytest.fixture
def server(running):
    """The running server, with nothing seen yet."""
    running.clear()
    return running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(running):
    """A backend without negotiated parameters."""
    async with open_claude_chat(settings(running)) as backend:
        yield backend


def settings(server, **changes):
    role = RoleSettings("optimizer", "claude-x", server.url, SecretStr(KEY), timeout=60.0)
    return replace(role, **changes)


async def ask(role, request=ASKED):
    async with open_claude_chat(role) as backend:
        return await backend.chat(request)


async def test_a_plain_request_and_its_headers_to_the_letter(server):
    reply = await ask(settings(server, max_completion_tokens=77))

    assert reply == ChatReply("fine", Usage(1, 7, 5))
    [seen] = server.seen
    assert (seen.method, seen.path) == ("POST", "/v1/messages")
    assert KEY in (seen.headers.get("x-api-key"), seen.headers["authorization"].split()[-1])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", seen.headers["anthropic-version"])
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["x-stainless-retry-count"] == "0"
    assert seen.body == {
        "model": "claude-x",
        "max_tokens": 77,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [text("Hello.")]}],
        "stream": False,
    }


async def test_optional_parameters_are_sent_when_set(server):
    options = {"thinking": "enabled"}
    await ask(settings(server, temperature=1.0, reasoning_effort="xhigh", options=options))

    [body] = server.bodies
    assert body["temperature"] == 1.0
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"] == {"effort": "xhigh"}


async def test_a_schema_is_sent_in_the_part_the_service_takes(server, shared):
    schema = FailureAnalysis.model_json_schema()
    await shared.chat(replace(ASKED, schema=schema, schema_name="analyst_error"))

    sent = server.bodies[0]["output_config"]["format"]
    assert sent["type"] == "json_schema"
    assert sent["schema"]["title"] == "analyst_error"
    assert sent["schema"]["required"] == schema["required"]
    found = [sent["schema"], *sent["schema"]["$defs"].values()]
    assert all(part["additionalProperties"] is False for part in found)
    support = sent["schema"]["$defs"]["ProposedEdit"]["properties"]["support"]
    assert support.keys() == {"type", "title", "description"}


async def test_a_schema_beyond_the_sdk_is_left_to_the_service(server, shared):
    odd = {"type": ["object", "null"]}
    await shared.chat(replace(ASKED, schema=odd))
    assert server.bodies[0]["output_config"]["format"]["schema"] == odd


async def test_a_picture_is_sent_by_its_bytes(server, shared, tmp_path):
    content = b"\x89PNG not really"
    path = tmp_path / "a.png"
    path.write_bytes(content)
    picture = Image(str(path), "image/png", hashlib.sha256(content).hexdigest())
    seen = Message("user", "What is it?", images=(picture,))
    await shared.chat(replace(ASKED, messages=(seen,)))

    assert server.bodies[0]["messages"][0]["content"][1]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(content).decode(),
    }
    path.unlink()
    with pytest.raises(RequestRefused, match="picture"):
        await shared.chat(replace(ASKED, messages=(seen,)))


async def test_a_tool_is_called_and_its_result_sent_back(server, shared):
    wish = {"type": "tool_use", "id": "t1", "name": "look", "input": {"word": "zor"}}
    server.script(Answer(200, message(text("I look."), wish, stop="tool_use")))
    first = await shared.chat(replace(ASKED, tools=(TOOL,), tool_choice="required"))

    assert first.tool_calls == (ToolCall("t1", "look", '{"word": "zor"}'),)
    assert (first.text, first.finish) == ("I look.", "tool_calls")
    later = (
        *ASKED.messages,
        Message("assistant", first.text, tool_calls=first.tool_calls),
        Message("tool", "A mill.", call_id="t1"),
    )
    await shared.chat(replace(ASKED, messages=later, tools=(TOOL,)))

    asked, told = server.bodies
    assert (asked["tool_choice"], told["tool_choice"]) == ({"type": "any"}, {"type": "auto"})
    assert asked["tools"][0]["input_schema"] == TOOL.parameters
    assert told["messages"][1:] == [
        {"role": "assistant", "content": [text("I look."), wish]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "A mill."}],
        },
    ]


async def test_usage_and_limits_are_read_from_body_and_headers(server, shared):
    reset = (datetime.now(UTC) + timedelta(seconds=300)).isoformat().replace("+00:00", "Z")
    headers = {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": reset,
        "anthropic-ratelimit-tokens-limit": "1000",
        "anthropic-ratelimit-tokens-remaining": "900",
    }
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 40},
    }
    server.script(Answer(200, message(text("so"), usage=usage), headers))
    reply = await shared.chat(ASKED)

    assert reply.usage == Usage(1, 240, 50, 200, 40, 30)
    assert reply.limits is not None
    assert (reply.limits.requests, reply.limits.requests_left) == (50, 49)
    assert (reply.limits.tokens, reply.limits.tokens_left) == (1000, 900)
    assert reply.limits.requests_reset == pytest.approx(300, abs=60)


LONG = "Read the passages before the question. " * 200
TAUGHT = replace(ASKED, messages=(Message("system", LONG), Message("user", "Hello.")), shared=0)


def marked(words):
    return {"type": "text", "text": words, "cache_control": {"type": "ephemeral"}}


async def test_what_further_requests_repeat_is_marked(server):
    skill = f"## Current skill\n{LONG}"
    analyst = (Message("system", "Improve it."), Message("user", f"{skill}\n\n## Trajectory"))
    tool_turns = (
        *TAUGHT.messages,
        Message("assistant", "", tool_calls=(ToolCall("t1", "look", "{}"),)),
        Message("tool", "A mill.", call_id="t1"),
    )
    async with open_claude_chat(settings(server)) as backend:
        await backend.chat(TAUGHT)
        await backend.chat(replace(ASKED, messages=analyst, shared=len(skill)))
        await backend.chat(replace(TAUGHT, messages=tool_turns, tools=(TOOL,), continues=True))

    task, analysis, turn = server.bodies
    assert task["system"] == turn["system"] == [marked(LONG)]
    assert task["messages"] == [{"role": "user", "content": [text("Hello.")]}]
    assert analysis["system"] == "Improve it."
    assert analysis["messages"][0]["content"] == [marked(skill), text("\n\n## Trajectory")]
    assert turn["messages"][-1]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": "A mill.",
            "cache_control": {"type": "ephemeral"},
        }
    ]


async def test_of_calls_at_once_that_begin_alike_one_is_marked_and_later_ones_are(server):
    held = asyncio.Event()

    async def once_all_are_there(seen):
        if len(server.seen) == 3:
            held.set()
        await held.wait()
        return FINE

    server.otherwise = once_all_are_there
    async with open_claude_chat(settings(server)) as backend:
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(backend.chat(TAUGHT))
        await asyncio.gather(backend.chat(TAUGHT), backend.chat(TAUGHT))

    sent = [body["system"] == [marked(LONG)] for body in server.bodies]
    assert (sum(sent[:3]), sent[3:]) == (1, [True, True])
    texts = {"".join(block["text"] for block in body["system"]) for body in server.bodies}
    assert texts == {LONG}


async def test_after_a_failed_call_another_one_is_marked(server, shared):
    server.script(Answer(529, error("overloaded_error", "Overloaded")))
    with pytest.raises(RateLimited):
        await shared.chat(TAUGHT)
    await shared.chat(TAUGHT)
    assert [body["system"] for body in server.bodies] == [[marked(LONG)]] * 2


async def test_a_server_that_refuses_marks_gets_the_same_text_without(server):
    said = "system.0.cache_control: Extra inputs are not permitted"
    server.script(Answer(400, error("invalid_request_error", said)))
    told = []
    async with open_claude_chat(settings(server, on_refused=told.append)) as backend:
        await backend.chat(TAUGHT)
        await backend.chat(TAUGHT)
    assert told == ["cache_control"]
    assert [body["system"] for body in server.bodies] == [[marked(LONG)], LONG, LONG]


async def test_an_answer_cut_at_the_limit_is_a_reply_even_when_empty(server, shared):
    server.script(
        Answer(200, message(stop="max_tokens")),
        Answer(200, message(text("half"), stop="max_tokens")),
    )
    assert await shared.chat(ASKED) == ChatReply("", Usage(1, 7, 5), "length")
    assert await shared.chat(ASKED) == ChatReply("half", Usage(1, 7, 5), "length")


LOW = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."
CAP = "You have reached your specified API usage limits. You will regain access on 2027-01-01."
FAILURES = [
    (401, error("authentication_error", "invalid x-api-key"), AuthFailed),
    (403, error("permission_error", "Your API key may not use this resource"), AuthFailed),
    (404, error("not_found_error", "model: claude-x"), UnknownModel),
    (404, "<html>no such page</html>", BackendUnusable),
    (400, error("invalid_request_error", LOW), QuotaExhausted),
    (400, error("invalid_request_error", CAP), QuotaExhausted),
    (402, error("billing_error", "check your payment details"), QuotaExhausted),
    (
        429,
        error("rate_limit_error", "cap", details={"error_code": "enforced_spend_limit_reached"}),
        QuotaExhausted,
    ),
    (429, error("rate_limit_error", "This request would exceed your limit"), RateLimited),
    (529, error("overloaded_error", "Overloaded"), RateLimited),
    (408, error("timeout_error", "slow"), ServerFailed),
    (409, error("conflict_error", "again"), ServerFailed),
    (500, error("api_error", "Internal server error"), ServerFailed),
    (503, "<html>Service Unavailable</html>", ServerFailed),
    (504, error("timeout_error", "The request timed out"), ServerFailed),
    (400, error("invalid_request_error", "messages: at least one is needed"), RequestRefused),
    (400, error("invalid_request_error", "prompt is too long: 9 > 8 maximum"), RequestRefused),
    (413, error("request_too_large", "Request exceeds the maximum size"), RequestRefused),
    (422, {"detail": "Unprocessable"}, RequestRefused),
    (200, "{broken", ServerFailed),
    (200, "", ServerFailed),
    (200, "<html>login</html>", ServerFailed),
    (200, "null", ServerFailed),
    (200, error("api_error", "shown as a success"), ServerFailed),
    (200, message(), ServerFailed),
    (200, message(text("")), ServerFailed),
    (200, message({"type": "thinking", "thinking": "Hm.", "signature": "s"}), ServerFailed),
    (200, message(text("I"), stop="refusal"), RequestRefused),
]


@pytest.mark.parametrize(("status", "body", "kind"), FAILURES)
async def test_every_failure_has_its_place_in_the_error_tree(server, shared, status, body, kind):
    server.script(Answer(status, body))
    with pytest.raises(BackendError) as caught:
        await shared.chat(ASKED)

    assert type(caught.value) is kind
    assert "claude-x" in caught.value.message
    assert server.url in caught.value.message
    assert not caught.value.message.endswith(".")
    assert len(server.seen) == 1, "the SDK's own retries are on"


async def test_what_an_unusable_answer_cost_is_told(server, shared):
    for body in (message(), message(text("I"), stop="refusal"), message(content=None)):
        server.script(Answer(200, body))
        with pytest.raises(BackendError) as caught:
            await shared.chat(ASKED)
        assert caught.value.usage == Usage(1, 7, 5)


@pytest.mark.parametrize("status", [429, 529, 503])
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "in a date"}, 300.0),
    ],
)
async def test_a_wait_is_told_in_seconds_or_as_a_date(server, shared, status, headers, seconds):
    if headers and not headers["retry-after"].isdigit():
        when = datetime.now(UTC) + timedelta(seconds=300)
        headers = {"retry-after": format_datetime(when, usegmt=True)}
    server.script(Answer(status, error("rate_limit_error", "slow down"), headers))
    with pytest.raises((RateLimited, ServerFailed)) as caught:
        await shared.chat(ASKED)
    expected = seconds if seconds is None else pytest.approx(seconds, abs=60 if seconds > 60 else 0)
    assert caught.value.retry_after == expected


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("reset", NetworkFailed),
        ("half", NetworkFailed),
        ("hang", CallTimedOut),
    ],
)
async def test_a_broken_connection_is_told_from_a_slow_one(server, fault, kind):
    server.script(Answer(200, message(text("never seen")), fault=fault))
    with pytest.raises(kind):
        # Of the faults, only a hang lets so much time pass.
        await out_of_time(ask(settings(server)), 60 if fault == "hang" else 0, lambda: server.seen)
    assert len(server.seen) == 1


async def test_a_body_that_never_ends_is_cut_off_by_the_caller(server, shared):
    server.script(Answer(200, message(text("x")), fault="trickle"))
    with pytest.raises(TimeoutError):
        limited = asyncio.wait_for(shared.chat(ASKED), 60)
        await out_of_time(limited, 60, lambda: server.seen)
    assert (await shared.chat(ASKED)).text == "fine"


async def test_a_refused_connection_is_a_network_failure(server):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NetworkFailed, match="the connection was refused"):
        await ask(settings(server, base_url=f"http://127.0.0.1:{port}"))


@pytest.mark.parametrize("status", [200, 400, 401, 404, 413, 429, 500])
@pytest.mark.parametrize("shape", ["error", "page"])
async def test_an_echoed_key_is_in_no_text_of_the_error(server, shared, status, shape):
    said = f"key {KEY} was sent as Bearer {KEY}"
    server.script(Answer(status, error("api_error", said) if shape == "error" else said))
    with pytest.raises(BackendError) as caught:
        await shared.chat(ASKED)

    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in f"{shown}{caught.value!r}{caught.value.hint}{vars(caught.value)}"
    assert caught.value.__context__ is None


async def test_a_text_that_cannot_be_sent_is_refused(server, shared):
    with pytest.raises(RequestRefused, match="Unicode"):
        await shared.chat(replace(ASKED, messages=(Message("user", "half a pair: \ud83d"),)))
    assert server.seen == []


REFUSALS = {
    "temperature": "temperature: this parameter is deprecated for this model",
    "output_config.effort": "This model does not support the effort parameter.",
    "thinking.adaptive": "adaptive thinking is not supported on this model",
    "output_config.format": "This model does not support structured outputs.",
}


async def test_refused_parameters_are_learned_once_told_and_not_repeated(server):
    told = []
    role = settings(
        server,
        temperature=0.5,
        reasoning_effort="low",
        max_completion_tokens=4096,
        options={"thinking": "enabled"},
        on_refused=told.append,
    )
    request = replace(ASKED, schema={"type": "object", "properties": {}}, schema_name="ranking")
    bad = [Answer(400, error("invalid_request_error", said)) for said in REFUSALS.values()]
    server.script(*bad)

    async with open_claude_chat(role) as backend:
        assert (await backend.chat(request)).text == "fine"
        assert len(server.seen) == len(REFUSALS) + 1
        await backend.chat(request)

    for body in server.bodies[-2:]:
        assert body.keys() == {
            "model", "max_tokens", "system", "messages", "stream", "thinking"
        }  # fmt: skip
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert told == list(REFUSALS)
    assert backend.refused == REFUSALS.keys()


async def test_what_an_earlier_run_learned_is_not_sent(server):
    role = settings(server, temperature=0.5, refused=frozenset({"temperature"}))
    await ask(role)
    assert "temperature" not in server.bodies[0]


async def test_a_server_that_keeps_refusing_is_not_asked_for_ever(server):
    refusal = Answer(400, error("invalid_request_error", REFUSALS["temperature"]))
    server.script(refusal, refusal)
    with pytest.raises(RequestRefused):
        await ask(settings(server, temperature=0.5))
    assert len(server.seen) == 2


async def test_a_value_out_of_range_is_refused_not_left_out(server):
    said = "temperature: Input should be less than or equal to 1"
    server.script(Answer(400, error("invalid_request_error", said)))
    with pytest.raises(RequestRefused, match="less than or equal"):
        await ask(settings(server, temperature=1.5))
    assert len(server.seen) == 1


async def test_roles_with_their_own_settings_do_not_mix(server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ambient")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    first = settings(server, model="one", api_key=SecretStr("key-one"), temperature=0.0)
    second = replace(first, role="target", model="two", api_key=SecretStr("key-two"))
    second = replace(second, temperature=None, max_completion_tokens=9)
    async with open_claude_chat(first) as one, open_claude_chat(second) as two:
        await asyncio.gather(*(backend.chat(ASKED) for backend in (one, two) * 5))

    found = {
        (s.body["model"], s.headers["authorization"], s.body.get("temperature"))
        for s in server.seen
    }
    assert found == {("one", "Bearer key-one", 0.0), ("two", "Bearer key-two", None)}
    assert one.fingerprint != two.fingerprint


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_end_in_v1(server, end):
    await ask(settings(server, base_url=server.url + end))
    assert server.seen[0].path == "/v1/messages"
