"""What real servers and routers answer beside what their manuals say, on all three interfaces."""

from dataclasses import replace

import pytest
import pytest_asyncio
from loopback import Answer, loopback
from odd_shapes import INTERFACES, completion, item, part, told
from pydantic import SecretStr

from skillopt_cli.backends.chat.claude_chat import open_claude_chat
from skillopt_cli.backends.chat.openai_compatible import open_openai_compatible
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
from skillopt_cli.core.task import ChatRequest, Message
from skillopt_cli.ports import RoleSettings

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-canary-51c4b2"
ASKED = ChatRequest((Message("user", "Hello."),), "rollout")
PATHS = dict(zip(INTERFACES, ("/chat/completions", "/responses", "/messages"), strict=True))
PAGE = {"content-type": "text/html; charset=utf-8"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(running):
    """A backend per interface."""
    made = {name: opened(name, f"{running.url}/v1") for name in INTERFACES}
    yield made
    for backend in made.values():
        async with backend:
            pass


def opened(interface, url, **changes):
    role = RoleSettings("target", "model-a", url, SecretStr(KEY), timeout=60.0)
    role = replace(role, **changes)
    if interface == "messages":
        return open_claude_chat(role)
    return open_openai_compatible(replace(role, options={"api": interface}))


def fine(interface):
    return {
        "chat_completions": completion({"content": "fine"}),
        "responses": {"output": [item("message", content=[part("fine")])]},
        "messages": {"content": [{"type": "text", "text": "fine"}]},
    }[interface]


async def failed(shared, server, interface, *answers):
    server.script(*answers)
    with pytest.raises(BackendError) as caught:
        await shared[interface].chat(ASKED)
    return caught.value


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (told("Insufficient credits", code=402), QuotaExhausted, "HTTP 402: Insufficient credits"),
        (told("No auth", code=401) | {"user_id": "u"}, AuthFailed, "HTTP 401: No auth"),
        (told("Upstream is busy", code=429), RateLimited, "HTTP 429: Upstream is busy"),
        (told("Busy", type="overloaded_error"), RateLimited, "HTTP 529: Busy"),
        (told("The model `x` does not exist", code=404), UnknownModel, "does not exist"),
        (told("Too much", type="insufficient_quota"), QuotaExhausted, "Too much"),
        (told("Provider returned error", code=502), ServerFailed, "Provider returned error"),
        ({"error": "it broke", "choices": None}, ServerFailed, "it broke"),
        (told(f"what is {KEY}"), ServerFailed, "what is ***"),
        ({"detail": "Out of quota"}, QuotaExhausted, "status 200: Out of quota"),
        ({"object": "error", "message": "Too slow", "code": 40303}, ServerFailed, "Too slow"),
        ({"error": "model 'm' not found"}, UnknownModel, "status 200: model 'm' not found"),
    ],
)
async def test_an_error_that_comes_with_status_200_is_what_it_says(
    server, shared, interface, body, kind, words
):
    error = await failed(shared, server, interface, Answer(200, body))
    assert type(error) is kind
    assert words in error.message


@pytest.mark.parametrize("interface", INTERFACES)
async def test_an_answer_beside_an_empty_error_is_an_answer(server, shared, interface):
    for empty in (None, {}):
        server.script(Answer(200, {**fine(interface), "error": empty}))
        assert (await shared[interface].chat(ASKED)).text == "fine"


