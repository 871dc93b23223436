"""The ledger of looks at a test split: which measurements it counts, over all runs of a folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from facts import begun, stamp

from skillopt_cli.core.events import RunEvent, RunStarted, StageStarted, TestMeasured
from skillopt_cli.reports.page import Line, as_markdown
from skillopt_cli.reports.split_ledger import SplitLedger, ledger_blocks, split_ledger
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.snapshot import write_snapshot
from skillopt_cli.store.codec import dump_fact

TASKS = {"t1": "one", "t2": "two", "t3": "three"}


def measured(label: str, text: str, hard: float | None = 0.5) -> TestMeasured:
    return TestMeasured(label, text * 16, hard, hard, 3, 3)


def run(
    home: Path,
    name: str,
    facts: Iterable[RunEvent],
    tasks: Mapping[str, str] = TASKS,
    *,
    start: float | None = None,
) -> Path:
    folder = home / name
    home.mkdir(parents=True, exist_ok=True)
    # No two runs began at the same moment.
    start = start or 1_800_000_000.0 + 100 * len(list(home.iterdir()))
    folder.mkdir()
    parts = ("config", "benchmark", "target", "optimizer", "seed_skill", "prompts")
    manifest = {**dict.fromkeys(parts, ""), "splits": {"test": dict(tasks)}}
    (folder / "config.yaml").touch()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    lines = (dump_fact(fact) for fact in stamp(facts, start=start))
    (folder / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def trained(best: str = "b", hard: float = 0.75) -> list[RunEvent]:
    seed, found = measured("seed", "s"), measured("best", best, hard)
    return [begun(), StageStarted(0, "test", 3, 1, "seed"), seed, found]


def evaluated(*labels: str, split: str = "test") -> list[RunEvent]:
    started = begun(total_steps=0, optimizer="none", skill="mine.md")
    stage = StageStarted(0, "test" if split == "test" else "measure", 3, 1, labels[0])
    return [started, stage, *(measured(label, label[0]) for label in labels)]


def told(ledger: SplitLedger) -> list[tuple[str, str, str]]:
    return [(look.run, look.command, look.text) for look in ledger.looks]


def test_the_looks_of_all_runs_count_together(tmp_path: Path) -> None:
    home = tmp_path / "searchqa"
    first = run(home, "first", trained(), start=1_800_000_000.0)
    run(home, "second", trained("c"), start=1_800_009_000.0)
    run(home, "third", evaluated("eval"), start=1_800_005_000.0)
    ledger = split_ledger(first)
    assert told(ledger) == [
        ("first", "train", "seed"),
        ("first", "train", "best"),
        ("third", "eval", "mine.md"),
        ("second", "train", "seed"),
        ("second", "train", "best"),
    ]
    assert ledger.looks[1].hard == 0.75
    assert ledger.looks[1].digest == "b" * 16
    assert ledger.looks[1].time == 1_800_000_003.0
    assert ledger.sentence == (
        "The test split was looked at 5 times, by 3 runs: a maximum over looks is optimistic."
    )
    assert {key: ledger.document[key] for key in ("times", "runs", "texts")} == {
        "times": 5,
        "runs": 3,
        "texts": 4,
    }
    json.dumps(ledger.document, allow_nan=False)


def test_a_run_alone_is_not_warned_of_its_one_candidate(tmp_path: Path) -> None:
    alone = split_ledger(run(tmp_path / "searchqa", "first", trained()))
    assert alone.sentence == "The test split was looked at 2 times, by this run alone."


def test_the_arms_of_one_evaluation_are_no_maximum_over_looks(tmp_path: Path) -> None:
    home = tmp_path / "searchqa"
    several = run(home, "arms", evaluated("x", "y", "none"))
    assert split_ledger(several).sentence.endswith("3 times, by this run alone.")
    run(home, "later", evaluated("z"))
    assert split_ledger(several).sentence.endswith(
        "4 times, by 2 runs: a maximum over looks is optimistic."
    )


def test_an_evaluation_of_all_tasks_has_no_test_split_that_was_looked_at(tmp_path: Path) -> None:
    home = tmp_path / "searchqa"
    whole = run(home, "whole", evaluated("none_all", "x_all", split="all"))
    assert split_ledger(whole).sentence == ""
    # A training whose test tasks it measured was looked at.
    first = run(home, "first", trained())
    assert "4 times, by 2 runs" in split_ledger(first).sentence
    assert split_ledger(whole).looks == ()


@pytest.mark.parametrize(
    ("tasks", "counts"),
    [
        (TASKS, True),
        ({"t3": "three", "t9": "nine"}, True),
        ({"t1": "another text"}, False),
        ({"t4": "one"}, False),
        ({}, False),
    ],
    ids=["the same", "one of them", "another content", "another id", "none"],
)
def test_a_look_counts_where_a_task_is_the_same(
    tmp_path: Path, tasks: dict[str, str], counts: bool
) -> None:
    first = run(tmp_path / "searchqa", "first", trained())
    run(tmp_path / "searchqa", "other", evaluated("eval"), tasks)
    assert len(split_ledger(first).looks) == 2 + counts


def test_looks_at_another_cut_are_told_apart(tmp_path: Path) -> None:
    first = run(tmp_path / "searchqa", "first", trained())
    run(tmp_path / "searchqa", "same", evaluated("eval"), {**TASKS, "t9": "nine"})
    assert "cut" not in split_ledger(first).sentence
    other = {"t2": "two", "t3": "three", "t9": "nine"}
    run(tmp_path / "searchqa", "other", trained("c"), other)
    ledger = split_ledger(first)
    assert ledger.sentence == (
        "The test split was looked at 5 times, by 3 runs, 1 of them with another cut of it:"
        " a maximum over looks is optimistic."
    )
    shared = [(look["run"], look["shared"]) for look in ledger.document["looks"]]
    assert shared == [("first", 3), ("first", 3), ("same", 3), ("other", 2), ("other", 2)]
    text = as_markdown(ledger_blocks(ledger, whole=True))
    assert text.count("| 3 of 3 |") == 3 and text.count("| 2 of 3 |") == 2


def test_another_benchmark_and_another_split_do_not_count(tmp_path: Path) -> None:
    first = run(tmp_path / "searchqa", "first", trained())
    run(tmp_path / "searchqa", "chosen", evaluated("selection", split="selection"))
    run(tmp_path / "elsewhere", "first", trained())
    assert {look.run for look in split_ledger(first).looks} == {"first"}


def test_what_a_resume_recalls_is_no_further_look(tmp_path: Path) -> None:
    again: list[RunEvent] = [begun(3), *trained()[1:], measured("best", "d", 0.9)]
    ledger = split_ledger(run(tmp_path / "searchqa", "first", [*trained(), *again]))
    assert told(ledger) == [
        ("first", "train", "seed"),
        ("first", "train", "best"),
        ("first", "resume", "best"),
    ]
    drifted: list[RunEvent] = [begun(3, target="another"), measured("best", "b", 0.75)]
    ledger = split_ledger(run(tmp_path / "drift", "first", [*trained(), *drifted]))
    assert [look.target for look in ledger.looks] == ["tiny-model", "tiny-model", "another"]


@pytest.mark.parametrize("facts", [trained("c"), evaluated("eval")], ids=["training", "evaluation"])
def test_a_replay_is_no_further_look(tmp_path: Path, facts: list[RunEvent]) -> None:
    home = tmp_path / "searchqa"
    first = run(home, "first", trained())
    recorded = told(split_ledger(first))
    started, *rest = facts
    assert isinstance(started, RunStarted)
    replayed = run(home, "again", [replace(started, replay="calls.jsonl"), *rest])
    assert told(split_ledger(first)) == told(split_ledger(replayed)) == recorded
    assert "by this run alone" in split_ledger(first).sentence
    assert not split_ledger(replayed).own


def test_a_final_text_that_is_the_best_is_one_look(tmp_path: Path) -> None:
    facts = [*trained(), measured("final", "b", 0.75)]
    assert len(split_ledger(run(tmp_path / "searchqa", "first", facts)).looks) == 2


def test_every_target_of_an_evaluation_looks(tmp_path: Path) -> None:
    home = tmp_path / "searchqa"
    first = run(home, "first", trained())
    for target in ("small", "large"):
        facts = evaluated("none", "best")
        assert isinstance(facts[0], RunStarted)
        run(home / "both", target, facts)
    (home / "both" / "eval_plan.json").write_text("{}")
    expected = told(split_ledger(first))
    assert len(expected) == 6
    for folder in (home / "both", home / "both" / "large"):
        ledger = split_ledger(folder)
        assert (told(ledger), ledger.run, ledger.runs) == (expected, "both", 2)


def test_runs_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    home = tmp_path / "searchqa"
    first = run(home, "first", trained())
    for name in ("no-log", "no-manifest", "torn", "broken", "odd", "linked"):
        run(home, name, trained())
    (home / "no-log" / "events.jsonl").unlink()
    (home / "no-manifest" / "manifest.json").unlink()
    with (home / "torn" / "events.jsonl").open("a") as log:
        log.write('{"kind":"test_measured"')
    with (home / "broken" / "events.jsonl").open("a") as log:
        log.write('{"kind":"test_measured"}\n')
    (home / "odd" / "manifest.json").write_text('{"splits": []}')
    outside = run(tmp_path / "outside", "run", trained())
    (home / "linked" / "events.jsonl").unlink()
    (home / "linked" / "events.jsonl").symlink_to(outside / "events.jsonl")
    (home / "whole").symlink_to(outside)
    assert {look.run for look in split_ledger(first).looks} == {"first", "torn"}


def test_a_log_that_grew_is_read_again(tmp_path: Path) -> None:
    first = run(tmp_path / "searchqa", "first", trained())
    other = run(tmp_path / "searchqa", "other", [begun()])
    assert len(split_ledger(first).looks) == 2
    with (other / "events.jsonl").open("a") as log:
        log.writelines(f"{dump_fact(fact)}\n" for fact in stamp(trained()[1:], first=2))
    assert len(split_ledger(first).looks) == 4


@pytest.mark.parametrize("later", [1, 2, 3, 4])
def test_looks_in_a_snapshot_are_not_read_again(tmp_path: Path, later: int) -> None:
    facts = [*trained(), begun(3), measured("best", "c"), *evaluated("eval")]
    folder = run(tmp_path / "searchqa", "first", facts)
    whole = split_ledger(run(tmp_path / "elsewhere", "first", facts)).looks
    lines = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(lines[:-later]))
    log = RunLog(folder).read()
    write_snapshot(folder, log.view, log.facts, log.number)
    unread = "".join("x" * (len(line) - 1) + "\n" for line in lines[: -later - 1])
    (folder / "events.jsonl").write_text(unread + "".join(lines[-later - 1 :]))
    assert split_ledger(folder).looks == whole


def test_a_report_shows_the_latest_looks_and_a_page_all(tmp_path: Path) -> None:
    home = tmp_path / "searchqa"
    first = run(home, "first", trained())
    assert "|" not in as_markdown(ledger_blocks(split_ledger(first), whole=False))
    for number in range(4):
        run(home, f"run-{number}", trained(), start=1_800_000_100.0 + number)
    ledger = split_ledger(first)
    text = as_markdown(ledger_blocks(ledger, whole=False))
    assert "and 4 earlier looks" in text
    assert text.count("| train |") == 6
    assert "| run-3 | tiny-model | best (bbbbbbbb) | 0.75 | 0.75 | n=3 | 3 of 3 |" in text
    assert as_markdown(ledger_blocks(ledger, whole=True)).count("| train |") == 10


def test_without_a_look_nothing_is_shown(tmp_path: Path) -> None:
    nothing = split_ledger(run(tmp_path / "searchqa", "first", [begun()]))
    assert (nothing.sentence, list(ledger_blocks(nothing, whole=True))) == ("", [])
    assert split_ledger(tmp_path / "searchqa" / "missing").looks == ()


def test_only_a_run_that_looked_itself_is_warned_of_the_looks(tmp_path: Path) -> None:
    home = tmp_path / "searchqa"
    untested = run(home, "untested", [begun()])
    alone = run(home, "alone", trained())
    (line,) = ledger_blocks(split_ledger(alone), whole=False)
    assert isinstance(line, Line) and line.style == "dim"
    run(home, "another", trained("c"))
    for folder, style in ((untested, "dim"), (alone, "yellow")):
        line, *_ = ledger_blocks(split_ledger(folder), whole=False)
        assert isinstance(line, Line)
        assert line.style == style and "looked at 4 times, by 2 runs" in line.text


def test_what_a_copied_folder_repeats_counts_once(tmp_path: Path) -> None:
    first = run(tmp_path, "first", trained())
    copy = shutil.copytree(first, tmp_path / "copy")
    for folder in (first, copy):
        assert split_ledger(folder).document["times"] == 2
        assert split_ledger(folder).alone
    # What the copy measures itself is a look of its own.
    later = stamp([begun(done=2), measured("best", "c", 0.9)], start=1_800_009_000.0)
    with (copy / "events.jsonl").open("a") as log:
        log.writelines(f"{dump_fact(fact)}\n" for fact in later)
    ledger = split_ledger(first)
    assert told(ledger) == [
        ("first", "train", "seed"),
        ("first", "train", "best"),
        ("copy", "resume", "best"),
    ]
