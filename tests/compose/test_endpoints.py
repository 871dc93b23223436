"""Who plays each role, and what must be there before any call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_cli.compose.endpoints import SPECIAL, backend_name, own_settings
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.config.layers import Resolved
from skillopt_cli.config.model_section import RoleConfig
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.plugins import BACKENDS, load_backend, names

SHOW = Overrides("searchqa", roles=())
RUN = Overrides("searchqa")


def settled(overrides: Overrides = SHOW, **variables: str) -> Resolved:
    return settle(overrides, variables)


def refused(overrides: Overrides = RUN, **variables: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        settle(overrides, variables)
    assert "\n" not in caught.value.message
    assert not caught.value.message.endswith(".")
    assert caught.value.hint
    return caught.value


def backends(found: Resolved) -> tuple[str, str]:
    return backend_name(found.config, "optimizer"), backend_name(found.config, "target")


CHAT, COMPATIBLE = "openai_chat", "openai_compatible"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, (COMPATIBLE, COMPATIBLE)),
        ({"OPENAI_API_KEY": "k"}, (COMPATIBLE, COMPATIBLE)),
        ({"AZURE_OPENAI_API_KEY": "k"}, (COMPATIBLE, COMPATIBLE)),
        ({"AZURE_OPENAI_ENDPOINT": "https://a", "OPENAI_API_KEY": "k"}, (CHAT, CHAT)),
        ({"TARGET_AZURE_OPENAI_ENDPOINT": "https://a"}, (COMPATIBLE, CHAT)),
        ({"AZURE_OPENAI_OPTIMIZER_ENDPOINT": "https://a"}, (CHAT, COMPATIBLE)),
        (
            {
                "AZURE_OPENAI_ENDPOINT": "https://a",
                "TARGET_OPENAI_COMPATIBLE_BASE_URL": "http://mine/v1",
            },
            (CHAT, COMPATIBLE),
        ),
        (
            {"AZURE_OPENAI_ENDPOINT": "https://a", "TARGET_BACKEND": "claude_chat"},
            (CHAT, "claude_chat"),
        ),
        (
            {"AZURE_OPENAI_ENDPOINT": "https://a", "SKILLOPT_MODEL__BASE_URL": "http://mine/v1"},
            (COMPATIBLE, COMPATIBLE),
        ),
    ],
)
def test_without_a_name_the_variable_with_the_address_decides(
    variables: dict[str, str], expected: tuple[str, str]
) -> None:
    assert backends(settled(**variables)) == expected


def test_the_variable_that_decided_is_the_source() -> None:
    found = settled(TARGET_AZURE_OPENAI_ENDPOINT="https://a")
    source = "environment TARGET_AZURE_OPENAI_ENDPOINT"
    assert found.sources["model.target.backend"] == source
    assert found.sources["model.target.base_url"] == source


def test_a_file_that_names_a_backend_is_not_moved_to_azure() -> None:
    Path("my.yaml").write_text("model: {backend: qwen_chat}\n", encoding="utf-8")
    overrides = replace(SHOW, config=Path("my.yaml"))
    found = settled(overrides, AZURE_OPENAI_ENDPOINT="https://a")
    assert backends(found) == ("qwen_chat", "qwen_chat")
    assert found.config.model.target.base_url is None


def test_the_model_may_be_named_by_the_deployment_variable() -> None:
    found = settled(
        TARGET_BACKEND="qwen_chat",
        TARGET_DEPLOYMENT="general",
        OPTIMIZER_DEPLOYMENT="general",
        OPENAI_COMPATIBLE_MODEL="specific",
    )
    assert found.config.model.target.name == "general"
    assert found.sources["model.target.name"] == "environment TARGET_DEPLOYMENT"
    assert found.config.model.optimizer.name == "specific"
    tiny = settled(replace(SHOW, preset="tiny"), TARGET_DEPLOYMENT="general")
    assert tiny.config.model.target.name is None


@pytest.mark.parametrize(
    ("backend", "model"), [("qwen_chat", "Qwen/Qwen3.5-4B"), ("minimax_chat", "MiniMax-M3")]
)
def test_a_backend_with_a_model_of_its_own_needs_no_name(backend: str, model: str) -> None:
    found = settled(TARGET_BACKEND=backend, MINIMAX_API_KEY="k")
    assert found.config.model.target.name == model
    assert found.sources["model.target.name"] == f"default of {backend}"
    assert found.config.model.optimizer.name is None
    assert found.config.model.judge.name is None
    named = settled(TARGET_BACKEND=backend, MINIMAX_API_KEY="k", TARGET_DEPLOYMENT="mine")
    assert named.config.model.target.name == "mine"
    path = Path("my.yaml")
    path.write_text("model: {target: {name: mine}}\n", encoding="utf-8")
    by_file = settled(replace(SHOW, config=path), TARGET_BACKEND=backend, MINIMAX_API_KEY="k")
    assert by_file.config.model.target.name == "mine"


def test_a_judge_takes_its_own_backends_model_only_where_it_has_a_backend() -> None:
    own = settled(JUDGE_BACKEND="minimax_chat", OPTIMIZER_BACKEND="qwen_chat", MINIMAX_API_KEY="k")
    assert own.config.model.judge.name == "MiniMax-M3"
    overrides = replace(SHOW, assignments=("model.judge.temperature=0",))
    shared = settled(overrides, OPTIMIZER_BACKEND="qwen_chat")
    assert shared.config.model.judge.name is None
    assert own_settings(shared.config, "judge").name == "Qwen/Qwen3.5-4B"


@pytest.mark.parametrize(
    ("variables", "lacking", "hint"),
    [
        ({"OPTIMIZER_BACKEND": "openai_chat"}, "endpoint", "AZURE_OPENAI_ENDPOINT"),
        ({"OPTIMIZER_BACKEND": "openai_compatible"}, "endpoint", "OPENAI_COMPATIBLE_BASE_URL"),
        ({"OPTIMIZER_BACKEND": "claude_chat"}, "key", "ANTHROPIC_API_KEY"),
        ({"OPTIMIZER_BACKEND": "minimax_chat"}, "key", "MINIMAX_API_KEY"),
        (
            {"OPTIMIZER_BACKEND": "openai_compatible", "OPENAI_API_KEY": "k"},
            "model",
            "`model.optimizer.name=NAME`",
        ),
        (
            {"OPTIMIZER_BACKEND": "claude_chat", "ANTHROPIC_API_KEY": "k"},
            "model",
            "`model.optimizer.name=NAME`",
        ),
        ({"AZURE_OPENAI_ENDPOINT": "https://a"}, "model", "`model.optimizer.name=NAME`"),
        (
            {"AZURE_OPENAI_ENDPOINT": "https://a", "AZURE_OPENAI_AUTH_MODE": "api_key"},
            "key",
            "AZURE_OPENAI_API_KEY",
        ),
    ],
)
def test_what_a_backend_lacks_is_one_sentence_that_says_why_it_is_asked(
    variables: dict[str, str], lacking: str, hint: str
) -> None:
    error = refused(**variables)
    assert lacking in error.message
    assert "for the optimizer" in error.message
    asking = next(iter(variables))
    assert f"environment {asking}" in error.message
    assert hint in error.hint


def test_nothing_at_all_points_to_the_demo() -> None:
    error = refused()
    assert error.message == "no model endpoint is configured for the optimizer"
    assert "AZURE_OPENAI_ENDPOINT" in error.hint
    assert "`preset=demo`" in error.hint


def test_the_demo_has_a_judge_where_a_benchmark_wants_one() -> None:
    demo = Overrides("sealqa", "demo", assignments=("env.search_mode=given",))
    assert backend_name(settled(demo).config, "judge") == "simulated"
    own = replace(demo, assignments=(*demo.assignments, "model.judge.backend=rules"))
    assert refused(own).message == "backend `rules` cannot be the judge, which this benchmark needs"


def test_only_a_role_that_is_needed_must_be_reachable_or_exist() -> None:
    variables = {"OPTIMIZER_BACKEND": "no_such", "TARGET_BACKEND": "simulated"}
    settled(replace(RUN, roles=("target",)), **variables)
    error = refused(**variables)
    assert error.message == "there is no backend `no_such` (environment OPTIMIZER_BACKEND)"


def test_a_backend_that_cannot_play_a_role_is_told_before_what_it_lacks() -> None:
    error = refused(OPTIMIZER_BACKEND="command", TARGET_BACKEND="simulated")
    assert error.message == "backend `command` cannot be the optimizer"
    assert "it plays target" in error.hint


def test_a_backend_that_cannot_judge_is_told_with_the_setting_of_the_judge() -> None:
    judged = Overrides("babyvision", roles=("optimizer", "target", "judge"))
    error = refused(judged, OPTIMIZER_BACKEND="rules", TARGET_BACKEND="simulated")
    assert error.message == "backend `rules` cannot be the judge, which this benchmark needs"
    assert "`model.judge.backend=NAME`" in error.hint


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("azure", "openai_chat"),
        ("Claude", "claude_chat"),
        ("compat", "openai_compatible"),
        ("minimax", "minimax_chat"),
        ("qwen_cha", "qwen_chat"),
    ],
)
def test_another_spelling_of_a_backend_is_told_the_right_one(said: str, ours: str) -> None:
    error = refused(TARGET_BACKEND=said, OPTIMIZER_BACKEND="simulated")
    assert error.message == f"there is no backend `{said}` (environment TARGET_BACKEND)"
    assert error.hint == f"did you mean `{ours}`?"


@pytest.mark.parametrize(
    ("variable", "value", "setting", "wanted", "hint"),
    [
        ("AZURE_OPENAI_AUTH_MODE", "aad", "auth_mode", "`managed_identity`", "managed_identity"),
        ("AZURE_OPENAI_AUTH_MODE", "azure_ad", "auth_mode", "not `azure_ad`", "managed_identity"),
        ("AZURE_OPENAI_AUTH_MODE", "key", "auth_mode", "`api_key`", "`api_key`"),
        ("AZURE_OPENAI_AUTH_MODE", "API_KEY", "auth_mode", "`api_key`", "`api_key`"),
        ("AZURE_OPENAI_AUTH_MODE", "compat", "auth_mode", "`api_key`", "`openai_compatible`"),
        ("TARGET_QWEN_CHAT_TIMEOUT_SECONDS", "soon", "timeout", "a number, not `soon`", ""),
        ("QWEN_CHAT_TEMPERATURE", "9", "temperature", "from 0 to 2", ""),
        ("QWEN_CHAT_TEMPERATURE", "off", "temperature", "a number", "`server_default`"),
        ("QWEN_CHAT_MAX_TOKENS", "0", "max_completion_tokens", "at least 1", ""),
        ("QWEN_CHAT_THINKING_MODE", "auto", "thinking", "`enabled`", "`server_default`"),
        ("QWEN_CHAT_THINKING_MODE", "1", "thinking", "not 1", "`enabled`"),
        ("MINIMAX_REGION", "cn", "region", "`cn_zh`", "`cn_zh`"),
    ],
)
def test_a_wrong_value_names_its_variable_and_the_spelling_wanted(
    variable: str, value: str, setting: str, wanted: str, hint: str
) -> None:
    backend = {"A": "openai_chat", "M": "minimax_chat"}.get(variable[0], "qwen_chat")
    with pytest.raises(ConfigError) as caught:
        settled(**{variable: value, "TARGET_BACKEND": backend, "OPTIMIZER_BACKEND": "simulated"})
    message = caught.value.message
    assert message.startswith(f"`model.target.{setting}` (environment {variable}) must be")
    assert wanted in message
    assert hint in caught.value.hint


@pytest.mark.parametrize(("word", "mode"), [("true", "enabled"), ("no", "disabled")])
def test_a_switch_may_hold_a_truth_value(word: str, mode: str) -> None:
    found = settled(TARGET_BACKEND="minimax_chat", MINIMAX_ENABLE_THINKING=word)
    assert found.config.model.target.thinking == mode


def test_numbers_in_variables_are_read_as_in_yaml_and_texts_are_kept() -> None:
    found = settled(
        TARGET_BACKEND="qwen_chat",
        QWEN_CHAT_TEMPERATURE=" 0.5 ",
        QWEN_CHAT_MAX_TOKENS="1_000",
        TARGET_QWEN_CHAT_TIMEOUT_SECONDS="90",
        QWEN_CHAT_MODEL="007",
    ).config.model.target
    assert (found.temperature, found.max_completion_tokens) == (0.5, 1000)
    assert (found.timeout, found.name) == (90.0, "007")


def test_a_roles_own_setting_without_effect_is_refused_with_those_that_heed_it() -> None:
    overrides = replace(
        SHOW, assignments=("model.target.region=cn_zh",), flags={"model.backend": COMPATIBLE}
    )
    error = refused(overrides)
    assert error.message == (
        "`model.target.region` (flag --set) has no effect with the backend `openai_compatible`"
    )
    assert "minimax_chat" in error.hint


def test_a_shared_setting_needs_one_role_that_heeds_it() -> None:
    Path("my.yaml").write_text("model: {thinking: enabled}\n", encoding="utf-8")
    overrides = replace(SHOW, config=Path("my.yaml"))
    settled(overrides, TARGET_BACKEND="qwen_chat")
    error = refused(overrides, TARGET_BACKEND="simulated")
    assert error.message.startswith("`model.thinking` (my.yaml) has no effect with the backend")
    assert "`openai_compatible` or `simulated`" in error.message


def test_variables_of_a_backend_that_does_not_play_say_nothing() -> None:
    found = settled(TARGET_BACKEND="qwen_chat", MINIMAX_REGION="mars", AZURE_OPENAI_AUTH_MODE="x")
    assert found.config.model.target.region is None


@pytest.mark.parametrize("name", names(BACKENDS))
def test_what_a_backend_declares_fits_the_settings(name: str) -> None:
    spec = load_backend(name)
    known = set(RoleConfig.model_fields)
    assert set(spec.variables) <= known
    assert spec.honours <= known
    assert set(spec.variables) & set(SPECIAL) <= spec.honours
    for need in spec.needs:
        assert set(need.settings) | set(need.when) <= known
        words = {"role": "target", "ROLE": "TARGET"}
        assert not need.lack.format(**words).endswith(".")
        assert need.hint.format(**words)


def test_the_azure_endpoints_variables_are_those_of_the_backend() -> None:
    addresses = load_backend(CHAT).variables["base_url"]
    for address in addresses:
        found = settled(**{address.format(ROLE="TARGET"): "https://a"})
        assert backend_name(found.config, "target") == CHAT


@pytest.mark.parametrize(
    ("backend", "setting"),
    [
        ("codex_exec", "temperature=0.5"),
        ("codex_exec", "max_completion_tokens=99"),
        ("claude_code_exec", "temperature=0.5"),
        ("command", "timeout=5"),
        ("command", "reasoning_effort=low"),
        ("cursor_exec", "base_url=http://127.0.0.1:9/v1"),
        ("copilot_exec", "temperature=0.5"),
    ],
)
def test_what_a_program_cannot_be_told_is_refused(backend: str, setting: str) -> None:
    keys = dict.fromkeys(
        ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "CURSOR_API_KEY", "COPILOT_GITHUB_TOKEN"), "k"
    )
    variables = {"OPTIMIZER_BACKEND": "simulated", "TARGET_BACKEND": backend, **keys}
    name = setting.partition("=")[0]
    named = "model.target.name=m"
    settle(replace(RUN, assignments=[named, f"model.optimizer.{setting}"]), variables)
    error = refused(replace(RUN, assignments=[named, f"model.target.{setting}"]), **variables)
    assert error.message == (
        f"`model.target.{name}` (flag --set) has no effect with the backend `{backend}`"
    )
    # Shared, it is for whoever heeds it.
    settle(replace(RUN, assignments=[named, f"model.{setting}"]), variables)