@pytest.mark.parametrize("interface", INTERFACES)
async def test_a_page_in_the_place_of_an_answer_is_told_with_the_address_to_check(
    server, shared, interface
):
    page = Answer(200, "<!doctype html><title>Sign in</title>", PAGE)
    moved = Answer(302, "", {"location": "/login"})
    for answers in ((page,), (moved, page)):
        error = await failed(shared, server, interface, *answers)
        assert type(error) is ServerFailed
        assert "web page" in error.message
        assert "base_url" in error.hint


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (Answer(200, ""), ServerFailed, "an empty body"),
        (Answer(200, "[" * 200_000), ServerFailed, "malformed JSON"),
        (Answer(200, b'{"x": "\xff"}'), ServerFailed, "another encoding"),
        (Answer(200, b"\x1f\x8b\x08"), ServerFailed, "no header announces"),
        (Answer(200, b"raw", {"content-encoding": "gzip"}), ServerFailed, "unpacked"),
        (Answer(520, ""), ServerFailed, "(HTTP 520)"),
    ],
    ids=["nothing", "deep", "no UTF-8", "packed", "not packed", "no word"],
)
async def test_a_body_that_nobody_can_read_is_a_hiccup(
    server, shared, interface, answer, kind, words
):
    error = await failed(shared, server, interface, answer)
    assert type(error) is kind
    assert words in error.message


@pytest.mark.parametrize("interface", INTERFACES)
async def test_an_address_that_leads_in_circles_is_told(server, shared, interface):
    server.otherwise = Answer(307, "", {"location": f"/v1{PATHS[interface]}"})
    error = await failed(shared, server, interface)
    assert type(error) is NetworkFailed
    assert "another address" in error.message
    assert "base_url" in error.hint


@pytest.mark.parametrize(
    ("status", "said", "kind", "hint"),
    [
        (400, "API key not valid. Please pass a valid API key.", AuthFailed, "valid key"),
        (403, "Your input was flagged", RequestRefused, ""),
        (403, "x/y requires moderation on Z", RequestRefused, ""),
        (403, "Your account was flagged", AuthFailed, "valid key"),
        (
            400,
            "max_tokens is too large: 16384. This model supports at most 4096 completion tokens",
            RequestRefused,
            "lower `model.max_completion_tokens=N`",
        ),
        (
            400,
            "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens",
            RequestRefused,
            "lower `model.max_completion_tokens=N`",
        ),
        (
            400,
            "input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000",
            RequestRefused,
            "shorten the prompt",
        ),
    ],
)
@pytest.mark.parametrize("interface", INTERFACES)
async def test_a_refusal_is_told_with_what_mends_it(
    server, shared, interface, status, said, kind, hint
):
    error = await failed(shared, server, interface, Answer(status, [told(said)]))
    assert type(error) is kind
    assert said in error.message
    assert hint in error.hint


async def test_a_parameter_refused_in_a_list_is_learned():
    async with loopback() as server:
        said = 'Invalid JSON payload received. Unknown name "max_tokens": Cannot find field.'
        server.script(
            Answer(400, [told(said, status="INVALID_ARGUMENT")]),
            Answer(200, fine("chat_completions")),
        )
        async with opened("chat_completions", f"{server.url}/v1") as backend:
            assert (await backend.chat(ASKED)).text == "fine"
            assert backend.refused == {"max_tokens"}


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("end", ["", "/", "//", "whole", "whole/"])
async def test_an_address_may_be_copied_with_slashes_or_with_the_path_of_a_call(
    server, interface, end
):
    server.script(Answer(200, fine(interface)))
    url = f"{server.url}/v1{end.replace('whole', PATHS[interface])}"
    async with opened(interface, url) as backend:
        await backend.chat(ASKED)
    assert [seen.path for seen in server.seen] == [f"/v1{PATHS[interface]}"]
    async with opened(interface, f"{server.url}/v1") as plain:
        assert plain.fingerprint == backend.fingerprint


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize(
    ("seconds", "ending"), [(30, "slow)"), (3000, ", and asks to wait 50 min")]
)
async def test_a_wait_that_nobody_sits_out_is_told(server, shared, interface, seconds, ending):
    answer = Answer(429, told("slow"), {"retry-after": str(seconds)})
    error = await failed(shared, server, interface, answer)
    assert error.retry_after == seconds
    assert error.message.endswith(ending)
