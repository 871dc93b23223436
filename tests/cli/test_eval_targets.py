"""`skillopt eval --targets`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import SMALLEST, calls, events, finished_run, refused, skillopt

FOLDER = Path("outputs/searchqa/m")
TARGETS = ("--targets", "simulated:x,y")


def homes() -> list[Path]:
    return sorted(path.parent for path in FOLDER.glob("*/events.jsonl"))


def compared(*arguments: object) -> Any:
    ended = skillopt("eval", *arguments, "--run-id", "m", "--json")
    assert ended.code == 0, ended.err
    return ended.json


def test_every_arm_is_measured_with_every_target() -> None:
    run = finished_run(*SMALLEST)
    found = compared("--skill", run, "--arms", "none,seed,best", *TARGETS)
    alone = skillopt("eval", "--skill", run, "--arms", "none,seed,best", "--json").json
    assert [target["target"] for target in found["targets"]] == ["simulated:x", "y"]
    assert [target["model"] for target in found["targets"]] == ["simulated/x", "simulated/y"]
    for target in found["targets"]:
        assert target["arms"] == alone["arms"]
        gains = [pair["gain"] for pair in target["pairs"]]
        assert gains == [pair["gain"] for pair in alone["pairs"]]
        for pair in target["pairs"]:
            assert pair["p_corrected"] >= pair["p_value"]
    assert json.loads((FOLDER / "eval_summary.json").read_text(encoding="utf-8")) == found
    assert len(homes()) == 2
    assert {event["target"] for home in homes() for event in events(home, "run_started")} == {
        "simulated/x",
        "simulated/y",
    }


def test_one_skill_needs_no_arms() -> None:
    found = compared("searchqa", *SMALLEST, "--from-scratch", *TARGETS)
    assert [[arm["name"] for arm in target["arms"]] for target in found["targets"]] == [
        ["none"],
        ["none"],
    ]


def test_the_table_has_a_column_per_target() -> None:
    ended = skillopt("eval", "searchqa", *SMALLEST, "--arms", "none,seed", *TARGETS)
    lines = ended.out.splitlines()
    assert lines[1].split() == ["arm", "simulated:x", "y"]
    assert any(line.startswith("y            none -> seed") for line in lines)


def test_a_cap_holds_for_all_targets_and_a_resume_repeats_nothing() -> None:
    given = ("eval", "searchqa", *SMALLEST, "--arms", "none,seed", *TARGETS)
    ended = refused(5, *given, "--run-id", "m", "--max-rollouts", 8, "--workers", 1)
    assert f"`skillopt resume {FOLDER} --max-rollouts N`" in ended.hint
    assert [calls(home) for home in homes()] == [6, 2]
    resumed = skillopt("resume", FOLDER, "--max-rollouts", 99, "--json")
    assert resumed.code == 0, resumed.err
    assert [calls(home) for home in homes()] == [6, 6]
    whole = skillopt(*given, "--json")
    assert resumed.json == whole.json
    again = skillopt("resume", "m", "--json")
    assert again.json == whole.json
    assert "is finished: nothing to do" in again.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--targets", "x,x"), "is no list of different models"),
        (("--targets", "x,"), "is no list of different models"),
        ((*TARGETS, "--target-model", "y"), "sets model.target.name otherwise"),
        ((*TARGETS, "--record", "r.jsonl"), "a recording holds the calls of one run"),
    ],
)
def test_targets_that_cannot_be_compared_are_refused(given: tuple[str, ...], said: str) -> None:
    ended = refused(2, "eval", "searchqa", *SMALLEST, "--from-scratch", *given)
    assert said in ended.error
    assert not Path("outputs").exists()


def test_every_target_is_a_run_of_its_own_in_lists_and_reports() -> None:
    run = finished_run(*SMALLEST)
    compared("--skill", run, "--arms", "none,seed", *TARGETS)
    listed = {row["run_id"]: row for row in skillopt("runs", "list", "--json").json}
    assert set(listed) == {"a", *(f"m/{home.name}" for home in homes())}
    for home in homes():
        row = listed[f"m/{home.name}"]
        assert (row["benchmark"], row["status"]) == ("searchqa", "finished")
        assert {e["label"] for e in row["evaluated"]} == {"none", "seed"}
        assert skillopt("gate-report", row["run_id"]).out.startswith("searchqa ")
    ended = refused(2, "gate-report", FOLDER, run)
    assert "holds a run for each of its targets" in ended.error
    assert all(str(home) in ended.hint for home in homes())
