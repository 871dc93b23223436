from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from agent_rig import role, stub

from skillopt_cli.backends.agents.claude_code_exec import PROGRAM as CLAUDE
from skillopt_cli.backends.agents.claude_code_exec import SPEC as CLAUDE_SPEC
from skillopt_cli.backends.agents.claude_code_exec import claude_code_exec
from skillopt_cli.backends.agents.codex_exec import PROGRAM as CODEX
from skillopt_cli.backends.agents.codex_exec import SPEC as CODEX_SPEC
from skillopt_cli.backends.agents.codex_exec import codex_exec
from skillopt_cli.backends.agents.program_backend import ProgramSource, find, version_of
from skillopt_cli.core.errors import BackendUnusable, ConfigError


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    found = {}
    for name in ("setting", "first", "second", "path", "bundled"):
        (tmp_path / name).mkdir()
        found[name] = stub(tmp_path / name / "tool")
    return found


def test_the_setting_wins_then_variables_then_path_then_the_package(
    places: dict[str, Path],
) -> None:
    sought = ProgramSource(
        "a.path", ("ONE", "TWO"), "tool", lambda: places["bundled"], "install it"
    )
    path = {"PATH": str(places["path"].parent)}
    second = {**path, "TWO": str(places["second"])}
    first = {**second, "ONE": str(places["first"])}
    assert find(sought, str(places["setting"]), first) == places["setting"]
    assert find(sought, "", first) == places["first"]
    assert find(sought, "", {**second, "ONE": " "}) == places["second"]
    assert find(sought, "", path) == places["path"]
    assert find(sought, "", {"PATH": "/nowhere"}) == places["bundled"]
    assert find(sought, "tool", path) == places["path"]


def test_what_is_named_and_not_there_is_an_error_that_says_who_names_it(tmp_path: Path) -> None:
    sought = ProgramSource("a.path", ("ONE",), "tool", lambda: None, "install it")
    for value, environment, words in (
        ("/no/tool", {}, "`/no/tool`, which a.path names"),
        ("", {"ONE": "/no/tool"}, "`/no/tool`, which ONE names"),
        ("", {"PATH": str(tmp_path)}, "`tool` is not installed"),
    ):
        with pytest.raises(BackendUnusable, match=words) as raised:
            find(sought, value, environment)
        assert raised.value.hint == "install it"


@pytest.mark.parametrize(
    ("sought", "variables"),
    [
        (CODEX, ("CODEX_EXEC_PATH", "CODEX_CLI_BIN", "CODEX_PATH")),
        (CLAUDE, ("CLAUDE_CODE_EXEC_PATH",)),
    ],
)
def test_the_published_variables_are_heeded(
    tmp_path: Path, sought: ProgramSource, variables: tuple[str, ...]
) -> None:
    program = stub(tmp_path / "own")
    for name in variables:
        assert find(sought, "", {name: str(program)}) == program


def test_a_program_tells_its_version_without_our_variables(tmp_path: Path) -> None:
    program = stub(tmp_path / "tool")
    assert version_of(program, {"PATH": os.environ["PATH"]}) == "stub 1.0"
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(BackendUnusable, match="--version` fails"):
        version_of(program, {})


def test_the_sandbox_is_set_by_config_then_by_variable(tmp_path: Path) -> None:
    path = str(stub(tmp_path / "codex"))

    def sandbox(variables: dict[str, str], **options: str) -> str:
        settings = role(path=path, **options)
        environment = {**settings.environment, **variables}
        return codex_exec(replace(settings, environment=environment)).sandbox

    assert sandbox({}) == "workspace-write"
    assert sandbox({"CODEX_SANDBOX": "read-only"}) == "read-only"
    assert sandbox({"CODEX_SANDBOX": "read-only"}, sandbox="workspace-write") == "workspace-write"
    with pytest.raises(ConfigError, match="danger-full-access"):
        sandbox({"CODEX_EXEC_SANDBOX": "danger-full-access"})


def test_a_fingerprint_holds_what_counts_and_no_path(tmp_path: Path) -> None:
    path = str(stub(tmp_path / "tool"))
    base = [make(role(path=path)).fingerprint for make in (codex_exec, claude_code_exec)]
    turns = [
        make(role(path=path, max_turns=7)).fingerprint for make in (codex_exec, claude_code_exec)
    ]
    time = [
        make(role(path=path, timeout=7.0)).fingerprint for make in (codex_exec, claude_code_exec)
    ]
    assert time == base
    assert not set(base) & set(turns)
    assert all("stub 1.0" in mark and str(tmp_path) not in mark for mark in base)


def test_what_is_missing_is_the_program_first_and_then_the_key(tmp_path: Path) -> None:
    program = str(stub(tmp_path / "tool"))
    for spec, path, key in (
        (CODEX_SPEC, "CODEX_EXEC_PATH", "OPENAI_API_KEY"),
        (CLAUDE_SPEC, "CLAUDE_CODE_EXEC_PATH", "ANTHROPIC_API_KEY"),
    ):
        assert "/no/tool" in spec.missing({path: "/no/tool", key: "x"})
        assert spec.missing({path: program}) == f"{key} is not set"
        assert spec.missing({path: program, key: "x"}) == ""
