"""The reading pages: what they show, and that their numbers are those of the run's own files."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from command_line import SMALLEST, skillopt
from dom import parsed, text_of
from web_rig import client

from skillopt_cli.core.events import RunFinished, RunStarted, Stamped, TestMeasured
from skillopt_cli.store.codec import dump_fact

RUN = "/runs/searchqa/a"


class Figures(HTMLParser):
    """Every `<data>` of a page: its key, its value, and what is shown."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self._open: tuple[str, str] | None = None
        self._shown = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "data":
            self._open = given["data-key"] or "", given["value"] or ""
            self._shown = ""

    def handle_data(self, data: str) -> None:
        self._shown += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "data" and self._open is not None:
            self.found.append((*self._open, self._shown.strip()))
            self._open = None


def numbers(text: str) -> list[tuple[str, str, str]]:
    return Figures(text).found


def looked_up(run: Path, key: str) -> Any:
    """What the run's own files say under the key of a figure."""
    root, _, rest = key.partition(".")
    if root == "summary":
        return json.loads((run / "summary.json").read_text())[rest]
    number, _, rest = rest.partition(".")
    history = json.loads((run / "history.json").read_text())
    found: Any = next(record for record in history if record["step"] == int(number))
    for part in rest.split("."):
        found = found[part]
    return found


def agrees(shown: str, value: Any) -> bool:
    """Whether a text is how a number is said."""
    if value is None:
        return shown in ("unknown", "-")
    return shown == (f"{value:.2f}" if isinstance(value, float) else f"{value}")


@pytest.mark.parametrize("run_id", ["a", "b"])
def test_every_figure_is_that_of_the_runs_own_files(trained: Path, run_id: str) -> None:
    run = trained / "searchqa" / run_id
    keys: set[str] = set()
    with client(trained) as asking:
        for path in ("", *(f"/steps/{number}" for number in range(1, 5))):
            for key, value, shown in numbers(asking.get(f"/runs/searchqa/{run_id}{path}").text):
                if key.endswith(".incumbent_gate_score"):
                    continue  # history.json has no such entry
                expected = looked_up(run, key)
                assert value == ("" if expected is None else json.dumps(expected)), (path, key)
                assert agrees(shown, expected), (path, key, shown)
                keys.add(re.sub(r"\d+", "N", key))
    assert {"summary.test_hard", "summary.baseline_gate_score", "steps.N.current_score"} <= keys
    assert {"steps.N.rollout_hard", "steps.N.candidate_gate_score", "steps.N.skill_len"} <= keys
    assert len(keys) > 30


def test_the_step_a_candidate_had_to_beat_is_the_one_before(trained: Path) -> None:
    history = json.loads((trained / "searchqa/b/history.json").read_text())
    with client(trained) as asking:
        for before, record in pairwise(history):
            page = asking.get(f"/runs/searchqa/b/steps/{record['step']}").text
            found = {key.rpartition(".")[2]: value for key, value, _ in numbers(page)}
            assert found["incumbent_gate_score"] == json.dumps(before["current_score"])


def test_every_score_of_a_picture_is_that_of_the_history(trained: Path) -> None:
    history = json.loads((trained / "searchqa/b/history.json").read_text())
    with client(trained) as asking:
        page = asking.get("/runs/searchqa/b").text
    course = re.findall(r'class="now"[^>]* data-step="(\d+)" data-score="([\d.]+)"', page)
    assert {(int(step), float(value)) for step, value in course if step != "0"} == {
        (record["step"], record["current_score"]) for record in history
    }


@pytest.mark.parametrize("split", ["selection", "train", "test"])
def test_the_table_of_tasks_tells_what_each_attempt_came_to(trained: Path, split: str) -> None:
    run = trained / "searchqa/a"
    folders = {
        "selection": ["selection", *(f"steps/step_{n:04d}/selection" for n in range(1, 5))],
        "train": [f"steps/step_{n:04d}/rollout" for n in range(1, 5)],
        "test": ["test/seed", "test/best"],
    }[split]
    with client(trained) as asking:
        page = asking.get(f"{RUN}/tasks?split={split}").text
    found = re.findall(r'<tr><th scope="row"><a [^>]*>([^<]+)</a></th>(.*?)</tr>', page)
    assert found
    for task, cells in found:
        states = re.findall(r'<td class="(\w+)">', cells)
        for folder, state in zip(folders, states, strict=False):
            path = run / folder / f"{task}.json"
            if not path.exists():
                assert state == "unseen"
                continue
            hard = json.loads(path.read_text())["hard"]
            assert state == ("broken" if hard is None else "right" if hard >= 1 else "failed")


