"""One chain for every setting of a model: flag, our variable, provider variable, YAML, default."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_cli.compose.endpoints import ROLES, effective
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.config.layers import Resolved
from skillopt_cli.core.events import Role

Values = dict[str, Any]


@dataclass
class Said:
    """What the user said, in every way there is."""

    flags: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    shared: Values = field(default_factory=dict)
    own: dict[str, Values] = field(default_factory=lambda: {"optimizer": {}, "target": {}})

    def settled(self, backend: str) -> Resolved:
        model = {"backend": backend, **self.shared, **self.own}
        Path("my.yaml").write_text(json.dumps({"model": model}), encoding="utf-8")
        overrides = Overrides("searchqa", config=Path("my.yaml"), assignments=self.flags, roles=())
        return settle(overrides, self.variables)


@dataclass(frozen=True)
class Case:
    """A setting, the variables that hold it, and ten values of it, the strongest first."""

    backend: str
    setting: str
    variable: str
    values: tuple[Any, ...]


NUMBERS = tuple(range(1, 11))
CASES = (
    Case("qwen_chat", "timeout", "QWEN_CHAT_TIMEOUT_SECONDS", NUMBERS),
    Case("qwen_chat", "max_completion_tokens", "QWEN_CHAT_MAX_TOKENS", NUMBERS),
    Case("openai_compatible", "temperature", "OPENAI_COMPATIBLE_TEMPERATURE", NUMBERS[:2] * 5),
    Case("openai_chat", "api_version", "AZURE_OPENAI_API_VERSION", tuple("0123456789")),
    Case(
        "openai_chat",
        "auth_mode",
        "AZURE_OPENAI_AUTH_MODE",
        ("azure_cli", "api_key", "managed_identity", "openai_compatible") * 3,
    ),
    Case("claude_chat", "base_url", "ANTHROPIC_BASE_URL", tuple(f"http://{n}" for n in NUMBERS)),
)
LEVELS = ("flag", "shared flag", "ours", "shared ours", "theirs", "shared theirs", "own", "shared")
NOTHING = ("", "null", "~", None)


def say(said: Said, level: str, case: Case, role: str, value: Any) -> str:
    """Say a value at a level; how `config show` calls that source."""
    key = case.setting if level.startswith("shared") else f"{role}.{case.setting}"
    text = "" if value is None else str(value)
    match level.removeprefix("shared "):
        case "flag":
            said.flags.append(f"model.{key}={text}")
            return "flag --set"
        case "ours":
            name = f"SKILLOPT_MODEL__{key.upper().replace('.', '__')}"
        case "theirs":
            prefix = "" if level.startswith("shared") else f"{role.upper()}_"
            name = f"{prefix}{case.variable}"
        case _:
            into = said.shared if level == "shared" else said.own[role]
            into[case.setting] = None if value in NOTHING else value
            return "my.yaml"
    said.variables[name] = text
    return f"environment {name}"


def source_of(found: Resolved, role: Role, setting: str) -> str:
    own = found.sources.get(f"model.{role}.{setting}")
    return own or found.sources.get(f"model.{setting}", "default")


@given(
    case=st.sampled_from(CASES),
    shared=st.lists(st.sampled_from(("value", *NOTHING)), min_size=4, max_size=4),
    own=st.lists(st.sampled_from(("value", *NOTHING)), min_size=8, max_size=8),
)
@settings(max_examples=80)
def test_the_strongest_that_says_something_counts_for_each_role(
    case: Case, shared: list[str | None], own: list[str | None]
) -> None:
    said = Said()
    expected: dict[str, tuple[Any, str]] = {}
    for number, level in enumerate(LEVELS):
        for role in ROLES:
            whole = level.startswith("shared")
            choice = shared[number // 2] if whole else own[number // 2 + 4 * (role == "target")]
            value = case.values[number] if choice == "value" else choice
            # What is shared is said again for the second role, to the same effect.
            source = say(said, level, case, role, value)
            if choice == "value":
                expected.setdefault(role, (value, source))
    found = said.settled(case.backend)
    for role in ROLES:
        value, source = expected.get(role, (None, "default"))
        assert effective(found.config, role, case.setting) == value
        assert source_of(found, role, case.setting) == source


@pytest.mark.parametrize("strongest", range(len(LEVELS) + 1))
def test_each_level_gives_way_to_those_above_it(strongest: int) -> None:
    case, said = CASES[0], Said()
    sources = [
        say(said, level, case, "target", value if number >= strongest else "")
        for number, (level, value) in enumerate(zip(LEVELS, case.values, strict=False))
    ]
    found = said.settled(case.backend)
    value, source = (
        (case.values[strongest], sources[strongest])
        if strongest < len(LEVELS)
        else (None, "default")
    )
    assert effective(found.config, "target", case.setting) == value
    assert source_of(found, "target", case.setting) == source


def test_a_preset_and_a_benchmarks_file_are_yaml_of_lesser_strength() -> None:
    overrides = Overrides("searchqa", preset="demo", roles=())
    assert settle(overrides, {}).config.model.target.backend == "local"
    found = settle(overrides, {"TARGET_BACKEND": "qwen_chat"})
    assert found.config.model.target.backend == "qwen_chat"
    assert found.sources["model.target.backend"] == "environment TARGET_BACKEND"
    assert found.config.model.optimizer.backend == "rules"
    flagged = Overrides(
        "searchqa", preset="demo", assignments=["model.backend=simulated"], roles=()
    )
    found = settle(flagged, {"TARGET_BACKEND": "qwen_chat"})
    assert found.config.model.backend == "simulated"
    assert found.config.model.target.backend is None
    assert found.config.model.optimizer.backend is None


@pytest.mark.parametrize("silent", ["", " ", "null", "~"])
def test_a_silent_variable_of_the_role_leaves_the_shared_one_its_say(silent: str) -> None:
    variables = {
        "TARGET_BACKEND": silent,
        "AZURE_OPENAI_ENDPOINT": "https://shared",
        "TARGET_AZURE_OPENAI_ENDPOINT": silent,
        "AZURE_OPENAI_TARGET_ENDPOINT": silent,
        "AZURE_OPENAI_API_KEY": "shared-key",
        "TARGET_AZURE_OPENAI_API_KEY": silent,
        "TARGET_DEPLOYMENT": silent,
    }
    found = settle(Overrides("searchqa", roles=()), variables)
    target = found.config.model.target
    assert (target.backend, target.base_url) == ("openai_chat", "https://shared")
    assert target.api_key_env == "AZURE_OPENAI_API_KEY"
    assert target.name is None
