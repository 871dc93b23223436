"""How the Anthropic backend finds its settings, and what it refuses to open."""

from dataclasses import replace

import pytest
from pydantic import SecretStr

from skillopt_cli.backends.chat.claude_chat import SPEC, open_claude_chat
from skillopt_cli.core.errors import BackendUnusable, ConfigError
from skillopt_cli.ports import RoleSettings

KEY = "sk-ant-canary-51c4b2"


def test_nothing_is_opened_without_key_model_or_address():
    role = RoleSettings("target", "claude-x", api_key=SecretStr(KEY))
    with pytest.raises(BackendUnusable, match="no key is given for the target") as caught:
        open_claude_chat(replace(role, api_key=None))
    assert "TARGET_ANTHROPIC_API_KEY" in caught.value.hint
    with pytest.raises(BackendUnusable, match="no model"):
        open_claude_chat(replace(role, model=""))
    with pytest.raises(ConfigError, match="base_url"):
        open_claude_chat(replace(role, base_url="claude"))
    with pytest.raises(BackendUnusable) as caught:
        open_claude_chat(replace(role, api_key=SecretStr("sk-canary\nÄ")))
    assert "canary" not in f"{caught.value!r}{caught.value.hint}"


def test_variables_speak_for_the_role_before_they_speak_for_both():
    environment = {
        "ANTHROPIC_API_KEY": "k",
        "OPTIMIZER_ANTHROPIC_API_KEY": "o",
        "ANTHROPIC_BASE_URL": "http://a",
        "TARGET_ANTHROPIC_MODEL": "m",
    }
    assert SPEC.variables_set("optimizer", environment) == {
        "base_url": "ANTHROPIC_BASE_URL",
        "api_key_env": "OPTIMIZER_ANTHROPIC_API_KEY",
    }
    assert SPEC.variables_set("target", environment) == {
        "base_url": "ANTHROPIC_BASE_URL",
        "api_key_env": "ANTHROPIC_API_KEY",
        "name": "TARGET_ANTHROPIC_MODEL",
    }
    assert SPEC.missing(environment) == ""
    assert "ANTHROPIC_API_KEY" in SPEC.missing({"TARGET_ANTHROPIC_API_KEY": "t"})
