"""Azure OpenAI over real HTTP: addresses, keys, and tokens from a real process or endpoint."""

import asyncio
import json
import stat
import subprocess
import sys
import time
from dataclasses import replace
from urllib.parse import unquote

import pytest
import pytest_asyncio
from loopback import Answer, loopback
from pydantic import SecretStr

from skillopt_cli.backends.chat.openai_chat import SPEC, dialect_for, open_openai_chat
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendUnusable,
    ConfigError,
    NetworkFailed,
    QuotaExhausted,
    RateLimited,
    UnknownModel,
)
from skillopt_cli.core.task import ChatRequest, Message
from skillopt_cli.ports import RoleSettings

ASKED = ChatRequest((Message("user", "Hello."),), "rollout")
GOOD = {
    "choices": [{"message": {"content": "fine"}}],
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "fine"}]}],
}
CHAT = "/openai/deployments/{name}/chat/completions?api-version={version}"


@pytest_asyncio.fixture
async def server():
    async with loopback(Answer(body=GOOD)) as running:
        yield running


def settings(server, model="gpt-4o", key="azure-key", **options):
    secret = SecretStr(key) if key else None
    return RoleSettings("target", model, server.url, secret, timeout=60.0, options=options)


async def ask(role):
    async with open_openai_chat(role) as backend:
        return await backend.chat(ASKED)


@pytest.mark.parametrize("slash", ["", "/"])
async def test_a_key_goes_to_the_deployments_address_in_its_own_header(server, slash):
    role = replace(settings(server, auth_mode="api_key"), base_url=server.url + slash)
    assert (await ask(role)).text == "fine"
    [seen] = server.seen
    assert seen.method == "POST"
    assert seen.path == CHAT.format(name="gpt-4o", version="2024-12-01-preview")
    assert seen.headers["api-key"] == "azure-key"
    assert "authorization" not in seen.headers
    assert seen.body == {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "Hello."}],
        "stream": False,
        "max_completion_tokens": 16384,
    }


async def test_the_version_of_the_interface_can_be_told(server):
    await ask(settings(server, auth_mode="api_key", api_version="2025-01-01"))
    assert server.seen[0].path == CHAT.format(name="gpt-4o", version="2025-01-01")


async def test_models_that_only_know_responses_are_asked_there(server):
    assert (await ask(settings(server, "gpt-5.1-codex-max", auth_mode="api_key"))).text == "fine"
    [seen] = server.seen
    assert seen.path == "/openai/responses?api-version=2025-04-01-preview"
    assert seen.headers["api-key"] == "azure-key"
    assert seen.body["model"] == "gpt-5.1-codex-max"
    assert seen.body["input"] == [{"role": "user", "content": "Hello."}]


@pytest.mark.parametrize(
    ("api", "model", "form"),
    [
        ("", "gpt-4o", "chat_completions"),
        ("auto", "gpt-5.3-codex", "responses"),
        ("auto", "codex-mini-latest", "responses"),
        ("auto", "gpt-5.4-pro-2026-03-05", "responses"),
        ("auto", "gpt-5.4-professional", "chat_completions"),
        ("auto", "my-gpt-5-codex", "chat_completions"),
        ("responses", "gpt-4o", "responses"),
        ("chat_completions", "gpt-5-codex", "chat_completions"),
    ],
)
def test_the_interface_follows_the_models_name_unless_told(api, model, form):
    assert dialect_for(api, model).name == form


