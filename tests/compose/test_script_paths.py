"""`with_script_paths`: a script in `model.command.argv` is found from an attempt's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_cli.compose.settings import Overrides, settle


def argv(*settings: str, config: Path | None = None) -> tuple[str, ...]:
    overrides = Overrides("searchqa", config=config, assignments=settings, roles=())
    section = settle(overrides, {}).config.model.section("command")
    return tuple(getattr(section, "argv", ()))


def put(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("", encoding="utf-8")


@pytest.mark.parametrize(
    ("written", "placed"),
    [
        ('["python3", "agent.py"]', ("python3", "{here}/agent.py")),
        ("python3 -u bin/agent.py --fast", ("python3", "-u", "{here}/bin/agent.py", "--fast")),
        ("node agent.mjs", ("node", "{here}/agent.mjs")),
        ("./agent", ("{here}/agent",)),
        ("bin/../agent --x", ("{here}/agent", "--x")),
        # Found on PATH, or by the program in the attempt's folder.
        ("agent", ("agent",)),
        ("python3 gone.py", ("python3", "gone.py")),
        ("python3 /agent.py", ("python3", "/agent.py")),
        ("./agent --out out.json {skill} AGENTS.md", None),
        ("python3 {workspace}/agent.py", ("python3", "{workspace}/agent.py")),
    ],
)
def test_programs_and_scripts_count_from_the_working_folder(
    written: str, placed: tuple[str, ...] | None
) -> None:
    put("agent", "agent.py", "bin/agent.py", "agent.mjs", "out.json", "AGENTS.md")
    placed = placed or ("{here}/agent", "--out", "out.json", "{skill}", "AGENTS.md")
    here = str(Path.cwd())
    assert argv(f"model.command.argv={written}") == tuple(w.replace("{here}", here) for w in placed)


def test_those_of_a_file_count_from_its_folder_first() -> None:
    put("project/agent.py", "agent.py", "other.py")
    config = Path("project/config.yaml")
    config.write_text("model: {command: {argv: [python3, agent.py, other.py]}}", encoding="utf-8")
    found = [str(Path(name).absolute()) for name in ("project/agent.py", "other.py")]
    assert argv(config=config) == ("python3", *found)


def test_what_the_skill_puts_into_the_attempts_folder_is_run_there() -> None:
    put("SKILL.md", "scripts/say.py", "agent.py")
    skill = "env.skill_init=."
    assert argv(skill, "model.command.argv=python3 scripts/say.py")[1] == "scripts/say.py"
    elsewhere = "model.command.skill_file=.skills/a/SKILL.md"
    placed = argv(skill, elsewhere, "model.command.argv=python3 .skills/a/scripts/say.py agent.py")
    assert placed == ("python3", ".skills/a/scripts/say.py", str(Path("agent.py").absolute()))
