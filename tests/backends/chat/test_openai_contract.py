"""What both of OpenAI's interfaces are sent, and what becomes of every answer, over real HTTP."""

import asyncio
import socket
import time
import traceback
from dataclasses import replace
from email.utils import formatdate

import pytest
import pytest_asyncio
from loopback import Answer
from pydantic import SecretStr

from skillopt_cli.backends.chat.openai_compatible import open_openai_compatible
from skillopt_cli.backends.middleware.retrying import Retrying, TimeLimited
from skillopt_cli.config.model_section import RetryConfig
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
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, RateLimits, Usage
from skillopt_cli.ports import RoleSettings

# One event loop for all: a client takes 50 ms to make, so most tests share one.
pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-canary-51c4b2"
ASKED = ChatRequest((Message("system", "Be brief."), Message("user", "Hello.")), "rollout")
FORMS = ("chat_completions", "responses")
PATHS = {"chat_completions": "/v1/chat/completions", "responses": "/v1/responses"}
SPENT = {
    "chat_completions": {"usage": {"prompt_tokens": 7, "completion_tokens": 3}},
    "responses": {"usage": {"input_tokens": 7, "output_tokens": 3}},
}
COST = Usage(1, 7, 3)


def completion(content="fine", finish="stop", **more):
    message = {"role": "assistant", "content": content, **more}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def response(*parts, status="completed", **more):
    content = [part if isinstance(part, dict) else said(part) for part in parts]
    thought = {"type": "reasoning", "summary": []}
    return {"status": status, "output": [thought, {"type": "message", "content": content}], **more}


def said(text):
    return {"type": "output_text", "text": text, "annotations": []}


def cut(why):
    return {"status": "incomplete", "incomplete_details": {"reason": why}}


GOOD = {"chat_completions": completion(), "responses": response("fine")}
EMPTY = {"chat_completions": completion(None), "responses": response()}
HALF = {
    "chat_completions": completion("half", "length"),
    "responses": response("half", **cut("max_output_tokens")),
}
FILTERED = {
    "chat_completions": completion(None, "content_filter"),
    "responses": response(**cut("content_filter")),
}
REFUSAL = {
    "chat_completions": completion(None, refusal="I cannot"),
    "responses": response({"type": "refusal", "refusal": "I cannot"}),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(running):
    """A backend per form, without negotiated parameters."""
    made = {form: open_openai_compatible(settings(running, form)) for form in FORMS}
    yield made
    for backend in made.values():
        async with backend:
            pass


def settings(server, form="chat_completions", **changes):
    url = f"{server.url}/v1"
    role = RoleSettings("target", "model-a", url, SecretStr(KEY), timeout=60.0)
    return replace(role, options={"api": form}, **changes)


async def ask(role, request=ASKED):
    async with open_openai_compatible(role) as backend:
        return await backend.chat(request)


def error(message, **fields):
    return {"error": {"message": message, **fields}}


STATUSES = {
    "401": (Answer(401, error("bad key")), AuthFailed),
    "403": (Answer(403, error("not for you")), AuthFailed),
    "403 model": (Answer(403, error("no access", code="model_not_found")), UnknownModel),
    "404 model": (Answer(404, error("Gone", code="model_not_found")), UnknownModel),
    "404 model in words": (Answer(404, error('model "x" not found')), UnknownModel),
    "400 model in words": (Answer(400, error("Model Not Exist")), UnknownModel),
    "404 path": (Answer(404, {"detail": "Not Found"}), BackendUnusable),
    "404 page": (Answer(404, "<html>nothing here</html>"), BackendUnusable),
    "402": (Answer(402, error("pay first")), QuotaExhausted),
    "403 quota": (Answer(403, error("no", code="insufficient_quota")), QuotaExhausted),
    "429 quota code": (Answer(429, error("no", code="insufficient_quota")), QuotaExhausted),
    "429 quota type": (Answer(429, error("no", type="insufficient_quota")), QuotaExhausted),
    "429 quota words": (Answer(429, error("You exceeded your current quota")), QuotaExhausted),
    "400 credit": (Answer(400, error("Your credit balance is too low")), QuotaExhausted),
    "429": (Answer(429, error("slow", code="rate_limit_exceeded")), RateLimited),
    "429 page about billing": (
        Answer(429, error("Limit reached. Raise it at https://x/account/billing")),
        RateLimited,
    ),
    "429 quota per minute": (
        Answer(429, error("You exceeded your current quota. Please retry in 9s.")),
        RateLimited,
    ),
    "529": (Answer(529, error("overloaded")), RateLimited),
    "408": (Answer(408, error("too slow")), ServerFailed),
    "409": (Answer(409, error("lock")), ServerFailed),
    "425": (Answer(425, error("early")), ServerFailed),
    "500": (Answer(500, error("oops")), ServerFailed),
    "503": (Answer(503, "<html>Service Unavailable</html>"), ServerFailed),
    "400 other": (Answer(400, error("messages is malformed")), RequestRefused),
    "400 context": (Answer(400, error("no", code="context_length_exceeded")), RequestRefused),
    "400 context in words": (
        Answer(400, error("This model's maximum context length is 10; max_tokens 99")),
        RequestRefused,
    ),
    "400 filter": (Answer(400, error("filtered", code="content_filter")), RequestRefused),
    "413": (Answer(413, error("too big")), RequestRefused),
    "422": (Answer(422, {"detail": [{"loc": ["body", "x"], "type": "missing"}]}), RequestRefused),
    "reset": (Answer(fault="reset"), NetworkFailed),
    "half": (Answer(body=completion("x" * 999), fault="half"), NetworkFailed),
    "broken JSON": (Answer(200, "{broken"), ServerFailed),
    "page": (Answer(200, "<html>login</html>", {"content-type": "text/html"}), ServerFailed),
    "error as a success": (Answer(200, error("oops")), ServerFailed),
    "null": (Answer(200, "null"), ServerFailed),
    "list": (Answer(200, []), ServerFailed),
    "empty list": (Answer(200, {"choices": [], "output": []}), ServerFailed),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("answer", "kind"), STATUSES.values(), ids=STATUSES)
async def test_every_failure_has_its_place_in_the_error_tree(server, shared, form, answer, kind):
    server.script(answer)
    with pytest.raises(BackendError) as caught:
        await shared[form].chat(ASKED)

    assert type(caught.value) is kind
    assert "model-a" in caught.value.message
    assert f"{server.url}/v1" in caught.value.message
    assert not caught.value.message.endswith(".")
    assert caught.value.usage is None
    assert [seen.path for seen in server.seen] == [PATHS[form]]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("bodies", "kind"),
    [(EMPTY, ServerFailed), (FILTERED, RequestRefused), (REFUSAL, RequestRefused)],
    ids=["empty", "filtered", "refusal"],
)
async def test_an_answer_without_use_tells_what_it_cost(server, shared, form, bodies, kind):
    server.script(Answer(body=bodies[form] | SPENT[form]), Answer(body=bodies[form]))
    for cost in (COST, None):
        with pytest.raises(BackendError) as caught:
            await shared[form].chat(ASKED)
        assert type(caught.value) is kind
        assert caught.value.usage == cost


