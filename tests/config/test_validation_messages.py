"""What is said of a wrong value: never the validating library's words, always the key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import refused
from pydantic import ValidationError
from pydantic_core import PydanticKnownError, SchemaValidator, core_schema
from pydantic_core._pydantic_core import list_all_errors

from skillopt_cli.config.declarations import every_setting, flag_of, known_keys, own_flags
from skillopt_cli.config.layers import (
    Layer,
    assignment_layers,
    environment_layers,
    resolve,
)
from skillopt_cli.config.scalars import dump_yaml, read_yaml
from skillopt_cli.config.validation_messages import fault_words
from skillopt_cli.core.errors import ConfigError

LIBRARY = re.compile(
    r"[Ii]nput should|\bvalid\b|[Uu]nable to|[Ff]ield required|not permitted|"
    r"[Vv]alue error|[Aa]ssertion|dictionary|\bstring\b|integer|boolean|https?://errors|pydantic"
)
WRONG: tuple[Any, ...] = ("wrong value", -7, 1.5, [[1]], {"no": {"such": 1}})
KEYS = known_keys()


def refusal(layers: list[Layer]) -> ConfigError | None:
    try:
        resolve(layers)
    except ConfigError as error:
        return error
    return None


def nested(key: str, value: Any) -> dict[str, Any]:
    for name in reversed(key.split(".")):
        value = {name: value}
    found: dict[str, Any] = value
    return found


def from_each_source(key: str, value: Any) -> Iterator[tuple[str, list[Layer]]]:
    yield "my.yaml", [Layer("my.yaml", read_yaml(dump_yaml(nested(key, value))))]
    if not isinstance(value, list | dict):
        variable = f"SKILLOPT_{key.upper().replace('.', '__')}"
        yield f"environment {variable}", environment_layers({variable: str(value)})
        yield "flag --set", assignment_layers([f"{key}={value}"])


@pytest.mark.parametrize("key", KEYS)
def test_a_wrong_value_of_a_setting_is_told_in_our_words(key: str) -> None:
    told = [
        (source, error)
        for value in WRONG
        for source, layers in from_each_source(key, value)
        if (error := refusal(layers))
    ]
    assert told, "a setting takes whatever it is given"
    for source, error in told:
        said = f"{error.message}\n{error.hint}"
        assert not LIBRARY.search(error.message), said
        assert re.search(rf"`{re.escape(key)}[`.]", error.message), said
        assert f"({source})" in error.message
        assert error.hint and not said.endswith(".")
    if every_setting()[key].info.annotation in (int, float, bool):
        assert len({source for source, _ in told}) == 3


@pytest.mark.parametrize("key", [f.key for f in own_flags().values() if f.number])
def test_a_flag_is_told_as_the_setting_it_stands_for(key: str) -> None:
    flag = flag_of(key)
    ended = refused(2, "train", "searchqa", flag, "abc")
    assert f"`{key}` (flag {flag}) must be a" in ended.error
    assert ended.error.endswith("number, not `abc`")
    assert ended.hint.startswith("hint: it means: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("webui", "--port", "abc"),
        ("sweep", "g.yaml", "--jobs", "abc"),
        ("sweep", "g.yaml", "--jobs", "0"),
        ("sweep", "g.yaml", "--max-usd", "abc"),
        ("sweep", "g.yaml", "--max-usd", "-1"),
        ("plan", "searchqa", "--accuracy", "abc"),
        ("plan", "searchqa", "--best-step", "abc"),
        ("plan", "searchqa", "--latency", "abc"),
        ("ctl", "a", "veto", "abc"),
        ("ctl", "a", "veto", "0"),
    ],
)
def test_any_other_value_of_a_command_is_told_in_our_words(arguments: tuple[str, ...]) -> None:
    grid = "benchmark: searchqa\ngrid: {train.batch_size: [4, 8]}\n"
    Path("g.yaml").write_text(grid, encoding="utf-8")
    ended = refused(2, *arguments)
    assert "must be" in ended.error
    assert not LIBRARY.search(ended.err.replace("invalid value for", ""))


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("[3]", "`model.prices.0` (flag --set) is a group", "such as `model.prices.0.model`"),
        ("[{}]", "`model.prices.0.model` (flag --set) is missing", "it means: Name of the model"),
        (
            "[{model: m, input: 1, outptu: 1}]",
            "unknown configuration key `model.prices.0.outptu` (flag --set)",
            "did you mean `model.prices.0.output`?",
        ),
        (
            "[{model: m, input: -1, output: 1}]",
            "`model.prices.0.input` (flag --set) must be at least 0, not -1",
            "it means: Tokens read",
        ),
        ("many", "`model.prices` (flag --set) must be a list, not `many`", "it means: Prices of"),
    ],
)
def test_what_lies_in_a_list_is_named_with_its_place(text: str, said: str, hint: str) -> None:
    error = refusal(assignment_layers([f"model.prices={text}"]))
    assert error is not None
    assert error.message.startswith(said)
    assert error.hint.startswith(hint)


def fault_of(kind: str, context: Any) -> Any:
    def fail(_: Any) -> Any:
        if kind in ("value_error", "assertion_error"):
            raise {"value_error": ValueError, "assertion_error": AssertionError}[kind]("too odd")
        raise PydanticKnownError(kind, context)  # type: ignore[arg-type]

    checked = SchemaValidator(core_schema.no_info_plain_validator_function(fail))
    with pytest.raises(ValidationError) as caught:
        checked.validate_python("a given text")
    return caught.value.errors(include_url=False)[0]


# The one left out is never told: it follows another fault.
FAULTS = [known for known in list_all_errors() if known["type"] != "default_factory_not_called"]


@pytest.mark.parametrize("known", FAULTS, ids=lambda known: known["type"])
def test_every_fault_the_library_knows_has_words_of_ours(known: Any) -> None:
    said = fault_words(fault_of(known["type"], known["example_context"]))
    assert said.startswith((" ", ": "))
    assert not LIBRARY.search(said)
    assert "{" not in said


def test_every_setting_says_what_it_means() -> None:
    assert all(found.about and found.section for found in every_setting().values())
