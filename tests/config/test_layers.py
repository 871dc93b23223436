"""Layers: which value wins, what it is read as, and where it came from."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt_cli.config import RunConfig
from skillopt_cli.config.declarations import known_keys
from skillopt_cli.config.layers import (
    Layer,
    Tier,
    assignment_layers,
    environment_layers,
    resolve,
)
from skillopt_cli.config.scalars import read_yaml
from skillopt_cli.core.errors import ConfigError


def file(text: str, name: str = "my.yaml") -> Layer:
    return Layer(name, read_yaml(text))


def value(config: RunConfig, key: str) -> Any:
    found: Any = config
    for name in key.split("."):
        found = getattr(found, name)
    return found


@pytest.mark.parametrize(
    ("key", "default", "texts"),
    [
        ("train.batch_size", 40, ("10", "20", "30")),
        ("optimizer.min_learning_rate", None, ("1", "2", "3")),
        ("evaluation.gate_mixed_weight", 0.5, ("0.1", "0.2", "0.3")),
        ("evaluation.early_reject", True, ("false", "true", "false")),
        ("evaluation.gate_metric", "hard", ("soft", "mixed", "soft")),
        ("env.skill_init", "", ("a.md", "b.md", "c.md")),
        ("model.target.name", None, ("a", "b", "c")),
        ("model.optimizer.temperature", None, ("0.0", "1.0", "2.0")),
        ("model.retry.max_attempts", 8, ("1", "2", "3")),
        ("run.workers", 8, ("1", "2", "3")),
    ],
)
def test_default_then_file_then_environment_then_flag(
    key: str, default: Any, texts: tuple[str, str, str]
) -> None:
    section, *rest = key.split(".")
    nested: Any = read_yaml(texts[0])
    for name in reversed(rest):
        nested = {name: nested}
    variable = f"SKILLOPT_{key.upper().replace('.', '__')}"
    layers = [
        Layer("my.yaml", {section: nested}),
        *environment_layers({variable: texts[1]}),
        *assignment_layers([f"{key}={texts[2]}"]),
    ]
    typed = [type(value(resolve(layers).config, key))(read_yaml(t)) for t in texts]
    if typed[0].__class__ is bool:
        typed = [t == "true" for t in texts]
    assert value(resolve([]).config, key) == default
    for count, (expected, source) in enumerate(
        zip(typed, ("my.yaml", f"environment {variable}", "flag --set"), strict=True), 1
    ):
        found = resolve(layers[:count])
        assert value(found.config, key) == expected
        assert found.sources[key] == source


def test_null_and_empty_never_override() -> None:
    layers = [
        *environment_layers({"SKILLOPT_MODEL__TARGET__NAME": "kept"}),
        file("model: {target: {name: }, base_url: ''}\ntrain:\nenv: {}\n"),
        *assignment_layers(["model.target.name=", "train.batch_size=null"]),
    ]
    found = resolve(layers)
    assert found.config.model.target.name == "kept"
    assert found.config.train.batch_size == 40
    assert "train.batch_size" not in found.sources


def test_an_empty_mapping_keeps_what_stands_below() -> None:
    found = resolve([file("model: {target: {name: m}}"), file("model: {target: {}}", "b.yaml")])
    assert found.config.model.target.name == "m"


def test_a_base_file_never_undoes_anything() -> None:
    found = resolve([
        file("train: {batch_size: 6}"),
        Layer("base", {"train": {"batch_size": 40}}, tier=Tier.BASE),
    ])
    assert found.config.train.batch_size == 6


@pytest.mark.parametrize("text", ["gpt-5", "007", "4", "1e3", "yes", "2024-01-01"])
def test_a_model_name_stays_text_in_every_layer(text: str) -> None:
    for layers in (
        [file(f"model: {{target: {text}}}")],
        [file(f"model: {{target: {{name: {text}}}}}")],
        environment_layers({"SKILLOPT_MODEL__TARGET": text}),
        assignment_layers([f"model.target={text}"]),
        assignment_layers([f"model.target.name={text}"]),
    ):
        assert resolve(layers).config.model.target.name == text


def test_a_plain_name_and_a_mapping_merge_key_by_key() -> None:
    found = resolve([
        file("model: {target: {backend: simulated, name: old}}"),
        *assignment_layers(["model.target=new"]),
    ])
    assert found.config.model.target.backend == "simulated"
    assert found.config.model.target.name == "new"


def test_set_takes_a_name_and_its_parts_together() -> None:
    found = resolve(assignment_layers(["model.target=m", "model.target.backend=simulated"]))
    assert (found.config.model.target.name, found.config.model.target.backend) == ("m", "simulated")


@pytest.mark.parametrize(
    ("assignment", "key", "expected"),
    [
        ("train.batch_size=7", "train.batch_size", 7),
        ("train.batch_size=007", "train.batch_size", 7),
        ("train.batch_size=1e1", "train.batch_size", 10),
        ("train.batch-size=7", "train.batch_size", 7),
        ("evaluation.eval_test=no", "evaluation.eval_test", False),
        ("evaluation.min_coverage=.5", "evaluation.min_coverage", 0.5),
        ("env.split_ratio=3:1:6", "env.split_ratio", "3:1:6"),
        ("model.target.timeout=2.5", "model.target.timeout", 2.5),
        ("env.skill_init=a=b.md", "env.skill_init", "a=b.md"),
        ("model.simulated.latency_ms=3", "model.simulated.latency_ms", 3.0),
    ],
)
def test_set_reads_every_type(assignment: str, key: str, expected: Any) -> None:
    assert value(resolve(assignment_layers([assignment])).config, key) == expected


def test_options_of_a_benchmark_are_read_as_yaml() -> None:
    given = ["env.a=3", "env.b=x y", "env.c=[1, two]", "env.d=true", "env.e='5'", "env.f=007"]
    found = resolve(assignment_layers(given)).config.env.options
    assert found == {"a": 3, "b": "x y", "c": [1, "two"], "d": True, "e": "5", "f": "007"}


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ([file("train: {batch_siz: 3}")], ("`train.batch_siz`", "my.yaml", "train.batch_size")),
        (
            assignment_layers(["optimizer.learning_rat=3"]),
            ("`optimizer.learning_rat`", "flag --set", "optimizer.learning_rate"),
        ),
        (
            environment_layers({"SKILLOPT_TRAIN__BATCH_SIZ": "3"}),
            ("SKILLOPT_TRAIN__BATCH_SIZ", "train.batch_size"),
        ),
        ([file("model: {target: {nam: x}}")], ("`model.target.nam`", "model.target.name")),
        (assignment_layers(["train.q=3"]), ("`train.q`", "flag --set", "config show")),
        (
            assignment_layers(["train.lr=3"]),
            ("`train.lr`", "flag --set", "optimizer.learning_rate"),
        ),
        (assignment_layers(["model.seed=3"]), ("`model.seed`", "did you mean")),
        (assignment_layers(["optimizer.merge_batch_size=4"]), ("`gradient.merge_batch_size`?",)),
        (assignment_layers(["gradient.num_epochs=4"]), ("`train.num_epochs`?",)),
    ],
)
def test_an_unknown_key_names_its_source_and_the_nearest(
    layers: list[Layer], words: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(layers)
    for word in words:
        assert word in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("SKILLOPT_TRAIN_BATCH_SIZE", "SKILLOPT_TRAIN__BATCH_SIZE"),
        ("SKILLOPT_BATCH_SIZE", "SKILLOPT_TRAIN__BATCH_SIZE"),
        ("SKILLOPT_TRAI__BATCH_SIZE", "SKILLOPT_TRAIN__BATCH_SIZE"),
        ("SKILLOPT_FOO__BAR", "SKILLOPT_MODEL__"),
    ],
)
def test_a_misspelt_variable_is_refused(name: str, near: str) -> None:
    with pytest.raises(ConfigError) as caught:
        environment_layers({name: "3"})
    assert name in caught.value.message
    assert near in caught.value.hint


def test_variables_of_others_are_left_alone() -> None:
    assert environment_layers({"SKILLOPT_PROCESS": "x", "SKILL": "y", "PATH": "z"}) == []


@pytest.mark.parametrize(
    ("text", "near"),
    [("batch_size=3", "train.batch_size"), ("learning-rate=3", "optimizer.learning_rate")],
)
def test_an_assignment_without_its_section_is_refused(text: str, near: str) -> None:
    with pytest.raises(ConfigError, match=r"section\.key=value") as caught:
        assignment_layers([text])
    assert near in caught.value.hint


def test_what_is_no_assignment_is_not_echoed() -> None:
    for text in ("sk-canary-0123456789", "", "x" * 60 + "=3"):
        with pytest.raises(ConfigError) as caught:
            assignment_layers([text])
        assert not text or text.partition("=")[0] not in caught.value.message


@pytest.mark.parametrize(
    ("assignment", "word"),
    [
        ("train.batch_size=0", "must be at least 1, not 0"),
        ("train.batch_size=many", "must be a whole number, not `many`"),
        ("train.batch_size=1.5", "must be a whole number, not 1.5"),
        ("gradient.merge_batch_size=1", "must be at least 2, not 1"),
        ("model.timeout=0", "must be above 0, not 0"),
        ("model.simulated.noise=1.5", "must be at most 1, not 1.5"),
        ("evaluation.use_gate=maybe", "must be true or false, not `maybe`"),
        ("optimizer.lr_scheduler=cos", "must be `constant`, `linear` or `cosine`, not `cos`"),
        ("env.split_ratio=1:2", " must be three positive whole numbers, such as 2:1:7"),
        ("train.batch_size.x=3", "must be a whole number"),
    ],
)
def test_a_value_out_of_range_names_key_and_source(assignment: str, word: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(assignment_layers([assignment]))
    key = assignment.partition("=")[0].removesuffix(".x")
    assert caught.value.message.startswith(f"`{key}` (flag --set)")
    assert word in caught.value.message


def test_a_word_of_a_list_that_is_misspelt_gets_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(assignment_layers(["optimizer.lr_scheduler=cosin"]))
    assert caught.value.hint == "did you mean `cosine`?"


@pytest.mark.parametrize(
    ("texts", "message", "hint"),
    [
        (
            ["env.data_path=a", "env.split_dir=b"],
            "`env.data_path` (flag --set) and `env.split_dir` (flag --set) are both set",
            "`env.split_mode=ratio`",
        ),
        (
            ["env.split_mode=ratio"],
            "`env.split_mode` (flag --set) is `ratio`, but `env.data_path` is not set",
            "`env.data_path=FILE`",
        ),
        (
            ["optimizer.min_learning_rate=9"],
            "`optimizer.min_learning_rate` (flag --set) of 9 is above"
            " `optimizer.learning_rate` (default) of 4",
            "`optimizer.min_learning_rate=4`, or `optimizer.learning_rate=9`",
        ),
        (
            ["model.simulated.right_rate=0.9"],
            "`model.simulated.right_rate` (flag --set) of 0.9 and"
            " `model.simulated.harmful_rate` (default) of 0.2 are more than 1 together",
            "lower one",
        ),
    ],
)
def test_settings_that_do_not_fit_together_are_all_named_with_their_sources(
    texts: list[str], message: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve([Layer("base", {"env": {"limit": 1}}), *assignment_layers(texts)])
    assert caught.value.message == message
    assert hint in caught.value.hint


def test_a_section_in_place_of_a_value_is_explained() -> None:
    with pytest.raises(ConfigError, match=r"`model.retry` \(flag --set\) is a group of settings"):
        resolve(assignment_layers(["model.retry=3"]))


def test_the_floor_never_exceeds_a_budget_of_one() -> None:
    assert resolve(assignment_layers(["optimizer.learning_rate=1"])).config.optimizer.floor == 1


def test_the_model_itself_reads_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLOPT_TRAIN__BATCH_SIZE", "3")
    monkeypatch.setenv("SKILLOPT_TRAIN__UNKNOWN", "3")
    assert RunConfig().train.batch_size == 40
    assert "train.batch_size" in known_keys()


@pytest.mark.parametrize(
    "assignment",
    [
        "model.api_key={}",
        "model.target.api_key={}",
        "model.api_key_env={}",
        "model.target.api_key_env={}",
        "model.base_url=https://user:{}@host/v1",
        "model.target.base_url=https://host/v1?api_key={}",
        "train.seed={}",
        "optimizer.lr_scheduler={}",
    ],
)
@pytest.mark.parametrize("key", ["sk-canary-5f2a91c0d3", "hf_canary5f2A91c0d3xyz"])
def test_a_key_in_the_wrong_place_is_refused_and_not_echoed(assignment: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(assignment_layers([assignment.format(key)]))
    assert key not in f"{caught.value!r} {caught.value.message} {caught.value.hint}"
