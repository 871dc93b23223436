"""How the OpenAI-compatible backend finds its endpoint, and what it refuses to open."""

from dataclasses import replace

import pytest
from pydantic import SecretStr

from skillopt_cli.backends.chat.openai_compatible import (
    SPEC,
    open_openai_compatible,
)
from skillopt_cli.core.errors import BackendUnusable, ConfigError
from skillopt_cli.ports import RoleSettings


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ("", "", "")),
        ({"OPENAI_API_KEY": "k"}, ("", "OPENAI_API_KEY", "")),
        ({"OPENAI_BASE_URL": "http://a/v1"}, ("http://a/v1", "", "")),
        (
            {
                "OPENAI_COMPATIBLE_BASE_URL": "http://b/v1",
                "OPENAI_BASE_URL": "http://a/v1",
                "OPENAI_COMPATIBLE_MODEL": "m",
                "OPENAI_COMPATIBLE_API_KEY": "  ",
                "OPENAI_API_KEY": "k",
            },
            ("http://b/v1", "OPENAI_API_KEY", "m"),
        ),
        (
            {
                "TARGET_OPENAI_COMPATIBLE_BASE_URL": "http://c/v1",
                "TARGET_OPENAI_COMPATIBLE_API_KEY": "t",
                "TARGET_OPENAI_COMPATIBLE_MODEL": "small",
                "OPTIMIZER_OPENAI_COMPATIBLE_MODEL": "big",
                "OPENAI_COMPATIBLE_BASE_URL": "http://b/v1",
                "OPENAI_COMPATIBLE_API_KEY": "s",
            },
            ("http://c/v1", "TARGET_OPENAI_COMPATIBLE_API_KEY", "small"),
        ),
    ],
)
def test_the_target_is_resolved_role_first_then_shared_then_openai(environment, expected):
    said = SPEC.variables_set("target", environment)
    url, model = (environment.get(said.get(key, ""), "") for key in ("base_url", "name"))
    assert (url, said.get("api_key_env", ""), model) == expected


def test_the_spec_says_what_is_missing():
    assert SPEC.missing({"OPENAI_API_KEY": "k"}) == ""
    assert SPEC.missing({"TARGET_OPENAI_COMPATIBLE_BASE_URL": "http://a/v1"}) != ""
    assert "OPENAI_COMPATIBLE_BASE_URL" in SPEC.missing({})


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "ftp://host/v1", "http://", "http://h:port/v1"]
)
def test_an_address_that_is_none_is_a_configuration_error(url):
    with pytest.raises(ConfigError, match="base_url"):
        open_openai_compatible(RoleSettings("target", "m", url))


def test_a_missing_model_name_and_an_unsendable_key_are_refused_at_once():
    with pytest.raises(BackendUnusable, match="no model"):
        open_openai_compatible(RoleSettings("target", "", "http://h/v1"))
    with pytest.raises(BackendUnusable) as caught:
        open_openai_compatible(
            RoleSettings("target", "m", "http://h/v1", SecretStr("sk-canary\nÄ"))
        )
    assert "canary" not in f"{caught.value!r}{caught.value.hint}"


def test_the_fingerprint_holds_all_that_can_alter_a_reply_and_no_key():
    role = RoleSettings("target", "m", "http://u:pass@h/v1", SecretStr("sk-canary"))
    others = [
        {"model": "n"},
        {"base_url": "http://h2/v1"},
        {"temperature": 0.0},
        {"reasoning_effort": "low"},
        {"max_completion_tokens": 5},
        {"options": {"api": "responses"}},
    ]
    prints = [open_openai_compatible(replace(role, **c)).fingerprint for c in ({}, *others)]
    assert len(set(prints)) == len(prints)
    assert not any("canary" in text or "pass" in text for text in prints)
    same = replace(role, api_key=None, role="optimizer", timeout=1.0, workers=1)
    assert open_openai_compatible(same).fingerprint == prints[0]
