"""What is said of a proxy that is in the way, over real HTTP and with each SDK."""

from __future__ import annotations

import socket
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from loopback import Answer, loopback
from odd_shapes import completion
from pydantic import SecretStr

from skillopt_cli.backends.agents.model_api import MESSAGES
from skillopt_cli.backends.agents.upstream import open_upstream
from skillopt_cli.backends.chat.claude_chat import open_claude_chat
from skillopt_cli.backends.chat.openai_chat import open_openai_chat
from skillopt_cli.backends.chat.openai_compatible import open_openai_compatible
from skillopt_cli.core.errors import AuthFailed, BackendError, ConfigError, NetworkFailed
from skillopt_cli.core.task import ChatRequest, Message
from skillopt_cli.ports import RoleSettings, lifetime

ASKED = ChatRequest((Message("user", "Hello."),), "rollout")
OPENERS: dict[str, Any] = {
    "openai_compatible": open_openai_compatible,
    "openai_chat": lambda role: open_openai_chat(replace(role, options={"auth_mode": "api_key"})),
    "claude_chat": open_claude_chat,
    "a program's service": lambda role: open_upstream(role, MESSAGES, "http://model.test"),
}
# The SDK's transport hands a proxy's password over in a way that its library will drop.
pytestmark = [
    pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The 'proxy_auth' parameter:DeprecationWarning"),
]
each_client = pytest.mark.parametrize("client", OPENERS)


def role(url: str, **environment: str) -> RoleSettings:
    key = SecretStr("sk-canary-51c4b2")
    return RoleSettings("target", "m", url, key, timeout=10.0, environment=environment)


async def failure(client: str, url: str, **environment: str) -> BackendError:
    """The error of a call; no message of it holds a password."""
    async with AsyncExitStack() as stack:
        chat = await stack.enter_async_context(lifetime(OPENERS[client](role(url, **environment))))
        with pytest.raises(BackendError) as caught:
            await chat.chat(ASKED)
    assert "sesame" not in f"{caught.value.message} {caught.value.hint}"
    return caught.value


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@each_client
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_wants_a_password(client: str, scheme: str) -> None:
    async with loopback(Answer(407, "no")) as proxy:
        variable = f"{scheme.upper()}_PROXY"
        found = await failure(client, f"{scheme}://model.test", **{variable: proxy.url})
    assert type(found) is AuthFailed
    assert f"through {proxy.url} ({variable})" in found.message
    assert "the proxy wants a user and a password (HTTP 407)" in found.message
    assert variable in found.hint


@each_client
@pytest.mark.parametrize("status", [403, 502, 503])
async def test_a_proxy_that_makes_no_connection(client: str, status: int) -> None:
    async with loopback(Answer(status, "no")) as proxy:
        found = await failure(client, "https://model.test", HTTPS_PROXY=proxy.url)
    assert type(found) is NetworkFailed
    assert f"the proxy answered HTTP {status}" in found.message
    assert found.hint == "correct HTTPS_PROXY, unset it, or name the host in NO_PROXY"


@each_client
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_not_there(client: str, scheme: str) -> None:
    proxy = f"http://me:sesame@127.0.0.1:{closed_port()}"
    found = await failure(client, f"{scheme}://model.test", ALL_PROXY=proxy)
    assert type(found) is NetworkFailed
    assert "(ALL_PROXY) could not be reached" in found.message
    assert found.hint == "correct ALL_PROXY, unset it, or name the host in NO_PROXY"


@each_client
async def test_an_answer_of_the_server_through_a_proxy_names_both(client: str) -> None:
    async with loopback(Answer(502, "gateway")) as proxy:
        found = await failure(client, "http://model.test", HTTP_PROXY=proxy.url)
    assert f"http://model.test through {proxy.url}" in found.message
    assert "(HTTP_PROXY) failed (HTTP 502" in found.message


async def test_this_machine_is_called_without_a_proxy() -> None:
    async with loopback(Answer(200, completion({"content": "fine"}))) as server:
        named = role(f"{server.url}/v1", ALL_PROXY="socks5://127.0.0.1:1080", SSL_CERT_FILE="/nope")
        async with open_openai_compatible(named) as chat:
            assert (await chat.chat(ASKED)).text == "fine"


async def test_a_proxy_is_used_with_its_password() -> None:
    async with loopback(Answer(200, completion({"content": "fine"}))) as proxy:
        through = proxy.url.replace("//", "//me:sesame@")
        async with open_openai_compatible(role("http://model.test/v1", HTTP_PROXY=through)) as chat:
            assert (await chat.chat(ASKED)).text == "fine"
        assert proxy.seen[0].headers["proxy-authorization"].startswith("Basic ")


@each_client
@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"ALL_PROXY": "socks5://127.0.0.1:1080"}, "ALL_PROXY names a proxy that speaks socks5"),
        ({"https_proxy": "http://[::1"}, "https_proxy names a proxy that is no address"),
        ({"SSL_CERT_FILE": "/nope"}, "SSL_CERT_FILE names /nope, and there is no such file"),
        ({"SSL_CERT_DIR": "/nope"}, "SSL_CERT_DIR names /nope, and there is no such folder"),
    ],
)
def test_what_cannot_be_used_is_refused_before_any_call(
    client: str, environment: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        OPENERS[client](role("https://model.test", **environment))
    assert caught.value.message == said or caught.value.message.startswith(said)