@pytest.mark.parametrize("form", FORMS)
async def test_a_malformed_answer_tells_what_it_cost(server, shared, form):
    server.script(Answer(body={"choices": 1, "output": 1, **SPENT[form]}))
    with pytest.raises(ServerFailed) as caught:
        await shared[form].chat(ASKED)
    assert caught.value.usage == COST


@pytest.mark.parametrize("form", FORMS)
async def test_an_answer_cut_at_the_limit_is_a_reply_even_when_empty(server, shared, form):
    nothing = {
        "chat_completions": completion("", "length"),
        "responses": response(**cut("max_output_tokens")),
    }
    server.script(Answer(body=nothing[form]), Answer(body=HALF[form] | SPENT[form]))
    assert await shared[form].chat(ASKED) == ChatReply("", Usage(1), "length")
    assert await shared[form].chat(ASKED) == ChatReply("half", COST, "length")


@pytest.mark.parametrize("form", FORMS)
async def test_a_filtered_text_is_a_reply_that_says_so(server, shared, form):
    partly = {
        "chat_completions": completion("some", "content_filter"),
        "responses": response("some", **cut("content_filter")),
    }
    server.script(Answer(body=partly[form]))
    assert await shared[form].chat(ASKED) == ChatReply("some", Usage(1), "content_filter")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("server_error", ServerFailed),
        (None, ServerFailed),
        ("rate_limit_exceeded", RateLimited),
        ("invalid_prompt", RequestRefused),
    ],
)
async def test_a_response_that_failed_is_the_error_it_names(server, shared, code, kind):
    failed = {"status": "failed", "output": [], "error": {"code": code, "message": KEY}}
    server.script(Answer(body=failed | SPENT["responses"]))
    with pytest.raises(BackendError) as caught:
        await shared["responses"].chat(ASKED)
    assert type(caught.value) is kind
    assert caught.value.usage == COST
    assert KEY not in caught.value.message


