from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from agent_rig import KEY, MODEL, role
from loopback import Answer, Loopback, loopback

from skillopt_cli.backends.agents.model_api import MESSAGES, RESPONSES, ModelApi, joined
from skillopt_cli.backends.agents.upstream import Upstream, open_upstream
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendError,
    NetworkFailed,
    QuotaExhausted,
    RateLimited,
    RequestRefused,
    ServerFailed,
    UnknownModel,
)
from skillopt_cli.core.task import ChatRequest, Message, Usage
from skillopt_cli.testing.model_dialects import message_stream, response_stream

RESPONSE = {
    "id": "r",
    "status": "completed",
    "output": [
        {"id": "i", "type": "message", "content": [{"type": "output_text", "text": "hello"}]}
    ],
    "usage": {
        "input_tokens": 30,
        "input_tokens_details": {"cached_tokens": 10},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
    },
}
MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 20,
        "cache_read_input_tokens": 10,
        "cache_creation_input_tokens": 0,
        "output_tokens": 5,
    },
}
LONG = "/skillopt-attempt/work/answer.txt"
SSE = {"content-type": "text/event-stream"}
CALL = {"id": "f", "type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback() as running:
        yield running


def upstream(server: Loopback, form: ModelApi) -> Upstream:
    return open_upstream(role(f"{server.url}/v1"), form, "https://unused.example/v1")


def relayed(body: str, head: str = "\n") -> ChatRequest:
    return ChatRequest((Message("user", "key"),), stage="rollout", wire=f"{head}\n{body}")


def stream_of(form: ModelApi) -> str:
    return response_stream(RESPONSE) if form is RESPONSES else message_stream(MESSAGE)


@pytest.mark.parametrize("form", [RESPONSES, MESSAGES], ids=lambda form: form.name)
async def test_a_request_goes_up_byte_for_byte_and_its_answer_comes_back_whole(
    server: Loopback, form: ModelApi
) -> None:
    stream = stream_of(form)
    server.script(Answer(200, stream, SSE))
    body = '{ "model":"x",   "stream": true, "text": "zwei\\nZeilen, äöü" }'
    async with upstream(server, form) as chat:
        reply = await chat.chat(relayed(body))

    (seen,) = server.seen
    assert (seen.method, seen.path) == ("POST", f"/v1{form.path}")
    assert seen.body == json.loads(body)
    assert seen.headers["content-length"] == str(len(body.encode()))
    assert KEY in (seen.headers.get("x-api-key"), seen.headers.get("authorization", "")[7:])
    assert reply.text == "hello"
    assert reply.wire == stream
    thought, stored = (2, None) if form is RESPONSES else (None, 0)
    assert reply.usage == Usage(1, 30, 5, 10, thought, stored)


@pytest.mark.parametrize(
    ("form", "wire"),
    [
        (RESPONSES, response_stream(json.loads(json.dumps(RESPONSE).replace("hello", LONG)))),
        (MESSAGES, message_stream(json.loads(json.dumps(MESSAGE).replace("hello", LONG)))),
    ],
    ids=["responses", "messages"],
)
async def test_no_text_of_a_stream_stays_cut_in_pieces(
    server: Loopback, form: ModelApi, wire: str
) -> None:
    server.script(Answer(200, wire, SSE))
    async with upstream(server, form) as chat:
        reply = await chat.chat(relayed("{}"))
    assert reply.text == LONG
    assert reply.wire == joined(wire)
    assert len(joined(wire).splitlines()) < len(wire.splitlines())


async def test_headers_that_belong_to_the_request_go_with_it(server: Loopback) -> None:
    server.script(Answer(200, MESSAGE))
    async with upstream(server, MESSAGES) as chat:
        await chat.chat(relayed("{}", "anthropic-beta: one,two\nanthropic-version: 2099-01-01\n"))
    (seen,) = server.seen
    assert seen.headers["anthropic-beta"] == "one,two"
    assert seen.headers["x-api-key"] == KEY


@pytest.mark.parametrize("form", [RESPONSES, MESSAGES], ids=lambda form: form.name)
async def test_a_json_answer_to_a_streaming_request_is_read_too(
    server: Loopback, form: ModelApi
) -> None:
    answer = RESPONSE if form is RESPONSES else MESSAGE
    server.script(Answer(200, answer))
    async with upstream(server, form) as chat:
        reply = await chat.chat(relayed('{"stream": true}'))
    assert (reply.text, json.loads(reply.wire)) == ("hello", answer)
    assert reply.usage.prompt_tokens == 30


@pytest.mark.parametrize("form", [RESPONSES, MESSAGES], ids=lambda form: form.name)
async def test_a_request_of_our_own_is_written_in_the_form(
    server: Loopback, form: ModelApi
) -> None:
    server.script(Answer(200, RESPONSE if form is RESPONSES else MESSAGE))
    async with upstream(server, form) as chat:
        reply = await chat.chat(ChatRequest((Message("user", "hello?"),), stage="preflight"))
    (seen,) = server.seen
    assert seen.body["model"] == MODEL
    assert "hello?" in json.dumps(seen.body)
    assert (reply.text, reply.wire) == ("hello", "")


async def test_a_tool_call_without_text_is_an_answer(server: Loopback) -> None:
    server.script(Answer(200, response_stream({**RESPONSE, "output": [CALL]}), SSE))
    async with upstream(server, RESPONSES) as chat:
        reply = await chat.chat(relayed("{}"))
    assert (reply.text, reply.finish) == ("", "tool_calls")


async def test_items_count_where_the_last_event_does_not_repeat_them(server: Loopback) -> None:
    stream = response_stream(RESPONSE).replace(
        json.dumps({"type": "response.completed", "response": RESPONSE}),
        json.dumps({"type": "response.completed", "response": {"id": "r"}}),
    )
    server.script(Answer(200, stream, SSE))
    async with upstream(server, RESPONSES) as chat:
        reply = await chat.chat(relayed("{}"))
    assert (reply.text, reply.usage) == ("hello", Usage(1))


def failed(code: str) -> str:
    response = {"id": "r", "status": "failed", "error": {"code": code, "message": "no"}}
    return f"data: {json.dumps({'type': 'response.failed', 'response': response})}\n\n"


def told(kind: str) -> str:
    error = {"type": "error", "error": {"type": kind, "message": "no"}}
    return f"event: error\ndata: {json.dumps(error)}\n\n"


@pytest.mark.parametrize(
    ("form", "answer", "kind"),
    [
        (RESPONSES, Answer(401, {"error": {"message": "no"}}), AuthFailed),
        (RESPONSES, Answer(404, {"error": {"code": "model_not_found"}}), UnknownModel),
        (RESPONSES, Answer(429, {"error": {"message": "slow"}}), RateLimited),
        (RESPONSES, Answer(429, {"error": {"code": "insufficient_quota"}}), QuotaExhausted),
        (RESPONSES, Answer(500, "<html>"), ServerFailed),
        (RESPONSES, Answer(400, {"error": {"message": "bad"}}), RequestRefused),
        (RESPONSES, Answer(200, failed("rate_limit_exceeded"), SSE), RateLimited),
        (RESPONSES, Answer(200, failed("server_error"), SSE), ServerFailed),
        (RESPONSES, Answer(200, failed("context_length_exceeded"), SSE), RequestRefused),
        (RESPONSES, Answer(200, response_stream(RESPONSE)[:-300], SSE), NetworkFailed),
        (RESPONSES, Answer(200, response_stream({**RESPONSE, "output": []}), SSE), ServerFailed),
        (RESPONSES, Answer(fault="half", body=response_stream(RESPONSE)), NetworkFailed),
        (MESSAGES, Answer(401, told("authentication_error")), AuthFailed),
        (MESSAGES, Answer(529, {"error": {"type": "overloaded_error"}}), RateLimited),
        (MESSAGES, Answer(200, told("overloaded_error"), SSE), RateLimited),
        (MESSAGES, Answer(200, told("api_error"), SSE), ServerFailed),
        (MESSAGES, Answer(200, message_stream(MESSAGE)[:-60], SSE), NetworkFailed),
        (MESSAGES, Answer(200, {**MESSAGE, "content": []}), ServerFailed),
        (MESSAGES, Answer(200, {**MESSAGE, "stop_reason": "refusal"}), RequestRefused),
        (MESSAGES, Answer(200, "{broken"), ServerFailed),
        (MESSAGES, Answer(fault="reset"), NetworkFailed),
    ],
)
async def test_what_is_no_answer_is_the_right_error_and_never_shows_the_key(
    server: Loopback, form: ModelApi, answer: Answer, kind: type[BackendError]
) -> None:
    server.script(answer)
    async with upstream(server, form) as chat:
        with pytest.raises(BackendError) as raised:
            await chat.chat(relayed("{}"))
    assert type(raised.value) is kind
    assert raised.value.__cause__ is None and KEY not in str(raised.value)


async def test_an_error_in_words_repeats_no_key(server: Loopback) -> None:
    server.script(Answer(401, {"error": {"message": f"the key {KEY} is unknown"}}))
    async with upstream(server, RESPONSES) as chat:
        with pytest.raises(AuthFailed) as raised:
            await chat.chat(relayed("{}"))
    assert KEY not in str(raised.value)


def test_the_address_of_messages_may_end_in_v1_or_not() -> None:
    ours = "https://api.anthropic.com/v1"
    urls = [
        json.loads(open_upstream(role(url), MESSAGES, ours).fingerprint)["base_url"]
        for url in ("", "http://127.0.0.1:1", "http://127.0.0.1:1/", "http://127.0.0.1:1/v1")
    ]
    assert urls == [ours, *["http://127.0.0.1:1/v1"] * 3]
