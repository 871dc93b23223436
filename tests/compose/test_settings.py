"""`settle`: files, variables and flags become one configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillopt_cli.compose.flags import FLAG_NAMES
from skillopt_cli.compose.settings import Wishes, settle
from skillopt_cli.config.files import shipped
from skillopt_cli.config.layers import Resolved
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.plugins import BACKENDS, BENCHMARKS, load_backend, load_benchmark, names

SHOW = Wishes(benchmark="searchqa", roles=())


def settled(wishes: Wishes = SHOW, **variables: str) -> Resolved:
    return settle(wishes, variables)


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


def test_the_order_is_default_file_variable_flag() -> None:
    path = write("train: {batch_size: 10}\n")
    steps = [
        (SHOW, {}, 40, "default"),
        (replace(SHOW, config=path), {}, 10, "my.yaml"),
        (
            replace(SHOW, config=path),
            {"SKILLOPT_TRAIN__BATCH_SIZE": "20"},
            20,
            "environment SKILLOPT_TRAIN__BATCH_SIZE",
        ),
        (
            replace(SHOW, config=path, flags={"train.batch_size": 30}),
            {"SKILLOPT_TRAIN__BATCH_SIZE": "20"},
            30,
            "flag --batch-size",
        ),
        (
            replace(SHOW, flags={"train.batch_size": 30}, assignments=("train.batch_size=50",)),
            {},
            50,
            "flag --set",
        ),
    ]
    for wishes, variables, expected, source in steps:
        found = settled(wishes, **variables)
        assert found.config.train.batch_size == expected
        assert found.sources.get("train.batch_size") == source


def test_the_benchmark_may_come_from_any_layer_and_the_argument_wins() -> None:
    nameless = Wishes(roles=())
    path = write("env: {name: folder}\n")
    assert settled(replace(nameless, config=path)).config.env.name == "folder"
    assert settled(nameless, SKILLOPT_ENV__NAME="folder").config.env.name == "folder"
    assert settled(replace(SHOW, config=path)).config.env.name == "searchqa"


def test_an_option_of_a_benchmark_is_accepted_by_it_alone() -> None:
    wishes = Wishes(benchmark="folder", assignments=("env.scorer=f1",), roles=())
    assert settled(wishes).config.env.options == {"scorer": "f1"}
    with pytest.raises(ConfigError) as caught:
        settled(replace(wishes, benchmark="searchqa"))
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
        settled(Wishes(config=path, roles=()))
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
    wishes = replace(SHOW, config=write(text))
    assert role(settled(wishes), "target")["name"] == "file-model"
    found = role(settled(wishes, **SHARED), "target")
    assert (found["name"], found["base_url"]) == ("shared-model", "http://shared/v1")
    flagged = replace(
        wishes,
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
    wishes = Wishes(benchmark="searchqa", config=path)
    found = settled(wishes, OPENAI_API_KEY="plain-secret")
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
        settled(Wishes(benchmark="searchqa"))
    assert "no model endpoint" in caught.value.message
    assert "`preset=demo`" in caught.value.hint
    assert "OPENAI_API_KEY" in caught.value.hint


def test_only_the_roles_that_are_needed_must_be_reachable() -> None:
    flags = {"model.target.backend": "simulated"}
    settled(Wishes(benchmark="searchqa", flags=flags, roles=("target",)))
    with pytest.raises(ConfigError, match="optimizer"):
        settled(Wishes(benchmark="searchqa", flags=flags))


def test_an_endpoint_without_a_model_is_asked_for_one() -> None:
    with pytest.raises(ConfigError) as caught:
        settled(Wishes(benchmark="searchqa"), OPENAI_API_KEY="plain-secret")
    assert "no model is named for the optimizer" in caught.value.message
    assert "`model.optimizer.name=NAME`" in caught.value.hint


def test_no_benchmark_is_an_error_only_for_commands_that_need_one() -> None:
    assert settled(Wishes(roles=())).config.env.name == ""
    with pytest.raises(ConfigError, match="no benchmark"):
        settled(Wishes(preset="tiny"))


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
    wishes = replace(SHOW, flags=flags, assignments=assignments)
    with pytest.raises(ConfigError, match="holds a key") as caught:
        settled(wishes, OPENAI_API_KEY="canary-secret-0123456789")
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
    assert set(FLAG_NAMES) <= known


OPTIONS = [(name, o) for name in names(BENCHMARKS) for o in load_benchmark(name).option_names]


@pytest.mark.parametrize(("benchmark", "option"), sorted(OPTIONS))
def test_a_wrong_option_of_a_benchmark_is_told_with_where_it_came_from(
    benchmark: str, option: str
) -> None:
    key, variable = f"env.{option}", f"SKILLOPT_ENV__{option.upper()}"
    show = replace(SHOW, benchmark=benchmark)
    file = write(f"env: {{{option}: [[1]]}}")
    for wishes, variables, source in (
        (show, {variable: "[[1]]"}, f"environment {variable}"),
        (replace(show, assignments=(f"{key}=[[1]]",)), {}, "flag --set"),
        (replace(show, config=file), {}, "my.yaml"),
    ):
        with pytest.raises(ConfigError) as caught:
            settled(wishes, **variables)
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
    for wishes, variables, source in (
        (target, {variable: wrong}, f"environment {variable}"),
        (replace(target, assignments=(f"{key}={wrong}",)), {}, "flag --set"),
        (replace(target, config=file), {}, "my.yaml"),
    ):
        with pytest.raises(ConfigError) as caught:
            settled(wishes, **variables)
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
    wishes = replace(SHOW, flags={"model.target.backend": backend})
    found = settled(wishes, **{variable: " http://[::1]:8000/v1 "})
    assert found.config.model.target.base_url == "http://[::1]:8000/v1"
    with pytest.raises(ConfigError, match=rf"\(environment {variable}\) must be an http"):
        settled(wishes, **{variable: "localhost:8000"})
