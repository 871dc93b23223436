"""The confusion matrices of a run whose answers are labels: on its page and in its report."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from command_line import CITIES, skillopt
from dom import parsed, text_of
from facts import VERDICT, accepted_step, opening, stamp
from web_rig import client

from skillopt_cli.core.events import RunFinished, VerdictReached
from skillopt_cli.core.label_diagnostics import LabelDiagnostics
from skillopt_cli.core.run_verdict import VerdictWord
from skillopt_cli.runlog.result_hints import result_hints
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.text.verdict import majority_lines, run_sentence
from skillopt_cli.store.codec import dump_fact

Counts = dict[tuple[str, str, str, str], int]


def shown(page: Element) -> Counts:
    """Every cell of every matrix, by part, text, expected and given label."""
    found: Counts = {}
    for table in page.iter("table"):
        caption = table.find("caption")
        if caption is None:
            continue
        title, part = text_of(caption).partition(":")[0].split(", ")
        titles = [text_of(head) for head in table.iter("th") if head.get("scope") == "col"]
        assert titles[0] == "expected"
        for row in table.iter("tr"):
            head = row.find("th[@scope='row']")
            cells = list(row.iter("td"))
            assert head is not None or not cells
            for given, cell in zip(titles[1:], cells, strict=head is not None):
                assert head is not None
                key = part, title.lower(), text_of(head), given
                assert key not in found
                found[key] = int(text_of(cell))
                marked = "same" in (cell.get("class") or "").split()
                assert marked == (text_of(head) == given and given in CITIES)
    return found


def exported(run: Path) -> Counts:
    """The counts that `runs export` writes."""
    rows = skillopt("runs", "export", run, "--what", "confusions", "--format", "jsonl").lines
    return {
        (row["split"], text, row["expected"], row["answer"]): row[f"{text}_count"]
        for row in rows
        for text in ("seed", "best")
    }


def without_zeros(counts: Counts) -> Counts:
    return {key: number for key, number in counts.items() if number}


def test_page_and_report_show_the_counts_of_the_export(labelled: Path, tmp_path: Path) -> None:
    expected = without_zeros(exported(labelled))
    found: Counts = {}
    with client(labelled.parent.parent) as asking:
        for split in ("selection", "test", "train"):
            page = parsed(asking.get(f"/runs/folder/p/tasks?split={split}").text)
            tables = shown(page)
            assert {key[0] for key in tables} == ({split} if split != "train" else set())
            found |= tables
    assert without_zeros(found) == expected
    assert {key[2] for key in found} >= set(CITIES)
    report = tmp_path / "report.html"
    skillopt("gate-report", labelled, "--out", report)
    assert shown(parsed(report.read_text(encoding="utf-8"))) == found


def test_an_answer_outside_the_labels_is_marked(labelled: Path, tmp_path: Path) -> None:
    run = shutil.copytree(labelled, tmp_path / "outputs/folder/p")
    kept = run / "selection/results.jsonl"
    rows = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    wrong = [row for row in rows if row["hard"] == 0]
    assert len(wrong) >= 3
    others = next(city for city in CITIES if [city] != wrong[1]["expected"])
    for row, answer in zip(wrong, ("no idea", f"<answer>{others}.</answer>", ""), strict=False):
        row["predicted_answer"] = answer
    kept.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    with client(tmp_path / "outputs") as asking:
        page = parsed(asking.get("/runs/folder/p/tasks?split=selection").text)
    shown_rows = ((r.find("th"), r.find("td[@data-title='Seed']")) for r in page.iter("tr"))
    cells = {
        text_of(task): text_of(answer)
        for task, answer in shown_rows
        if task is not None and answer is not None
    }
    assert cells[wrong[0]["id"]] == "failed, not a label no idea"
    assert cells[wrong[1]["id"]] == f"failed {others}."
    assert cells[wrong[2]["id"]] == "failed"
    right = {row["id"] for row in rows if row["hard"] == 1}
    assert right and not any("not a label" in cells[task] for task in right)


def test_answers_that_are_no_labels_have_no_matrix(trained: Path, tmp_path: Path) -> None:
    with client(trained) as asking:
        page = asking.get("/runs/searchqa/a/tasks?split=test").text
        assert not shown(parsed(page)) and "not a label" not in page
    report = tmp_path / "report.html"
    skillopt("gate-report", trained / "searchqa/a", "--out", report)
    assert not shown(parsed(report.read_text(encoding="utf-8")))


@pytest.mark.parametrize("damage", ["", "no JSON\n"])
def test_results_that_cannot_be_read_are_named(labelled: Path, tmp_path: Path, damage: str) -> None:
    run = shutil.copytree(labelled, tmp_path / "outputs/folder/p")
    (run / "test/best/results.jsonl").write_text(damage, encoding="utf-8")
    with client(tmp_path / "outputs") as asking:
        page = asking.get("/runs/folder/p/tasks?split=test").text
    assert "are not in the run folder" in page


@pytest.mark.parametrize(
    ("word", "title"), [("improved", "Better"), ("unproven", "Better than the seed only")]
)
def test_the_card_of_the_verdict_calls_no_skill_better_without_a_limit_that_one_answer_equals(
    tmp_path: Path, word: VerdictWord, title: str
) -> None:
    majority = LabelDiagnostics("billing", 0.7, 100, verdict=replace(VERDICT, word=word))
    reached = VerdictReached(VERDICT, majority)
    facts = [*opening(), *accepted_step(1), reached, RunFinished(1, 1, 0.8, 0)]
    run = tmp_path / "outputs/searchqa/a"
    run.mkdir(parents=True)
    (run / "config.yaml").write_text("env:\n  name: searchqa\n", encoding="utf-8")
    lines = [f"{dump_fact(fact)}\n" for fact in stamp(facts)]
    (run / "events.jsonl").write_text("".join(lines), encoding="utf-8")
    with client(tmp_path / "outputs") as asking:
        page = parsed(asking.get("/runs/searchqa/a").text)
    card = next(e for e in page.iter("div") if "wide-card" in (e.get("class") or ""))
    assert [text_of(p) for p in card.iter("p")] == [
        title,
        run_sentence(VERDICT, majority),
        *majority_lines(VERDICT, majority),
    ]


def test_the_card_of_an_unproven_verdict_states_how_to_go_on(trained: Path) -> None:
    run = trained / "searchqa/a"
    hints = result_hints(RunLog(run).read().view)
    assert hints
    with client(trained) as asking:
        page = parsed(asking.get("/runs/searchqa/a").text)
    card = next(e for e in page.iter("div") if "wide-card" in (e.get("class") or ""))
    shown_hints = [text for p in card.iter("p") if (text := text_of(p)).startswith("Hint: ")]
    assert shown_hints == [f"Hint: {words}" for words in hints]
