"""Commands that list and report: tables in a pipe, JSON, and what is wrong with a run."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from command_line import SMALLEST, TINY, finished_run, refused, skillopt, train

from skillopt_cli.core.events import RunPaused
from skillopt_cli.store.lock import lock_run


def test_benchmarks_are_listed_with_their_samples() -> None:
    found = {row["name"]: row for row in skillopt("benchmarks", "list", "--json").json}
    assert found["searchqa"]["sample"] == {"train": 60, "selection": 60, "test": 100}
    assert found["searchqa"]["full"] is True
    assert found["folder"]["sample"] is None
    assert all(row["summary"] and row["error"] is None for row in found.values())
    shown = skillopt("benchmarks", "list")
    assert shown.err == ""
    (line,) = [line for line in shown.out.splitlines() if line.startswith("searchqa")]
    assert "60/60/100" in line
    assert "400/200/1400: skillopt data prepare searchqa" in line
    assert line.endswith("ready")


def test_a_benchmark_says_what_it_is_made_of_and_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from skillopt_cli.benchmarks.alfworld import benchmark

    monkeypatch.setattr(benchmark, "find_spec", lambda name: None)
    found = {row["name"]: row for row in skillopt("benchmarks", "list", "--json").json}
    row = found["alfworld"]
    assert row["modality"] == ["text", "turns"]
    assert row["sizes"] == {"train": 39, "selection": 18, "test": 134}
    assert row["sample"] == {"train": 12, "selection": 8, "test": 12}
    assert (row["extra"], row["judged"], row["runs_programs"]) == ("alfworld", False, False)
    assert row["options"] == ["games_dir", "max_steps"]
    assert row["missing"] == "the packages textworld and alfworld"
    assert found["folder"]["sizes"] is None
    shown = skillopt("benchmarks", "list").out.splitlines()
    (line,) = [line for line in shown if line.startswith("alfworld")]
    assert "39/18/134: skillopt data prepare alfworld" in line
    assert line.endswith(
        "missing: the packages textworld and alfworld (pip install 'skillopt-cli[alfworld]')"
    )


def test_backends_are_listed_with_what_they_lack() -> None:
    found = {row["name"]: row for row in skillopt("backends", "list", "--json").json}
    assert found["simulated"]["roles"] == ["optimizer", "target"]
    assert found["simulated"]["missing"] == ""
    assert "OPENAI_API_KEY" in found["openai_compatible"]["missing"]
    ready = skillopt("backends", "list", "--json", OPENAI_API_KEY="canary").json
    assert {row["name"]: row["missing"] for row in ready}["openai_compatible"] == ""
    shown = skillopt("backends", "list").out.splitlines()
    (line,) = [line for line in shown if line.startswith("simulated")]
    assert line.endswith("ready")
    assert "JSON schema" in line


def test_of_a_backends_variables_the_names_are_shown_and_never_the_values() -> None:
    variables = {
        "AZURE_OPENAI_ENDPOINT": "https://canary-address",
        "TARGET_AZURE_OPENAI_API_KEY": "canary-secret",
        "OPTIMIZER_DEPLOYMENT": "canary-model",
    }
    found = {row["name"]: row for row in skillopt("backends", "list", "--json", **variables).json}
    row = found["openai_chat"]
    assert row["present"]["target"] == {
        "base_url": "AZURE_OPENAI_ENDPOINT",
        "api_key_env": "TARGET_AZURE_OPENAI_API_KEY",
    }
    assert row["present"]["optimizer"]["name"] == "OPTIMIZER_DEPLOYMENT"
    assert row["offers"] == ["images", "json_schema", "tools", "usage"]
    assert row["variables"]["base_url"][0] == "{ROLE}_AZURE_OPENAI_ENDPOINT"
    assert "auth_mode" in row["honours"]
    assert found["simulated"]["free"] is True
    assert found["simulated"]["present"] == {"optimizer": {}, "target": {}}
    shown = skillopt("backends", "list", **variables)
    (line,) = [line for line in shown.out.splitlines() if line.startswith("openai_chat")]
    assert "AZURE_OPENAI_ENDPOINT" in line
    assert "TARGET_AZURE_OPENAI_API_KEY" in line
    assert "canary" not in shown.out + str(found)


@pytest.mark.parametrize("command", [("benchmarks", "list"), ("backends", "list")])
def test_a_table_in_a_pipe_has_one_line_per_row_and_no_padding(command: tuple[str, str]) -> None:
    rows = skillopt(*command, "--json").json
    lines = skillopt(*command, COLUMNS="40").out.splitlines()
    assert len(lines) == len(rows) + 1
    assert all(line == line.rstrip() for line in lines)
    assert max(map(len, lines)) > 80


def test_a_table_on_a_terminal_keeps_to_its_width() -> None:
    controller, terminal = pty.openpty()
    variables = {**os.environ, "COLUMNS": "60", "TERM": "xterm", "NO_COLOR": "1"}
    program = Path(sys.executable).with_name("skillopt")
    process = subprocess.Popen([program, "backends", "list"], stdout=terminal, env=variables)
    os.close(terminal)
    output = b""
    try:
        while chunk := os.read(controller, 4096):
            output += chunk
    except OSError:  # how a terminal says that its other end is closed
        pass
    finally:
        os.close(controller)
    assert process.wait() == 0
    lines = output.decode().splitlines()
    assert len(lines) > 6
    assert max(map(len, lines)) <= 60


def test_runs_are_listed_with_status_scores_and_n() -> None:
    first = finished_run(*SMALLEST, run_id="a")
    assert skillopt("eval", "--skill", first / "best_skill.md", "--run-id", "e").code == 0
    shown = skillopt("runs", "list")
    lines = shown.out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        "outputs/searchqa/a",
        "outputs/searchqa/e",
    ]
    assert "finished" in lines[1]
    assert "1 of 1" in lines[1]
    assert "(n=4)" in lines[1]
    assert "(n=3)" in lines[1]
    assert "eval" in lines[2]
    assert "test: " in lines[2]
    found = skillopt("runs", "list", "--json").json
    assert [row["run_id"] for row in found] == ["a", "e"]
    assert {row["schema"] for row in found} == {1}
    for name in ("baseline_selection", "best_selection"):
        assert (found[0][f"{name}_n"], found[0][f"{name}_scored"]) == (4, 4)
    for name in ("baseline_test", "test"):
        assert (found[0][f"{name}_n"], found[0][f"{name}_scored"]) == (3, 3)


def test_runs_are_sorted_by_time_or_score() -> None:
    for name, seed in (("a", "1"), ("b", "2"), ("c", "3")):
        train(*SMALLEST, "--seed", seed, run_id=name)
    by_time = skillopt("runs", "list", "--json").json
    assert [row["run_id"] for row in by_time] == ["a", "b", "c"]
    by_best = skillopt("runs", "list", "--sort", "best", "--json").json
    scores = [row["best_selection_hard"] for row in by_best]
    assert scores == sorted(scores)
    ended = refused(2, "runs", "list", "--sort", "size")
    assert ended.hint == "hint: one of time, best, test, gain, usd"
    for sort, key in (("gain", "test_delta_hard"), ("usd", "usd_total")):
        found = skillopt("runs", "list", "--sort", sort, "--json").json
        values = [row[key] for row in found]
        assert None not in values and values == sorted(values)


def test_a_training_that_ended_is_listed_by_its_summary() -> None:
    folder = finished_run(*SMALLEST)
    by_summary = skillopt("runs", "list", "--json").json
    (folder / "summary.json").unlink()
    assert skillopt("runs", "list", "--json").json == by_summary


def test_what_was_logged_after_the_summary_is_listed() -> None:
    folder = finished_run(*SMALLEST)
    log, summary = folder / "events.jsonl", folder / "summary.json"
    text = summary.read_text(encoding="utf-8")
    for changed, shown in ((text.replace("finished", "failed"), "failed"), ("[]", "finished")):
        summary.write_text(changed, encoding="utf-8")
        (row,) = skillopt("runs", "list", "--json").json
        assert row["status"] == shown
    summary.write_text(text.replace("finished", "failed"), encoding="utf-8")
    later = summary.stat().st_mtime_ns + 1
    os.utime(log, ns=(later, later))
    (row,) = skillopt("runs", "list", "--json").json
    assert row["status"] == "finished"


def test_a_run_that_was_killed_is_not_running() -> None:
    folder = finished_run(*SMALLEST)
    log = folder / "events.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join(lines[:-1]), encoding="utf-8")
    assert statuses(folder) == ["interrupted"] * 2
    assert "Ending  interrupted" in skillopt("gate-report", folder).out
    with lock_run(folder):
        assert statuses(folder) == ["running"] * 2


def test_a_run_is_listed_as_paused_while_its_process_is_there() -> None:
    folder = finished_run(*SMALLEST)
    log = folder / "events.jsonl"
    *before, last = log.read_text(encoding="utf-8").splitlines(keepends=True)
    pause = json.loads(last) | {"event": asdict(RunPaused(1, "edits"))}
    log.write_text("".join([*before, json.dumps(pause) + "\n"]), encoding="utf-8")
    with lock_run(folder):
        (row,) = skillopt("runs", "list", "--json").json
        assert (row["status"], row["paused"]) == ("running", "edits")
        assert "  paused with its edits chosen  " in skillopt("runs", "list").out
    (row,) = skillopt("runs", "list", "--json").json
    assert (row["status"], row["paused"]) == ("interrupted", None)


def statuses(folder: Path) -> list[str]:
    """What the list of runs and the report say of a run."""
    (row,) = skillopt("runs", "list", "--json").json
    (run,) = skillopt("gate-report", folder, "--json").json["runs"]
    return [row["status"], run["summary"]["status"]]


def test_a_damaged_run_does_not_hide_the_others() -> None:
    folder = finished_run(*SMALLEST)
    shutil.copytree(folder, folder.with_name("b"))
    (folder / "events.jsonl").write_text("no fact\n", encoding="utf-8")
    found = {row["run_id"]: row for row in skillopt("runs", "list", "--json").json}
    assert found["a"]["status"] == "unreadable"
    assert "events.jsonl" in found["a"]["error"]
    assert found["b"]["status"] == "finished"
    assert "unreadable" in skillopt("runs", "list").out


def test_no_runs_is_said_on_stderr() -> None:
    ended = skillopt("runs", "list", "--out-root", "nowhere")
    assert (ended.code, ended.out) == (0, "")
    assert "no runs under nowhere" in ended.err
    assert skillopt("runs", "list", "--json").json == []


def test_a_report_on_one_run_tells_each_step() -> None:
    folder = finished_run(*TINY)
    shown = skillopt("gate-report", folder)
    for number in range(1, 5):
        assert f"Step {number}  " in shown.out
    assert "baseline" in shown.out
    assert all(line == line.rstrip() for line in shown.out.splitlines())
    document = skillopt("gate-report", "a", "--json").json
    assert [step["step"] for step in document["runs"][0]["steps"]] == [1, 2, 3, 4]


def test_a_report_on_several_runs_sets_them_side_by_side() -> None:
    first, second = finished_run(*SMALLEST), finished_run(*SMALLEST, "--seed", "1", run_id="b")
    shown = skillopt("gate-report", first, second)
    assert shown.code == 0
    assert "a" in shown.out and "b" in shown.out
    document = skillopt("gate-report", first, "b", "--json").json
    assert [run["run_id"] for run in document["runs"]] == ["a", "b"]


@pytest.mark.parametrize("command", ["gate-report", "diff-skills"])
def test_a_run_or_skill_that_does_not_exist_is_named(command: str) -> None:
    names = ("gone",) if command == "gate-report" else ("gone", "gone")
    assert "gone" in refused(2, command, *names).error


def test_skills_are_compared_by_file_run_and_id() -> None:
    folder = finished_run(*TINY)
    by_file = skillopt(
        "diff-skills", folder / "skills/step_0000.md", folder / "best_skill.md", "--json"
    ).json
    for pair in ((f"{folder}:seed", f"{folder}:best"), ("a:seed", "a:best"), ("a:0", "a")):
        found = skillopt("diff-skills", *pair, "--json").json
        assert found["diff"].splitlines()[2:] == by_file["diff"].splitlines()[2:]
    assert by_file["added"] > 0


def test_a_difference_in_a_pipe_is_a_patch() -> None:
    Path("a.md").write_text("# A \n\none\n  two\n", encoding="utf-8")
    Path("b.md").write_text("# A \n\none\n  two  \n", encoding="utf-8")
    shown = skillopt("diff-skills", "a.md", "b.md").out.splitlines(keepends=True)
    assert "-  two\n" in shown
    assert "+  two  \n" in shown
    assert " # A \n" in shown
    assert "1 line added" in shown[-1]
    same = skillopt("diff-skills", "a.md", "a.md")
    assert same.out == "the skills are equal\n"


def test_nothing_but_json_on_stdout() -> None:
    folder = finished_run(*SMALLEST)
    for command in (
        ("config", "show"),
        ("benchmarks", "list"),
        ("backends", "list"),
        ("runs", "list"),
        ("gate-report", folder),
        ("diff-skills", f"{folder}:seed", folder),
        ("data", "check", "searchqa"),
        ("data", "sample", "searchqa", "--out", "d"),
        ("resume", folder),
        ("eval", "--skill", folder / "best_skill.md"),
    ):
        ended = skillopt(*command, "--json")
        assert ended.code == 0, command
        json.loads(ended.out)
        assert ended.out.count("\n") == 1
