"""`gate-report` on real runs: its numbers are those of the run's own files."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import SMALLEST, TINY, events, finished_run, refused, skillopt, train
from dom import parsed, text_of

SLOW = (*TINY, "--set", "optimizer.use_slow_update=true", "--set", "optimizer.use_meta_skill=true")
GATED = (*SLOW, "--set", "optimizer.slow_update_gate_with_selection=true")
FAULTY = (
    *("--set", "model.simulated.permanent_failure_rate=0.1", "--set", "model.retry.max_attempts=1"),
    *("--set", "model.simulated.malformed_rate=0.4", "--set", "evaluation.min_coverage=0.5"),
)


def loaded(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def reported(folder: Path) -> dict[str, Any]:
    (run,) = skillopt("gate-report", folder, "--json").json["runs"]
    return run


@pytest.mark.parametrize(
    "settings", [TINY, SLOW, GATED, (*SLOW, *FAULTY)], ids=["tiny", "forced", "gated", "faulty"]
)
def test_every_number_is_that_of_the_history_and_the_summary(settings: tuple[str, ...]) -> None:
    folder = finished_run(*settings, "--seed", "1")
    run, summary = reported(folder), loaded(folder, "summary.json")
    assert run["summary"] == summary
    assert run["rollouts_saved"] == summary["rollouts_saved"]
    assert run["early_rejection"]["rollouts_saved"] == summary["rollouts_saved"]
    history = loaded(folder, "history.json")
    assert len(run["steps"]) == len(history) == summary["total_steps"]
    for step, record in zip(run["steps"], history, strict=True):
        shared = (step.keys() & record.keys()) - {"tokens"}
        assert len(shared) > 30
        assert {key: step[key] for key in shared} == {key: record[key] for key in shared}
        assert step["tokens"].keys() == record["tokens"].keys()
        for stage, usage in record["tokens"].items():
            assert {key: step["tokens"][stage][key] for key in usage} == usage
        for key in ("calls", "prompt_tokens", "completion_tokens"):
            by_role = sum(spend[key] or 0 for spend in step["spend"].values())
            assert by_role == sum(usage[key] or 0 for usage in record["tokens"].values())
        report = loaded(folder, f"steps/step_{step['step']:04d}/edit_report.json")
        assert step["edits"] == [without(entry, "index") for entry in report]
    for role, total in summary["token_summary_by_role"].items():
        parts = [step["spend"][role] for step in run["steps"]]
        parts.append(run["spend_outside_steps"][role])
        assert sum(part["calls"] for part in parts) == total["calls"]
        assert sum(part["total_tokens"] or 0 for part in parts) == (total["total_tokens"] or 0)


def without(entry: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in entry.items() if k != key}


@pytest.mark.parametrize("settings", [SLOW, GATED], ids=["forced", "gated"])
def test_epochs_are_those_of_the_slow_update_files(settings: tuple[str, ...]) -> None:
    folder = finished_run(*settings)
    epochs = {epoch["epoch"]: epoch for epoch in reported(folder)["epochs"]}
    result = loaded(folder, "slow_update/epoch_02/slow_result.json")
    told = epochs[2]
    assert told["slow_update_action"] == result["action"]
    for key in ("slow_update_content", "selection_hard", "selection_soft"):
        assert told[key] == result[key]
    pairs = loaded(folder, "slow_update/epoch_02/comparison_pairs.json")
    for category, n in told["pairs"].items():
        assert n == sum(pair["category"] == category for pair in pairs)
    notes = loaded(folder, "meta_skill/epoch_02/meta_skill_result.json")
    assert told["meta_skill_content"] == notes["meta_skill_content"]
    shown = skillopt("gate-report", folder).out
    assert "End of epoch 2" in shown
    assert "Meta skill, the optimizer's own notes:" in shown


def test_saved_rollouts_are_the_selection_tasks_that_were_not_attempted() -> None:
    without_epochs = (*TINY, "--set", "optimizer.use_slow_update=false")
    folder = finished_run(*without_epochs, "--workers", "1")
    attempts = [e for e in events(folder, "rollout_finished") if e["stage"] == "measure"]
    n = loaded(folder, "summary.json")["baseline_selection_n"]
    found = reported(folder)["early_rejection"]
    measured = [e for e in attempts if e["step"] > 0]
    assert found["attempts"] == len(measured)
    steps = {e["step"] for e in measured}
    assert found["measurements"] == len(steps)
    assert found["attempts_without"] == n * len(steps)
    assert found["rollouts_saved"] == n * len(steps) - len(measured) > 0
    calls = sum(e["usage"]["calls"] for e in events(folder, "call_made") if e["stage"] == "measure")
    assert found["spend"]["calls"] == calls - n
    off = finished_run(*without_epochs, "--set", "evaluation.early_reject=false", run_id="b")
    assert reported(off)["early_rejection"]["rollouts_saved"] == 0


def test_the_best_score_is_labelled_as_what_it_is() -> None:
    tested = skillopt("gate-report", finished_run(*SMALLEST)).out
    assert "selected on these tasks, so it overestimates; the test score is unbiased." in tested
    folder = finished_run(*SMALLEST, "--set", "evaluation.eval_test=false", run_id="b")
    assert "no test score, which is unbiased, was measured" in skillopt("gate-report", folder).out


def test_a_report_in_markdown_is_the_same_report() -> None:
    folder = finished_run(*TINY)
    written = skillopt("gate-report", folder, "--format", "md").out
    assert written.startswith("# searchqa a\n")
    assert "\n| skill | val score | tasks |\n|---|---|---|\n" in written
    assert re.findall(r"^### Step (\d)", written, re.M) == ["1", "2", "3", "4"]
    shown = skillopt("gate-report", folder, "--format", "table").out
    assert shown == skillopt("gate-report", folder).out
    for line in shown.splitlines():
        if line.startswith("  spent") or "val score" in line[:12]:
            assert line.strip().replace("<", "\\<") in written


def test_json_has_two_names_and_no_third() -> None:
    folder = finished_run(*SMALLEST)
    told = skillopt("gate-report", folder, "--json")
    assert told.json == skillopt("gate-report", folder, "--format", "json").json
    assert told.json == skillopt("gate-report", folder, "--json", "--format", "json").json
    assert "exclude each other" in refused(2, "gate-report", folder, "--json", "--format=md").error
    assert "invalid value" in refused(2, "gate-report", folder, "--format", "pdf").error


def test_an_evaluation_gets_a_short_report() -> None:
    folder = finished_run(*SMALLEST)
    skillopt("eval", "--skill", folder / "best_skill.md", "--run-id", "e")
    shown = skillopt("gate-report", "e").out
    assert shown.startswith("searchqa e  evaluation\n")
    assert re.search(r"^test +\d\.\d\d +\d\.\d\d +n=3$", shown, re.M)
    assert "Step" not in shown and "baseline" not in shown
    (run,) = skillopt("gate-report", "e", "--json").json["runs"]
    found = loaded(Path("outputs/searchqa/e"), "eval_summary.json")
    assert run["summary"]["eval_hard"] == found["hard"]


def test_runs_are_compared_on_the_tasks_that_both_have() -> None:
    first = finished_run(*SMALLEST, "--set", "evaluation.test_env_num=5")
    second = finished_run(
        *(*SMALLEST, "--set", "evaluation.sel_env_num=6", "--set", "evaluation.test_env_num=7"),
        run_id="b",
    )
    shown = skillopt("gate-report", first, second).out
    assert "The runs do not have the same selection and test tasks" in shown
    assert "Compared on the 5 test tasks that both runs have (of 5 and 7)." in shown
    document = skillopt("gate-report", first, second, "--json").json
    assert document["shared"] == {
        "selection": {"tasks": 4, "of": {"a": 4, "b": 6}},
        "test": {"tasks": 5, "of": {"a": 5, "b": 7}},
    }
    (pair,) = document["paired"]
    assert pair["n"] == 5


def test_runs_without_a_common_task_are_refused_with_what_differs() -> None:
    first = finished_run(*SMALLEST)
    (folder := first.parent / "b").mkdir()
    for path in first.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    manifest = loaded(folder, "manifest.json")
    manifest["config"]["env.split_seed"] = 7
    for split in ("selection", "test"):
        tasks = manifest["splits"][split]
        manifest["splits"][split] = dict.fromkeys(tasks, "0123456789abcdef")
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    ended = refused(2, "gate-report", first, folder)
    assert ended.error == (
        "error: the runs a and b have no selection task and no test task in common"
    )
    assert "they differ in `env.split_seed` (a: " in ended.hint and "b: 7)" in ended.hint


def test_runs_are_told_apart_by_what_differs() -> None:
    first = finished_run(*SMALLEST)
    second = finished_run(*SMALLEST, "--seed", "7", "--learning-rate", "2", run_id="b")
    document = skillopt("gate-report", first, second, "--json").json
    assert document["differences"] == {
        "optimizer.learning_rate": {"a": 4, "b": 2},
        "train.seed": {"a": 42, "b": 7},
    } | {k: v for k, v in document["differences"].items() if k == "(train tasks)"}
    shown = skillopt("gate-report", first, second).out
    assert re.search(r"^train\.seed +42 +7$", shown, re.M)
    assert "| train.seed | 42 | 7 |" in skillopt("gate-report", "a", "b", "--format", "md").out


def test_a_run_is_not_compared_with_itself() -> None:
    folder = finished_run(*SMALLEST)
    assert "is named twice" in refused(2, "gate-report", folder, "a").error


def test_runs_of_the_same_id_are_called_by_their_folders() -> None:
    first = finished_run(*SMALLEST)
    ended = skillopt("train", "searchqa", *SMALLEST, "--out-root", "other", "--run-id", "a")
    assert ended.code == 0
    labels = [
        run["label"]
        for run in skillopt("gate-report", first, "other/searchqa/a", "--json").json["runs"]
    ]
    assert labels == ["outputs/searchqa/a", "other/searchqa/a"]


def test_a_run_without_its_manifest_cannot_be_compared() -> None:
    first, second = finished_run(*SMALLEST), finished_run(*SMALLEST, "--seed", "1", run_id="b")
    (second / "manifest.json").unlink()
    assert skillopt("gate-report", second).code == 0
    assert "manifest.json" in refused(3, "gate-report", first, second).error


@pytest.mark.parametrize("settings", [TINY, (*GATED, *FAULTY)], ids=["tiny", "faulty"])
def test_a_page_has_the_numbers_of_the_files(settings: tuple[str, ...]) -> None:
    folder = finished_run(*settings, "--seed", "1")
    page = parsed(skillopt("gate-report", folder, "--format", "html").out)
    summary, history = loaded(folder, "summary.json"), loaded(folder, "history.json")
    data = [(e.get("data-key", ""), float(e.get("value", ""))) for e in page.iter("data")]
    found = dict(data)
    for key in ("baseline_gate_score", "best_gate_score", "final_gate_score"):
        assert found[key] == summary[key]
    assert found["best.hard"] == summary["test_hard"]
    for key in ("candidate_gate_score", "current_score", "best_score", "rollout_hard"):
        known = [r[key] for r in history if r[key] is not None]
        assert [value for name, value in data if name == key] == known
    for kind, key in (("now", "current_score"), ("mark", "candidate_gate_score")):
        marks = {
            (int(e.get("data-step", "")), float(e.get("data-score", "")))
            for e in page.iter()
            if "data-score" in e.attrib
            if e.get("class", "").startswith(kind) and "guided" not in e.get("class", "")
        }
        known_marks = {(r["step"], r[key]) for r in history if r[key] is not None}
        assert marks - {(0, round(summary["baseline_gate_score"], 6))} == known_marks
    rows = [e.get("data-task") for e in page.iter("g") if e.get("data-task")]
    tried = {e["task"] for e in events(folder, "rollout_finished") if e["stage"] != "slow_update"}
    assert set(rows) == tried


@pytest.mark.parametrize(
    ("name", "flags", "begins"),
    [
        ("r.html", (), "<!doctype html>"),
        ("r.md", (), "# searchqa a\n"),
        ("r.json", (), '{"'),
        ("r.txt", (), "searchqa a\n"),
        ("report", (), "searchqa a\n"),
        ("r.txt", ("--format", "html"), "<!doctype html>"),
        ("r.html", ("--format", "md"), "# searchqa a\n"),
        ("r.html", ("--json",), '{"'),
        ("r.md", ("--format", "table"), "searchqa a\n"),
    ],
)
def test_a_report_goes_into_a_file_of_its_format(
    name: str, flags: tuple[str, ...], begins: str
) -> None:
    folder = finished_run(*SMALLEST)
    ended = skillopt("gate-report", folder, *flags, "--out", name)
    assert (ended.code, ended.out, ended.err) == (0, "", f"wrote {name}\n")
    text = Path(name).read_text(encoding="utf-8")
    assert text.lower().startswith(begins.lower())
    assert "\x1b" not in text
    if flags[:1] == ("--format",):
        assert text == skillopt("gate-report", folder, *flags).out


def test_an_ending_of_no_format_is_refused() -> None:
    folder = finished_run(*SMALLEST)
    ended = refused(2, "gate-report", folder, "--out", "r.pdf")
    assert ended.error == "error: no format has the ending of r.pdf"
    assert ended.hint == (
        "hint: the formats are .txt, .md, .html, .htm, .json, .csv: end it in one of them, or"
        " give --format"
    )
    assert not Path("r.pdf").exists()


@pytest.mark.parametrize("flags", [(), *(("--format", f) for f in ("table", "md", "html", "json"))])
@pytest.mark.parametrize(
    ("out", "error", "hint"),
    [
        ("gone/r.html", "there is no folder gone", "make the folder, or choose another file"),
        ("outputs", "outputs is a folder", "name a file in it with --out"),
        (
            "old.html",
            "old.html exists already",
            "choose another file with --out, or replace it with --force",
        ),
        ("old.html/r.md", "there is no folder old.html", "make the folder"),
        ("/proc/r.html", "/proc/r.html c", "choose another"),
    ],
)
def test_a_place_that_takes_no_report_is_told(
    out: str, error: str, hint: str, flags: tuple[str, ...]
) -> None:
    folder = Path("outputs/searchqa/a")
    folder.mkdir(parents=True)
    for name in ("config.yaml", "events.jsonl"):
        (folder / name).touch()
    Path("old.html").touch()
    if out.startswith("/proc"):
        folder = finished_run(*SMALLEST, run_id="b")
    code = 3 if out.startswith("/proc") and os.geteuid() == 0 else 2
    ended = refused(code, "gate-report", folder, *flags, "--out", out)
    assert error in ended.error
    assert hint in ended.hint or code == 3


def test_a_verdict_follows_from_the_folder_alone_and_a_changed_one_is_found() -> None:
    folder = finished_run(*TINY, "--seed", "1")
    document = skillopt("gate-report", folder, "--recompute", "--json").json
    (run,) = document["runs"]
    assert run["agrees"]
    assert run["recorded"] == run["recomputed"] == loaded(folder, "summary.json")["verdict"]
    assert "is the same." in skillopt("gate-report", folder, "--recompute").out
    assert run["recorded"]["sentence"] in re.sub(r"\s+", " ", skillopt("gate-report", folder).out)

    results = folder / "test" / "best" / "results.jsonl"
    whole = results.read_text(encoding="utf-8")
    results.write_text(whole.replace('"hard": 1.0', '"hard": 0.0'), encoding="utf-8")
    assert (
        "does not follow from the stored results"
        in refused(3, "gate-report", folder, "--recompute").error
    )
    results.write_text(whole.replace('"hard": 1.0', '"hard": NaN', 1), encoding="utf-8")
    assert (
        "cannot be read, and the verdict rests on it"
        in refused(3, "gate-report", folder, "--recompute").error
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gain": 0.9}, "gain: recorded"),
        ({"word": "worse"}, "word: recorded underpowered, summary.json has worse"),
        (None, "summary.json cannot be read, and the verdict is in it"),
    ],
)
def test_a_summary_with_another_verdict_is_found(
    change: dict[str, object] | None, said: str
) -> None:
    folder = finished_run(*TINY, "--seed", "1")
    summary = loaded(folder, "summary.json")
    summary["verdict"] = {**summary["verdict"], **change} if change else 7
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    assert said in refused(3, "gate-report", folder, "--recompute").error
    (folder / "summary.json").unlink()
    assert "is the same." in skillopt("gate-report", folder, "--recompute").out


def test_a_run_without_a_verdict_has_none_to_recompute() -> None:
    folder = finished_run(*TINY, "--set", "evaluation.eval_test=false")
    assert "has no verdict" in refused(2, "gate-report", folder, "--recompute").error


def test_looks_of_several_runs_at_the_test_split_are_counted_everywhere() -> None:
    run = finished_run(*SMALLEST)
    alone = "The test split was looked at 1 time, by this run alone."
    assert alone in skillopt("gate-report", run).out
    for number, split in ((1, "test"), (2, "test"), (3, "selection")):
        arguments = ("--skill", run, "--split", split, "--run-id", f"again-{number}")
        assert skillopt("eval", *arguments).code == 0
    counted = "The test split was looked at 3 times, by 3 runs"
    looks = reported(run)["test_looks"]
    assert looks["sentence"].startswith(counted)
    assert [(look["run"], look["command"]) for look in looks["looks"]] == [
        ("a", "train"),
        ("again-1", "eval"),
        ("again-2", "eval"),
    ]
    assert reported(Path("outputs/searchqa/again-1"))["test_looks"] == looks
    for format in ("table", "md", "html"):
        assert counted in skillopt("gate-report", run, "--format", format).out
    assert counted in skillopt("gate-report", run, "again-2").out


def test_a_report_shows_what_an_evaluation_found() -> None:
    run = finished_run(*SMALLEST)
    targets = ("--targets", "simulated,simulated:other")
    commands = {
        "arms": ("eval", "--skill", run, "--arms", "none,seed", "--repeats", 2, "--lint"),
        "targets": ("eval", "--skill", run, "--arms", "none,seed", *targets),
        "pruned": ("prune", run, "--out", "short.md"),
        "itself": ("aa", run),
    }
    said = {"itself": "accepts this skill against itself", "pruned": "blocks removed"}
    for name, command in commands.items():
        ended = skillopt(*command, "--run-id", name)
        assert ended.code == 0, ended.err
        folder = Path("outputs/searchqa", name)
        document = reported(folder)
        assert document["evaluation"] == loaded(folder, "eval_summary.json")
        assert (document["run_id"], document["summary"]["status"]) == (name, "finished")
        text = skillopt("gate-report", folder).out
        page = parsed(skillopt("gate-report", folder, "--format", "html").out)
        for shown in (text, text_of(page)):
            assert said.get(name, "none -> seed") in shown, name
            assert f"searchqa {name}" in shown
    assert reported(run)["evaluation"] is None
    assert "Lint" in skillopt("gate-report", "arms").out


def test_a_report_shows_what_was_pruned_at_the_end_of_a_training() -> None:
    folder = train(*SMALLEST, "--set", "optimizer.prune=true", run_id="short")
    assert "## Pruning" in skillopt("gate-report", folder, "--format", "md").out
    assert (
        "## Pruning" not in skillopt("gate-report", finished_run(*SMALLEST), "--format", "md").out
    )


def test_the_steps_as_csv_have_the_numbers_of_the_history() -> None:
    folders = {run: finished_run(*GATED, "--seed", "1", run_id=run) for run in ("a", "b")}
    for given in (("--format", "csv"), ("--out", "steps.csv")):
        told = skillopt("gate-report", *folders.values(), *given)
        assert told.code == 0, told.err
    text = Path("steps.csv").read_text(encoding="utf-8")
    assert text == skillopt("gate-report", *folders.values(), "--format", "csv").out
    rows = list(csv.DictReader(text.splitlines()))
    steps = [(run, step) for run in folders for step in loaded(folders[run], "history.json")]
    assert len(rows) == len(steps) > 4
    saved = 0
    for row, (run, step) in zip(rows, steps, strict=True):
        assert row.pop("run") == run
        shared = row.keys() & step.keys() - {"fixed", "broke"}
        assert len(shared) > 18
        for key in shared:
            value = step[key]
            flag = str(value).lower() if isinstance(value, bool) else None
            assert row[key] == ("" if value is None else flag or str(value)), key
        for key in ("fixed", "broke"):
            wanted = "" if step["early_rejected"] or not step["gate_metric"] else len(step[key])
            assert row[key] == str(wanted)
        made = step["edit_apply_summary"]
        applied = made and made["total"] - made["skipped"]
        assert row["edits_applied"] == ("" if made is None else str(applied))
        assert int(row["calls"]) == sum(spent["calls"] for spent in step["tokens"].values())
        saved += int(row["rollouts_saved"])
    summaries = [loaded(folder, "summary.json") for folder in folders.values()]
    ends = sum(e["rollouts_saved"] for f in folders.values() for e in reported(f)["epochs"])
    assert saved + ends == sum(summary["rollouts_saved"] for summary in summaries)


def test_an_evaluation_has_no_steps_to_write() -> None:
    ended = skillopt("eval", "searchqa", *SMALLEST, "--from-scratch", "--run-id", "e")
    assert ended.code == 0, ended.err
    told = refused(2, "gate-report", "e", "--format", "csv")
    assert "has no steps" in told.error and "runs export e" in told.hint


def test_a_target_or_seed_that_differs_is_no_bare_digest() -> None:
    Path("mine.md").write_text("# Mine\n\nAnswer.\n", encoding="utf-8")
    for run in ("one", "two", "three"):
        train(*SMALLEST, "--skill-init", "mine.md", run_id=run)
        if run == "one":
            Path("mine.md").write_text("# Mine\n\nAnswer briefly.\n", encoding="utf-8")
    ended = skillopt("gate-report", "one", "two", "three")
    assert ended.code == 0, ended.err
    (row,) = (line.split() for line in ended.out.splitlines() if line.startswith("(seed skill"))
    assert " ".join(row) == "(seed skill, content of mine.md) its own its own that of two"
