"""`skillopt eval`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import SMALLEST, TINY, calls, events, finished_run, refused, skillopt, train


def skill(name: str, text: str) -> Path:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return path


def evaluate(*arguments: object, run_id: str = "e") -> Path:
    ended = skillopt("eval", *arguments, "--run-id", run_id)
    assert ended.code == 0, ended.err
    return Path("outputs", "searchqa", run_id)


def test_benchmark_and_settings_come_from_the_run_that_holds_the_skill() -> None:
    run = finished_run(*SMALLEST, "--seed", "7")
    ended = skillopt("eval", "--skill", run / "best_skill.md", "--json", "--run-id", "e")
    found = ended.json
    assert (found["benchmark"], found["split"], found["n_items"]) == ("searchqa", "test", 3)
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert found["hard"] == summary["test_hard"]
    assert found["skill_digest"] == summary["test_digest"]
    written = Path("outputs/searchqa/e/eval_summary.json").read_text(encoding="utf-8")
    assert json.loads(written) == found


def test_a_run_in_the_place_of_the_benchmark_is_refused_with_its_best_skill() -> None:
    finished_run(*SMALLEST, run_id="main")
    ended = refused(2, "eval", "main")
    assert ended.error.endswith("no skill is named, and `main` is a run")
    assert "`--skill main:best`" in ended.hint


def test_a_skill_of_an_earlier_step_belongs_to_its_run_too() -> None:
    run = finished_run(*SMALLEST)
    ended = skillopt("eval", "--skill", run / "skills/step_0000.md", "--json")
    assert ended.json["n_items"] == 3


def test_the_default_is_the_test_split_alone() -> None:
    found = skillopt("eval", "searchqa", *SMALLEST, "--from-scratch", "--json").json
    assert (found["split"], found["n_items"]) == ("test", 3)
    found = skillopt(
        "eval", "searchqa", *SMALLEST, "--from-scratch", "--split", "selection", "--json"
    ).json
    assert (found["split"], found["n_items"]) == ("selection", 4)


@pytest.mark.parametrize("split", ["tets", "val", "any", ""])
def test_an_unknown_split_is_refused_with_the_list(split: str) -> None:
    path = skill("s.md", "# S\n\nAnswer.\n")
    ended = refused(2, "eval", "searchqa", *SMALLEST, "--skill", path, "--split", split)
    assert ended.hint == "hint: splits: train, selection, test, all"
    assert not Path("outputs").exists()


def test_a_typo_in_the_skills_path_is_refused() -> None:
    ended = refused(2, "eval", "searchqa", *SMALLEST, "--skill", "typo.md")
    assert "typo.md" in ended.error
    assert "--from-scratch" in ended.hint
    refused(2, "eval", "searchqa", *SMALLEST)
    path = skill("s.md", "# S\n\nAnswer.\n")
    refused(2, "eval", "searchqa", *SMALLEST, "--skill", path, "--from-scratch")


def test_another_skill_never_gets_the_results_of_the_first() -> None:
    run = train(*SMALLEST, "--set", "run.cache_dir=cache")
    shared = ("searchqa", *SMALLEST, "--set", "run.cache_dir=cache")
    first = evaluate(*shared, "--skill", skill("x.md", "# X\n\nAnswer.\n"), run_id="x")
    second = evaluate(*shared, "--skill", skill("y.md", "# Y\n\nAnswer.\n"), run_id="y")
    assert calls(first) == calls(second) == 3
    digests = {
        json.loads((folder / "eval_summary.json").read_text("utf-8"))["skill_digest"]
        for folder in (first, second)
    }
    assert len(digests) == 2
    assert run.exists()


def test_a_shared_cache_makes_the_second_evaluation_free() -> None:
    path = skill("x.md", "# X\n\nAnswer.\n")
    shared = ("searchqa", *SMALLEST, "--skill", path, "--set", "run.cache_dir=cache")
    first, second = evaluate(*shared, run_id="x"), evaluate(*shared, run_id="y")
    assert (calls(first), calls(second)) == (3, 0)
    results = [
        json.loads((folder / "eval_summary.json").read_text("utf-8")) for folder in (first, second)
    ]
    assert results[0] == results[1]


def test_without_one_every_evaluation_pays_for_itself() -> None:
    path = skill("x.md", "# X\n\nAnswer.\n")
    given = ("searchqa", *SMALLEST, "--skill", path)
    assert calls(evaluate(*given, run_id="x")) == calls(evaluate(*given, run_id="y")) == 3


def test_no_optimizer_is_needed() -> None:
    ended = skillopt(
        "eval", "searchqa", "--target-backend", "simulated", "--from-scratch", "--run-id", "e"
    )
    assert ended.code == 0, ended.err
    assert {e["role"] for e in events(Path("outputs/searchqa/e"), "call_made")} == {"target"}


def test_the_lines_speak_of_an_evaluation_and_not_of_a_training() -> None:
    ended = skillopt("eval", "searchqa", *SMALLEST, "--from-scratch")
    assert ended.out.startswith("test: hard ")
    assert "(n=3, scored 3)" in ended.out
    for word in ("step", "No change", "baseline"):
        assert word not in ended.err
    assert "resume" not in ended.err


def test_broken_attempts_are_not_a_score() -> None:
    ended = refused(
        6,
        *("eval", "searchqa", *SMALLEST, "--from-scratch"),
        *("--set", "model.simulated.permanent_failure_rate=1"),
        *("--set", "model.retry.max_attempts=1"),
    )
    assert "0 of 3" in ended.error
    assert "resume" not in ended.err


def test_an_evaluation_cannot_be_resumed() -> None:
    folder = evaluate("searchqa", *SMALLEST, "--from-scratch")
    ended = refused(2, "resume", folder)
    assert "is an evaluation" in ended.error


def test_a_second_evaluation_never_writes_into_the_folder_of_the_first() -> None:
    folder = evaluate("searchqa", *SMALLEST, "--skill", skill("x.md", "# X\n\nAnswer.\n"))
    before = (folder / "eval_summary.json").read_bytes()
    other = skill("y.md", "# Y\n\nAnswer.\n")
    ended = refused(2, "eval", "searchqa", *SMALLEST, "--skill", other, "--run-id", "e")
    assert "another `--run-id NAME`" in ended.hint
    assert (folder / "eval_summary.json").read_bytes() == before


def test_a_long_skill_is_warned_of_at_the_start() -> None:
    Path("long.md").write_text("- a rule\n" * 100_000, encoding="utf-8")
    Path("short.md").write_text("- a rule\n", encoding="utf-8")
    said = "long.md is long: 900,000 characters, about 225,000 tokens that every call reads"
    lines = ("--display", "plain")
    ended = skillopt("eval", "searchqa", *TINY, "--skill", "long.md", *lines)
    assert ended.err.splitlines()[0] == f"Warning: the skill {said}"
    assert "is long" not in skillopt("eval", "searchqa", *TINY, "--skill", "short.md", *lines).err
    arms = ("--arms", "a=long.md,b=short.md")
    ended = skillopt("eval", "searchqa", *TINY, *arms, *lines)
    assert [line for line in ended.err.splitlines() if "is long" in line] == [
        f"Warning: the skill {said.replace('long.md', 'a')}"
    ]
    silent = skillopt("eval", "searchqa", *TINY, "--skill", "long.md", "--display", "none")
    assert "is long" not in silent.err