WAITS = {
    "seconds": ({"Retry-After": "3"}, 3.0),
    "milliseconds": ({"Retry-After-Ms": "250"}, 0.25),
    "date": ({"Retry-After": "in an hour, as a date"}, 3600.0),
    "nothing": ({}, None),
    "nonsense": ({"Retry-After": "soon"}, None),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(("headers", "wait"), WAITS.values(), ids=WAITS)
async def test_a_wait_the_server_asks_for_is_told(server, shared, form, status, headers, wait):
    if "date" in headers.get("Retry-After", ""):  # written now: tests may wait long for their turn
        headers = {"Retry-After": formatdate(time.time() + 3600, usegmt=True)}
    server.script(Answer(status, error("later"), headers))
    with pytest.raises((RateLimited, ServerFailed)) as caught:
        await shared[form].chat(ASKED)
    assert caught.value.retry_after == (wait and pytest.approx(wait, abs=60 if wait > 9 else 0))


async def test_a_retry_waits_as_long_as_the_server_asks(server, shared):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    server.script(
        Answer(429, error("slow"), {"Retry-After": "3"}),
        Answer(503, error("down"), {"retry-after-ms": "250"}),
        Answer(body=completion()),
    )
    backend = Retrying(shared["chat_completions"], RetryConfig(max_seconds=1.0), sleep=sleep)
    assert (await backend.chat(ASKED)).text == "fine"
    assert waits == [3.0, 0.25]
    assert len(server.seen) == 3


@pytest.mark.parametrize("form", FORMS)
async def test_the_servers_own_limits_come_with_the_reply(server, shared, form):
    limits = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-tokens": "149984",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    server.script(Answer(body=GOOD[form], headers=limits), Answer(body=GOOD[form]))
    told, untold = await shared[form].chat(ASKED), await shared[form].chat(ASKED)
    assert told.limits == RateLimits(60, 59, 1.0, None, 149984, 360.0)
    assert untold.limits is None


@pytest.mark.parametrize("form", FORMS)
async def test_a_silent_server_times_out(server, form):
    server.script(Answer(fault="hang"))
    with pytest.raises(CallTimedOut):
        await ask(settings(server, form, timeout=0.2))


@pytest.mark.parametrize("form", FORMS)
async def test_a_body_that_trickles_for_ever_times_out(server, shared, form):
    server.script(Answer(fault="trickle"))
    with pytest.raises(CallTimedOut):
        await TimeLimited(shared[form], 0.2).chat(ASKED)


async def test_a_refused_connection_is_told_from_an_unknown_host(server, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NetworkFailed, match="the connection was refused") as caught:
        await ask(replace(settings(server), base_url=f"http://127.0.0.1:{port}/v1"))
    assert f"127.0.0.1:{port}" in caught.value.message

    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(NetworkFailed, match=r"the host `nowhere\.invalid` is unknown") as caught:
        await ask(replace(settings(server), base_url="http://nowhere.invalid/v1"))
    assert "base_url" in caught.value.hint


async def test_a_connection_that_breaks_off_is_not_called_unreachable(server, shared):
    server.script(Answer(body=completion("x" * 99), fault="half"))
    with pytest.raises(NetworkFailed, match="broke off"):
        await shared["chat_completions"].chat(ASKED)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", [200, 400, 401, 404, 413, 429, 500])
@pytest.mark.parametrize("shape", ["error", "page"])
async def test_an_echoed_key_is_in_no_text_of_the_error(server, shared, form, status, shape):
    echo = f"key {KEY} was sent as Bearer {KEY}"
    server.script(Answer(status, error(echo, code=KEY) if shape == "error" else echo))
    with pytest.raises(BackendError) as caught:
        await shared[form].chat(ASKED)

    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in f"{shown}{caught.value!r}{caught.value.hint}{vars(caught.value)}"
    assert caught.value.__context__ is None


async def test_the_ambient_key_and_account_go_to_no_other_server(server, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "sk-ambient")
    server.script(Answer(body=completion()))
    await ask(settings(server, api_key=None))

    [seen] = server.seen
    assert seen.headers["authorization"] == "Bearer no-key"
    assert "sk-ambient" not in str(seen.headers)


async def test_white_space_around_a_key_is_dropped(server):
    server.script(Answer(body=completion()))
    await ask(settings(server, api_key=SecretStr(f" {KEY}\n")))
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("form", FORMS)
async def test_a_text_that_cannot_be_sent_is_refused_not_retried(server, shared, form):
    with pytest.raises(RequestRefused, match="Unicode"):
        await shared[form].chat(replace(ASKED, messages=(Message("user", "half: \ud83d"),)))
    assert server.seen == []


async def test_two_backends_at_the_same_time_do_not_mix(server):
    async def answer(seen):
        # No reply before all four requests are in flight.
        if len(server.seen) == 4:
            everyone.set()
        await everyone.wait()
        name = f"{seen.body['model']} {seen.headers['authorization']}"
        return Answer(body=response(name) if "input" in seen.body else completion(name))

    everyone, server.otherwise = asyncio.Event(), answer
    small = settings(server, model="small", api_key=SecretStr("key-of-target"), temperature=0.1)
    big = replace(
        settings(server, "responses", model="big", api_key=SecretStr("key-of-opt")),
        role="optimizer",
        base_url=f"{server.url}/other",
        max_completion_tokens=99,
    )
    async with open_openai_compatible(small) as target, open_openai_compatible(big) as optimizer:
        replies = await asyncio.gather(*(one.chat(ASKED) for one in (target, optimizer) * 2))

    assert [r.text for r in replies] == ["small Bearer key-of-target", "big Bearer key-of-opt"] * 2
    sent = {
        (s.path, s.body.get("temperature"), s.body.get("max_output_tokens")) for s in server.seen
    }
    assert sent == {("/v1/chat/completions", 0.1, None), ("/other/responses", None, 99)}
