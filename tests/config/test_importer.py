"""`config import`: the published system's configurations in our keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_cli.config.files import file_layers
from skillopt_cli.config.importer import Imported, import_config
from skillopt_cli.config.layers import resolve
from skillopt_cli.core.errors import ConfigError

STRUCTURED = """
model:
  optimizer: gpt-5.5
  target: 007
  target_backend: openai_chat
  azure_openai_api_key: sk-canary-0123456789
  azure_openai_ad_scope: https://example/.default
train:
  num_epochs: 2
  steps_per_epoch: 9
gradient:
  max_analyst_rounds: 3
optimizer:
  learning_rate: 8
  lr_control_mode: manual
evaluation:
  gate_metric: soft
  leading_words: [good]
env:
  name: searchqa
  split_ratio: 2:1:7
  workers: 4
  exec_timeout: 60
  some_option: '5'
"""
FLAT = """
optimizer_model: gpt-5.5
teacher_model: ''
target_model: '4'
edit_budget: 8
min_edit_budget: 2
num_epochs: 2
batch_size: 20
lr_scheduler: autonomous
env: searchqa
workers: 3
"""


BACKENDS = ("openai_compatible", "simulated")


def imported(text: str, name: str = "old.yaml") -> Imported:
    Path(name).write_text(text, encoding="utf-8")
    return import_config(Path(name), BACKENDS)


def test_sections_are_carried_over_and_the_result_is_a_configuration() -> None:
    found = imported(STRUCTURED)
    Path("new.yaml").write_text(found.text(), encoding="utf-8")
    config = resolve(file_layers(Path("new.yaml"))).config
    assert config.model.optimizer.name == "gpt-5.5"
    assert config.model.target.name == "007"
    assert config.model.target.backend is None
    assert config.model.target.timeout == 60
    assert config.train.num_epochs == 2
    assert config.optimizer.learning_rate == 8
    assert config.optimizer.lr_control_mode == "fixed"
    assert config.evaluation.gate_metric == "soft"
    assert config.env.split_ratio == "2:1:7"
    assert config.env.options == {"some_option": "5"}
    assert config.run.workers == 4


def test_what_was_left_behind_is_listed_with_a_reason() -> None:
    left = dict(imported(STRUCTURED).left)
    assert set(left) == {
        "model.target_backend",
        "model.azure_openai_api_key",
        "model.azure_openai_ad_scope",
        "train.steps_per_epoch",
        "gradient.max_analyst_rounds",
        "evaluation.leading_words",
    }
    assert all(left.values())


def test_a_key_is_never_carried_over() -> None:
    found = imported(STRUCTURED)
    assert "canary" not in found.text()
    assert "canary" not in str(found.left)


def test_the_flat_shape_is_read_as_well() -> None:
    found = imported(FLAT)
    values = found.values
    assert values["model"] == {"optimizer": {"name": "gpt-5.5"}, "target": {"name": "4"}}
    assert values["optimizer"] == {
        "learning_rate": 8,
        "min_learning_rate": 2,
        "lr_control_mode": "autonomous",
    }
    assert values["train"] == {"num_epochs": 2, "batch_size": 20}
    assert values["env"] == {"name": "searchqa"}
    assert not found.left


@pytest.mark.parametrize(
    ("key", "said", "ours"),
    [
        ("lr_control_mode", "auto", "autonomous"),
        ("lr_control_mode", "no_lr", "none"),
        ("skill_update_mode", "rewrite", "rewrite_from_suggestions"),
        ("skill_update_mode", "full_rewrite", "full_rewrite_minibatch"),
        ("skill_update_mode", "patch", "patch"),
    ],
)
def test_other_spellings_of_a_mode_are_known(key: str, said: str, ours: str) -> None:
    assert imported(f"{key}: {said}\n").values == {"optimizer": {key: ours}}


def test_a_base_is_followed_and_a_circle_is_refused() -> None:
    Path("base.yaml").write_text("train: {num_epochs: 9, batch_size: 7}\n", encoding="utf-8")
    found = imported("_base_: base.yaml\ntrain: {num_epochs: 2}\n")
    assert found.values["train"] == {"num_epochs": 2, "batch_size": 7}
    with pytest.raises(ConfigError, match="circle"):
        imported("_base_: old.yaml\n")


@pytest.mark.parametrize("text", ["- a\n", "a: [\n", "a: 1\na: 2\n"])
def test_a_file_that_is_no_configuration_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"old\.yaml"):
        imported(text)


@pytest.mark.parametrize(
    ("key", "name", "absent"),
    [
        ("model_backend", "azure_openai", "backend `openai_chat`"),
        ("model_backend", "cursor", "backend `openai_chat`"),
        ("model_backend", "qwen", "backend `openai_chat` and no backend `qwen_chat`"),
        ("optimizer_backend", "claude", "backend `claude_chat`"),
        ("student_backend", "claude_code_exec", "backend `claude_code_exec`"),
    ],
)
def test_a_backend_that_does_not_exist_here_is_left_behind(
    key: str, name: str, absent: str
) -> None:
    found = imported(f"{key}: {name}\nnum_epochs: 2\n")
    assert found.values == {"train": {"num_epochs": 2}}
    assert found.left == ((key, f"there is no {absent} here"),)


@pytest.mark.parametrize(
    ("said", "ours"),
    [("compat", "openai_compatible"), (" OpenAI-Compatible ", "openai_compatible")],
)
def test_other_spellings_of_a_backend_are_known(said: str, ours: str) -> None:
    found = imported(f"model: {{target_backend: '{said}', backend: simulated}}\n")
    both = {"optimizer": {"backend": "simulated"}, "target": {"backend": ours}}
    assert found.values == {"model": both}


def test_a_missing_base_names_the_file_that_wants_it() -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml, which old\.yaml is based on,") as caught:
        imported("_base_: gone.yaml\n")
    assert "`_base_`" in caught.value.hint


CHATS = ("openai_chat", "openai_compatible", "claude_chat", "qwen_chat", "minimax_chat")
PUBLISHED_BASE = """
model:
  backend: azure_openai
  optimizer: gpt-5.5
  target: gpt-5.5
  optimizer_backend: openai_chat
  target_backend: openai_chat
  reasoning_effort: medium
  rewrite_reasoning_effort: ""
  rewrite_max_completion_tokens: 64000
  codex_exec_path: ""
  codex_trace_to_optimizer: true
  claude_code_exec_path: claude
  azure_openai_endpoint: ""
  azure_openai_api_version: 2024-12-01-preview
  azure_openai_api_key: ""
  azure_openai_auth_mode: ""
  azure_openai_ad_scope: https://cognitiveservices.azure.com/.default
  optimizer_azure_openai_api_version: 2024-12-01-preview
  target_azure_openai_api_version: 2024-12-01-preview
  qwen_chat_thinking_mode: ""
  minimax_model: MiniMax-M3
  minimax_temperature: "0.7"
  minimax_max_tokens: "8000"
  minimax_enable_thinking: "false"
