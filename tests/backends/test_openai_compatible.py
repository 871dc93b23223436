"""The wire contract of the OpenAI-compatible backend, against a real server on the loopback."""

import socket
import traceback
from dataclasses import replace

import pytest
import pytest_asyncio
from pydantic import SecretStr

from skillopt_cli.backends.openai_compatible import open_openai_compatible
from skillopt_cli.backends.retrying import Retrying
from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.config.model_section import RetryConfig, SimulatedConfig
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
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, Usage
from skillopt_cli.ports import RoleSettings
from skillopt_cli.testing.model_server import Scripted, model_server

# One event loop for all: a client takes 50 ms to make, so most tests share one.
pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-canary-51c4b2"
ASKED = ChatRequest((Message("system", "Be brief."), Message("user", "Hello.")), "rollout")
SCHEMA = {"type": "object", "properties": {"edits": {"type": "array"}}}


@pytest.fixture(scope="module")
def running():
    with model_server() as server:
        yield server


@pytest.fixture
def server(running):
    """The running server, with an empty log."""
    running.log.write_text("", encoding="utf-8")
    return running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(running):
    """A backend without negotiated parameters."""
    async with open_openai_compatible(settings(running)) as backend:
        yield backend


def settings(server, **changes):
    role = RoleSettings("target", "model-a", server.url, SecretStr(KEY), timeout=10.0)
    return replace(role, **changes)


async def ask(role, request=ASKED):
    async with open_openai_compatible(role) as backend:
        return await backend.chat(request)


def completion(content="fine", finish="stop", **more):
    message = {"role": "assistant", "content": content, **more}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def error(message, **fields):
    return {"error": {"message": message, **fields}}


async def test_a_plain_request_holds_only_what_was_set(server):
    reply = await ask(settings(server, max_completion_tokens=77))

    assert reply.text == "ok"
    assert reply.usage.calls == 1
    assert reply.usage.prompt_tokens and reply.usage.completion_tokens
    [entry] = server.requests()
    assert entry["path"] == "/v1/chat/completions"
    assert entry["authorization"] == f"Bearer {KEY}"
    assert entry["body"] == {
        "model": "model-a",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello."},
        ],
        "max_tokens": 77,
    }


async def test_optional_parameters_and_schema_are_sent_when_set(server):
    role = settings(server, temperature=0.0, reasoning_effort="low")
    await ask(role, replace(ASKED, schema=SCHEMA, schema_name="merge_final"))

    [body] = server.bodies()
    assert body["temperature"] == 0.0
    assert body["reasoning_effort"] == "low"
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "merge_final", "schema": SCHEMA},
    }


async def test_each_role_has_its_own_model_address_and_key(server):
    with model_server() as other:
        target = settings(server, role="target", model="small", api_key=SecretStr("key-of-target"))
        optimizer = settings(other, role="optimizer", model="big", api_key=SecretStr("key-of-opt"))
        await ask(target)
        await ask(optimizer)
        seen = [(e["model"], e["authorization"]) for e in (*server.requests(), *other.requests())]

    assert seen == [("small", "Bearer key-of-target"), ("big", "Bearer key-of-opt")]
    assert (
        open_openai_compatible(target).fingerprint
        != open_openai_compatible(replace(target, base_url=other.url)).fingerprint
    )