async def test_openai_compatible_is_a_plain_client_with_or_without_a_key(server):
    role = settings(server, auth_mode="openai_compatible")
    await ask(replace(role, base_url=f"{server.url}/v1/"))
    await ask(replace(role, base_url=f"{server.url}/v1", api_key=None))
    assert [seen.path for seen in server.seen] == ["/v1/chat/completions"] * 2
    headers = [seen.headers["authorization"] for seen in server.seen]
    assert headers == ["Bearer azure-key", "Bearer no-key"]
    assert "max_completion_tokens" in server.bodies[0]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(401, {"error": {"code": "401", "message": "Access denied"}}), AuthFailed),
        (
            Answer(404, {"error": {"code": "DeploymentNotFound", "message": "no"}}),
            UnknownModel,
        ),
        (Answer(404, {"error": {"code": "404", "message": "Resource not found"}}), BackendUnusable),
        (Answer(429, {"error": {"code": "429", "message": "over token rate limit"}}), RateLimited),
        (
            Answer(403, {"error": {"code": "insufficient_quota", "message": "no"}}),
            QuotaExhausted,
        ),
    ],
)
async def test_azures_own_errors_have_their_place(server, answer, kind):
    server.script(answer)
    with pytest.raises(kind) as caught:
        await ask(settings(server, auth_mode="api_key"))
    assert type(caught.value) is kind


AZ = """#!/bin/sh
echo "$@" >> "{log}"
cat <<'END'
{output}
END
exit {code}
"""


@pytest.fixture
def az(tmp_path, monkeypatch):
    """Puts an `az` on PATH that answers as told; the list of its calls."""

    def install(output, code=0):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program, log = folder / "az", tmp_path / "az.log"
        program.write_text(AZ.format(log=log, output=output, code=code), encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        log.touch()
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        return lambda: log.read_text(encoding="utf-8").splitlines()

    return install


def granted(token, seconds=3600):
    return json.dumps({"accessToken": token, "expires_on": int(time.time()) + seconds})


@pytest.mark.parametrize("mode", ["azure_cli", None])
async def test_the_azure_cli_is_asked_once_for_many_calls(server, az, mode):
    calls = az(granted("token-of-cli"))
    options = {"auth_mode": mode} if mode else {}
    # A key that is set all the same is not used.
    async with open_openai_chat(settings(server, **options)) as backend:
        await asyncio.gather(*(backend.chat(ASKED) for _ in range(5)))

    assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer token-of-cli"}
    assert {seen.path for seen in server.seen} == {
        CHAT.format(name="gpt-4o", version="2024-12-01-preview")
    }
    assert all("api-key" not in seen.headers for seen in server.seen)
    [call] = calls()
    assert call == (
        "account get-access-token --output json --resource https://cognitiveservices.azure.com"
    )


async def test_a_token_about_to_expire_is_asked_for_anew_and_the_scope_can_be_told(server, az):
    calls = az(granted("short", 30))
    role = settings(server, ad_scope="https://other.example/.default")
    async with open_openai_chat(role) as backend:
        await backend.chat(ASKED)
        az(granted("next"))
        await backend.chat(ASKED)
    assert [s.headers["authorization"] for s in server.seen] == ["Bearer short", "Bearer next"]
    assert len(calls()) == 2
    assert all(call.endswith("--resource https://other.example") for call in calls())


@pytest.mark.parametrize(
    ("output", "code"),
    [("Please run 'az login'", 1), ("not json", 0), ('{"accessToken": "sk-half"', 0)],
)
async def test_no_token_from_the_azure_cli_ends_the_run_with_a_hint(server, az, output, code):
    az(output, code)
    with pytest.raises(AuthFailed, match="azure_cli") as caught:
        await ask(settings(server))
    assert "az login" in caught.value.hint
    assert "sk-half" not in caught.value.message
    assert caught.value.__context__ is None
    assert server.seen == []


@pytest.mark.parametrize("kind", ["ServiceRequestError", "ServiceResponseError"])
async def test_a_network_failure_on_the_way_to_a_token_may_pass(server, monkeypatch, kind):
    import azure.core.exceptions
    from azure.identity import ManagedIdentityCredential

    def unreachable(self, *scopes, **options):
        raise getattr(azure.core.exceptions, kind)("no route to host")

    monkeypatch.setattr(ManagedIdentityCredential, "get_token", unreachable)
    monkeypatch.setattr(ManagedIdentityCredential, "get_token_info", unreachable)
    with pytest.raises(NetworkFailed, match="cannot be reached") as caught:
        await ask(settings(server, auth_mode="managed_identity"))
    assert "no route to host" in caught.value.message
    assert caught.value.__context__ is None
    assert server.seen == []


async def test_without_the_azure_cli_the_hint_is_the_same(server, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AuthFailed, match="not found") as caught:
        await ask(settings(server))
    assert "az login" in caught.value.hint


ALONE = """
import asyncio
from skillopt_cli.backends.chat.openai_chat import AzureTokens
from skillopt_cli.backends.chat.endpoint import ModelAddress
from skillopt_cli.core.errors import AuthFailed
address = ModelAddress("m", "http://h")
tokens = AzureTokens("azure_cli", "https://a.example/.default", "", address)
try:
    asyncio.run(tokens.token())
except AuthFailed as error:
    print(error.hint)
"""


def test_the_library_itself_says_nothing_on_the_screen(tmp_path):
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", ALONE], env=environment, capture_output=True, text=True, check=True
    )
    assert "az login" in ended.stdout
    assert ended.stderr == ""