"""


def with_base(text: str) -> Imported:
    """A file on the published base, where all chat backends exist; the result must hold."""
    Path("base.yaml").write_text(PUBLISHED_BASE, encoding="utf-8")
    Path("old.yaml").write_text(f"_base_: base.yaml\n{text}", encoding="utf-8")
    found = import_config(Path("old.yaml"), CHATS)
    Path("new.yaml").write_text(found.text(), encoding="utf-8")
    resolve(file_layers(Path("new.yaml")))
    return found


def test_the_published_base_says_what_both_roles_share_once() -> None:
    found = with_base("")
    assert found.values["model"] == {
        "backend": "openai_chat",
        "reasoning_effort": "medium",
        "optimizer": {"name": "gpt-5.5"},
        "target": {"name": "gpt-5.5"},
    }
    left = dict(found.left)
    assert left["model.minimax_temperature"] == "no role is played by minimax_chat"
    assert left["model.claude_code_exec_path"] == "no role is played by claude_code_exec"
    assert "rewrite" in left["model.rewrite_max_completion_tokens"]
    assert "model.azure_openai_api_version" not in left


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("key", "api_key"),
        ("aad", "managed_identity"),
        ("azure_ad", "managed_identity"),
        ("compat", "openai_compatible"),
        ("openai", "openai_compatible"),
        ("Azure_CLI", "azure_cli"),
    ],
)
def test_azure_settings_are_carried_shared_and_by_role(said: str, ours: str) -> None:
    found = with_base(
        f"""
model:
  azure_openai_endpoint: https://both.example
  azure_openai_auth_mode: {said}
  target_azure_openai_endpoint: https://target.example
  target_azure_openai_managed_identity_client_id: '1234'
  optimizer_azure_openai_api_version: 2025-04-01-preview