async def test_a_server_without_key_gets_a_placeholder_never_the_ambient_key(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ambient")
    await ask(settings(server, api_key=None))

    [entry] = server.requests()
    assert entry["authorization"] == "Bearer no-key"


STATUSES = [
    (401, {}, error("bad key"), AuthFailed),
    (403, {}, error("not for you"), AuthFailed),
    (403, {}, error("no access", code="model_not_found"), UnknownModel),
    (404, {}, error("The model `x` does not exist", code="model_not_found"), UnknownModel),
    (404, {}, error('model "x" not found, try pulling it first'), UnknownModel),
    (404, {}, {"detail": "Not Found"}, BackendUnusable),
    (402, {}, error("pay first"), QuotaExhausted),
    (429, {}, error("You exceeded your quota", code="insufficient_quota"), QuotaExhausted),
    (429, {}, error("You exceeded your quota", type="insufficient_quota"), QuotaExhausted),
    (429, {}, error("slow down", code="rate_limit_exceeded"), RateLimited),
    (529, {}, error("overloaded"), RateLimited),
    (408, {}, error("too slow"), ServerFailed),
    (409, {}, error("lock"), ServerFailed),
    (500, {}, error("oops"), ServerFailed),
    (503, {}, "<html>Service Unavailable</html>", ServerFailed),
    (400, {}, error("too much", code="context_length_exceeded"), RequestRefused),
    (400, {}, error("This model's maximum context length is 10; max_tokens 99"), RequestRefused),
    (413, {}, error("too big"), RequestRefused),
    (422, {}, {"detail": [{"loc": ["body", "messages"], "type": "missing"}]}, RequestRefused),
    (200, {}, "{broken", ServerFailed),
    (200, {"content-type": "text/html"}, "<html>login</html>", ServerFailed),
    (200, {}, error("shown as a success"), ServerFailed),
    (200, {}, "null", ServerFailed),
    (200, {}, {"choices": []}, ServerFailed),
    (200, {}, completion(""), ServerFailed),
    (200, {}, completion(None), ServerFailed),
    (200, {}, completion(None, None), ServerFailed),
    (200, {}, completion(None, refusal="I cannot"), RequestRefused),
    (200, {}, completion(None, "content_filter"), RequestRefused),
]


@pytest.mark.parametrize(("status", "headers", "body", "kind"), STATUSES)
async def test_every_failure_has_its_place_in_the_error_tree(
    server, shared, status, headers, body, kind
):
    server.script(Scripted(status, body, headers))
    with pytest.raises(BackendError) as caught:
        await shared.chat(ASKED)

    assert type(caught.value) is kind
    assert "model-a" in caught.value.message
    assert server.url in caught.value.message
    assert not caught.value.message.endswith(".")
    assert len(server.requests()) == 1


@pytest.mark.parametrize("status", [200, 400, 401, 404, 413, 429, 500])
@pytest.mark.parametrize("shape", ["error", "page"])
async def test_an_echoed_key_is_in_no_text_of_the_error(server, shared, status, shape):
    said = f"key {KEY} was sent as Bearer {KEY}"
    server.script(Scripted(status, error(said, code=KEY) if shape == "error" else said))
    with pytest.raises(BackendError) as caught:
        await shared.chat(ASKED)

    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in f"{shown}{caught.value!r}{caught.value.hint}{vars(caught.value)}"
    assert caught.value.__context__ is None


async def test_an_answer_cut_at_the_limit_is_a_reply_even_when_empty(server, shared):
    server.script(
        Scripted(200, completion("", "length")), Scripted(200, completion("half", "length"))
    )
    assert await shared.chat(ASKED) == ChatReply("", Usage(1, None, None), "length")
    assert await shared.chat(ASKED) == ChatReply("half", Usage(1, None, None), "length")


async def test_usage_may_be_partial(server, shared):
    server.script(Scripted(200, {**completion(), "usage": {"prompt_tokens": 5}}))
    assert (await shared.chat(ASKED)).usage == Usage(1, 5, None)


REFUSALS = {
    "max_tokens": error(
        "Unsupported parameter: 'max_tokens' is not supported with this model."
        " Use 'max_completion_tokens' instead.",
        param="max_tokens",
        code="unsupported_parameter",
    ),
    "temperature": error("'temperature' does not support 0.5", param="temperature"),
    "reasoning_effort": error("Unrecognized request argument supplied: reasoning_effort"),
    "response_format": error("response_format is not supported by this server"),
}


async def test_refused_parameters_are_negotiated_once_per_backend(server):
    role = settings(server, temperature=0.5, reasoning_effort="low", max_completion_tokens=9)
    request = replace(ASKED, schema=SCHEMA, schema_name="ranking")
    server.script(*(Scripted(400, body) for body in REFUSALS.values()))

    async with open_openai_compatible(role) as backend:
        assert (await backend.chat(request)).text
        assert len(server.requests()) == len(REFUSALS) + 1
        await backend.chat(request)

    bodies = server.bodies()
    assert len(bodies) == len(REFUSALS) + 2
    for body in bodies[-2:]:
        assert body.keys() == {"model", "messages", "max_completion_tokens"}
        assert body["max_completion_tokens"] == 9
    assert bodies[1].keys() == (bodies[0].keys() - {"max_tokens"}) | {"max_completion_tokens"}
    assert backend.refused == REFUSALS.keys()


async def test_a_server_that_refuses_both_caps_gets_none(server):
    second = error("max_completion_tokens is not supported", param="max_completion_tokens")
    server.script(Scripted(400, REFUSALS["max_tokens"]), Scripted(422, second))
    await ask(settings(server))
    assert server.bodies()[-1].keys() == {"model", "messages"}


async def test_a_server_that_keeps_refusing_is_not_asked_for_ever(server):
    server.script(*(Scripted(400, REFUSALS["max_tokens"]) for _ in range(2)))
    with pytest.raises(RequestRefused):
        await ask(settings(server))
    assert len(server.requests()) == 2


async def test_one_backends_findings_are_not_anothers(server):
    server.script(Scripted(400, REFUSALS["max_tokens"]))
    await ask(settings(server))
    await ask(settings(server))
    assert "max_tokens" in server.bodies()[-1]


async def test_a_call_without_answer_times_out(server):
    server.script(Scripted(action="hang"))
    with pytest.raises(CallTimedOut):
        await ask(settings(server, timeout=0.2))


async def test_a_dropped_connection_is_a_network_failure(server, shared):
    server.script(Scripted(body=completion(), action="drop"))
    with pytest.raises(NetworkFailed):
        await shared.chat(ASKED)


async def test_a_refused_connection_is_a_network_failure(server):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NetworkFailed) as caught:
        await ask(settings(server, base_url=f"http://127.0.0.1:{port}/v1"))
    assert f"127.0.0.1:{port}" in caught.value.message


