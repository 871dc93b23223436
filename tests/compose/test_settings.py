"""`settle`: files, variables and flags become one configuration."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.config.declarations import own_flags
from skillopt_cli.config.files import preset_names, shipped
from skillopt_cli.config.layers import DEFAULT, Resolved
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.plugins import BACKENDS, BENCHMARKS, load_backend, load_benchmark, names

SHOW = Overrides(benchmark="searchqa", roles=())


def settled(overrides: Overrides = SHOW, **variables: str) -> Resolved:
    return settle(overrides, variables)


def role(found: Resolved, name: str) -> dict[str, Any]:
    own: Mapping[str, Any] = getattr(found.config.model, name).model_dump()
    return {key: own[key] for key in ("name", "base_url", "api_key_env")}


def write(text: str, name: str = "my.yaml") -> Path:
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


def test_a_benchmarks_defaults_stand_below_a_preset_and_that_below_a_file() -> None:
    assert settled().config.run.workers == 24
    assert settled().sources["run.workers"] == "configs/searchqa/default.yaml"
    demo = settled(replace(SHOW, preset="demo"))
    assert demo.config.run.workers == 4
    assert demo.sources["run.workers"] == "preset demo"
    path = write("run: {workers: 2}\n")
    assert settled(replace(SHOW, preset="demo", config=path)).config.run.workers == 2


def test_a_file_based_on_the_shipped_defaults_does_not_undo_a_preset() -> None:
    base = shipped() / "_base_" / "default.yaml"
    path = write(f"_base_: {base}\ntrain: {{seed: 3}}\n")
    found = settled(replace(SHOW, preset="tiny", config=path)).config
    assert (found.train.num_epochs, found.train.batch_size, found.train.seed) == (2, 6, 3)
    assert found.run.workers == 24


CONFIGURED = sorted(
    path.parent.name
    for path in shipped().glob("*/default.yaml")
    if path.parent.name not in ("_base_", "presets")
)


@pytest.fixture
def copied() -> Path:
    """A copy of the folder of shipped configurations, as a clone or a person makes it."""
    return Path(shutil.copytree(shipped(), "elsewhere/mine"))


@pytest.mark.parametrize("benchmark", CONFIGURED)
def test_a_copy_of_the_shipped_folder_means_the_same_as_the_shipped_folder(
    benchmark: str, copied: Path
) -> None:
    own = f"{benchmark}/default.yaml"
    for preset in ("", *preset_names()):
        by_name = Overrides(benchmark=benchmark, preset=preset, roles=())
        by_copy = Overrides(config=copied / own, preset=preset, roles=())
        assert settled(by_copy).config == settled(by_name).config, preset
    by_file = Overrides(config=shipped() / own, roles=())
    assert settled(by_file).config == settled(replace(by_file, benchmark=benchmark)).config


@pytest.mark.parametrize("preset", ["", *preset_names()])
def test_a_copied_example_means_the_same_as_the_shipped_one(preset: str, copied: Path) -> None:
    for example in (shipped() / "examples").glob("*.yaml"):
        by_file = replace(SHOW, preset=preset, config=example)
        by_copy = replace(by_file, config=copied / "examples" / example.name)
        assert settled(by_copy).config == settled(by_file).config


def test_a_preset_wins_over_a_cloned_benchmark_file_and_its_base(copied: Path) -> None:
    found = settled(Overrides(preset="tiny", config=copied / "searchqa/default.yaml", roles=()))
    train, evaluation = found.config.train, found.config.evaluation
    assert (train.num_epochs, train.batch_size, evaluation.test_env_num) == (2, 6, 12)
    assert found.config.run.workers == 24
    assert found.sources["run.workers"] == "searchqa/default.yaml"
    assert "optimizer.failure_only" not in found.sources


def test_what_is_changed_in_a_copy_counts_where_nothing_above_it_decides(copied: Path) -> None:
    base, own = copied / "_base_/default.yaml", copied / "searchqa/default.yaml"
    base.write_text(base.read_text().replace("accumulation: 1", "accumulation: 3"))
    base.write_text(base.read_text().replace("num_epochs: 4", "num_epochs: 9"))
    own.write_text(own.read_text().replace("num_epochs: 4", "num_epochs: 7"))
    found = settled(Overrides(config=own, roles=()))
    assert (found.config.train.accumulation, found.config.train.num_epochs) == (3, 7)
    assert found.sources["train.accumulation"] == "_base_/default.yaml"
    tiny = settled(Overrides(preset="tiny", config=own, roles=())).config.train
    assert (tiny.accumulation, tiny.num_epochs) == (3, 2)
    mine = write(f"_base_: {own}\ntrain: {{num_epochs: 5}}\n")
    assert settled(Overrides(preset="tiny", config=mine, roles=())).config.train.num_epochs == 5


def test_a_variant_beside_a_benchmarks_own_file_wins_over_a_preset(copied: Path) -> None:
    text = "_base_: ../_base_/default.yaml\nenv: {name: searchqa}\ntrain: {num_epochs: 8}\n"
    variant = write(text, str(copied / "searchqa/long.yaml"))
    assert settled(Overrides(preset="tiny", config=variant, roles=())).config.train.num_epochs == 8


def test_a_misspelt_key_in_a_copied_base_file_is_refused(copied: Path) -> None:
    base = copied / "_base_/default.yaml"
    base.write_text(base.read_text().replace("batch_size: 40", "batchsize: 40"))
    with pytest.raises(ConfigError, match=r"`train.batchsize` \(_base_/default.yaml\)"):
        settled(Overrides(config=copied / "searchqa/default.yaml", roles=()))


def test_the_order_is_default_file_variable_flag() -> None:
    folder = replace(SHOW, benchmark="folder")
    path = write("train: {batch_size: 10}\n")
    steps = [
        (folder, {}, 40, "default"),
        (replace(folder, config=path), {}, 10, "my.yaml"),
        (
            replace(folder, config=path),
            {"SKILLOPT_TRAIN__BATCH_SIZE": "20"},
            20,
            "environment SKILLOPT_TRAIN__BATCH_SIZE",
        ),
        (
            replace(folder, config=path, flags={"train.batch_size": 30}),
            {"SKILLOPT_TRAIN__BATCH_SIZE": "20"},
            30,
            "flag --batch-size",
        ),
        (
            replace(folder, config=path, assignments=("train.batch_size=50",)),
            {"SKILLOPT_TRAIN__BATCH_SIZE": "20"},
            50,
            "flag --set",
        ),
    ]
    for overrides, variables, expected, source in steps:
        found = settled(overrides, **variables)
        assert found.config.train.batch_size == expected
        assert found.sources.get("train.batch_size", DEFAULT) == source


def test_the_benchmark_may_come_from_any_layer_and_the_argument_wins() -> None:
    nameless = Overrides(roles=())
    path = write("env: {name: folder}\n")
    assert settled(replace(nameless, config=path)).config.env.name == "folder"
    assert settled(nameless, SKILLOPT_ENV__NAME="folder").config.env.name == "folder"
    assert settled(replace(SHOW, config=path)).config.env.name == "searchqa"


def test_an_option_of_a_benchmark_is_accepted_by_it_alone() -> None:
    overrides = Overrides(benchmark="folder", assignments=("env.scorer=f1",), roles=())
    assert settled(overrides).config.env.options == {"scorer": "f1"}
    with pytest.raises(ConfigError) as caught:
        settled(replace(overrides, benchmark="searchqa"))
    assert "`env.scorer` (flag --set) of benchmark `searchqa`" in caught.value.message


@pytest.mark.parametrize(
    ("benchmark", "key", "near"),
    [("folder", "scorerr", "env.scorer"), ("searchqa", "split_dirr", "env.split_dir")],
)
def test_an_unknown_option_names_its_source_and_the_nearest(
    benchmark: str, key: str, near: str
) -> None:
    path = write(f"env: {{name: {benchmark}, {key}: x}}\n")
    with pytest.raises(ConfigError) as caught:
        settled(Overrides(config=path, roles=()))
    assert f"env.{key}" in caught.value.message
    assert "my.yaml" in caught.value.message
    assert near in caught.value.hint


def test_an_option_that_is_a_mapping_names_its_source_too() -> None:
    with pytest.raises(ConfigError, match="flag --set"):
        settled(replace(SHOW, assignments=("env.deep={a: 1}",)))


SHARED = {
    "OPENAI_COMPATIBLE_BASE_URL": "http://shared/v1",
    "OPENAI_COMPATIBLE_API_KEY": "shared-secret",
    "OPENAI_COMPATIBLE_MODEL": "shared-model",
}
PLAIN = {"OPENAI_BASE_URL": "http://plain/v1", "OPENAI_API_KEY": "plain-secret"}
TARGET = {
    "TARGET_OPENAI_COMPATIBLE_BASE_URL": "http://target/v1",
    "TARGET_OPENAI_COMPATIBLE_API_KEY": "target-secret",
    "TARGET_OPENAI_COMPATIBLE_MODEL": "target-model",
}


def test_provider_variables_are_asked_role_first_then_shared_then_openai() -> None:
    found = settled(**PLAIN, **SHARED, **TARGET)
    assert role(found, "target") == {
        "name": "target-model",
        "base_url": "http://target/v1",
        "api_key_env": "TARGET_OPENAI_COMPATIBLE_API_KEY",
    }
    assert role(found, "optimizer") == {
        "name": "shared-model",
        "base_url": "http://shared/v1",
        "api_key_env": "OPENAI_COMPATIBLE_API_KEY",
    }
    assert role(settled(**PLAIN), "target") == {
        "name": None,
        "base_url": "http://plain/v1",
        "api_key_env": "OPENAI_API_KEY",
    }
    assert found.sources["model.target.name"] == "environment TARGET_OPENAI_COMPATIBLE_MODEL"


def test_provider_variables_stand_over_a_file_and_under_flags() -> None:
    text = "model: {base_url: http://file/v1, target: {name: file-model}}\n"
    overrides = replace(SHOW, config=write(text))
    assert role(settled(overrides), "target")["name"] == "file-model"
    found = role(settled(overrides, **SHARED), "target")
    assert (found["name"], found["base_url"]) == ("shared-model", "http://shared/v1")
    flagged = replace(
        overrides,
        flags={"model.target.name": "flag-model"},
        assignments=("model.target.base_url=http://flag/v1",),
    )
    found = role(settled(flagged, **SHARED), "target")
    assert (found["name"], found["base_url"]) == ("flag-model", "http://flag/v1")


@pytest.mark.parametrize("spoken", ["flag", "variable"])
def test_a_shared_address_by_flag_or_variable_of_ours_stands_over_provider_variables(
    spoken: str,
) -> None:
    if spoken == "flag":
        found = settled(replace(SHOW, assignments=("model.base_url=http://ours/v1",)), **TARGET)
    else:
        found = settled(SHOW, SKILLOPT_MODEL__BASE_URL="http://ours/v1", **TARGET)
    assert found.config.model.base_url == "http://ours/v1"
    assert found.config.model.target.base_url is None


def test_a_key_alone_does_not_move_a_model_away_from_the_address_in_a_file() -> None:
    path = write("model: {base_url: http://mine/v1, target: m, optimizer: m}\n")
    overrides = Overrides(benchmark="searchqa", config=path)
    found = settled(overrides, OPENAI_API_KEY="plain-secret")
    assert found.config.model.base_url == "http://mine/v1"
    assert found.config.model.target.base_url is None
    assert found.config.model.target.api_key_env == "OPENAI_API_KEY"


def test_a_named_variable_is_kept_before_a_conventional_one() -> None:
    path = write("model: {api_key_env: MY_KEY, target: {api_key_env: TARGET_KEY}}\n")
    found = settled(replace(SHOW, config=path), **PLAIN)
    assert found.config.model.api_key_env == "MY_KEY"
    assert found.config.model.optimizer.api_key_env is None
    assert found.config.model.target.api_key_env == "TARGET_KEY"


def test_a_backend_of_its_own_listens_to_no_provider_variables() -> None:
    found = settled(replace(SHOW, preset="tiny"), **PLAIN, **SHARED)
    assert role(found, "target") == {"name": None, "base_url": None, "api_key_env": None}


def test_nothing_configured_is_one_sentence_with_a_way_out() -> None:
    with pytest.raises(ConfigError) as caught:
        settled(Overrides(benchmark="searchqa"))
    assert "no model endpoint" in caught.value.message
    assert "`preset=demo`" in caught.value.hint
    assert "OPENAI_API_KEY" in caught.value.hint


def test_only_the_roles_that_are_needed_must_be_reachable() -> None:
    flags = {"model.target.backend": "simulated"}
    settled(Overrides(benchmark="searchqa", flags=flags, roles=("target",)))
    with pytest.raises(ConfigError, match="optimizer"):
        settled(Overrides(benchmark="searchqa", flags=flags))


def test_an_endpoint_without_a_model_is_asked_for_one() -> None:
    with pytest.raises(ConfigError) as caught:
        settled(Overrides(benchmark="searchqa"), OPENAI_API_KEY="plain-secret")
    assert "no model is named for the optimizer" in caught.value.message
    assert "`model.optimizer.name=NAME`" in caught.value.hint


def test_no_benchmark_is_an_error_only_for_commands_that_need_one() -> None:
    assert settled(Overrides(roles=())).config.env.name == ""
    with pytest.raises(ConfigError, match="no benchmark"):
        settled(Overrides(preset="tiny"))


@pytest.mark.parametrize(
    ("flags", "assignments"),
    [
        ({"model.target.name": "canary-secret-0123456789"}, ()),
        ({}, ("model.base_url=http://h/canary-secret-0123456789/v1",)),
        ({"env.out_root": "canary-secret-0123456789"}, ()),
        ({"env.skill_init": "sk-0123456789abcdefghij"}, ()),
    ],
)
def test_the_value_of_a_key_is_refused_wherever_it_stands(
    flags: dict[str, str], assignments: tuple[str, ...]
) -> None:
    overrides = replace(SHOW, flags=flags, assignments=assignments)
    with pytest.raises(ConfigError, match="holds a key") as caught:
        settled(overrides, OPENAI_API_KEY="canary-secret-0123456789")
    assert "0123456789" not in f"{caught.value.message} {caught.value.hint}"


def test_two_seeds_by_flag_exclude_each_other_but_a_flag_beats_a_file() -> None:
    flags = {"env.skill_init": "a.md", "env.from_scratch": True}
    with pytest.raises(ConfigError, match="exclude each other"):
        settled(replace(SHOW, flags=flags))
    path = write("env: {skill_init: a.md}\n")
    assert settled(
        replace(SHOW, config=path, flags={"env.from_scratch": True})
    ).config.env.from_scratch


def test_every_flag_stands_for_a_setting() -> None:
    known = {row["key"] for row in settled().rows()}
    assert {found.key for found in own_flags().values()} <= known


OPTIONS = [(name, o) for name in names(BENCHMARKS) for o in load_benchmark(name).option_names]


@pytest.mark.parametrize(("benchmark", "option"), sorted(OPTIONS))
def test_a_wrong_option_of_a_benchmark_is_told_with_where_it_came_from(
    benchmark: str, option: str
) -> None:
    key, variable = f"env.{option}", f"SKILLOPT_ENV__{option.upper()}"
    show = replace(SHOW, benchmark=benchmark)
    file = write(f"env: {{{option}: [[1]]}}")
    for overrides, variables, source in (
        (show, {variable: "[[1]]"}, f"environment {variable}"),
        (replace(show, assignments=(f"{key}=[[1]]",)), {}, "flag --set"),
        (replace(show, config=file), {}, "my.yaml"),
    ):
        with pytest.raises(ConfigError) as caught:
            settled(overrides, **variables)
        assert caught.value.message.startswith(f"`{key}")
        assert f"({source})" in caught.value.message


@pytest.mark.parametrize(
    "wrong",
    [
        *("localhost:8000", "ftp://host/v1", "http://", "http://[::1/v1", "http://h:99999/v1"),
        *("http://h/v1?api-version=1", "http://h/v1#top"),
    ],
)
def test_an_address_that_cannot_be_called_is_told_with_where_it_came_from(wrong: str) -> None:
    key, variable = "model.target.base_url", "TARGET_OPENAI_COMPATIBLE_BASE_URL"
    target = replace(SHOW, flags={"model.target.backend": "openai_compatible"})
    file = write(f"model: {{target: {{base_url: '{wrong}'}}}}")
    for overrides, variables, source in (
        (target, {variable: wrong}, f"environment {variable}"),
        (replace(target, assignments=(f"{key}={wrong}",)), {}, "flag --set"),
        (replace(target, config=file), {}, "my.yaml"),
    ):
        with pytest.raises(ConfigError) as caught:
            settled(overrides, **variables)
        assert caught.value.message.startswith(f"`{key}` ({source}) must ")
        assert wrong not in caught.value.message


BACKEND_URLS = [
    (name, form.format(ROLE="TARGET"))
    for name in names(BACKENDS)
    for form in load_backend(name).variables.get("base_url", ())
]


@pytest.mark.parametrize(("backend", "variable"), BACKEND_URLS)
def test_every_variable_with_an_address_is_checked_and_freed_of_space(
    backend: str, variable: str
) -> None:
    overrides = replace(SHOW, flags={"model.target.backend": backend})
    found = settled(overrides, **{variable: " http://[::1]:8000/v1 "})
    assert found.config.model.target.base_url == "http://[::1]:8000/v1"
    with pytest.raises(ConfigError, match=rf"\(environment {variable}\) must be an http"):
        settled(overrides, **{variable: "localhost:8000"})
