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
    "name", ["azure_openai", "codex", "claude_code_exec", "qwen_chat", "openai_chat"]
)
@pytest.mark.parametrize("key", ["model_backend", "optimizer_backend", "student_backend"])
def test_a_backend_that_does_not_exist_here_is_left_behind(key: str, name: str) -> None:
    found = imported(f"{key}: {name}\nnum_epochs: 2\n")
    assert found.values == {"train": {"num_epochs": 2}}
    assert found.left == ((key, f"there is no backend `{name}` here"),)


@pytest.mark.parametrize(
    ("said", "ours"),
    [("compat", "openai_compatible"), (" OpenAI-Compatible ", "openai_compatible")],
)
def test_other_spellings_of_a_backend_are_known(said: str, ours: str) -> None:
    found = imported(f"model: {{target_backend: '{said}', backend: simulated}}\n")
    assert found.values == {"model": {"target": {"backend": ours}, "backend": "simulated"}}


def test_a_missing_base_names_the_file_that_wants_it() -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml, which old\.yaml is based on,") as caught:
        imported("_base_: gone.yaml\n")
    assert "`_base_`" in caught.value.hint