"""
    )
    model = found.values["model"]
    assert model["auth_mode"] == ours
    assert model["optimizer"]["base_url"] == "https://both.example"
    assert model["optimizer"]["api_version"] == "2025-04-01-preview"
    assert model["target"]["base_url"] == "https://target.example"
    assert model["target"]["managed_identity_client_id"] == "1234"


def test_the_oldest_names_count_where_the_newer_ones_are_empty() -> None:
    found = imported("azure_endpoint: https://a\nazure_openai_endpoint: ''\n")
    assert found.left == (("azure_endpoint", "no role is played by openai_chat"),)
    found = with_base("model: {azure_endpoint: 'https://a'}\n")
    assert found.values["model"]["base_url"] == "https://a"
    found = with_base("model: {azure_endpoint: 'https://a', azure_openai_endpoint: 'https://b'}\n")
    assert found.values["model"]["base_url"] == "https://b"


@pytest.mark.parametrize(
    ("high", "optimizer", "target"),
    [
        ("azure", "openai_chat", "openai_chat"),
        ("claude", "claude_chat", "claude_chat"),
        ("qwen", "openai_chat", "qwen_chat"),
        ("minimax_chat", "openai_chat", "minimax_chat"),
        ("openai_compatible", "openai_compatible", "openai_compatible"),
        ("something else", "openai_chat", "openai_chat"),
    ],
)
def test_a_high_level_name_says_who_plays_each_role(high: str, optimizer: str, target: str) -> None:
    model = with_base(f"model: {{backend: {high}}}\n").values["model"]
    shared = model.get("backend")
    assert model["optimizer"].get("backend", shared) == optimizer
    assert model["target"].get("backend", shared) == target


def test_a_role_of_its_own_backend_keeps_it_whatever_the_high_level_name() -> None:
    model = with_base("model: {backend: qwen, target_backend: claude}\n").values["model"]
    assert model["target"]["backend"] == "claude_chat"


def test_a_sentinel_name_becomes_the_model_the_published_system_would_ask_for() -> None:
    found = with_base("model: {backend: minimax, minimax_model: MiniMax-M2.7}\n")
    assert found.values["model"]["target"]["name"] == "MiniMax-M2.7"
    assert "MiniMax-M2.7" in dict(found.left)["model.target"]
    named = with_base("model: {backend: minimax, target: mine}\n")
    assert named.values["model"]["target"]["name"] == "mine"


def test_settings_of_qwen_and_minimax_are_carried_to_the_role_they_play() -> None:
    qwen = with_base(
        """
model:
  target_backend: qwen
  qwen_chat_base_url: http://q/v1
  qwen_chat_timeout_seconds: 90
  qwen_chat_max_tokens: '900'
  qwen_chat_temperature: 0.2
  target_qwen_chat_temperature: 0.4
  target_qwen_chat_thinking_mode: 'off'
"""
    ).values["model"]
    assert qwen["target"] == {
        "backend": "qwen_chat",
        "base_url": "http://q/v1",
        "timeout": 90,
        "max_completion_tokens": 900,
        "temperature": 0.4,
        "thinking": "disabled",
        "name": "Qwen/Qwen3.5-4B",
    }
    assert "reasoning_effort" in qwen["optimizer"]
    minimax = with_base("model: {backend: minimax, minimax_region: cn_zh}\n").values["model"]
    assert minimax["target"]["region"] == "cn_zh"
    assert minimax["target"]["temperature"] == 0.7
    assert minimax["target"]["thinking"] == "disabled"


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("azure_openai_api_key", "AZURE_OPENAI_API_KEY"),
        ("teacher_azure_openai_api_key", "OPTIMIZER_AZURE_OPENAI_API_KEY"),
        ("target_qwen_chat_api_key", "TARGET_QWEN_CHAT_API_KEY"),
        ("minimax_api_key", "MINIMAX_API_KEY"),
        ("azure_api_key", "AZURE_OPENAI_API_KEY"),
    ],
)
def test_a_key_becomes_the_advice_to_set_its_variable(key: str, variable: str) -> None:
    found = with_base(f"model: {{{key}: sk-canary-0123456789}}\n")
    assert f"set the variable {variable}" in dict(found.left)[f"model.{key}"]
    assert "canary" not in found.text() + str(found.left)


AGENTS = (
    *(*CHATS, "codex_exec", "claude_code_exec"),
    *("cursor_exec", "copilot_exec", "copilot_chat"),
)


def with_agents(text: str) -> Imported:
    Path("old.yaml").write_text(text, encoding="utf-8")
    found = import_config(Path("old.yaml"), AGENTS)
    Path("new.yaml").write_text(found.text(), encoding="utf-8")
    resolve(file_layers(Path("new.yaml")))
    return found


def test_settings_of_codex_are_carried_where_it_plays_the_target() -> None:
    found = with_agents(
        """
