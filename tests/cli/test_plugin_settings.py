"""A backend of another package has settings as ours have: by file, variable, flag and form."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from command_line import SMALLEST, TINY, refused, rows, skillopt

from skillopt_cli.compose.secrets import known_secrets
from skillopt_cli.config.layers import assignment_layers, resolve
from skillopt_cli.plugins import names
from skillopt_cli.web.form import Given, other_groups

PROJECT = """
    [build-system]
    requires = ["hatchling"]
    build-backend = "hatchling.build"

    [project]
    name = "skillopt-louder"
    version = "1.0"

    [project.entry-points."skillopt.backends"]
    louder = "skillopt_louder:SPEC"
"""
SOURCE = '''
    from typing import Annotated, Literal

    from pydantic import Field

    from skillopt_cli import BackendSpec, ChatReply, Setting, SettingsSection, Usage


    class LouderConfig(SettingsSection):
        volume: Annotated[int, Setting(flag="--louder-volume")] = Field(3, ge=1, le=11)
        """How loud the answer is. Eleven is the most."""
        tone: Literal["warm", "cold"] = "warm"
        """What it sounds like: warm or cold."""
        wait: Annotated[float, Setting(free_on_resume=True, free_in_replay=True)] = 0.0
        """Seconds before it answers."""
        mark_env: Annotated[str, Setting(secret=True)] = ""
        """Name of the variable that holds its mark."""


    class Louder:
        offers = frozenset()

        def __init__(self, role):
            self.name = "louder"
            self.volume = LouderConfig.of(role.options).volume
            self.fingerprint = f"louder/1 {self.volume}"

        async def chat(self, request):
            return ChatReply(f"<answer>{'!' * self.volume}</answer>", Usage(calls=1))


    SPEC = BackendSpec(
        name="louder",
        summary="answers loudly",
        roles=frozenset({"target"}),
        open=Louder,
        options=LouderConfig,
        free=True,
    )
'''
AS_TARGET = (*TINY, "--target-backend", "louder", "--epochs", "1")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a package with a backend, installed into a folder of its own."""
    pytest.importorskip("hatchling")
    pytest.importorskip("pip")
    project, site = tmp_path_factory.mktemp("louder"), tmp_path_factory.mktemp("site")
    (project / "skillopt_louder").mkdir()
    (project / "skillopt_louder" / "__init__.py").write_text(dedent(SOURCE), encoding="utf-8")
    (project / "pyproject.toml").write_text(dedent(PROJECT), encoding="utf-8")
    install = ("--no-deps", "--no-index", "--no-compile", "--quiet", "--target", str(site))
    _python("-m", "hatchling", "build", "--target", "wheel", folder=project)
    (built,) = (project / "dist").glob("*.whl")
    _python("-m", "pip", "install", *install, str(built), folder=project)
    return site