async def test_a_token_the_service_refuses_is_no_key(server, az):
    az(granted("token-of-cli"))
    server.script(Answer(403, {"error": {"code": "PermissionDenied", "message": "no"}}))
    with pytest.raises(AuthFailed, match="refused the credentials") as caught:
        await ask(settings(server))
    assert "Cognitive Services OpenAI User" in caught.value.hint


@pytest_asyncio.fixture
async def identity(monkeypatch):
    """The endpoint an Azure machine offers its programs for tokens."""
    async with loopback(Answer(400, {"message": "no identity"})) as endpoint:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{endpoint.url}/msi/token")
        monkeypatch.setenv("IDENTITY_HEADER", "machine")
        yield endpoint


@pytest.mark.parametrize("client", ["", "client-7"])
async def test_a_managed_identity_gives_the_token(server, identity, client):
    expiry = str(int(time.time()) + 3600)
    token = {"access_token": f"token-{client}", "expires_on": expiry, "token_type": "Bearer"}
    identity.script(Answer(body=token | {"resource": "r"}))
    role = settings(server, auth_mode="managed_identity", managed_identity_client_id=client)
    async with open_openai_chat(role) as backend:
        await backend.chat(ASKED)
        await backend.chat(ASKED)

    assert [s.headers["authorization"] for s in server.seen] == [f"Bearer token-{client}"] * 2
    [asked] = identity.seen
    assert asked.method == "GET"
    assert "resource=https://cognitiveservices.azure.com" in unquote(asked.path)
    assert ("client_id=client-7" in asked.path) == bool(client)
    assert asked.headers["x-identity-header"] == "machine"


async def test_no_managed_identity_ends_the_run_with_a_hint(server, identity):
    with pytest.raises(AuthFailed, match="managed_identity") as caught:
        await ask(settings(server, auth_mode="managed_identity", key=""))
    assert "managed_identity_client_id" in caught.value.hint
    assert server.seen == []


async def test_two_roles_have_nothing_in_common(server, az):
    az(granted("token-of-cli"))
    async with loopback(Answer(body=GOOD)) as other:
        target = settings(server, "small", "key-of-target", auth_mode="api_key")
        optimizer = replace(settings(other, "big", api_version="v2"), role="optimizer")
        async with open_openai_chat(target) as one, open_openai_chat(optimizer) as two:
            await asyncio.gather(*(backend.chat(ASKED) for backend in (one, two, one, two)))
        assert {(s.path, s.headers.get("api-key")) for s in server.seen} == {
            (CHAT.format(name="small", version="2024-12-01-preview"), "key-of-target")
        }
        assert {(s.path, s.headers.get("authorization")) for s in other.seen} == {
            (CHAT.format(name="big", version="v2"), "Bearer token-of-cli")
        }


async def test_the_ambient_settings_of_the_sdk_are_not_heard(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_VERSION", "1999")
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "ambient")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_ORG_ID", "ambient")
    await ask(settings(server, auth_mode="api_key"))
    assert "1999" not in server.seen[0].path
    assert "ambient" not in str(server.seen[0].headers)