target_backend: codex_exec
codex_path: /opt/codex
codex_exec_sandbox: read-only
codex_exec_reasoning_effort: high
codex_exec_profile: mine
codex_exec_web_search: true
claude_code_exec_effort: low
"""
    )
    assert found.values["model"] == {
        "target": {"backend": "codex_exec", "reasoning_effort": "high"},
        "codex_exec": {"path": "/opt/codex", "sandbox": "read-only"},
    }
    left = dict(found.left)
    assert left["codex_exec_profile"] == "an attempt reads no configuration but its own"
    assert left["claude_code_exec_effort"] == "no role is played by claude_code_exec"
    assert set(left) == {
        "codex_exec_profile",
        "codex_exec_web_search",
        "claude_code_exec_effort",
    }


def test_settings_of_claude_code_are_carried_where_it_plays_the_target() -> None:
    found = with_agents(
        """
target_backend: claude_code_exec
claude_code_exec_path: claude
claude_code_exec_effort: max
cursor_exec_path: cursor-agent
sandbox: read-only
"""
    )
    assert found.values["model"] == {
        "target": {"backend": "claude_code_exec", "reasoning_effort": "max"}
    }
    left = dict(found.left)
    assert left["cursor_exec_path"] == "no role is played by cursor_exec"
    assert left["sandbox"] == "no role is played by codex_exec"


def test_an_agent_without_a_sandbox_is_not_carried() -> None:
    found = with_agents("target_backend: codex_exec\ncodex_sandbox: danger-full-access\n")
    assert found.values["model"] == {"target": {"backend": "codex_exec"}}
    assert found.left == (("codex_sandbox", "no attempt is made without a sandbox"),)


def test_codex_plays_both_roles_where_it_is_the_one_backend() -> None:
    found = with_agents("model_backend: codex_exec\ncodex_exec_reasoning_effort: low\n")
    assert found.values["model"] == {"backend": "codex_exec", "reasoning_effort": "low"}
    assert found.left == ()
    found = with_agents("optimizer_backend: codex_exec\ncodex_path: /opt/codex\n")
    assert found.values["model"] == {
        "optimizer": {"backend": "codex_exec"},
        "codex_exec": {"path": "/opt/codex"},
    }


@pytest.mark.parametrize("agent", ["cursor_exec", "copilot_exec"])
def test_an_agent_that_plays_the_target_only_is_no_optimizer(agent: str) -> None:
    found = with_agents(f"optimizer_backend: {agent}\n")
    assert found.values["model"] == {"optimizer": {"backend": "openai_chat"}}
    left = {"optimizer_backend": "an agent that is a program plays the target only"}
    assert dict(found.left) == left
    found = with_agents(f"model_backend: {agent}\n")
    backends = {role: told["backend"] for role, told in found.values["model"].items()}
    assert backends == {"optimizer": "openai_chat", "target": agent}


def test_settings_of_cursor_and_copilot_are_carried_where_they_play() -> None:
    found = with_agents(
        """
target_backend: cursor_exec
target_model: gpt-5.5
cursor_exec_path: /opt/cursor-agent
cursor_exec_sandbox: disabled
copilot_exec_home: /opt/copilot
"""
    )
    assert found.values["model"] == {
        "target": {"backend": "cursor_exec", "name": "composer-2.5"},
        "cursor_exec": {"path": "/opt/cursor-agent"},
    }
    left = dict(found.left)
    assert left["cursor_exec_sandbox"] == "no attempt is made without a sandbox"
    assert left["copilot_exec_home"].startswith("no role is played by copilot_")
    found = with_agents(
        "target_backend: copilot_exec\ntarget_model: gpt-5.5\n"
        "copilot_exec_allow_all_tools: false\ncopilot_exec_home: /opt/copilot\n"
    )
    assert found.values["model"] == {
        "target": {"backend": "copilot_exec"},
        "copilot_exec": {"sandbox": "read-only"},
    }
    left = dict(found.left)
    assert left["copilot_exec_home"] == "an attempt reads no configuration but its own"
    assert "the program's own choice" in left["target_model"]


def test_copilot_is_asked_for_its_own_models() -> None:
    found = with_agents(
        """
model_backend: copilot_chat
optimizer_model: gpt-5.5
copilot_chat_optimizer_model: claude-opus-4.6
copilot_chat_timeout: 90
copilot_exec_path: /opt/copilot
"""
    )
    assert found.values["model"] == {
        "backend": "copilot_chat",
        "optimizer": {"name": "claude-opus-4.6"},
        "copilot_chat": {"path": "/opt/copilot", "timeout": 90},
    }
    assert dict(found.left) == {
        "optimizer_model": "copilot_chat uses copilot_chat_optimizer_model only"
    }