def test_an_attempt_is_shown_as_it_is_kept(trained: Path) -> None:
    with client(trained) as asking:
        listed = asking.get(f"{RUN}/attempts?task=val-002").text
        places = re.findall(r"attempts\?task=val-002&amp;in=([^\"]+)", listed)
        assert "selection" in places and len(places) >= 2
        for place in places:
            page = asking.get(f"{RUN}/attempts?task=val-002&in={place}")
            assert page.status_code == 200
            kept = trained / "searchqa/a" / unquote(place) / "val-002.json"
            document = json.loads(kept.read_text())
            assert f"hard {document['hard']:.2f}, soft {document['soft']:.2f}" in page.text
            assert f"{len(document['conversation'])}: assistant" in page.text


def test_the_attempts_of_an_epochs_end_do_not_replace_the_seeds(trained: Path) -> None:
    run = trained / "searchqa/a"
    end = run / "slow_update/epoch_02"
    summary = json.loads((run / "summary.json").read_text())
    for folder, name in ((run, "baseline_selection"), (end, "final_selection")):
        kept = (folder / "selection/results.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in kept]
        assert sum(row["hard"] for row in rows) / len(rows) == summary[f"{name}_hard"]


def test_two_texts_are_compared_as_diff_skills_does(trained: Path) -> None:
    with client(trained) as asking:
        page = asking.get("/runs/searchqa/b/skills?a=seed&b=4").text
        assert "lines added" in page and "@@" in page
        seed = (trained / "searchqa/b/skills/step_0000.md").read_text()
        after = (trained / "searchqa/b/skills/step_0004.md").read_text()
        added = [line for line in after.splitlines() if line and line not in seed.splitlines()]
        for line in added:
            assert line.replace("<", "&lt;").replace(">", "&gt;") in page
        same = asking.get("/runs/searchqa/b/skills?a=1&b=1").text
        assert "The skills are equal." in same
        assert asking.get("/runs/searchqa/b/skills?a=77&b=best").status_code == 404


def test_settings_come_with_their_sources(trained: Path) -> None:
    with client(trained) as asking:
        page = asking.get("/runs/searchqa/b/settings").text
    rows = {
        key: (value, source)
        for key, value, source in re.findall(
            r"<code>([\w.]+)</code></th><td[^>]*><code>([^<]*)</code></td><td[^>]*>([^<]*)</td>",
            page,
        )
    }
    assert rows["optimizer.learning_rate"] == ("2", "flag --learning-rate")
    assert rows["train.num_epochs"] == ("2", "preset tiny")
    assert rows["optimizer.lr_scheduler"][1] == "default"
    altered, _, _ = page.partition("All settings")
    assert ">default<" not in altered and "env.data_root" in page


def test_a_run_without_known_sources_says_so(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    (tmp_path / "outputs/searchqa/a/sources.json").unlink()
    with client(tmp_path / "outputs") as asking:
        assert "was not kept with this run" in asking.get(f"{RUN}/settings").text


def test_epochs_and_spend_are_told(trained: Path) -> None:
    summary = json.loads((trained / "searchqa/a/summary.json").read_text())
    with client(trained) as asking:
        epochs = asking.get(f"{RUN}/epochs").text
        assert "End of epoch 2" in epochs and "guidance" in epochs
        spend = asking.get(f"{RUN}/spend").text
    rows = re.findall(r"<tr>(.*?)</tr>", spend, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in rows]
    total = summary["token_summary"]["_total"]
    assert ["all", "", f"{total['calls']:,}", f"{total['total_tokens']:,}"] in cells
    for record in json.loads((trained / "searchqa/a/history.json").read_text()):
        calls = sum(stage["calls"] for stage in record["tokens"].values())
        assert any(row[:2] == [str(record["step"]), f"{calls:,}"] for row in cells), record["step"]
    assert "USD" not in spend, "a run in which all is free shows no money"


def test_runs_stand_side_by_side(trained: Path) -> None:
    with client(trained) as asking:
        page = asking.get("/compare?run=searchqa/a&run=searchqa/b").text
        assert "optimizer.learning_rate" in page and page.count("<svg") >= 2
        for query in ("", "?run=searchqa/a", "?run=searchqa/a&run=searchqa/a"):
            assert asking.get(f"/compare{query}").status_code == 422
        assert asking.get("/compare?run=searchqa/a&run=searchqa/zzz").status_code == 404
        assert asking.get("/compare?run=a&run=b").status_code == 404


def test_an_empty_or_missing_folder_says_how_to_begin(tmp_path: Path) -> None:
    with client(tmp_path / "nowhere") as asking:
        assert "There are no runs under" in asking.get("/").text
        assert asking.get(RUN).status_code == 404


def test_a_damaged_log_is_told_and_stops_no_other_page(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    log = tmp_path / "outputs/searchqa/a/events.jsonl"
    log.write_text(f"{log.read_text()}no fact\n")
    with client(tmp_path / "outputs") as asking:
        answer = asking.get(RUN)
        assert answer.status_code == 422
        assert "is not a fact" in answer.text and "Hint:" in answer.text
        page = asking.get("/").text
        assert "unreadable" in page and "finished" in page


def test_damaged_copies_are_told(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    run = tmp_path / "outputs/searchqa/a"
    (run / "selection/val-001.json").write_text("{")
    (run / "manifest.json").write_text("[")
    with client(tmp_path / "outputs") as asking:
        for path in ("/attempts?task=val-001&in=selection", "/settings"):
            answer = asking.get(f"{RUN}{path}")
            assert answer.status_code == 422, path
            assert "restore it from a copy" in answer.text


def test_an_evaluation_is_shown_by_its_scores(tmp_path: Path) -> None:
    run = tmp_path / "outputs/searchqa/e"
    run.mkdir(parents=True)
    (run / "config.yaml").write_text("env: {name: searchqa}\n")
    facts = [
        RunStarted("e", "searchqa", 0, 0, 0, "", "m", "d", 0, 0, 9, "hard"),
        TestMeasured("eval", "x", 0.25, 0.5, 8, 9),
        RunFinished(0, 0, None, 0),
    ]
    lines = [dump_fact(Stamped(i, 1.0 + i, fact)) for i, fact in enumerate(facts, 1)]
    (run / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))
    with client(tmp_path / "outputs") as asking:
        assert "test: 0.25 (n=8 of 9)" in asking.get("/").text
        page = asking.get("/runs/searchqa/e").text
        assert ("summary.eval_hard", "0.25", "0.25") in numbers(page)
        for path in ("/tasks", "/skills", "/epochs", "/spend", "/settings"):
            assert asking.get(f"/runs/searchqa/e{path}").status_code == 200, path


def test_every_page_names_itself_and_has_one_main_heading(trained: Path) -> None:
    titles = set()
    with client(trained) as asking:
        for path in ("/", RUN, f"{RUN}/tasks", f"{RUN}/steps/2", f"{RUN}/epochs", "/nowhere"):
            page = asking.get(path).text
            assert page.count("<h1") == 1, path
            titles |= set(re.findall(r"<title>(.*?)</title>", page.partition("</head>")[0]))
    assert len(titles) == 6


class Prose(HTMLParser):
    """The text of a page's main part, without what others wrote: quotes, and texts in full."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self._inside: list[str] = []
        self.feed(page)
        self.text = re.sub(r'"[^"]*"', "", self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "input", "br"):
            self._inside.append(tag)
        if tag in ("li", "p", "td", "th", "dt", "dd", "h1", "h2", "summary"):
            self.text += " \n"

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        left_out = {"pre", "nav", "svg", "ul.tried", "footer"}
        if "main" in self._inside and not left_out & set(self._inside):
            self.text += data


def said(value: Any) -> set[str]:
    """Every way a record's numbers may be said."""
    if isinstance(value, dict):
        return set().union(*(said(v) for v in value.values()))
    if isinstance(value, list):
        return {str(len(value))}.union(*(said(v) for v in value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return set()
    if isinstance(value, int):
        return {str(value), f"{value:,}"}
    return {f"{value:.{decimals}f}" for decimals in (2, 3, 4)}


@pytest.mark.parametrize("run_id", ["a", "b"])
def test_no_number_in_a_steps_prose_is_of_its_own_making(trained: Path, run_id: str) -> None:
    run = trained / "searchqa" / run_id
    history = json.loads((run / "history.json").read_text())
    settings = yaml.safe_load((run / "config.yaml").read_text())
    log = [json.loads(line)["event"] for line in (run / "events.jsonl").read_text().splitlines()]
    rates = {event["step"]: event["raw_rate"] for event in log if event["kind"] == "step_started"}
    checked = 0
    with client(trained) as asking:
        for before, record in pairwise([{"current_score": None}, *history]):
            known = said(record) | said(settings["optimizer"]) | said(before["current_score"])
            known |= said(history[0]["current_score"])  # what the first candidate had to beat
            known |= {str(record["selection_n"] - record["selection_scored"])}
            known |= {f"{int(10 * rates[record['step']]) / 10:.1f}"}
            page = Prose(asking.get(f"/runs/searchqa/{run_id}/steps/{record['step']}").text).text
            lines = [line for line in page.splitlines() if not line.strip().startswith("spent")]
            found = re.findall(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-]|\.\d)", "\n".join(lines))
            foreign = [number for number in found if number.rstrip(",") not in known]
            assert foreign == [], (record["step"], foreign)
            checked += len(found)
    assert checked > 100


def test_skill_folders_are_compared_file_by_file(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    run = tmp_path / "outputs/searchqa/b"
    for name, script in (
        ("skills/step_0000", "print('seed')\n"),
        ("best_skill", "print('best')\n"),
    ):
        (run / name / "scripts").mkdir(parents=True)
        shutil.copy((run / name).with_suffix(".md"), run / name / "SKILL.md")
        (run / name / "scripts/say.py").write_text(script)
    with client(tmp_path / "outputs") as asking:
        page = asking.get("/runs/searchqa/b/skills?a=seed&b=best").text
        assert "<h3>scripts/say.py</h3>" in page and "<h3>SKILL.md</h3>" in page
        assert "2 files changed" in page
        (run / "best_skill/scripts/away.py").symlink_to("/etc/hostname")
        answer = asking.get("/runs/searchqa/b/skills?a=seed&b=best")
        assert answer.status_code == 422


@pytest.mark.parametrize("split", ["train", "selection", "test"])
def test_every_list_names_the_split_an_evaluation_measured(split: str) -> None:
    name = ("--from-scratch", "--split", split, "--run-id", "e")
    assert skillopt("eval", "searchqa", *SMALLEST, *name).code == 0
    (row,) = skillopt("runs", "list", "--json").json
    (measured,) = row["evaluated"]
    assert measured["split"] == split
    shown = f"{split}: {measured['hard']:.2f} (n={measured['n']})"
    assert shown in skillopt("runs", "list").out
    told = skillopt("gate-report", "outputs/searchqa/e").out
    assert next(line for line in told.splitlines() if line.startswith(split))
    with client(Path("outputs")) as asking:
        assert shown in asking.get("/").text
        page = asking.get("/runs/searchqa/e/tasks").text
        assert f"Table of {split} tasks" in page


def test_an_evaluation_names_its_skill_wherever_it_is_told(tmp_path: Path) -> None:
    skill = Path("better <i>.md")
    text = "---\nname: x\n---\n\n# Answer in <b>one word</b>\n\nBe short.\n"
    skill.write_text(text, encoding="utf-8")
    source = {"e": ("--skill", str(skill)), "empty": ("--from-scratch",)}
    for run_id, named in source.items():
        ended = skillopt("eval", "searchqa", *SMALLEST, *named, "--run-id", run_id)
        assert ended.code == 0
    told = "better <i>.md (Answer in <b>one word</b>)"
    assert f"Skill: {told}" in skillopt("eval", "searchqa", *SMALLEST, *source["e"]).err
    assert f"skill {told}" in skillopt("gate-report", "outputs/searchqa/e").out
    summary = json.loads(Path("outputs/searchqa/e/summary.json").read_text("utf-8"))
    assert (summary["skill"], summary["skill_title"]) == (str(skill), "Answer in <b>one word</b>")
    compared = skillopt("gate-report", "outputs/searchqa/e", "outputs/searchqa/empty").out
    assert f"e: skill {told}" in compared and "empty: skill an empty text" in compared
    with client(Path("outputs")) as asking:
        for path in ("", "/tasks", "/skills", "/spend", "/settings", "/steer"):
            page = parsed(asking.get(f"/runs/searchqa/e{path}").text)
            assert f"Skill {told}" in text_of(page), path
        assert "An evaluation keeps no copy" in asking.get("/runs/searchqa/e/skills").text
        assert "Skill an empty text" in asking.get("/runs/searchqa/empty").text
        assert "measured" not in asking.get("/runs/searchqa/nobody").text
