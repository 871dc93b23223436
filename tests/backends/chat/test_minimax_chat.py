"""MiniMax's regions, its way to ask for thinking, and its own codes of trouble."""

import asyncio
import json
from dataclasses import replace

import pytest
import pytest_asyncio
from loopback import Answer, loopback
from pydantic import SecretStr

from skillopt_cli.backends.chat.minimax_chat import SPEC, open_minimax_chat, thinking_field
from skillopt_cli.backends.middleware.reading import Reading
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendError,
    BackendUnusable,
    ConfigError,
    QuotaExhausted,
    RateLimited,
    RequestRefused,
    ServerFailed,
)
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, Usage
from skillopt_cli.ports import RoleSettings

ASKED = ChatRequest((Message("user", "Hello."),), "rollout")
KEY = SecretStr("key-of-minimax")


def completion(content, **more):
    message = {"role": "assistant", "content": content}
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5},
        "base_resp": {"status_code": 0, "status_msg": ""},
        **more,
    }


def trouble(code, **more):
    told = {"status_code": code, "status_msg": f"key {KEY.get_secret_value()} is no good"}
    return {"choices": None, "base_resp": told, **more}


@pytest_asyncio.fixture
async def server():
    async with loopback(Answer(200, completion("fine"))) as running:
        yield running


def settings(server, **changes):
    role = RoleSettings("target", "MiniMax-M3", f"{server.url}/v1", KEY, timeout=60.0)
    return replace(role, **changes)


async def ask(role, request=ASKED):
    async with open_minimax_chat(role) as backend:
        return await Reading(backend, "target", lambda fact: None).chat(request)


async def test_a_plain_request_holds_only_what_was_set(server):
    role = settings(server, max_completion_tokens=16384, options={"region": "cn_zh"})
    assert await ask(role) == ChatReply("fine", Usage(1, 7, 5))
    [seen] = server.seen
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert seen.headers["authorization"] == "Bearer key-of-minimax"
    assert seen.body == {
        "model": "MiniMax-M3",
        "messages": [{"role": "user", "content": "Hello."}],
        "max_tokens": 16384,
        "stream": False,
        "temperature": 0.7,
    }


@pytest.mark.parametrize(
    ("model", "thinking", "sent"),
    [
        ("MiniMax-M3", "server_default", None),
        ("MiniMax-M3", "enabled", "adaptive"),
        ("MiniMax-M3", "disabled", "disabled"),
        ("MiniMax-M2.7", "server_default", "adaptive"),
        ("MiniMax-M2.7", "enabled", "adaptive"),
    ],
)
async def test_thinking_has_three_states_but_for_models_that_always_think(
    server, model, thinking, sent
):
    await ask(settings(server, model=model, options={"thinking": thinking}))
    assert server.bodies[0].get("thinking") == (sent and {"type": sent})
    assert thinking_field(model, thinking) == ({"thinking": {"type": sent}} if sent else {})


async def test_thoughts_are_no_part_of_the_answer(server):
    server.script(Answer(200, completion("<think>\nHm.\n</think>\n\n7")))
    assert (await ask(settings(server))).text == "7"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (1002, RateLimited),
        (1039, RateLimited),
        (2045, RateLimited),
        (1004, AuthFailed),
        (2049, AuthFailed),
        (1008, QuotaExhausted),
        (2056, QuotaExhausted),
        (1026, RequestRefused),
        (1027, RequestRefused),
        (2013, RequestRefused),
        (1000, ServerFailed),
        (1033, ServerFailed),
    ],
)
async def test_a_code_of_trouble_in_a_success_is_told_for_what_it_is(server, code, kind):
    spent = {"prompt_tokens": 3, "completion_tokens": 0}
    server.script(Answer(200, trouble(code, usage=spent)))
    with pytest.raises(BackendError) as caught:
        await ask(settings(server))
    assert type(caught.value) is kind
    assert caught.value.usage == Usage(1, 3, 0)
    assert f"code {code}" in caught.value.message
    assert "key-of-minimax" not in f"{caught.value!r}{caught.value.hint}"


@pytest.mark.parametrize("told", [None, "0", {"status_code": None}, {"status_code": 0}])
async def test_what_is_no_code_of_trouble_is_none(server, told):
    server.script(Answer(200, completion("fine", base_resp=told)))
    assert (await ask(settings(server))).text == "fine"


async def test_two_roles_of_one_process_have_their_own_model_and_key(server):
    first = settings(server, role="optimizer", model="MiniMax-M2.7", api_key=SecretStr("key-1"))
    second = settings(server, temperature=0.0, options={"thinking": "disabled"})
    async with open_minimax_chat(first) as one, open_minimax_chat(second) as two:
        await asyncio.gather(*(backend.chat(ASKED) for backend in (one, two) * 5))
    found = {
        (
            seen.body["model"],
            seen.headers["authorization"],
            seen.body["temperature"],
            seen.body["thinking"]["type"],
        )
        for seen in server.seen
    }
    assert found == {
        ("MiniMax-M2.7", "Bearer key-1", 0.7, "adaptive"),
        ("MiniMax-M3", "Bearer key-of-minimax", 0.0, "disabled"),
    }


@pytest.mark.parametrize(
    ("options", "base_url", "address"),
    [
        ({}, "", "https://api.minimax.io/v1"),
        ({"region": "global_en"}, "", "https://api.minimax.io/v1"),
        ({"region": "cn_zh"}, "", "https://api.minimaxi.com/v1"),
        ({"region": "cn_zh"}, "http://own/v1", "http://own/v1"),
    ],
)
def test_an_address_wins_over_the_region(options, base_url, address):
    role = RoleSettings("target", "MiniMax-M3", base_url, KEY, options=options)
    assert json.loads(open_minimax_chat(role).fingerprint)["base_url"] == address


def test_what_cannot_work_is_refused_before_any_call():
    role = RoleSettings("optimizer", "MiniMax-M3", api_key=KEY)
    with pytest.raises(BackendUnusable, match="no key is given for the optimizer") as caught:
        open_minimax_chat(replace(role, api_key=None))
    assert "OPTIMIZER_MINIMAX_API_KEY" in caught.value.hint
    always = replace(role, model="MiniMax-M2.7", options={"thinking": "disabled"})
    with pytest.raises(ConfigError, match=r"MiniMax-M2\.7"):
        open_minimax_chat(always)


def test_every_variable_has_a_form_for_one_role_and_one_for_both():
    environment = {
        "MINIMAX_API_KEY": "k",
        "OPTIMIZER_MINIMAX_API_KEY": "o",
        "MINIMAX_REGION": "cn_zh",
        "TARGET_MINIMAX_MODEL": "MiniMax-M3",
        "MINIMAX_ENABLE_THINKING": "false",
    }
    assert SPEC.variables_set("optimizer", environment) == {
        "region": "MINIMAX_REGION",
        "api_key_env": "OPTIMIZER_MINIMAX_API_KEY",
        "thinking": "MINIMAX_ENABLE_THINKING",
    }
    assert SPEC.variables_set("target", environment)["name"] == "TARGET_MINIMAX_MODEL"
    assert SPEC.missing(environment) == ""
    assert "MINIMAX_API_KEY" in SPEC.missing({})
