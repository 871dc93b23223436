"""`skillopt eval --arms` and `--repeats`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import SMALLEST, Ended, calls, events, finished_run, refused, skillopt

FOLDER = Path("outputs/searchqa/e")
FLAKY = ("--set", "model.simulated.flaky_rate=1")


def compared(*arguments: object) -> Any:
    ended = skillopt("eval", *arguments, "--run-id", "e", "--json")
    assert ended.code == 0, ended.err
    return ended.json


def arms(document: Any) -> dict[str, Any]:
    return {arm["name"]: arm for arm in document["arms"]}


def test_no_skill_seed_and_best_of_a_run_side_by_side() -> None:
    run = finished_run(*SMALLEST)
    found = compared("--skill", run, "--arms", "none,seed,best")
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert list(arms(found)) == ["none", "seed", "best"]
    assert arms(found)["seed"]["hard"] == summary["baseline_test_hard"]
    assert arms(found)["best"]["hard"] == summary["test_hard"]
    assert arms(found)["best"]["skill_digest"] == summary["test_digest"]
    assert arms(found)["none"]["chars"] == 0
    pairs = [(p["first"], p["second"]) for p in found["pairs"]]
    assert pairs == [("none", "seed"), ("none", "best"), ("seed", "best")]
    for pair in found["pairs"]:
        assert pair["won"] + pair["lost"] + pair["tied"] == 3
    assert json.loads((FOLDER / "eval_summary.json").read_text(encoding="utf-8")) == found
    labels = [event["label"] for event in events(FOLDER, "test_measured")]
    assert labels == ["none", "seed", "best"]


def test_the_seed_of_a_run_may_be_empty() -> None:
    run = finished_run(*SMALLEST, "--from-scratch")
    found = compared("--skill", run, "--arms", "none,seed,best")
    assert arms(found)["seed"] == arms(found)["none"] | {"name": "seed"}


def test_files_and_steps_get_names_of_their_own() -> None:
    run = finished_run(*SMALLEST)
    Path("mine.md").write_text("# Mine\n\nAnswer.\n", encoding="utf-8")
    found = compared(
        *("searchqa", *SMALLEST, "--skill", run, "--split", "selection"),
        *("--arms", f"mine.md,1,other={run}/best_skill.md,{run}:seed,skill"),
    )
    assert list(arms(found)) == ["mine", "1", "other", "a-seed", "skill"]
    assert arms(found)["other"]["skill_digest"] == arms(found)["skill"]["skill_digest"]
    assert {arm["n_items"] for arm in found["arms"]} == {4}
    label = events(FOLDER, "test_measured")[0]["label"]
    assert label == "mine_selection"


def test_the_seed_of_a_benchmark_needs_no_run() -> None:
    found = compared("searchqa", *SMALLEST, "--arms", "none,seed")
    assert arms(found)["seed"]["chars"] > 0


def test_the_run_of_the_first_arm_gives_benchmark_and_settings() -> None:
    run = finished_run(*SMALLEST)
    found = compared("--arms", f"none,x={run}:best")
    assert (found["benchmark"], arms(found)["x"]["n_items"]) == ("searchqa", 3)


def test_repeats_are_draws_of_every_task_and_are_averaged_inside_it() -> None:
    found = compared("searchqa", *SMALLEST, *FLAKY, "--from-scratch", "--repeats", 2)
    (only,) = found["arms"]
    assert (only["name"], only["n_items"], only["attempts"]) == ("none", 3, 6)
    rows = [json.loads(line) for line in (FOLDER / "tasks.jsonl").read_text("utf-8").splitlines()]
    draws = [row["arms"]["none"]["hard"] for row in rows]
    assert only["hard"] == sum(map(sum, draws)) / 6
    assert [0.0, 1.0] in map(sorted, draws)
    assert set(only["flaky"]) == {
        row["id"] for row in rows if len(set(row["arms"]["none"]["soft"])) > 1
    }
    assert calls(FOLDER) == 6
    assert (FOLDER / "test/none/draw_2/results.jsonl").is_file()


def test_arms_with_the_same_text_are_paid_for_once() -> None:
    run = finished_run(*SMALLEST)
    compared("--skill", run, "--arms", "a=seed,b=seed")
    assert calls(FOLDER) == 3


def test_the_table_names_arms_and_pairs() -> None:
    run = finished_run(*SMALLEST)
    ended = skillopt("eval", "--skill", run, "--arms", "seed,best", "--repeats", "2")
    assert ended.out.startswith("test (hard, 2 draws each)\narm ")
    assert "\nseed -> best  " in ended.out
    assert ended.out.splitlines()[-1].startswith("details: ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("seed,seed", "two arms are called `seed`"),
        ("seed,", "the arm `` is not usable"),
        ("a/b=seed", "the arm `a/b=seed` is not usable"),
        ("best", "the arm `best` is a skill of a run, and no run is named"),
        ("7", "the arm `7` is a skill of a run, and no run is named"),
        ("typo.md", "there is no skill or run folder typo.md"),
    ],
)
def test_arms_that_cannot_be_read_are_refused(given: str, said: str) -> None:
    assert said in refused(2, "eval", "searchqa", *SMALLEST, "--arms", given).error
    assert not Path("outputs").exists()


def test_an_arm_that_is_misspelt_is_named_as_meant() -> None:
    ended = refused(2, "eval", "searchqa", *SMALLEST, "--arms", "none,sed")
    assert ended.hint == "hint: did you mean `seed`?"


def interrupted(*arguments: object) -> Ended:
    run = finished_run(*SMALLEST)
    return refused(
        5,
        *("eval", "--skill", run, "--arms", "none,best", "--repeats", 3, *FLAKY),
        *("--run-id", "e", *arguments),
    )


def test_a_capped_comparison_is_taken_up_without_repeating_a_call() -> None:
    ended = interrupted("--max-rollouts", 5, "--workers", 1)
    assert ended.hint.endswith("`skillopt resume e --max-rollouts N` goes on up to a higher N")
    assert events(FOLDER, "run_failed")[-1]["resumable"]
    before = calls(FOLDER)
    assert before == 5
    resumed = skillopt("resume", "e", "--max-rollouts", 99, "--json")
    assert resumed.code == 0, resumed.err
    assert calls(FOLDER) == 18
    whole = skillopt(
        *("eval", "--skill", "outputs/searchqa/a", "--arms", "none,best", "--repeats", 3),
        *(*FLAKY, "--json"),
    )
    assert resumed.json == whole.json


def test_a_finished_comparison_is_shown_again_and_costs_nothing() -> None:
    found = compared("searchqa", *SMALLEST, "--arms", "none,seed")
    before = len(events(FOLDER))
    again = skillopt("resume", "e", "--json")
    assert (again.code, again.json) == (0, found)
    assert "is finished: nothing to do" in again.err
    assert len(events(FOLDER)) == before


def test_other_tasks_are_no_resume_of_the_comparison() -> None:
    interrupted("--max-rollouts", 5)
    ended = refused(2, "resume", "e", "--set", "evaluation.test_env_num=2")
    assert "changed conditions" in ended.error


def test_broken_attempts_are_no_comparison() -> None:
    ended = refused(
        6,
        *("eval", "searchqa", *SMALLEST, "--arms", "none,seed", "--run-id", "e"),
        *("--set", "model.simulated.permanent_failure_rate=1"),
        *("--set", "model.retry.max_attempts=1", "--set", "evaluation.test_env_num=2"),
    )
    assert "only 0 of 2 attempts with the arm `none` could be scored" in ended.error
    assert "`skillopt resume e` tries them again" in ended.hint


def test_two_arms_end_with_the_verdict_in_words() -> None:
    run = finished_run(*SMALLEST)
    found = compared("--skill", run, "--arms", "none,best")
    sentence = found["verdict"]["sentence"]
    assert sentence.startswith("It is not clear whether `best` is better: ")
    assert "on 3 test tasks" in sentence and "the seed" not in sentence
    (pair,) = found["pairs"]
    assert (found["verdict"]["fixed"], found["verdict"]["broke"]) == (pair["won"], pair["lost"])
    shown = skillopt("eval", "--skill", run, "--arms", "none,best", "--run-id", "again").out
    assert shown.splitlines()[-3:-1] == [
        f"Verdict: {sentence}",
        f"hint: {found['verdict']['hint']}",
    ]
    assert "fewer than 5 test tasks can never prove a gain" in found["verdict"]["hint"]
    assert f"Verdict: {sentence}" in skillopt("gate-report", FOLDER).out


def test_equal_arms_have_nothing_to_compare_and_several_no_verdict() -> None:
    run = finished_run(*SMALLEST)
    found = compared("--skill", run, "--arms", "seed,same=a:seed")
    assert found["verdict"]["sentence"] == (
        "`same` reads the same as `seed`: there is nothing to compare."
    )
    several = skillopt("eval", "--skill", run, "--arms", "none,seed,best", "--run-id", "f").out
    assert "Verdict" not in several


@pytest.mark.parametrize("arms", [(), ("--arms", "none,best")])
@pytest.mark.parametrize("split", ["train", "selection", "test"])
def test_scores_of_train_tasks_come_with_a_warning(arms: tuple[str, ...], split: str) -> None:
    run = finished_run(*SMALLEST)
    ended = skillopt("eval", "--skill", run, *arms, "--split", split, "--run-id", "e")
    assert ended.code == 0, ended.err
    assert ("Warning: a training reads the train tasks" in ended.out) == (split == "train")


def test_tasks_that_a_training_used_limit_the_verdict_in_every_place() -> None:
    run = finished_run(*SMALLEST)
    found = compared("--skill", run, "--arms", "none,best", "--split", "all")
    splits = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["splits"]
    n, asked = len(splits["train"]) + len(splits["selection"]), found["verdict"]["asked"]
    scope = f"On tasks of which a training used {n} of {asked}, "
    warning = (
        f"Warning: a training used {n} of these {asked} tasks, so a gain on them shows nothing"
        " about others; measure with `--split test`"
    )
    assert found["verdict"]["sentence"].startswith(scope)
    assert found["warning"] == warning
    assert json.loads((FOLDER / "eval_summary.json").read_text(encoding="utf-8")) == found
    again = skillopt("resume", "e")
    for shown in (again.out, skillopt("gate-report", FOLDER).out):
        assert f"Verdict: {scope}" in shown
        assert warning in shown
    one = skillopt("eval", "--skill", run, "--split", "all", "--run-id", "f")
    assert one.out.splitlines()[-2] == warning
    assert warning in skillopt("gate-report", "f").out


@pytest.mark.parametrize("arms", ["seed,none", "none,best"])
def test_selection_tasks_count_for_a_trained_skill_and_not_for_its_seed(arms: str) -> None:
    run = finished_run(*SMALLEST)
    found = compared("--skill", run, "--arms", arms, "--split", "selection")
    sentence = found["verdict"]["sentence"]
    assert sentence.startswith("On tasks that a training used, ") == ("best" in arms)
    said = "a training selects its skills by the selection tasks"
    assert (said in found.get("warning", "")) == ("best" in arms)
