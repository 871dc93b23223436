"""Role settings: a role's own values over the shared ones, with the key itself."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt_cli.compose.roles import role_settings, role_spec
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import Layer, resolve
from skillopt_cli.core.errors import ConfigError


def config(**model: Any) -> RunConfig:
    return resolve([Layer("test", {"model": model})]).config


def test_a_roles_own_value_wins_and_the_shared_one_fills_in() -> None:
    found = config(
        base_url="http://shared/v1",
        temperature=1.0,
        timeout=9,
        reasoning_effort="low",
        target={"name": "t", "base_url": "http://own/v1", "temperature": 0.0},
    )
    target = role_settings(found, "target", {})
    assert (target.base_url, target.temperature, target.timeout) == ("http://own/v1", 0.0, 9.0)
    optimizer = role_settings(found, "optimizer", {})
    assert (optimizer.base_url, optimizer.temperature) == ("http://shared/v1", 1.0)
    assert optimizer.reasoning_effort == "low"


def test_the_key_is_taken_from_the_named_variable_and_does_not_show() -> None:
    found = config(api_key_env="SHARED_KEY", target={"api_key_env": "OWN_KEY"})
    environment = {"SHARED_KEY": "canary-shared", "OWN_KEY": "canary-own"}
    for role, key in (("target", "canary-own"), ("optimizer", "canary-shared")):
        settings = role_settings(found, role, environment)  # type: ignore[arg-type]
        assert settings.api_key is not None
        assert settings.api_key.get_secret_value() == key
        assert key not in repr(settings.api_key)


def test_a_variable_that_is_not_set_is_named_unless_it_may_be_the_key() -> None:
    with pytest.raises(ConfigError, match="OWN_KEY") as caught:
        role_settings(config(api_key_env="OWN_KEY"), "target", {})
    assert "export OWN_KEY" in caught.value.hint
    with pytest.raises(ConfigError) as caught:
        role_settings(config(api_key_env="canary7f3a9c"), "target", {})
    assert "canary" not in f"{caught.value.message} {caught.value.hint}"


def test_a_backend_that_cannot_play_a_role_is_refused() -> None:
    with pytest.raises(ConfigError, match="`rules` cannot be the target"):
        role_spec(config(target={"backend": "rules"}), "target")
    with pytest.raises(ConfigError, match="no backend `simulatd`") as caught:
        role_spec(config(backend="simulatd"), "target")
    assert "simulated" in caught.value.hint


def test_workers_follow_the_role() -> None:
    found = resolve([Layer("t", {"run": {"workers": 3}, "gradient": {"analyst_workers": 5}})])
    assert role_settings(found.config, "target", {}).workers == 3
    assert role_settings(found.config, "optimizer", {}).workers == 5