@pytest.fixture(autouse=True)
def installed(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(wheel)


def _python(*arguments: str, folder: Path) -> None:
    subprocess.run([sys.executable, *arguments], cwd=folder, check=True, capture_output=True)


def shown(*arguments: object, **variables: str) -> dict[str, tuple[object, str]]:
    """The settings of the section as `config show` has them, each with its source."""
    found = rows(skillopt("config", "show", "searchqa", *arguments, "--json", **variables))
    return {
        key.removeprefix("model.louder."): (row["value"], row["source"])
        for key, row in found.items()
        if key.startswith("model.louder.")
    }


def test_the_wheel_is_found_as_an_installed_package() -> None:
    assert "louder" in names("skillopt.backends")


def test_the_section_is_shown_with_its_defaults() -> None:
    defaults = {"volume": 3, "tone": "warm", "wait": 0.0, "mark_env": ""}
    assert shown() == {name: (value, "default") for name, value in defaults.items()}


def test_file_variable_and_flag_set_it_in_this_order_of_strength() -> None:
    path = Path("my.yaml")
    path.write_text("model: {louder: {volume: 5, tone: cold}}\n", encoding="utf-8")
    by_file = ("--config", path)
    variable = {"SKILLOPT_MODEL__LOUDER__VOLUME": "6"}
    flag = ("--louder-volume", "7")
    assert shown(*by_file)["volume"] == (5, "my.yaml")
    assert shown(*by_file)["tone"] == ("cold", "my.yaml")
    assert shown(*by_file, **variable)["volume"] == (
        6,
        "environment SKILLOPT_MODEL__LOUDER__VOLUME",
    )
    assert shown(*by_file, *flag, **variable)["volume"] == (7, "flag --louder-volume")
    assert shown("--set", "model.louder.volume=8")["volume"] == (8, "flag --set")


@pytest.mark.parametrize(
    ("setting", "message", "hint"),
    [
        (
            "model.louder.volum=4",
            "unknown configuration key `model.louder.volum` (flag --set)",
            "did you mean `model.louder.volume`?",
        ),
        (
            "model.loudr.volume=4",
            "unknown configuration key `model.loudr` (flag --set)",
            "did you mean `model.louder.",
        ),
        (
            "model.louder.volume=12",
            "`model.louder.volume` (flag --set) must be at most 11",
            "it means: How loud the answer is",
        ),
        (
            "model.louder.tone=warn",
            "`model.louder.tone` (flag --set) must be `warm` or `cold`",
            "did you mean `warm`?",
        ),
    ],
)
def test_what_is_wrong_is_refused_in_our_words(setting: str, message: str, hint: str) -> None:
    ended = refused(2, "config", "show", "searchqa", "--set", setting)
    assert message in ended.error
    assert hint in ended.hint


def test_a_misspelt_flag_of_it_is_refused_with_the_right_one() -> None:
    ended = refused(2, "config", "show", "searchqa", "--louder-volum", "4")
    assert "--louder-volume" in ended.hint


def test_the_help_lists_its_flag_where_models_are_asked() -> None:
    assert "--louder-volume <int>" in skillopt("train", "--help").out
    assert "louder: How loud the answer is." in skillopt("train", "--help").out
    assert "--louder-volume" not in skillopt("data", "check", "--help").out


def test_the_form_of_a_new_run_has_fields_for_it() -> None:
    groups = {group.key: group for group in other_groups((), Given("searchqa", "", "", {}))}
    fields = {field.key: field for field in groups["model.louder"].fields}
    assert fields["model.louder.volume"].bounds == "A whole number, at least 1 and at most 11"
    assert fields["model.louder.tone"].choices == ("warm", "cold")
    assert groups["model.louder"].help == "Settings of the backend `louder`."


def test_a_run_uses_it_keeps_it_and_is_held_to_it_when_resumed() -> None:
    louder = ("--louder-volume", "2", "--set", "model.louder.wait=0")
    ended = skillopt("train", "searchqa", *AS_TARGET, *louder, "--run-id", "a")
    assert ended.code == 0, ended.err
    folder = Path("outputs/searchqa/a")
    answers = [path.read_text(encoding="utf-8") for path in folder.rglob("*.json*")]
    assert any("!!" in text for text in answers) and not any("!!!" in text for text in answers)
    assert "volume: 2" in (folder / "config.yaml").read_text(encoding="utf-8")
    changed = refused(2, "resume", folder, "--louder-volume", "4")
    assert "model.louder.volume: 2 -> 4" in changed.err
    again = skillopt("resume", folder, "--set", "model.louder.wait=0.001")
    assert again.code == 0, again.err


def test_a_run_without_it_does_not_know_of_it() -> None:
    assert skillopt("train", "searchqa", *SMALLEST, "--run-id", "a").code == 0
    folder = Path("outputs/searchqa/a")
    for name in ("config.yaml", "manifest.json"):
        assert "louder" not in (folder / name).read_text(encoding="utf-8")


def test_the_value_of_a_variable_that_it_declares_a_secret_is_hidden() -> None:
    environment = {"MY_MARK": "quite-a-long-mark"}
    named = assignment_layers(["model.louder.mark_env=MY_MARK"])
    assert "long-mark" in known_secrets(environment, resolve([]).config).hide("quite-a-long-mark")
    assert known_secrets(environment, resolve(named).config).hide("quite-a-long-mark") == "***"


def test_no_backend_is_imported_that_nothing_names() -> None:
    code = (
        "import sys; from skillopt_cli.compose.settings import Overrides, settle;"
        "settle(Overrides('searchqa', 'tiny', flags={'train.seed': '2'}), {});"
        "named = [m for m in sys.modules if m.startswith('skillopt_cli.backends.')];"
        "assert any('simulated' in m for m in named), named;"
        "assert not any('codex_exec' in m or 'claude_chat' in m for m in named), named"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