async def test_a_retry_waits_as_long_as_the_server_asks(server, shared):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    server.script(
        Scripted(429, error("slow"), {"Retry-After": "3"}),
        Scripted(503, error("down"), {"retry-after-ms": "250"}),
    )
    reply = await Retrying(shared, RetryConfig(max_seconds=1.0), sleep=sleep).chat(ASKED)
    assert reply.text == "ok"
    assert waits == [3.0, 0.25]
    assert [entry["status"] for entry in server.requests()] == [429, 503, 200]


async def test_over_http_the_simulated_model_answers_as_in_process(server, shared):
    user = "## Context\nZor Mill was founded by Ann Lee.\n\n## Question\nWho founded Zor Mill?"
    request = ChatRequest((Message("system", "Answer."), Message("user", user)), "rollout")
    here = await Simulated(SimulatedConfig()).chat(request)
    assert await shared.chat(request) == here


async def test_white_space_around_a_key_is_dropped(server):
    await ask(settings(server, api_key=SecretStr(f" {KEY}\n")))
    assert server.requests()[0]["authorization"] == f"Bearer {KEY}"


async def test_a_text_that_cannot_be_sent_is_refused_not_retried(server, shared):
    with pytest.raises(RequestRefused, match="Unicode"):
        await shared.chat(replace(ASKED, messages=(Message("user", "half a pair: \ud83d"),)))
    assert server.requests() == []


async def test_an_unknown_host_is_told_from_a_refused_connection(server, monkeypatch):
    with pytest.raises(NetworkFailed, match="the connection was refused"):
        await ask(replace(settings(server), base_url="http://127.0.0.1:9/v1"))

    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(NetworkFailed, match=r"the host `nowhere\.invalid` is unknown") as caught:
        await ask(replace(settings(server), base_url="http://nowhere.invalid/v1"))
    assert "base_url" in caught.value.hint
