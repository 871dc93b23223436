"""`skillopt resume`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import (
    SMALLEST,
    TINY,
    calls,
    events,
    finished_run,
    outcome,
    refused,
    skillopt,
    train,
    unfinish,
)

from skillopt_cli import resume
from skillopt_cli.core.errors import DriftRefused
from skillopt_cli.store.lock import lock_run
from skillopt_cli.testing import ModelServer


def test_a_finished_run_makes_no_call_and_says_its_result_again() -> None:
    folder = finished_run(*SMALLEST)
    before = (folder / "events.jsonl").read_bytes()
    for name in (str(folder), "a"):
        ended = skillopt("resume", name)
        assert ended.code == 0
        assert "nothing to do" in ended.err
        assert ended.out.startswith(f"best skill: {folder}")
    assert (folder / "events.jsonl").read_bytes() == before
    assert skillopt("resume", folder, "--json").json["summary"]["run_id"] == "a"


def test_a_finished_run_needs_neither_key_nor_data_nor_model_to_say_so(server: ModelServer) -> None:
    assert skillopt("data", "sample", "searchqa", "--out", "d").code == 0
    Path("seed.md").write_text("# Seed\n\nAnswer.\n", encoding="utf-8")
    key = {"OPENAI_API_KEY": "sk-none"}
    given = (
        *(*SMALLEST, "--split-dir", "d", "--set", "model.backend=openai_compatible"),
        *("--target-model", "m", "--set", f"model.base_url={server.url}"),
    )
    folder = train(*given, "--optimizer-model", "m", "--skill-init", "seed.md", **key)
    arms = ("--skill", "seed.md", "--arms", "none,skill", "--run-id", "e")
    evaluated = skillopt("eval", "searchqa", *given, *arms, **key)
    assert evaluated.code == 0, evaluated.err
    server.reset()
    shutil.rmtree("d")
    Path("seed.md").write_text("# Another\n\nAnswer well.\n", encoding="utf-8")
    for name in ("a", "e"):
        ended = skillopt("resume", name)
        assert ended.code == 0
        assert ended.err == f"outputs/searchqa/{name} is finished: nothing to do\n"
        assert resume(name).finished
        refusal = refused(2, "resume", name, "--target-model", "n")
        assert 'model.target.name: "m" -> "n"' in refusal.err
        with pytest.raises(DriftRefused, match=r"model\.target\.name"):
            resume(name, target_model="n")
    assert server.requests() == []
    unfinish(folder)
    assert "does not exist" in refused(3, "resume", "a", **key).error


def test_settings_that_an_earlier_version_did_not_know_are_those_it_trained_with() -> None:
    folder = finished_run(*SMALLEST)
    config = folder / "config.yaml"
    lines = config.read_text(encoding="utf-8").splitlines(keepends=True)
    newer = ("verify", "merge", "reflect_rounds", "rerun_solved", "gate_policy", "failure_only")
    kept = [line for line in lines if line.strip().partition(":")[0] not in newer]
    assert len(kept) == len(lines) - len(newer)
    config.write_text("".join(kept), encoding="utf-8")
    ended = skillopt("resume", folder)
    assert ended.code == 0, ended.err
    assert "nothing to do" in ended.err


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("--set", "evaluation.gate_metric=soft"), "evaluation.gate_metric"),
        (("--target-model", "other"), "model.target.name"),
        (("--epochs", "3"), "train.num_epochs: 1 -> 3"),
        (("--skill-init", "other.md"), "seed skill is another one"),
    ],
)
def test_a_changed_condition_is_refused_with_a_list(change: tuple[str, str], line: str) -> None:
    Path("other.md").write_text("# Other\n\nAnswer.\n", encoding="utf-8")
    folder = finished_run(*SMALLEST)
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    ended = skillopt("resume", folder, *change)
    assert ended.code == 2
    assert line in ended.err
    assert "--allow-drift" in ended.hint
    assert ended.hint.startswith("hint: a finished run has nothing to resume; ")
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_drift_that_is_allowed_goes_on_and_is_recorded() -> None:
    folder = finished_run(*SMALLEST)
    paid = calls(folder)
    ended = skillopt("resume", folder, "--epochs", "2", "--allow-drift")
    assert ended.code == 0, ended.err
    (drift,) = events(folder, "drift_allowed")
    assert drift["changes"] == ["train.num_epochs: 1 -> 2"]
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["drift_allowed"] == drift["changes"]
    # What is compared from then on was measured under the conditions of now.
    assert len(events(folder, "baseline_measured")) == 2
    assert "Measure again: current skill" in ended.err
    assert summary["total_steps"] == 2
    assert calls(folder) > paid
    assert skillopt("resume", folder).code == 0


def test_settings_of_this_machine_may_change_freely() -> None:
    folder = finished_run(*SMALLEST)
    ended = skillopt("resume", folder, "--workers", "1", "--set", "run.max_concurrency=2")
    assert ended.code == 0
    assert "nothing to do" in ended.err


def test_a_run_that_failed_is_taken_up_where_it_stopped() -> None:
    whole = finished_run(*TINY, run_id="whole")
    failing = ("--set", "model.simulated.auth_failure=true")
    assert skillopt("train", "searchqa", *TINY, *failing, "--run-id", "a").code == 4
    folder = Path("outputs/searchqa/a")
    ended = skillopt(
        "resume", folder, "--set", "model.simulated.auth_failure=false", "--allow-drift"
    )
    assert ended.code == 0, ended.err
    assert outcome(folder) == outcome(whole)


def test_changed_tasks_are_refused() -> None:
    data = skillopt("data", "sample", "searchqa", "--out", "d")
    assert data.code == 0
    folder = train(*SMALLEST, "--split-dir", "d")
    unfinish(folder)
    (path,) = Path("d/test").iterdir()
    text = path.read_text(encoding="utf-8")
    question = json.loads(text.splitlines()[0])["question"] if text[0] == "{" else None
    question = question or json.loads(text)[0]["question"]
    path.write_text(text.replace(question, f"Once more: {question}", 1), encoding="utf-8")
    ended = refused(2, "resume", folder)
    assert "the test split differs in 1 task:" in ended.err


def test_where_the_data_lies_does_not_matter() -> None:
    skillopt("data", "sample", "searchqa", "--out", "d")
    folder = train(*SMALLEST, "--split-dir", "d")
    shutil.move("d", "elsewhere")
    assert skillopt("resume", folder, "--split-dir", "elsewhere").code == 0


def test_a_folder_in_use_names_the_process_and_is_left_alone() -> None:
    folder = finished_run(*SMALLEST)
    unfinish(folder)
    (folder / "summary.json").unlink()
    with lock_run(folder):
        ended = refused(2, "resume", folder, "--display", "plain")
        holder = (folder / "run.lock").read_text(encoding="ascii").strip()
    assert f"process {holder}" in ended.error
    assert "Plan:" not in ended.err
    assert not (folder / "summary.json").exists()
    assert (folder / "state.json").exists()


def test_a_resume_under_changed_settings_is_refused_without_a_plan() -> None:
    folder = finished_run(*SMALLEST)
    unfinish(folder)
    ended = refused(2, "resume", folder, "--display", "plain", "--target-model", "other")
    assert ended.err.startswith("error: the run cannot go on under changed conditions:")
    assert "Plan: " in skillopt("resume", folder, "--display", "plain").err


@pytest.mark.parametrize("flag", [("--preset", "tiny"), ("--config", "c.yaml")])
def test_a_resumed_run_keeps_its_configuration(flag: tuple[str, str]) -> None:
    Path("c.yaml").touch()
    folder = finished_run(*SMALLEST)
    ended = refused(2, "resume", folder, *flag)
    assert "--set" in ended.hint


def test_a_run_that_does_not_exist_is_named() -> None:
    ended = refused(2, "resume", "gone")
    assert "`gone`" in ended.error
    assert "runs list" in ended.hint


def test_ids_are_looked_up_under_the_root_that_is_named() -> None:
    ended = skillopt("train", "searchqa", *SMALLEST, "--out-root", "o", "--run-id", "a")
    assert ended.code == 0
    refused(2, "resume", "a")
    assert skillopt("resume", "a", "--out-root", "o").code == 0
