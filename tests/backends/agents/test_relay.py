from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from skillopt_cli.backends.agents.model_api import MESSAGES, RESPONSES, joined
from skillopt_cli.backends.agents.relay import SHOWN, RelayEndpoint, RelaySession, relay
from skillopt_cli.backends.middleware.recorder import Cached
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendError,
    DataError,
    RateLimited,
    RequestRefused,
)
from skillopt_cli.core.task import ChatReply, ChatRequest, Usage
from skillopt_cli.testing import FunctionChat, MemoryStore
from skillopt_cli.testing.model_dialects import message_stream

ERRAND = RelaySession("key-of-the-attempt", "rollout", 7, "some-model", Path("/tmp/attempt-1"))
DONE = ChatReply("hello", Usage(1, 10, 2), wire='{"output": []}')


def chat(answer: Callable[[ChatRequest], ChatReply]) -> FunctionChat:
    return FunctionChat(answer)


async def post(endpoint: RelayEndpoint, path: str, body: Any, **headers: str) -> httpx2.Response:
    shown = {"authorization": f"Bearer {endpoint.token}", **headers}
    async with httpx2.AsyncClient(base_url=endpoint.url) as client:
        text = body if isinstance(body, str) else json.dumps(body)
        return await client.post(path, content=text, headers=shown)


async def test_a_request_becomes_a_call_that_is_known_again_whatever_its_body_says() -> None:
    asked: list[ChatRequest] = []

    def answer(request: ChatRequest) -> ChatReply:
        asked.append(request)
        return DONE

    async with relay(chat(answer), RESPONSES, ERRAND) as endpoint:
        got = await post(
            endpoint, "/v1/responses", {"input": "a"}, **{"openai-beta": "b", "x-other": "c"}
        )
        await post(endpoint, "/v1/responses", {"input": "b"})
    assert (got.status_code, got.json()) == (200, {"output": []})
    assert (got.headers["content-type"], endpoint.turns) == ("application/json", 2)
    assert endpoint.usage == Usage(2, 20, 4)
    first, second = asked
    assert first.wire == 'openai-beta: b\n\n{"input": "a"}'
    assert (first.stage, first.draw, first.turn, second.turn) == ("rollout", 7, 0, 1)
    assert first.identity == replace(first, wire="quite another").identity
    assert first.identity != second.identity


async def test_the_attempts_folder_is_shown_as_one_that_never_changes() -> None:
    bodies: list[str] = []
    said = {"type": "tool_use", "id": "t", "name": "Write", "input": {"file_path": f"{SHOWN}/w/a"}}
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [said],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }

    def answer(request: ChatRequest) -> ChatReply:
        bodies.append(request.wire)
        return ChatReply("", wire=joined(message_stream(message)))

    async with relay(chat(answer), MESSAGES, ERRAND) as endpoint:
        got = await post(endpoint, "/v1/messages?beta=true", {"cwd": "/tmp/attempt-1/work"})
    assert bodies == [f'\n\n{{"cwd": "{SHOWN}/work"}}']
    assert got.headers["content-type"] == "text/event-stream"
    assert "/tmp/attempt-1/w/a" in got.text and SHOWN not in got.text


@pytest.mark.parametrize("shown", ["Bearer other", "Bearer", "", "Basic x"])
async def test_another_token_gets_401_and_no_call(shown: str) -> None:
    async with relay(chat(lambda request: DONE), RESPONSES, ERRAND) as endpoint:
        got = await post(endpoint, "/v1/responses", {}, authorization=shown)
    assert (got.status_code, endpoint.turns) == (401, 0)


async def test_the_token_of_one_attempt_is_of_no_use_at_another() -> None:
    async with (
        relay(chat(lambda request: DONE), MESSAGES, ERRAND) as one,
        relay(chat(lambda request: DONE), MESSAGES, ERRAND) as other,
    ):
        assert (await post(other, "/v1/messages", {}, **bearer(one))).status_code == 401
        assert (await post(other, "/v1/messages", {}, **{"x-api-key": other.token})).is_success


def bearer(endpoint: RelayEndpoint) -> dict[str, str]:
    return {"authorization": f"Bearer {endpoint.token}"}


async def test_what_programs_ask_besides_is_answered_here() -> None:
    async with (
        relay(chat(lambda request: DONE), MESSAGES, ERRAND) as endpoint,
        httpx2.AsyncClient(base_url=endpoint.url, headers=bearer(endpoint)) as client,
    ):
        assert (await client.head("/")).status_code == 200
        counted = await client.post("/v1/messages/count_tokens?beta=true", content="x" * 400)
        assert counted.json() == {"input_tokens": 100}
        listed = await client.get("/v1/models")
        assert [model["id"] for model in listed.json()["data"]] == ["some-model"]
        lost = await client.get("/v1/files")
        assert (lost.status_code, lost.json()["error"]["type"]) == (404, "not_found_error")
        assert endpoint.turns == 0


