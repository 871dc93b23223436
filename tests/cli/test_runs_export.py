"""`runs export`: every number is that of the run's own files, in every format."""

from __future__ import annotations

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from command_line import (
    CITIES,
    PUBLISHED,
    SMALLEST,
    TINY,
    finished_run,
    labelled_run,
    refused,
    skillopt,
    unfinish,
)

from skillopt_cli.core.skill import MARKER
from skillopt_cli.store.lock import lock_run

Row = dict[str, Any]


def exported(run: object, *options: object) -> list[Row]:
    """The rows of a table, as JSON Lines have them."""
    ended = skillopt("runs", "export", run, *options, "--format", "jsonl")
    # A training's train tasks are in no table that is not asked for them.
    notes = [line for line in ended.err.splitlines() if "`--split train` has them" not in line]
    assert (ended.code, notes) == (0, [])
    return ended.lines


def test_an_export_of_a_training_states_which_tasks_it_lacks(places: Path) -> None:
    told = skillopt("runs", "export", places).err
    assert re.fullmatch(
        r"Note: the \d+ train tasks of the run are not in this table; `--split train` has them\n",
        told,
    )
    for split in ("train", "test"):
        assert skillopt("runs", "export", places, "--split", split).err == ""


def results(folder: Path) -> dict[str, Row]:
    lines = (folder / "results.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    return {row["id"]: row for row in map(json.loads, lines)}


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished training on tasks whose answers are labels; some texts mislead."""
    return labelled_run(tmp_path_factory.mktemp("places"))


def test_tasks_are_those_of_the_runs_files(places: Path) -> None:
    summary = json.loads((places / "summary.json").read_text(encoding="utf-8"))
    rows = exported(places)
    assert Counter(row["split"] for row in rows) == {"selection": 15, "test": 15}
    arms = {
        ("test", "seed"): results(places / "test/seed"),
        ("test", "best"): results(places / "test/best"),
        ("selection", "seed"): results(places / "selection"),
    }
    for row in rows:
        for text in ("seed", "best"):
            found = arms.get((row["split"], text), {}).get(row["id"])
            if found is not None:
                scores = [row[f"{text}_{name}"] for name in ("hard", "soft")]
                assert scores == [found["hard"], found["soft"]]
                assert row[f"{text}_answer"] in found["predicted_answer"]
                assert row["expected"] == found["expected"] == [row["label"]]
                assert (row["kind"], row["input"]) == (found["task_type"], found["question"])
    for name in ("hard", "soft"):
        for split, text, key in (
            ("test", "seed", "baseline_test"),
            ("test", "best", "test"),
            ("selection", "seed", "baseline_selection"),
            ("selection", "best", "best_selection"),
        ):
            own = [row[f"{text}_{name}"] for row in rows if row["split"] == split]
            assert mean(own) == pytest.approx(summary[f"{key}_{name}"], abs=1e-6)
            assert len(own) == summary[f"{key}_n"]
    counted = Counter(row["result"] for row in rows if row["split"] == "test")
    assert (counted["fixed"], counted["broke"]) == (
        summary["verdict"]["fixed"],
        summary["verdict"]["broke"],
    )
    assert counted["fixed"] > 0


def test_kinds_are_the_means_of_their_tasks(places: Path) -> None:
    tasks, kinds = exported(places), exported(places, "--what", "kinds")
    assert {(row["split"], row["kind"]) for row in kinds} == {
        (split, kind) for split in ("selection", "test") for kind in ("moved", "still")
    }
    for row in kinds:
        own = [t for t in tasks if (t["split"], t["kind"]) == (row["split"], row["kind"])]
        assert row["tasks"] == row["seed_scored"] == row["best_scored"] == len(own)
        for name in ("seed_hard", "seed_soft", "best_hard", "best_soft"):
            assert row[name] == pytest.approx(mean([task[name] for task in own]))
        for result in ("fixed", "broke"):
            assert row[result] == sum(task["result"] == result for task in own)


def test_labels_and_confusions_count_the_same_answers(places: Path) -> None:
    tasks = exported(places)
    labels, pairs = (exported(places, "--what", what) for what in ("labels", "confusions"))
    assert [row["label"] for row in labels] == sorted(CITIES) * 2
    for row in labels:
        split, label = row["split"], row["label"]
        own = [task for task in tasks if (task["split"], task["label"]) == (split, label)]
        near = [pair for pair in pairs if pair["split"] == split]
        assert row["tasks"] == len(own)
        for text in ("seed", "best"):
            right = sum(task[f"{text}_hard"] for task in own)
            answered = sum(p[f"{text}_count"] for p in near if p["answer"] == label)
            scored = sum(p[f"{text}_count"] for p in near if p["expected"] == label)
            assert row[f"{text}_right"] == right
            assert (row[f"{text}_answered"], row[f"{text}_scored"]) == (answered, len(own))
            assert scored == len(own)
            assert row[f"{text}_recall"] == pytest.approx(right / scored)
            wanted = pytest.approx(right / answered) if answered else None
            assert row[f"{text}_precision"] == wanted
            assert row[f"{text}_f1"] == pytest.approx(2 * right / (scored + answered))
    # The texts that mislead make one label be taken for another.
    assert any(
        pair["expected"] != pair["answer"] and pair["answer"] in CITIES and pair["best_count"]
        for pair in pairs
    )
    for text in ("seed", "best"):
        diagonal = sum(p[f"{text}_count"] for p in pairs if p["expected"] == p["answer"])
        assert diagonal == sum(task[f"{text}_hard"] for task in tasks)


@pytest.mark.parametrize("what", ["tasks", "kinds", "labels", "confusions"])
def test_every_format_holds_the_same_rows(places: Path, what: str) -> None:
    import pyarrow.parquet

    rows = exported(places, "--what", what)
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        ended = skillopt("runs", "export", places, "--what", what, "--output", name)
        assert (ended.code, ended.out) == (0, "")
        assert ended.err.splitlines()[0] == f"wrote {name}"
    lines = Path("t.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    assert list(map(json.loads, lines)) == rows
    assert pyarrow.parquet.read_table("t.parquet").to_pylist() == rows
    with Path("t.csv").open(encoding="utf-8", newline="") as file:
        told = list(csv.DictReader(file))
    flat = [
        {name: _cell(value) for name, value in row.items()}
        for row in rows
    ]  # fmt: skip
    assert told == flat
    assert skillopt("runs", "export", places, "--what", what, "--out", "-").out == Path(
        "t.csv"
    ).read_text(encoding="utf-8")


def _cell(value: Any) -> str:
    if isinstance(value, list):
        (value,) = value
    return "" if value is None else str(value)


def test_parquet_goes_to_a_pipe_byte_for_byte(places: Path, capfdbinary: Any) -> None:
    from skillopt_cli.cli.app import app

    skillopt("runs", "export", places, "--out", "t.parquet")
    app(["runs", "export", str(places), "--format", "parquet"], standalone_mode=False)
    assert capfdbinary.readouterr().out == Path("t.parquet").read_bytes()


def test_a_split_alone(places: Path) -> None:
    rows = exported(places, "--split", "train")
    assert len(rows) == 30 and {row["split"] for row in rows} == {"train"}
    first, last = (results(places / f"steps/step_000{n}/rollout") for n in (1, 2))
    assert {row["id"]: row["first_try_hard"] for row in rows if row["id"] in first} == {
        task: row["hard"] for task, row in first.items()
    }
    assert not first.keys() & last.keys()
    assert {row["split"] for row in exported(places, "--split", "test")} == {"test"}


@pytest.mark.parametrize("skill_file", ["AGENTS.md", "prompt"])
def test_what_was_asked_is_the_task_alone_whatever_an_agent_reads(skill_file: str) -> None:
    rows = [{"id": f"t{i}", "question": f"Where is box {i}?", "answer": "Oslo"} for i in range(12)]
    Path("t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    agent = ("--target-backend", "command", "--set", "model.command.argv=echo Oslo")
    placed = ("--set", f"model.command.skill_file={skill_file}", "--set", "run.executor=local")
    Path("skill.md").write_text("Answer in one word.\n", encoding="utf-8")
    given = ("--skill", "skill.md", *agent, *placed, "--split", "test", "--run-id", "e")
    ended = skillopt("eval", "t.jsonl", *given, PATH=os.environ["PATH"])
    assert ended.code == 0, ended.err
    asked = {row["id"]: row["question"] for row in rows}
    assert {row["id"]: row["input"] for row in exported("e")}.items() <= asked.items()


def test_an_evaluation_has_one_answer() -> None:
    ended = skillopt("eval", "searchqa", *TINY, "--from-scratch", "--split=train", "--run-id=e")
    assert ended.code == 0, ended.err
    folder = Path("outputs/searchqa/e")
    found, rows = results(folder / "train"), exported("e")
    assert [(row["id"], row["split"], row["hard"], row["soft"]) for row in rows] == [
        (task, "train", row["hard"], row["soft"]) for task, row in found.items()
    ]
    assert "result" not in rows[0] and rows[0]["input"] == found[rows[0]["id"]]["question"]
    kinds = json.loads((folder / "eval_summary.json").read_text(encoding="utf-8"))["task_types"]
    told = {row.pop("kind"): row for row in exported("e", "--what", "kinds")}
    assert told == {
        kind: {
            "split": "train",
            "tasks": row["total"],
            **{name: row[name] for name in ("scored", "hard", "soft")},
        }
        for kind, row in kinds.items()
    }
    assert "attempted" in refused(2, "runs", "export", "e", "--split", "test").error


@pytest.mark.parametrize("split", ["selection", "test"])
def test_repeated_attempts_are_all_there(split: str) -> None:
    finished_run(*TINY, "--seed", "20", run_id="a")
    noisy = ("--set", "model.simulated.flaky_rate=0.6")
    given = ("--skill", "a", "--arms", "seed,best", "--repeats", "3", "--split", split)
    ended = skillopt("eval", "searchqa", *TINY, *given, *noisy, "--run-id", "r")
    assert ended.code == 0, ended.err
    rows = exported("r")
    marks = {}
    for line in Path("outputs/searchqa/r/tasks.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        marks[row["id"]] = row["arms"]
    assert {row["id"] for row in rows} == marks.keys()
    for row in rows:
        for arm in ("seed", "best"):
            assert row[f"{arm}_attempts"] == 3 and row[f"{arm}_answer_of_attempt"] == 1
            for name in ("hard", "soft"):
                own = marks[row["id"]][arm][name]
                assert row[f"{arm}_{name}_of_each"] == own
                assert row[f"{arm}_{name}"] == pytest.approx(mean(own))
            first = results(Path("outputs/searchqa/r", split, arm))[row["id"]]
            assert row[f"{arm}_answer"] in first["predicted_answer"]
    assert any(len(set(row["best_hard_of_each"])) > 1 for row in rows)
    summary = json.loads(Path("outputs/searchqa/r/eval_summary.json").read_text(encoding="utf-8"))
    for arm in summary["arms"]:
        hard = [row[f"{arm['name']}_hard"] for row in rows]
        assert mean(hard) == pytest.approx(arm["hard"])


def test_a_confirmation_slice_is_a_part_of_its_own() -> None:
    confirmed = ("--set", "evaluation.confirm_fraction=0.5")
    folder = finished_run(*TINY, "--seed", "20", *confirmed)
    rows = exported(folder)
    apart = [row for row in rows if row["split"] == "confirmation"]
    found = results(folder / "test/best_confirmation")
    assert {row["id"]: row["best_hard"] for row in apart} == {
        task: row["hard"] for task, row in found.items()
    }
    verdict = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["verdict"]
    assert verdict["split"] == "confirmation" and verdict["n"] == len(apart)
    assert verdict["fixed"] == sum(row["result"] == "fixed" for row in apart)


MARKED = (*SMALLEST, *PUBLISHED, "--set", "optimizer.use_skill_aware_reflection=true")


def test_the_skill_comes_without_marks_and_can_be_trained_again() -> None:
    folder = finished_run(*MARKED, "--epochs", "2")
    best = (folder / "skills/best_skill.md").read_text(encoding="utf-8")
    last = sorted((folder / "skills").glob("step_*.md"))[-1].read_text(encoding="utf-8")
    assert MARKER.search(last)
    step = int(sorted((folder / "skills").glob("step_*.md"))[-1].stem.removeprefix("step_"))
    for which, text in (("", best), (f":{step}", last)):
        ended = skillopt("runs", "export", f"a{which}", "--what", "skill")
        assert ended.code == 0, ended.err
        assert not MARKER.search(ended.out)
        kept = {line for line in text.split("\n") if line and "<!--" not in line}
        assert {line for line in ended.out.split("\n") if line} == kept
    assert skillopt("runs", "export", "a", "--what", "skill", "--out", "mine.md").code == 0
    again = skillopt("train", "searchqa", *MARKED, "--skill-init", "mine.md", "--run-id", "b")
    assert again.code == 0, again.err
    seed = Path("outputs/searchqa/b/skills/step_0000.md").read_bytes()
    assert seed == Path("mine.md").read_bytes()
    applied = skillopt("diff-skills", "b", "--apply", "mine.md")
    assert applied.code == 0, applied.err
    assert not MARKER.search(Path("mine.md").read_text(encoding="utf-8"))


def test_a_seed_that_stays_is_exported_byte_for_byte() -> None:
    own = "# Mine\r\n\r\nAnswer the question.\n\n"
    Path("own.md").write_bytes(own.encode())
    # No answer is ever right, so nothing wins.
    hard = (*PUBLISHED, "--set", "model.simulated.noise=1", "--epochs=2")
    ended = skillopt("train", "searchqa", *SMALLEST, *hard, "--skill-init=own.md", "--run-id=k")
    assert ended.code == 0, ended.err
    for name, which in enumerate(("k", "k:seed")):
        given = ("--what", "skill", "--out", f"{name}.md")
        assert skillopt("runs", "export", which, *given).code == 0
        assert Path(f"{name}.md").read_bytes() == own.encode()
    told = skillopt("diff-skills", "k", "--apply", "own.md")
    assert (told.code, Path("own.md").read_bytes()) == (0, own.encode()), told.err
    assert "holds this text already" in told.out


def test_what_cannot_be_exported_is_said(places: Path) -> None:
    folder = finished_run(*SMALLEST)
    export = ("runs", "export", folder)
    Path("there.csv").touch()
    for options, said in (
        (("--what", "labels"), "no labels"),
        (("--what", "confusions"), "no labels"),
        (("--out", "t.xlsx"), "no format has the ending of t.xlsx"),
        (("--out", "there.csv"), "exists already"),
        (("--split", "dev"), "no split `dev`"),
        (("--what", "skill", "--format", "csv"), "belong to tables"),
        (("--what", "skill", "--out", "best.zip"), "is one file"),
        (("--what", "skill", "--split", "test"), "belong to tables"),
    ):
        assert said in refused(2, *export, *options).error
    assert "there is no run `none`" in refused(2, "runs", "export", "none").error
    kinds = refused(2, *export, "--what", "labels")
    assert "`--what kinds` groups tasks" in kinds.hint


def test_answers_that_are_not_there_are_counted() -> None:
    folder = finished_run(*SMALLEST)
    (folder / "test/seed/results.jsonl").unlink()
    ended = skillopt("runs", "export", folder, "--split", "test")
    assert ended.code == 0
    assert ended.err.startswith("Note: the answers of 3 attempts are not in the run folder")


def test_figures_of_an_unfinished_run_are_said_to_be_those_so_far() -> None:
    folder = finished_run(*SMALLEST)
    unfinish(folder)
    export, best = ("runs", "export"), folder / "best_skill.md"
    skill, figures = "its best skill is that", "its figures are those"
    commands = (
        ((*export, "a"), figures),
        (("gate-report", "a", "--format", "csv"), figures),
        ((*export, "a", "--what", "skill"), skill),
        ((*export, "a:best", "--what", "skill"), skill),
        ((*export, best, "--what", "skill"), skill),
    )
    for command, what in commands:
        for state, working in (("running", lock_run(folder)), ("interrupted", nullcontext())):
            with working:
                ended = skillopt(*command)
            assert ended.code == 0 and ended.out
            assert ended.err.splitlines()[0] == (
                f"Note: the run a is not finished ({state}): {what} so far,"
                " with 1 of 1 step recorded"
            )
    for fixed in ("a:seed", "a:1", folder / "skills/step_0000.md"):
        assert skillopt(*export, fixed, "--what", "skill").err == ""
    evaluated = skillopt("eval", "searchqa", *SMALLEST, "--from-scratch", "--run-id", "e")
    assert evaluated.code == 0, evaluated.err
    unfinish(Path("outputs/searchqa/e"))
    told = "Note: the run e is not finished (interrupted): its figures are those so far\n"
    assert skillopt("runs", "export", "e").err == told


def test_an_evaluation_with_several_targets_names_them() -> None:
    targets = ("--targets", "simulated,simulated:b", "--arms", "none")
    ended = skillopt("eval", "searchqa", *SMALLEST, *targets, "--run-id", "m")
    assert ended.code == 0, ended.err
    told = refused(2, "runs", "export", "m")
    assert "each of its targets" in told.error and "outputs/searchqa/m/" in told.hint


@pytest.mark.parametrize(
    "command",
    [
        ("gate-report", "a", "--out", "r.html"),
        ("runs", "export", "a", "--out", "r.csv"),
        ("runs", "export", "a", "--what", "skill", "--out", "r.md"),
    ],
)
def test_a_file_that_is_there_is_replaced_on_request_only(command: tuple[str, ...]) -> None:
    finished_run(*SMALLEST)
    out = Path(command[-1])
    out.write_text("old", encoding="utf-8")
    ended = refused(2, *command)
    assert ended.error == f"error: {out} exists already"
    assert ended.hint == "hint: choose another file with --out, or replace it with --force"
    assert out.read_text(encoding="utf-8") == "old"
    assert skillopt(*command, "--force").code == 0
    assert out.read_text(encoding="utf-8") != "old"
    out.unlink()
    out.mkdir()
    assert refused(2, *command, "--force").error == f"error: {out} is a folder"
