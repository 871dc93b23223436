"""`skillopt sweep` with real runs of the simulated model: resumed, capped, killed, in processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import calls, events, outcome, refused, skillopt

from skillopt_cli.compose.settings import Overrides
from skillopt_cli.store.lock import lock_run
from skillopt_cli.sweeps.grid import read_grid
from skillopt_cli.sweeps.trials import TrialFactory

PROGRAM = (sys.executable, "-c", "from skillopt_cli.cli.main import main; main()")
GRID = """\
benchmark: searchqa
preset: tiny
fixed:
  train.num_epochs: 1
  train.train_size: 8
  train.batch_size: 4
  evaluation.sel_env_num: 4
  evaluation.test_env_num: 3
grid:
  optimizer.learning_rate: [1, 4]
seeds: [1, 2]
"""
HOME = Path("outputs/sweeps/rates")
PRINTED = Path("printed.txt")


@pytest.fixture(autouse=True)
def grid() -> None:
    Path("rates.yaml").write_text(GRID, encoding="utf-8")


def change(old: str, new: str) -> None:
    text = Path("rates.yaml").read_text(encoding="utf-8")
    assert old in text
    Path("rates.yaml").write_text(text.replace(old, new), encoding="utf-8")


def slow_down(latency_ms: int = 200) -> None:
    """Every call takes so long that no run ends before a process can be told to stop."""
    change("fixed:\n", f"fixed:\n  model.simulated.latency_ms: {latency_ms}\n")


def swept(*arguments: object, code: int = 0, **variables: str) -> dict[str, Any]:
    ended = skillopt("sweep", "rates.yaml", "--json", *arguments, **variables)
    assert ended.code == code, ended.err
    assert ended.out.count("\n") == 1
    return ended.json


def folders(document: dict[str, Any]) -> list[Path]:
    return [Path(run["folder"]) for c in document["combinations"] for run in c["runs"]]


def statuses(document: dict[str, Any]) -> list[str]:
    return [run["status"] for c in document["combinations"] for run in c["runs"]]


def test_a_sweep_leaves_ordinary_runs_and_says_what_they_are_worth() -> None:
    shown = skillopt("sweep", "rates.yaml", "--display", "none")
    assert shown.code == 0, shown.err
    assert "4 of 4 runs finished" in shown.out
    assert "learning_rate" in shown.out and "within noise" in shown.out
    assert all(line == line.rstrip() for line in shown.out.splitlines())
    assert shown.err.count("finished rates-") == 4
    document = json.loads((HOME / "sweep.json").read_text(encoding="utf-8"))
    listed = {row["folder"]: row for row in skillopt("runs", "list", "--json").json}
    assert set(listed) == {str(folder) for folder in folders(document)}
    for combination in document["combinations"]:
        for run in combination["runs"]:
            summary = json.loads(Path(run["folder"], "summary.json").read_text(encoding="utf-8"))
            shared = run.keys() & summary.keys() - {"status"}
            assert {k: run[k] for k in shared} == {k: summary[k] for k in shared}
        mean = sum(run["test_hard"] for run in combination["runs"]) / 2
        assert combination["test"]["hard"] == pytest.approx(mean)
    names = [folder.name for folder in folders(document)]
    assert skillopt("gate-report", *names).code == 0


def test_the_seed_is_paid_for_once_and_finished_runs_are_kept() -> None:
    document = swept()
    first, *others = folders(document)
    made = {folder: events(folder, "rollout_finished") for folder in folders(document)}
    for folder in others:
        baseline = [e for e in made[folder] if e["step"] == 0 and e["stage"] != "test"][:4]
        assert all(e["recalled"] for e in baseline), folder
    assert not any(e["recalled"] for e in made[first][:4])
    paid = {folder: calls(folder) for folder in folders(document)}
    logs = {folder: (folder / "events.jsonl").stat().st_size for folder in paid}
    assert swept() == document
    assert {folder: (folder / "events.jsonl").stat().st_size for folder in paid} == logs


def test_more_of_a_grid_pays_only_for_what_is_new() -> None:
    change("[1, 4]", "[4]")
    before = {f: (f / "events.jsonl").stat().st_size for f in folders(swept())}
    change("[4]", "[1, 4]")
    document = swept()
    assert len(folders(document)) == 4
    assert all((f / "events.jsonl").stat().st_size == size for f, size in before.items())


def test_caps_hold_over_all_runs_and_higher_ones_go_on() -> None:
    whole = swept("--out-root", "whole")
    paid = sum(calls(f) for f in folders(whole))
    stopped = swept("--max-calls", paid // 2, code=5)
    assert stopped["caps"]["max_calls"]["limit"] == paid // 2
    assert stopped["caps"]["max_calls"]["spent"] <= paid // 2
    assert "not_started" in statuses(stopped) and not stopped["finished"]
    assert stopped["command"] == f"skillopt sweep rates.yaml --max-calls {paid // 2}"
    document = swept(code=0)
    assert set(statuses(document)) == {"finished"}
    results = {f.name: outcome(f) for f in folders(document)}
    assert results == {f.name: outcome(f) for f in folders(whole)}
    change("benchmark:", "caps: {max_calls: 10000}\nbenchmark:")
    assert swept()["caps"]["max_calls"]["limit"] == 10000


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_and_pays_nothing_twice() -> None:
    slow_down()
    whole = swept("--out-root", "whole")
    second = Path("outputs", *folders(whole)[1].parts[1:])
    kill_at(second / "events.jsonl", lines=30)
    assert not (second / "summary.json").exists()
    document = swept()
    assert [f.name for f in folders(document)] == [f.name for f in folders(whole)]
    for folder, unkilled in zip(folders(document), folders(whole), strict=True):
        assert outcome(folder) == outcome(unkilled)
    assert [c["test"] for c in document["combinations"]] == [
        c["test"] for c in whole["combinations"]
    ]
    # Calls in flight at the kill are lost: at most one for each worker.
    paid, due = (sum(calls(f) for f in folders(d)) for d in (document, whole))
    assert due <= paid <= due + 8


def kill_at(log: Path, lines: int, *arguments: str, by: int = signal.SIGKILL) -> int:
    """Start the sweep as a process; end it once the log has so many lines. Its exit code.

    What it printed to stderr is then in `PRINTED`.
    """
    argv = [*PROGRAM, "sweep", "rates.yaml", "--display", "none", *arguments]
    with PRINTED.open("w", encoding="utf-8") as printed:
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=printed)
    try:
        while not log.exists() or log.read_bytes().count(b"\n") < lines:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.001)
        os.kill(process.pid, by)
        return process.wait(timeout=600)
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_stops_the_run_at_work_and_begins_no_other(
    jobs: str, number: signal.Signals
) -> None:
    slow_down(1000)
    change("seeds: [1, 2]", "seeds: [1]")
    change("train_size: 8", "train_size: 4")
    first = TrialFactory(read_grid(Path("rates.yaml")), Overrides(), {}).all()[0].folder
    # Long before the seed skill is measured, which the other run waits for.
    assert kill_at(first / "events.jsonl", 1, "--jobs", jobs, by=number) == 130
    stopped = json.loads((HOME / "sweep.json").read_text(encoding="utf-8"))
    assert stopped["interrupted"] and stopped["exit_code"] == 130
    assert sorted(statuses(stopped)) == ["interrupted", "not_started"]
    command = f"skillopt sweep rates.yaml{' --jobs 2' if jobs == '2' else ''} --display none"
    assert stopped["command"] == command
    assert stopped["working_folder"] == str(Path.cwd())
    assert PRINTED.read_text(encoding="utf-8").splitlines()[-2:] == [
        "stopped by the user",
        f"hint: `{command}` continues the sweep",
    ]
    assert set(statuses(swept())) == {"finished"}


@pytest.mark.slow
def test_runs_that_outlive_a_killed_sweep_are_waited_for() -> None:
    slow_down()
    whole = swept("--out-root", "whole")
    first = Path("outputs", *folders(whole)[0].parts[1:])
    kill_at(first / "events.jsonl", 5, "--jobs", "2")
    document = swept("--jobs", 2)
    for folder, unkilled in zip(folders(document), folders(whole), strict=True):
        assert outcome(folder) == outcome(unkilled)
    # The process of the run went on, so not even what was in flight is lost; what two runs need
    # at the same moment, both pay for.
    assert len(events(first, "run_started")) == 1


@pytest.mark.slow
def test_runs_in_processes_of_their_own_come_to_the_same() -> None:
    change("seeds: [1, 2]", "seeds: [1]")
    here = swept("--out-root", "here")
    apart = swept("--jobs", 2)
    for one, other in zip(folders(here), folders(apart), strict=True):
        assert one.name == other.name
        assert outcome(one) == outcome(other)
        assert "Gate: " in (HOME / f"{other.name}.log").read_text(encoding="utf-8")
    assert {f.stem for f in HOME.glob("*.log")} == {f.name for f in folders(apart)}


def test_a_run_that_fails_is_named_and_the_others_go_on() -> None:
    change("optimizer.learning_rate: [1, 4]", "env.skill_init: [gone.md, seed.md]")
    Path("seed.md").write_text("# Answer\n\nAnswer from the text.\n", encoding="utf-8")
    change("seeds: [1, 2]\n", "")
    document = swept(code=2)
    assert sorted(statuses(document)) == ["failed", "finished"]
    (failed,) = [r for c in document["combinations"] for r in c["runs"] if r["message"]]
    assert "gone.md" in failed["message"]
    Path("gone.md").write_text("# Answer\n\nAnswer briefly.\n", encoding="utf-8")
    assert statuses(swept()) == ["finished", "finished"]


def test_two_at_a_time_are_refused() -> None:
    HOME.mkdir(parents=True)
    with lock_run(HOME):
        ended = refused(2, "sweep", "rates.yaml")
    assert "the sweep outputs/sweeps/rates is in use by process" in ended.error


def test_nothing_is_made_where_the_grid_does_not_hold() -> None:
    change("optimizer.learning_rate", "optimizer.learning_rat")
    ended = refused(2, "sweep", "rates.yaml")
    assert "`optimizer.learning_rat` (rates.yaml)" in ended.error
    assert "`optimizer.learning_rate`" in ended.hint
    assert not Path("outputs").exists()
    refused(2, "sweep", "gone.yaml")


def test_where_no_run_improves_the_exit_code_says_so_if_asked() -> None:
    change("[1, 4]", "[1]")
    document = swept("--require-improvement", code=10, SKILLOPT_EVALUATION__SEL_ENV_NUM="4")
    assert document["exit_code"] == 10


def test_a_search_goes_on_where_it_was() -> None:
    pytest.importorskip("optuna")
    change("[1, 4]", "{low: 1, high: 16, log: true}")
    change("seeds: [1, 2]", "search: {trials: 3, sampler: random}")
    first = swept("--max-rollouts", 15, code=5)
    document = swept()
    assert set(statuses(document)) == {"finished"}
    kept = {f.name for f in folders(first)}
    assert kept <= {f.name for f in folders(document)}
    assert swept() == document


@pytest.mark.parametrize("result", [None, "{", "[]", '{"name": "rates"}'])
@pytest.mark.parametrize("named", ["rates", "outputs/sweeps/rates"])
def test_resume_of_a_sweep_names_the_command_that_continues_it(
    named: str, result: str | None
) -> None:
    HOME.mkdir(parents=True)
    if result is not None:
        (HOME / "sweep.json").write_text(result, encoding="utf-8")
    ended = refused(2, "resume", named)
    assert ended.error == f"error: `{named}` is a sweep and no run"
    assert ended.hint == "hint: the `skillopt sweep` command that began it continues it"
    command = "skillopt sweep rates.yaml --max-calls 9"
    (HOME / "sweep.json").write_text(json.dumps({"command": command}), encoding="utf-8")
    assert refused(2, "resume", named).hint == f"hint: `{command}` continues it"
    assert "there is no run `none`" in refused(2, "resume", "none").error