async def test_the_socket_leads_to_the_same_door() -> None:
    async with relay(chat(lambda request: DONE), RESPONSES, ERRAND) as endpoint:
        transport = httpx2.AsyncHTTPTransport(uds=str(endpoint.address.socket))
        async with httpx2.AsyncClient(transport=transport, base_url=endpoint.url) as client:
            got = await client.post("/v1/responses", content="{}", headers=bearer(endpoint))
    assert got.status_code == 200
    assert not endpoint.address.socket.parent.exists()


@pytest.mark.parametrize(
    ("error", "status", "asked_again"),
    [
        (AuthFailed("no"), 401, False),
        (RateLimited("slow"), 429, False),
        (RequestRefused("too long"), 400, True),
    ],
)
async def test_an_error_is_told_in_the_programs_words_and_remembered(
    error: BackendError, status: int, asked_again: bool
) -> None:
    calls = 0

    def answer(request: ChatRequest) -> ChatReply:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise error
        return DONE

    async with relay(chat(answer), RESPONSES, ERRAND) as endpoint:
        got = await post(endpoint, "/v1/responses", {})
        assert (got.status_code, got.json()["error"]["message"]) == (status, error.message)
        assert endpoint.failure is error
        again = await post(endpoint, "/v1/responses", {})
    assert again.status_code == (200 if asked_again else status)
    assert calls == (2 if asked_again else 1)
    assert (endpoint.failure is None) == asked_again


async def test_an_error_that_is_none_of_the_services_is_kept_for_the_attempt() -> None:
    fault = DataError("the disk is full")

    def answer(request: ChatRequest) -> ChatReply:
        raise fault

    async with relay(chat(answer), RESPONSES, ERRAND) as endpoint:
        assert (await post(endpoint, "/v1/responses", {})).status_code == 500
    assert endpoint.fault is fault


async def test_turns_are_counted_and_end() -> None:
    session = replace(ERRAND, max_turns=2)
    async with relay(chat(lambda request: DONE), RESPONSES, session) as endpoint:
        codes = [(await post(endpoint, "/v1/responses", {})).status_code for _ in range(3)]
    assert codes == [200, 200, 400]
    assert endpoint.closed and endpoint.turns == 2


SKILL = "# Rules\n\n- Say it in *one* word.\n- Never guess.\n"


@pytest.mark.parametrize(
    ("texts", "loaded"),
    [
        ((f"before\n{SKILL}after",), True),
        (("     1\t# Rules\n     3\t- Say it in *one* word.\n     4\t- Never guess.",), True),
        (("# Rules\n- Say it in *one* word.",), False),
        (("# Rules\n- Say it in *one* word.", "- Never guess."), True),
        (("nothing of it",), False),
    ],
)
async def test_the_skill_is_loaded_when_all_its_lines_stand_in_a_request(
    texts: tuple[str, ...], loaded: bool
) -> None:
    session = replace(ERRAND, skill=SKILL)
    body = {"input": [{"role": "user", "content": [{"text": text} for text in texts]}]}
    async with relay(chat(lambda request: DONE), RESPONSES, session) as endpoint:
        await post(endpoint, "/v1/responses", body)
        await post(endpoint, "/v1/responses", "no JSON at all")
    assert endpoint.skill_loaded is loaded


async def test_a_call_under_way_ends_with_the_attempt() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    class Slow(FunctionChat):
        async def chat(self, request: ChatRequest) -> ChatReply:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return DONE

    with pytest.raises(KeyError):
        async with relay(Slow(lambda request: DONE), RESPONSES, ERRAND) as endpoint:
            asking = asyncio.create_task(post(endpoint, "/v1/responses", {}))
            await begun.wait()
            raise KeyError("as it is, in no group")
    assert cancelled.is_set()
    with pytest.raises(httpx2.HTTPError):
        await asking
    gc.collect()


async def test_whoever_speaks_no_http_is_hung_up_on() -> None:
    async with relay(chat(lambda request: DONE), RESPONSES, ERRAND) as endpoint:
        reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
        writer.write(b"\x16\x03\x01 this is no request\r\n\r\n")
        assert await reader.read() == b""
        writer.close()
        assert (await post(endpoint, "/v1/responses", {})).status_code == 200


async def test_an_attempt_that_is_made_again_finds_its_answers_in_the_journal() -> None:
    store = MemoryStore()
    made: list[str] = []

    def answer(request: ChatRequest) -> ChatReply:
        made.append(request.wire)
        return replace(DONE, wire=json.dumps({"number": len(made), "at": f"{SHOWN}/x"}))

    told = []
    for folder in ("/tmp/one", "/tmp/two"):
        session = replace(ERRAND, folder=Path(folder))
        async with relay(Cached(chat(answer), store), RESPONSES, session) as endpoint:
            for turn in range(2):
                body = {"turn": turn, "path": f"{folder}/x", "time": id(object())}
                told.append((await post(endpoint, "/v1/responses", body)).json())
    assert len(made) == 2
    assert [said["number"] for said in told] == [1, 2, 1, 2]
    assert [said["at"] for said in told] == ["/tmp/one/x"] * 2 + ["/tmp/two/x"] * 2
