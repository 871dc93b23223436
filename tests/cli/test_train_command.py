"""`skillopt train`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from command_line import SMALLEST, TINY, events, outcome, refused, skillopt, train

from skillopt_cli.cli.train import show_result

COLOURED = re.compile(r"\x1b\[(?:[0-9;]*;)?[34][0-9]")
DOCUMENTED = {
    "config.yaml",
    "manifest.json",
    "events.jsonl",
    "state.json",
    "state.prev.json",
    "journal.sqlite",
    "history.json",
    "best_skill.md",
    "skills",
    "steps",
    "test",
    "summary.json",
}


def test_a_tiny_run_leaves_the_documented_folder_and_says_what_it_came_to() -> None:
    ended = skillopt("train", "searchqa", *TINY, "--run-id", "a")
    folder = Path("outputs/searchqa/a")
    assert ended.code == 0
    assert {path.name for path in folder.iterdir()} >= DOCUMENTED
    lines = ended.out.splitlines()
    assert lines[0] == f"best skill: {folder / 'best_skill.md'}"
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    scores = ("baseline_gate_score", "best_gate_score", "best_gate_score_expected")
    base, best, expected = (f"{summary[name]:.2f}" for name in scores)
    assert base < expected < best
    assert lines[1] == f"selection: {base} -> {best} (n=8), on fresh tasks about {expected}"
    assert lines[2].startswith("test: seed ") and "best" in lines[2] and "(n=12)" in lines[2]
    assert "[Step 4/4] Gate: " in ended.err
    said = [line.partition(":")[0] for line in ended.err.splitlines()]
    assert said[:4] == ["Plan", "Plan", "Data", "Run"]


def test_the_folder_is_named_after_the_time_without_an_id() -> None:
    for _ in range(2):
        assert skillopt("train", "searchqa", *SMALLEST).code == 0
    first, second = sorted(Path("outputs/searchqa").iterdir())
    for folder in (first, second):
        assert folder.name[:2] == "20"
        assert len(folder.name.split("_")) == 2
    assert first != second


def test_an_existing_run_is_not_written_to() -> None:
    folder = train(*SMALLEST)
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    ended = refused(2, "train", "searchqa", *SMALLEST, "--run-id", "a")
    assert str(folder) in ended.error
    assert ended.hint == "hint: choose another `--run-id NAME`"
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (2, ("--skill-init", "typo.md")),
        (2, ("--target-backend", "nothing")),
        (3, ("--split-dir", "gone")),
        (3, ("--skill-init", "empty.md")),
        (2, ("--set", "model.target.api_key_env=UNSET_API_KEY")),
    ],
)
def test_a_failed_start_says_why_and_leaves_no_folder(
    code: int, arguments: tuple[str, ...]
) -> None:
    Path("empty.md").touch()
    refused(code, "train", "searchqa", *SMALLEST, *arguments)
    assert not Path("outputs").exists()


def test_the_config_of_a_run_repeats_its_decisions() -> None:
    first = train(*TINY, "--seed", "7")
    text = (first / "config.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["train"]["seed"] == 7
    ended = skillopt("train", "--config", first / "config.yaml", "--run-id", "b")
    assert ended.code == 0
    assert outcome(first.with_name("b")) == outcome(first)


def test_json_prints_facts_and_last_the_summary() -> None:
    ended = skillopt("train", "searchqa", *SMALLEST, "--json", "--run-id", "a")
    *facts, last = ended.lines
    assert [fact["number"] for fact in facts] == list(range(1, len(facts) + 1))
    assert facts[-1]["event"]["kind"] == "run_finished"
    assert list(last) == ["summary"]
    written = json.loads(Path("outputs/searchqa/a/summary.json").read_text(encoding="utf-8"))
    assert last["summary"] == written
    assert ended.err == ""


def test_a_failed_run_with_json_still_ends_with_its_summary() -> None:
    ended = skillopt(
        "train", "searchqa", *SMALLEST, "--json", "--set", "model.simulated.auth_failure=true"
    )
    assert ended.code == 4
    assert ended.lines[-1]["summary"]["exit_code"] == 4
    assert ended.error
    assert ended.hint


@pytest.mark.parametrize(
    ("code", "settings"),
    [
        (4, ("model.simulated.auth_failure=true",)),
        (6, ("model.simulated.permanent_failure_rate=1", "model.retry.max_attempts=1")),
    ],
)
def test_a_model_that_cannot_be_used_ends_the_run(code: int, settings: tuple[str, ...]) -> None:
    given = [part for setting in settings for part in ("--set", setting)]
    ended = refused(code, "train", "searchqa", *SMALLEST, *given, "--run-id", "a")
    assert "skillopt resume" in ended.err
    summary = json.loads(Path("outputs/searchqa/a/summary.json").read_text(encoding="utf-8"))
    assert summary["exit_code"] == code
    assert summary["status"] == "failed"


@pytest.mark.parametrize(("flags", "code"), [((), 0), (("--require-improvement",), 10)])
def test_no_improvement_is_an_exit_code_on_request_only(flags: tuple[str, ...], code: int) -> None:
    # The simulated target is wrong whatever the skill says.
    given = ("--set", "model.simulated.noise=1", "--display", "none", "--run-id", "a", *flags)
    ended = skillopt("train", "searchqa", *SMALLEST, *given)
    assert ended.code == code
    again = skillopt("resume", "a", "--json")
    assert again.code == code
    shown = again.json["summary"]
    told = bool(code)
    assert (shown["status"], shown["exit_code"]) == ("finished", code)
    assert shown["error"] == ("NoImprovement" if told else None)
    assert ("above the seed on the selection split" in (shown["message"] or "")) == told
    for by in (ended, again):
        assert (f"error: {shown['message']}" in by.err) == told


def test_display_none_is_silent_on_stderr() -> None:
    ended = skillopt("train", "searchqa", *SMALLEST, "--display", "none")
    assert ended.err == ""
    assert ended.out.startswith("best skill: ")


def test_a_pipe_gets_plain_lines_without_escape_codes() -> None:
    ended = skillopt("train", "searchqa", *SMALLEST, TERM="xterm-256color")
    assert "\x1b" not in ended.err + ended.out
    assert "[Step 1/1] Rollout: 4 items" in ended.err


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}])
def test_no_color_is_respected_where_a_panel_is_shown(variables: dict[str, str]) -> None:
    given = ("--display", "rich")
    ended = skillopt("train", "searchqa", *SMALLEST, *given, FORCE_COLOR="1", **variables)
    assert ended.code == 0
    assert bool(COLOURED.search(ended.err)) is not bool(variables)
    assert not COLOURED.search(ended.out)


def test_the_benchmark_may_come_from_a_file() -> None:
    Path("my.yaml").write_text("env: {name: searchqa}\n", encoding="utf-8")
    assert skillopt("train", "--config", "my.yaml", *SMALLEST, "--run-id", "a").code == 0
    assert Path("outputs/searchqa/a/summary.json").exists()


def test_from_scratch_starts_from_an_empty_skill() -> None:
    folder = train(*SMALLEST, "--from-scratch")
    assert (folder / "skills/step_0000.md").read_bytes() == b""


def test_a_seed_of_ones_own_is_trained_from() -> None:
    Path("mine.md").write_text("# Mine\n\nAnswer briefly.\n", encoding="utf-8")
    folder = train(*SMALLEST, "--skill-init", "mine.md")
    assert (folder / "skills/step_0000.md").read_text("utf-8") == "# Mine\n\nAnswer briefly.\n"


def test_ones_own_tasks_need_no_python() -> None:
    items = [
        {"id": f"t{i}", "question": f"What is {i} + 1?", "answer": f"{i + 1}"} for i in range(9)
    ]
    Path("tasks.jsonl").write_text("".join(f"{json.dumps(i)}\n" for i in items), encoding="utf-8")
    given = ("--set", "env.data_path=tasks.jsonl", "--set", "env.scorer=numeric", "--epochs", "1")
    ended = skillopt(
        "train",
        "folder",
        "--target-backend",
        "simulated",
        "--optimizer-backend",
        "simulated",
        *given,
        "--run-id",
        "a",
    )
    assert ended.code == 0, ended.err
    assert events(Path("outputs/folder/a"), "run_started")[0]["n_train"] == 2


@pytest.mark.parametrize(
    ("metric", "val", "test"),
    [("hard", "", ""), ("soft", " (soft)", " (soft)"), ("mixed", " (mixed)", " (hard)")],
)
def test_result_lines_name_the_score_and_are_those_of_the_gate(
    metric: str, val: str, test: str
) -> None:
    ended = skillopt("train", "searchqa", *TINY, "--run-id", "a", *gate_by(metric))
    summary = json.loads(Path("outputs/searchqa/a/summary.json").read_text(encoding="utf-8"))
    _, selection, tests, verdict = ended.out.splitlines()
    assert verdict == summary["verdict"]["sentence"]
    base, best = summary["baseline_gate_score"], summary["best_gate_score"]
    expected = summary["best_gate_score_expected"]
    assert (expected is None) == (metric == "mixed")
    fresh = "" if expected is None else f", on fresh tasks about {expected:.2f}"
    assert selection == f"selection{val}: {base:.2f} -> {best:.2f} (n=8){fresh}"
    kind = "soft" if metric == "soft" else "hard"
    assert tests.startswith(f"test{test}: seed {summary[f'baseline_test_{kind}']:.2f} (n=12), ")


def gate_by(metric: str) -> tuple[str, str]:
    return "--set", f"evaluation.gate_metric={metric}"


def test_a_taken_run_id_is_told_before_a_plan() -> None:
    Path("outputs/searchqa/first").mkdir(parents=True)
    ended = refused(2, "train", "searchqa", *TINY, "--display", "plain", "--run-id", "first")
    assert ended.err.splitlines()[0] == ended.error


def test_the_expectation_is_stated_where_it_rounds_to_the_best_score(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert skillopt("train", "searchqa", *TINY, "--run-id", "a").code == 0
    folder = Path("outputs/searchqa/a")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    summary |= {"best_gate_score": 0.4118, "best_gate_score_expected": 0.4065}
    show_result(folder, summary)
    assert "-> 0.41 (n=8), on fresh tasks about 0.41" in capsys.readouterr().out