@pytest.mark.parametrize("mode", ["azure_cli", "api_key", "managed_identity", "openai_compatible"])
def test_without_an_endpoint_there_is_one_error_before_any_call(mode):
    role = RoleSettings("optimizer", "gpt-4o", options={"auth_mode": mode})
    with pytest.raises(BackendUnusable, match="optimizer") as caught:
        open_openai_chat(role)
    assert "AZURE_OPENAI_ENDPOINT" in caught.value.hint
    assert "openai_compatible" in caught.value.hint


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"base_url": "my-resource"}, ConfigError, "base_url"),
        ({"model": ""}, BackendUnusable, "no model"),
        ({"api_key": None}, BackendUnusable, "wants a key"),
        ({"options": {"auth_mode": "magic"}}, ConfigError, "auth_mode"),
    ],
)
def test_what_cannot_work_is_refused_before_any_call(changes, kind, words):
    role = RoleSettings("target", "m", "https://r.openai.azure.com", SecretStr("k"))
    with pytest.raises(kind, match=words):
        open_openai_chat(replace(role, **{"options": {"auth_mode": "api_key"}, **changes}))


def test_the_fingerprint_holds_version_and_interface_and_no_key():
    role = RoleSettings("target", "m", "https://r.openai.azure.com", SecretStr("canary"))
    options = [{}, {"api_version": "2"}, {"api": "responses"}, {"auth_mode": "openai_compatible"}]
    prints = [open_openai_chat(replace(role, options=o)).fingerprint for o in options]
    assert len(set(prints)) == len(options)
    assert not any("canary" in text for text in prints)
    # How the caller proves who it is alters no reply.
    keyed = replace(role, options={"auth_mode": "api_key"})
    assert open_openai_chat(keyed).fingerprint == prints[0]


ENVIRONMENT = {
    "AZURE_OPENAI_ENDPOINT": "https://shared",
    "AZURE_OPENAI_API_VERSION": "v-shared",
    "AZURE_OPENAI_API_KEY": "k",
    "AZURE_OPENAI_TARGET_API_VERSION": "v-target",
    "TARGET_AZURE_OPENAI_ENDPOINT": "https://target",
    "AZURE_OPENAI_TARGET_ENDPOINT": "https://target-too",
    "AZURE_OPENAI_AUTH_MODE": " ",
    "AZURE_OPENAI_AD_SCOPE": "s",
    "OPTIMIZER_AZURE_OPENAI_MANAGED_IDENTITY_CLIENT_ID": "c",
    "TARGET_DEPLOYMENT": "small",
}


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (
            "target",
            {
                "base_url": "TARGET_AZURE_OPENAI_ENDPOINT",
                "api_version": "AZURE_OPENAI_TARGET_API_VERSION",
                "api_key_env": "AZURE_OPENAI_API_KEY",
                "ad_scope": "AZURE_OPENAI_AD_SCOPE",
                "name": "TARGET_DEPLOYMENT",
            },
        ),
        (
            "optimizer",
            {
                "base_url": "AZURE_OPENAI_ENDPOINT",
                "api_version": "AZURE_OPENAI_API_VERSION",
                "api_key_env": "AZURE_OPENAI_API_KEY",
                "ad_scope": "AZURE_OPENAI_AD_SCOPE",
                "managed_identity_client_id": "OPTIMIZER_AZURE_OPENAI_MANAGED_IDENTITY_CLIENT_ID",
            },
        ),
    ],
)
def test_variables_of_a_role_are_stronger_than_shared_ones(role, expected):
    assert SPEC.variables_set(role, ENVIRONMENT) == expected


def test_the_spec_says_what_is_missing():
    assert SPEC.missing({}) == "AZURE_OPENAI_ENDPOINT is not set"
    assert SPEC.missing({"TARGET_AZURE_OPENAI_ENDPOINT": "https://a"}) != ""
    assert SPEC.missing({"AZURE_OPENAI_ENDPOINT": "https://a"}) == ""
