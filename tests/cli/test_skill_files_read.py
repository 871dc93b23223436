"""A skill's file is read in one way by every command, before any call."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import SMALLEST, TINY, finished_run, refused, skillopt, train

NOTES = "# Notes\n\nBe brief.\n"


def written(text: str, name: str = "s.md") -> str:
    Path(name).write_bytes(text.encode())
    return name


@pytest.mark.parametrize("control", ["\0", "\f", "\b", "\x1b", "\r", "\x85"])
def test_every_command_refuses_control_characters(control: str) -> None:
    run = finished_run(*SMALLEST)
    skill, good = written(f"{NOTES}Say{control}so.\n"), written(NOTES, "good.md")
    for command in (
        ("train", "searchqa", *SMALLEST, "--skill-init", skill),
        ("eval", "searchqa", *TINY, "--skill", skill),
        ("eval", "searchqa", *TINY, "--arms", f"none,a={skill}"),
        ("prune", skill, "searchqa", *TINY),
        ("aa", skill, "searchqa", *TINY),
        ("diff-skills", skill, good),
        ("diff-skills", good, skill),
        ("diff-skills", run, "--apply", skill, "--force"),
    ):
        ended = refused(3, *command)
        assert f"s.md holds the control character U+{ord(control):04X} in line 4" in ended.error
        assert not list(Path.cwd().glob("s.md.*"))


def test_a_resume_refuses_a_skill_file_that_got_control_characters() -> None:
    skill = written(NOTES)
    capped = ("--max-rollouts", "3", "--run-id", "a")
    ended = skillopt("train", "searchqa", *SMALLEST, "--skill-init", skill, *capped)
    assert ended.code == 5, ended.err
    written(f"{NOTES}\x1b[0m")
    ended = refused(3, "resume", "a", "--max-rollouts", "99")
    assert "control character U+001B" in ended.error


def test_what_training_made_is_read_by_every_command() -> None:
    run = train(*SMALLEST, "--skill-init", written("---\n# Notes\n\nBe brief.\n\n---\n\nMore.\n"))
    best = run / "best_skill.md"
    assert skillopt("eval", "searchqa", *TINY, "--skill", best).code == 0
    assert (
        skillopt("diff-skills", run, "--apply", written(best.read_text("utf-8"), "mine.md")).code
        == 0
    )


def places(shown: str) -> list[str]:
    """How the lines on displaced metadata begin: at the start, and among the notes."""
    warned = "the metadata in line 2 counts as instructions"
    return [line.partition(":")[0] for line in shown.splitlines() if warned in line]


def test_displaced_metadata_is_warned_of_once() -> None:
    skill = written("\n---\nname: notes\ndescription: Read.\n---\nBe brief.\n")
    ended = skillopt("eval", "searchqa", *TINY, "--skill", skill)
    assert ended.code == 0
    assert places(ended.err) == ["Degraded", "Note"]
    ended = skillopt("eval", "searchqa", *TINY, "--arms", f"none,a={skill},b={skill}", "--lint")
    assert places(ended.err) == ["Degraded", "Note"]
    assert "the skill of the arm a: the metadata in line 2" in ended.out


LONG = f"---\nname: Delivery_Notes\ndescription: {'word ' * 299}words\n---\nBe brief.\n"


@pytest.mark.parametrize(
    "backend", ["codex_exec", "claude_code_exec", "cursor_exec", "copilot_exec"]
)
@pytest.mark.parametrize("command", ["train", "eval", "arms"])
def test_what_a_host_would_not_load_is_refused_before_any_call(backend: str, command: str) -> None:
    skill = written(LONG)
    asked = {
        "train": ("train", "searchqa", *SMALLEST, "--skill-init", skill),
        "eval": ("eval", "searchqa", *TINY, "--skill", skill),
        "arms": ("eval", "searchqa", *TINY, "--arms", f"none,a={skill}"),
    }[command]
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "CURSOR_API_KEY", "GH_TOKEN"), "x")
    roles = ("--target-backend", backend, "--target-model", "m")
    roles += ("--optimizer-backend", "simulated") * (command == "train")
    ended = refused(3, *asked, *roles, **keys)
    assert f"{backend} would not load the skill" in ended.error
    assert "`Delivery_Notes`" in ended.error and "64" in ended.error
    assert "1,500 characters" in ended.error and "1,024" in ended.error


@pytest.mark.parametrize("benchmark", [("searchqa", *SMALLEST), ()], ids=["named", "none"])
def test_a_check_of_the_setup_names_it_as_a_training_does(benchmark: tuple[str, ...]) -> None:
    flags = ("--target-backend", "codex_exec", "--target-model", "m", "--skill-init", written(LONG))
    flags += ("--optimizer-backend", "simulated")
    said = refused(3, "train", "searchqa", *SMALLEST, *flags, OPENAI_API_KEY="x").error
    checks = skillopt("doctor", *benchmark, *flags, "--json", OPENAI_API_KEY="x").json["checks"]
    (row,) = [check for check in checks if check["name"] == "seed skill"]
    assert (row["state"], row["code"]) == ("failing", 3)
    assert row["what"] in said


def test_what_a_host_would_not_load_is_a_warning_of_the_lint() -> None:
    skill = written(LONG)
    ended = skillopt("eval", "searchqa", *TINY, "--skill", skill, "--lint")
    assert ended.code == 0, ended.err
    assert "its name of 14 characters is `Delivery_Notes`" in ended.out
    assert "its description has 1,500 characters; it may have 1,024" in ended.out
