"""Plug-ins through entry points: a stranger's are as good as ours, and broken ones are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import SMALLEST, refused, skillopt
from plugin_folder import benchmark, install

from skillopt_cli.core.errors import ConfigError
from skillopt_cli.plugins import BACKENDS, BENCHMARKS, load_backend, load_benchmark, names

BACKEND = """
from skillopt_cli.core.task import ChatReply, Usage
from skillopt_cli.ports import BackendSpec

class Parrot:
    fingerprint = "parrot-1"
    offers = frozenset()

    def __init__(self, role):
        self.name = role.model

    async def chat(self, request):
        return ChatReply("polly", Usage(1, 1, 1))

SPEC = BackendSpec(
    name="parrot",
    summary="says polly",
    roles=frozenset({"target"}),
    open=Parrot,
    requires="POLLY",
    missing=lambda environment: "" if "POLLY" in environment else "POLLY is not set",
    variables={"name": ("POLLY",)},
)
"""


@pytest.fixture
def third_party(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


def test_ours_come_through_the_same_door() -> None:
    assert {"searchqa", "folder"} <= set(names(BENCHMARKS))
    assert {"openai_compatible", "simulated", "rules", "local"} <= set(names(BACKENDS))
    for name in names(BENCHMARKS):
        assert load_benchmark(name).name == name
    for name in names(BACKENDS):
        assert load_backend(name).name == name


def test_a_benchmark_of_a_stranger_is_usable_by_name(
    third_party: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        third_party,
        monkeypatch,
        {"sums_a": benchmark("sums")},
        {"benchmark": {"sums": "sums_a:SPEC"}},
    )
    listed = {row["name"]: row for row in skillopt("benchmarks", "list", "--json").json}
    assert listed["sums"]["summary"] == "sums of two numbers"
    ended = skillopt(
        "train", "sums", "--set", "model.backend=simulated", "--epochs", "1", "--run-id", "a"
    )
    assert ended.code == 0, ended.err
    assert "Data: made up" in ended.err
    assert Path("outputs/sums/a/best_skill.md").read_text("utf-8").startswith("# Sums")


def test_a_backend_of_a_stranger_is_usable_by_name(
    third_party: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        third_party, monkeypatch, {"parrot_a": BACKEND}, {"backend": {"parrot": "parrot_a:SPEC"}}
    )
    listed = {row["name"]: row for row in skillopt("backends", "list", "--json").json}
    assert listed["parrot"]["missing"] == "POLLY is not set"
    ended = skillopt(
        "eval",
        "searchqa",
        *SMALLEST,
        "--target-backend",
        "parrot",
        "--from-scratch",
        "--json",
        POLLY="polly-2",
    )
    assert ended.code == 0, ended.err
    assert ended.json["target"] == "parrot/polly-2"
    assert ended.json["hard"] == 0.0
    refused(2, "train", "searchqa", *SMALLEST, "--optimizer-backend", "parrot")


FAULTS = {
    "raises": ("raise RuntimeError('no such device')", "no such device"),
    "syntax": ("def broken(:\n", "SyntaxError"),
    "lacks": ("OTHER = 1\n", "SPEC"),
    "missing": ("import surely_not_installed\n", "surely_not_installed"),
    "wrong": ("SPEC = 'a text'\n", "is not a"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_plug_in_is_named_and_never_called_unknown(
    fault: str, third_party: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, word = FAULTS[fault]
    module = f"broken_{fault}"
    point = f"{module}:SPEC"
    install(
        third_party,
        monkeypatch,
        {module: source},
        {"benchmark": {"broken": point}, "backend": {"broken": point}},
    )
    for arguments in (("broken",), ("searchqa", "--target-backend", "broken")):
        ended = refused(2, "train", *SMALLEST, *arguments)
        assert "plug-in `broken`" in ended.error
        assert point in ended.error
        assert word in ended.error
        assert "there is no" not in ended.error


def test_a_broken_plug_in_does_not_hide_the_others_in_a_list(
    third_party: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        third_party,
        monkeypatch,
        {"broken_list": "raise RuntimeError('no such device')"},
        {"benchmark": {"broken": "broken_list:SPEC"}, "backend": {"broken": "broken_list:SPEC"}},
    )
    for command in ("benchmarks", "backends"):
        ended = skillopt(command, "list", "--json")
        assert ended.code == 0
        found = {row["name"]: row for row in ended.json}
        assert "no such device" in found["broken"]["error"]
        assert len(found) >= 3
        assert "no such device" in skillopt(command, "list").out


def test_a_name_that_two_packages_take_is_ambiguous(
    third_party: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        third_party,
        monkeypatch,
        {"other": benchmark("searchqa")},
        {"benchmark": {"searchqa": "other:SPEC"}},
    )
    with pytest.raises(ConfigError) as caught:
        load_benchmark("searchqa")
    assert "other:SPEC" in caught.value.message
    assert "skillopt_cli.benchmarks.searchqa:SPEC" in caught.value.message


def test_an_unknown_name_suggests_the_nearest_or_lists_all() -> None:
    with pytest.raises(ConfigError, match="no benchmark `serchqa`") as caught:
        load_benchmark("serchqa")
    assert caught.value.hint == "did you mean `searchqa`?"
    with pytest.raises(ConfigError) as caught:
        load_backend("zzz")
    assert "simulated" in caught.value.hint


def test_every_backend_that_starts_programs_says_so() -> None:
    """Else nobody would be told that they are not isolated."""
    started = set()
    for name in names(BACKENDS):
        spec = load_backend(name)
        made = (spec.agent, spec.program_chat)
        codes = [getattr(maker, "func", maker) for maker in made if maker is not None]
        if any(code.__module__.startswith("skillopt_cli.backends.agents.") for code in codes):
            started.add(name)
            assert spec.runs_programs, name
            assert spec.networked == (spec.open is not None and not spec.prices), name
        else:
            assert not spec.runs_programs, name
    assert {"codex_exec", "claude_code_exec", "command", "cursor_exec"} <= started
