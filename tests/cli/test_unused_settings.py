"""What a measurement does not use of the settings of the run that its skill is of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import skillopt

ANSWERS = [{"text": f"What is {n} plus {n}?", "sum": str(2 * n), "id": f"t{n}"} for n in range(12)]
SETTINGS = ("--answer-key", "sum", "--prompt-key", "text", "--scorer", "contains")
NOTE = "Note: of the run first not used: "


@pytest.fixture
def tasks() -> Path:
    """Own tasks, on which a run was trained."""
    path = Path("tasks.jsonl")
    path.write_text("".join(json.dumps(one) + "\n" for one in ANSWERS), encoding="utf-8")
    ended = skillopt(
        *("train", str(path), *SETTINGS, "--preset", "quick", "--epochs", "1", "--run-id", "first"),
        *("--set", "model.backend=simulated", "--display", "none"),
    )
    assert ended.code == 0, ended.err
    return path


def test_what_is_not_used_of_a_run_is_named_with_the_way_to_use_it(tasks: Path) -> None:
    other = ("--set", "model.backend=simulated", "--run-id")
    ended = skillopt("eval", str(tasks), "--skill", "first:best", *other, "a")
    (note,) = (line for line in ended.err.splitlines() if line.startswith("Note: of the run"))
    assert note.startswith(NOTE)
    assert "env.scorer" in note
    config = note.split("`--config ")[1].split("`")[0]
    assert Path(config).is_file()
    used = skillopt("eval", str(tasks), "--skill", "first:best", "--config", config, *other, "b")
    assert used.code == 0, used.err
    assert NOTE not in used.err
    assert "env.scorer" not in used.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("eval", "--skill", "first:best"),
        (
            "eval",
            "tasks.jsonl",
            "--skill",
            "first:best",
            *SETTINGS,
            "--set",
            "model.backend=simulated",
        ),
        ("eval", "tasks.jsonl", "--skill", "skill.md", "--set", "model.backend=simulated"),
    ],
)
def test_there_is_no_note_where_all_is_used(tasks: Path, arguments: tuple[str, ...]) -> None:
    Path("skill.md").write_text("# Sums\n", encoding="utf-8")
    ended = skillopt(*arguments, "--run-id", "again")
    assert ended.code == 0, ended.err
    assert NOTE not in ended.err


@pytest.mark.parametrize(
    "command",
    [
        ("eval", "tasks.jsonl", "--skill", "first:best", "--arms", "seed,best"),
        ("prune", "first:best", "tasks.jsonl", "--out", "pruned.md"),
        ("aa", "first:best", "tasks.jsonl"),
    ],
)
def test_every_command_that_measures_a_skill_has_the_note(
    tasks: Path, command: tuple[str, ...]
) -> None:
    ended = skillopt(*command, "--set", "model.backend=simulated", "--run-id", "again")
    assert ended.code == 0, ended.err
    assert NOTE in ended.err
