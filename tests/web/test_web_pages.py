"""The reading pages: what they show, and that their numbers are those of the run's own files."""

from __future__ import annotations

import itertools
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
from facts import begun, saved, stamp
from web_rig import client

from skillopt_cli.core.events import (
    BaselineMeasured,
    DriftAllowed,
    ParameterRefused,
    RunFinished,
    RunStarted,
    Stamped,
    StepStarted,
    TestMeasured,
)
from skillopt_cli.core.formatting import count
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.text.format import duration
from skillopt_cli.store.codec import dump_fact
from skillopt_cli.web.chart_options import score_chart
from skillopt_cli.web.pages.attempts import compared_address
from skillopt_cli.web.paths import RunName

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
    found: Any
    if root == "summary":
        found = json.loads((run / "summary.json").read_text())
    else:
        number, _, rest = rest.partition(".")
        history = json.loads((run / "history.json").read_text())
        found = next(record for record in history if record["step"] == int(number))
    for part in rest.split("."):
        found = found[int(part) if part.isdigit() else part]
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
                if key.endswith("wall_time_s"):
                    assert shown == duration(expected)
                else:
                    assert agrees(shown, expected), (path, key, shown)
                keys.add(re.sub(r"\d+", "N", key))
    assert {
        "summary.test_hard",
        "summary.best_gate_score_interval.N",
        "steps.N.current_score",
    } <= keys
    assert {"steps.N.rollout_hard", "steps.N.candidate_gate_score", "steps.N.skill_len"} <= keys
    assert len(keys) > 40


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


FOLDERS = {
    "selection": ("selection", *(f"steps/step_{n:04d}/selection" for n in range(1, 5))),
    "train": tuple(f"steps/step_{n:04d}/rollout" for n in range(1, 5)),
    "test": ("test/seed", "test/best"),
}


def charts(page: str) -> list[dict[str, Any]]:
    """The options of the charts of a page."""
    return [json.loads(one.attrib["data-option"]) for one in parsed(page).iter("score-chart")]


@pytest.mark.parametrize("run_id", ["a", "b"])
def test_a_chart_has_the_scores_of_the_history_with_their_intervals(
    trained: Path, run_id: str
) -> None:
    run = trained / "searchqa" / run_id
    history = json.loads((run / "history.json").read_text())
    summary = json.loads((run / "summary.json").read_text())
    with client(trained) as asking:
        (chart,) = charts(asking.get(f"/runs/searchqa/{run_id}").text)
    assert chart["xAxis"][0]["data"] == ["seed", *(str(record["step"]) for record in history)]
    assert chart["yAxis"]["min"] == 0
    low, width, best, current, *marks = chart["series"]
    seed = summary["baseline_gate_score"]
    scores = [seed, *(record["current_score"] for record in history)]
    assert [point["value"] for point in current["data"]] == scores
    assert best["data"] == [seed, *(record["best_score"] for record in history)]
    assert {(m["value"][0], m["value"][1]) for one in marks for m in one["data"]} >= {
        (str(record["step"]), record["candidate_gate_score"])
        for record in history
        if record["candidate_gate_score"] is not None
    }
    ends = [[a, round(a + b, 6)] for a, b in zip(low["data"], width["data"], strict=True)]
    for name, value in (("baseline", seed), ("best", summary["best_gate_score"])):
        expected = summary[f"{name}_gate_score_interval"]
        assert ends[scores.index(value)] == pytest.approx(expected, abs=2e-6)
    for point, (lowest, highest) in zip(current["data"], ends, strict=True):
        assert f"(95 % interval {lowest:.2f} to {highest:.2f})" in point["words"]


@pytest.mark.parametrize(("value", "scored", "top"), [(0.0, 0, 1), (0.0, 20, None), (0.4, 0, None)])
def test_a_chart_of_one_step_has_two_levels_on_an_axis_from_zero(
    value: float, scored: int, top: int | None
) -> None:
    base = BaselineMeasured(value, value, value, scored, scored)
    facts = [begun(total_steps=1), base, saved(1, value, value, 0, 0, 100)]
    step = StepStarted(1, 1, 1, 8, 8.0, 8, "cosine")
    chart = json.loads(score_chart(fold(stamp([*facts[:2], step, facts[2]]))).option)
    # Without a score or an interval above zero, a chart would make up an axis of its own.
    assert (chart["yAxis"]["min"], chart["yAxis"].get("max")) == (0, top)
    assert chart["xAxis"][0]["data"] == ["seed", "1"] and chart["xAxis"][0]["boundaryGap"]
    lines = [one for one in chart["series"] if one["type"] == "line"]
    assert {one["step"] for one in lines} == {"middle"}
    assert all(len(one["data"]) == 2 for one in lines)


@pytest.mark.parametrize("split", list(FOLDERS))
def test_the_heat_map_shows_what_each_attempt_came_to(trained: Path, split: str) -> None:
    run, folders = trained / "searchqa/a", FOLDERS[split]
    with client(trained) as asking:
        page = parsed(asking.get(f"{RUN}/tasks?split={split}").text)
    rows = [one for one in page.iter("g") if "data-task" in one.attrib]
    columns = [one.attrib["data-column"] for one in page.iter("g") if "data-column" in one.attrib]
    assert rows and len(columns) >= len(folders)
    for row in rows:
        task, story = row.attrib["data-task"], text_of(next(row.iter("title")))
        states = by_column(story.removeprefix(f"{task}: "), columns)
        for column, folder in zip(columns, folders, strict=False):
            path = run / folder / f"{task}.json"
            hard = json.loads(path.read_text())["hard"] if path.exists() else None
            word = "not evaluated" if hard is None else "right" if hard == 1 else "failed"
            assert states[column] == word, (task, story, column)


def by_column(story: str, columns: list[str]) -> dict[str, str]:
    """The state in each column of a row that is said as `right at 3, 4; failed at 0 to 2`."""
    states = {}
    for part in story.split("; "):
        word, _, spans = part.partition(" at ")
        for span in spans.split(", "):
            first, _, last = span.partition(" to ")
            for column in columns[columns.index(first) : columns.index(last or first) + 1]:
                states[column] = word
    return states


def cells(page: str) -> list[dict[str, str]]:
    """The rows of a table of cards, each by the titles of its columns."""
    rows = []
    for row in parsed(page).iter("tr"):
        if (head := row.find("th[@scope='row']")) is not None:
            about = {cell.attrib["data-title"]: text_of(cell) for cell in row.iter("td")}
            rows.append(about | {"": text_of(head)})
    return rows


@pytest.mark.parametrize("split", ["selection", "test"])
def test_the_table_of_tasks_is_that_of_the_results(trained: Path, split: str) -> None:
    run = trained / "searchqa/b"
    summary = json.loads((run / "summary.json").read_text())
    assert summary["best_origin"] == "slow_update_epoch_02"
    first, last = {
        "selection": ("selection", "slow_update/epoch_02/selection"),
        "test": ("test/seed", "test/best"),
    }[split]
    with client(trained) as asking:
        page = asking.get(f"/runs/searchqa/b/tasks?split={split}").text
    shown = {row[""]: row for row in cells(page)}
    for title, folder in (("Seed", first), ("Best", last)):
        kept = (run / folder / "results.jsonl").read_text().splitlines()
        results = [json.loads(row) for row in kept]
        assert {row["id"] for row in results} == shown.keys()
        for row in results:
            seen = shown[row["id"]]
            answer = row["predicted_answer"].removeprefix("<answer>").removesuffix("</answer>")
            assert seen[title] == f"{'right' if row['hard'] == 1 else 'failed'} {answer}"
            assert seen["Expected"] == " or ".join(row["expected"]) != ""
            assert seen["Kind"] == row["task_type"]
            assert row["question"].endswith(seen["Text"]) and seen["Text"]


def test_tasks_are_searched_filtered_and_sorted(trained: Path) -> None:
    with client(trained) as asking:

        def listed(query: str) -> list[dict[str, str]]:
            answer = asking.get(f"/runs/searchqa/b/tasks?split=test{query}")
            assert answer.status_code == 200
            found = cells(answer.text)
            assert f">{len(found)} of {len(every)} tasks" in answer.text or not every
            return found

        every: list[dict[str, str]] = []
        every = listed("")
        for result in ("fixed", "broke", "always right", "always wrong", "flaky"):
            found = listed(f"&result={result}")
            assert found == [row for row in every if row["Result"] == result]
        word = every[3]["Expected"]
        assert every[3] in listed(f"&q={word.upper()}")
        assert all(word.lower() in json.dumps(row).lower() for row in listed(f"&q={word}"))
        assert listed("&q=no+such+word+anywhere") == []
        for sort in ("kind", "question", "expected", "result", "flips", "first", "last"):
            up, down = listed(f"&sort={sort}"), listed(f"&sort=-{sort}")
            assert sorted(row[""] for row in up) == sorted(row[""] for row in every)
            assert len(up) == len(down)
        kinds = [row["Kind"] for row in listed("&sort=-kind")]
        assert kinds == sorted(kinds, reverse=True)
        assert listed("&sort=nonsense") == every


def test_a_task_leads_to_its_list_and_to_the_tasks_beside_it(trained: Path) -> None:
    query = "split=selection&q=val&sort=-flips"
    with client(trained) as asking:
        listed = parsed(asking.get(f"{RUN}/tasks?{query}").text)
        heads = [th.find("a") for th in listed.iter("th") if th.get("scope") == "row"]
        rows = [link.attrib["href"] for link in heads if link is not None]
        assert len(rows) > 2
        walked = list[str]()
        address = rows[0]
        while address:
            walked.append(address)
            page = parsed(asking.get(address).text)
            links = {a.get("rel"): a.attrib["href"] for a in page.iter("a") if a.get("rel")}
            assert links.get("prev", "") == (walked[-2] if len(walked) > 1 else "")
            address = links.get("next", "")
        assert walked == rows
        named = {text_of(a): a.attrib["href"] for a in page.iter("a")}
        assert named["List of selection tasks"] == f"{RUN}/tasks?{query}"
        # An attempt keeps the list, and an address without one is in that of its split.
        attempt = next(href for href in named.values() if "in=" in href)
        assert query in attempt and 'rel="prev"' in asking.get(attempt).text
        train = asking.get(f"{RUN}/tasks?split=train").text
        task = re.findall(r"attempts\?task=([^&]+)", train)[0]
        assert "List of train tasks" in asking.get(f"{RUN}/attempts?task={task}").text
        outside = asking.get(f"{RUN}/attempts?task={task}&split=selection").text
        assert 'rel="next"' not in outside and "List of selection tasks" in outside


def test_the_attempts_at_a_task_stand_beside_what_was_asked(trained: Path) -> None:
    with client(trained) as asking:
        # The texts of all its tasks are known then.
        asking.get(f"{RUN}/tasks")
        page = parsed(asking.get(f"{RUN}/attempts?task=val-002").text)
    rows = [row for row in page.iter("tr") if row.find("th[@scope='row']") is not None]
    assert len(rows) >= 2
    for row in rows:
        (link,) = row.iter("a")
        place = unquote(link.attrib["href"].partition("&in=")[2])
        kept = results(trained / "searchqa/a" / place)["val-002"]
        shown = {cell.attrib["data-title"]: text_of(cell) for cell in row.iter("td")}
        answer = kept["predicted_answer"].removeprefix("<answer>").removesuffix("</answer>")
        assert shown["Answer"] == (answer or "-")
        assert shown["Hard"] == f"{kept['hard']:.2f}" and shown["Soft"] == f"{kept['soft']:.2f}"
        assert " ".join(kept["question"].split()) in text_of(page)
        assert f"Expected: {' or '.join(kept['expected'])}" in text_of(page)


def test_an_attempt_is_shown_as_it_is_kept(trained: Path) -> None:
    with client(trained) as asking:
        listed = asking.get(f"{RUN}/attempts?task=val-002").text
        places = re.findall(r"attempts\?task=val-002&amp;split=selection&amp;in=([^\"]+)", listed)
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


@pytest.mark.parametrize("path", ["skills", "steps/1", "epochs"])
def test_pages_with_edits_of_the_simulated_model_explain_their_families(
    trained: Path, path: str
) -> None:
    with client(trained) as web:
        page = web.get(f"/runs/searchqa/a/{path}").text
    assert "puts each task in a numbered family" in page


def test_the_best_skills_of_compared_runs_are_a_link_apart(trained: Path) -> None:
    with client(trained) as asking:
        page = parsed(asking.get("/compare?run=searchqa/a&run=searchqa/b&base=searchqa/a").text)
        links = {text_of(a): a.attrib["href"] for a in page.iter("a")}
        shown = asking.get(links["searchqa/a → searchqa/b"]).text
        assert asking.get("/runs/searchqa/b/skills?of=searchqa/zzz&a=best").status_code == 404
        assert asking.get("/runs/searchqa/b/skills?of=../b&a=best").status_code == 404
    found = parsed(shown)
    (lines,) = (e for e in found.iter("ol") if e.get("class") == "diff")
    heads = [text_of(e) for e in lines if e.get("class") == "head"]
    assert heads == ["---a:best", "+++b:best"]
    first, second = (
        (trained / f"searchqa/{run}/best_skill.md").read_text().splitlines() for run in "ab"
    )
    added = [text_of(e)[1:] for e in lines if e.get("class") == "added"]
    assert {*second} - {*first} <= {*added} <= {*second} and {*second} - {*first}
    assert [e.get("value") for e in found.iter("input") if e.get("name") == "of"] == ["searchqa/a"]


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
    assert rows["gradient.analyst_workers"][1] == "configs/searchqa/default.yaml"
    assert rows["gradient.merge_batch_size"][1] == "default"
    altered, _, _ = page.partition("All settings")
    assert ">default<" not in altered and "env.data_root" in page
    # A file or a preset that names a default changes nothing.
    assert rows["gradient.analyst_workers"][0] == "16"
    assert "optimizer.learning_rate" in altered
    assert "gradient.analyst_workers" not in altered and "evaluation.use_gate" not in altered


def test_each_changed_condition_of_a_continued_run_is_named(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    log = tmp_path / "outputs/searchqa/a/events.jsonl"
    number = len(log.read_text(encoding="utf-8").splitlines())
    changed = DriftAllowed(("train.seed: 42 -> 43", "prompt rank reads differently"))
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{dump_fact(Stamped(number, 0.0, changed))}\n")
    with client(tmp_path / "outputs") as asking:
        page = asking.get(f"{RUN}/settings").text
    for change in ("train.seed: 42 -&gt; 43", "prompt rank reads differently"):
        assert f'<li class="warn">Continued although this had changed: {change}</li>' in page


def test_a_run_without_known_sources_says_so(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    (tmp_path / "outputs/searchqa/a/sources.json").unlink()
    with client(tmp_path / "outputs") as asking:
        assert "were not stored with this run" in asking.get(f"{RUN}/settings").text


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
    by_step = cells[cells.index(["step", "calls", "tokens"]) + 1 :]
    assert [row[0] for row in by_step] == ["1", "2", "3", "4", "none"]
    sums = [sum(int(row[at].replace(",", "")) for row in by_step) for at in (1, 2)]
    assert sums == [total["calls"], total["total_tokens"]]
    assert "USD" not in spend, "a run in which all is free shows no money"


@pytest.mark.parametrize(("share", "noted"), [("1.0", False), ("1", False), ("0.25", True)])
def test_solved_tasks_that_are_left_out_are_noted_below_the_steps(
    trained: Path, tmp_path: Path, share: str, noted: bool
) -> None:
    root = Path(shutil.copytree(trained, tmp_path / "outputs"))
    config = root / "searchqa/a/config.yaml"
    settings = yaml.safe_load(config.read_text())
    settings["optimizer"]["rerun_solved"] = yaml.safe_load(share)
    config.write_text(yaml.safe_dump(settings))
    with client(root) as asking:
        page = text_of(parsed(asking.get(RUN).text))
    assert ("solved when last attempted are left out" in page) == noted


def test_a_best_skill_of_an_epochs_end_is_seen_wherever_its_step_is(trained: Path) -> None:
    run = trained / "searchqa/b"
    result = json.loads((run / "slow_update/epoch_02/slow_result.json").read_text())
    history = json.loads((run / "history.json").read_text())
    assert (result["action"], history[-1]["best_origin"]) == (
        "accept_new_best",
        "slow_update_epoch_02",
    )
    best = f"{history[-1]['best_score']:.2f}"
    with client(trained) as asking:
        overview, step, other, compared = (
            asking.get(path).text
            for path in (
                "/runs/searchqa/b",
                "/runs/searchqa/b/steps/4",
                "/runs/searchqa/b/steps/3",
                "/compare?run=searchqa/a&run=searchqa/b",
            )
        )
    (steps,) = (t for t in parsed(overview).iter("table") if "Steps" in t.get("aria-label", ""))
    rows = [
        {cell.get("data-title", ""): text_of(cell) for cell in row}
        for row in steps.iter("tr")
        if row.find("td") is not None
    ]
    end = next(i for i, row in enumerate(rows) if row[""] == "End of epoch 2")
    assert rows[end + 1][""].startswith("Step 4")
    assert rows[end]["Result"] == "guidance accepted, new best"
    assert rows[end]["Candidate"].startswith(f"{best} (") and rows[end]["In force"] == best
    outcome = f"guidance accepted, new best {best}"
    assert f"End of epoch 2: {outcome}" in text_of(parsed(step))
    assert "End of epoch" not in text_of(parsed(other))
    assert f"end of epoch 2: {outcome}" in compared
    (row,) = (
        r for r in parsed(compared).iter("tr") if text_of(r).startswith("b ") and best in text_of(r)
    )
    assert "end of epoch 2" in text_of(row)


def test_the_older_run_is_the_first_unless_another_is_named(trained: Path) -> None:
    def order(query: str) -> list[str]:
        page = asking.get(f"/compare?{query}").text
        (chart,) = charts(page)
        pair = next(text_of(r) for r in parsed(page).iter("tr") if " -> " in text_of(r))
        names = [str(line["name"]) for line in chart["series"]]
        assert pair.startswith(" -> ".join(names))
        return names

    with client(trained) as asking:
        # As the list has them, the latest first.
        listed = "run=searchqa/b&run=searchqa/a"
        assert order(listed) == ["a", "b"]
        for first in "ab":
            page = parsed(asking.get(f"/compare?{listed}&base=searchqa/{first}").text)
            other = "b" if first == "a" else "a"
            assert order(f"{listed}&base=searchqa/{first}") == [first, other]
            (swap,) = (a.attrib["href"] for a in page.iter("a") if "base=" in a.get("href", ""))
            assert order(swap.partition("?")[2]) == [other, first]
            assert f"First run: searchqa/{first}. Compared with it: searchqa/{other}" in text_of(
                page
            )


def test_runs_stand_side_by_side(trained: Path) -> None:
    with client(trained) as asking:
        page = asking.get("/compare?run=searchqa/a&run=searchqa/b").text
        assert "optimizer.learning_rate" in page
        assert "The test split was looked at" in page
        for query in ("", "?run=searchqa/a", "?run=searchqa/a&run=searchqa/a"):
            answer = asking.get(f"/compare{query}")
            assert answer.status_code == 422
            # Said at the list, which keeps what was ticked.
            found = parsed(answer.text)
            n = "0 runs" if not query else "1 run"
            why = next(text_of(p) for p in found.iter("p") if p.get("id") == "compare-error")
            assert why == f"{n} ticked: tick two to 8 runs to compare them."
            shown = [one.get("id") or one.tag for one in found.iter()]
            assert shown.index("compare-error") < shown.index("table")
            boxes = [e for e in found.iter("input") if e.get("name") == "run"]
            ticked = [e.get("value") for e in boxes if e.get("checked") is not None]
            assert ticked == (["searchqa/a"] if query else [])
        assert asking.get("/compare?run=searchqa/a&run=searchqa/zzz").status_code == 404
        assert asking.get("/compare?run=a&run=b").status_code == 404


def test_runs_are_compared_on_the_tasks_that_both_have(trained: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(trained, tmp_path / "outputs"))
    compared = "/compare?run=searchqa/a&run=searchqa/b"
    with client(root) as asking:
        page = parsed(asking.get(compared).text)
        before = {text_of(cell) for cell in page.iter("th") if cell.get("scope") == "row"}
        assert "Compared on the" not in text_of(page)
    path = root / "searchqa/b/manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    test = manifest["splits"]["test"]
    changed = [*(before & test.keys())][:1] or [next(iter(test))]
    manifest["splits"]["test"] = test | dict.fromkeys(changed, "0123456789abcdef")
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with client(root) as asking:
        page = parsed(asking.get(compared).text)
    n = len(test)
    assert "The runs do not have the same test tasks" in text_of(page)
    stated = f"Compared on the {n - 1} test tasks that both runs have (of {n} and {n})."
    # Above the pairs, and above the tasks that differ.
    assert [text_of(p) for p in page.iter("p")].count(stated) == 2
    assert "The test split was looked at" not in text_of(page)
    after = {text_of(cell) for cell in page.iter("th") if cell.get("scope") == "row"}
    assert not after & {*changed}


def test_curves_of_compared_runs_are_those_of_their_histories(trained: Path) -> None:
    with client(trained) as asking:
        (chart,) = charts(asking.get("/compare?run=searchqa/a&run=searchqa/b").text)
    assert [line["name"] for line in chart["series"]] == ["a", "b"]
    for line in chart["series"]:
        run = trained / "searchqa" / line["name"]
        seed = json.loads((run / "summary.json").read_text())["baseline_gate_score"]
        history = json.loads((run / "history.json").read_text())
        expected = [seed, *(record["current_score"] for record in history)]
        assert [point["value"] for point in line["data"]] == expected


def results(folder: Path) -> dict[str, dict[str, Any]]:
    kept = (folder / "results.jsonl").read_text().splitlines()
    return {row["id"]: row for row in map(json.loads, kept)}


def test_tasks_that_differ_and_the_paired_test_follow_from_the_results(trained: Path) -> None:
    tests = [results(trained / f"searchqa/{run}/test/best") for run in "ab"]
    apart = {t for t in tests[0] if tests[0][t]["hard"] != tests[1][t]["hard"]}
    with client(trained) as asking:
        page = parsed(asking.get("/compare?run=searchqa/a&run=searchqa/b").text)
        tables = {one.get("aria-label"): one for one in page.iter("table")}
        rows = list(tables.get("Test tasks that differ") or ())
        shown = [text_of(one) for row in rows for one in row.iter("th")]
        assert apart <= set(shown)
        links = [a.attrib["href"] for a in page.iter("a") if "/attempts?" in a.attrib["href"]]
        assert all(asking.get(link).status_code == 200 for link in links)
    document = skillopt("gate-report", *(trained / f"searchqa/{run}" for run in "ab"), "--json")
    (pair,) = document.json["paired"]
    gains = [tests[1][t]["hard"] - tests[0][t]["hard"] for t in tests[0]]
    counted = (sum(g > 0 for g in gains), sum(g < 0 for g in gains), sum(g == 0 for g in gains))
    assert (pair["won"], pair["lost"], pair["tied"]) == counted
    assert pair["gain"] == pytest.approx(sum(gains) / len(gains))
    (row,) = (text_of(one) for one in page.iter("tr") if text_of(one).startswith("a -> b"))
    assert row.startswith(f"a -> b {pair['gain']:+.2f}")


def test_an_attempt_of_a_comparison_leads_to_that_of_the_other_run(trained: Path) -> None:
    task = next(iter(results(trained / "searchqa/a/test/best")))
    runs = [(RunName("searchqa", run), "test/best") for run in "ab"]
    start, there = (compared_address(task, one, [o for o in runs if o != one]) for one in runs)

    def links(asking: Any, address: str) -> dict[str, str]:
        page = parsed(asking.get(address).text)
        return {text_of(a): a.attrib["href"] for a in page.iter("a")}

    with client(trained) as asking:
        assert links(asking, start)["searchqa/b"] == there
        assert links(asking, there)["searchqa/a"] == start
        for at in ("test/none", "../b"):
            wrong = f"{start.partition('&run=')[0]}&run=searchqa/b&at={at}"
            assert asking.get(wrong).status_code == 404


def test_a_setting_at_its_default_is_no_difference_from_one_left_out(
    trained: Path, tmp_path: Path
) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    path = tmp_path / "outputs/searchqa/a/manifest.json"
    manifest = json.loads(path.read_text())
    # As in a run of an older version, which did not have these settings.
    for key in ("gradient.merge_batch_size", "optimizer.max_skill_chars", "train.num_epochs"):
        manifest["config"].pop(key)
    path.write_text(json.dumps(manifest))
    with client(tmp_path / "outputs") as asking:
        page = asking.get("/compare?run=searchqa/a&run=searchqa/b").text
    assert "gradient.merge_batch_size" not in page and "max_skill_chars" not in page
    # What is not at its default in the other run is a difference.
    assert "train.num_epochs" in page


def test_a_backend_named_for_each_role_is_the_same_as_the_shared_one(
    trained: Path, tmp_path: Path
) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    run = tmp_path / "outputs/searchqa/a"
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["config"].pop("model.backend") == "simulated"
    own = {f"model.{role}.backend": "simulated" for role in ("optimizer", "target")}
    manifest["config"] |= own
    (run / "manifest.json").write_text(json.dumps(manifest))
    address = "/compare?run=searchqa/a&run=searchqa/b"
    with client(tmp_path / "outputs") as asking:
        page = asking.get(address).text
        assert "model." not in page and "preset" not in page
        manifest["config"]["model.target.backend"] = "openai_compatible"
        (run / "manifest.json").write_text(json.dumps(manifest))
        sources = (run / "sources.json").read_text().replace("preset tiny", "preset fast")
        (run / "sources.json").write_text(sources)
        rows = [text_of(row).split() for row in parsed(asking.get(address).text).iter("tr")]
    assert ["preset", "fast", "tiny"] in rows
    assert ["model.target.backend", "openai_compatible", "simulated"] in rows
    assert not any(row[0] == "model.backend" for row in rows if row)


@pytest.mark.parametrize("replied", [False, True])
def test_what_a_program_printed_stands_in_for_the_turns_it_does_not_tell(
    trained: Path, tmp_path: Path, replied: bool
) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    path = tmp_path / "outputs/searchqa/a/selection/val-001.json"
    document = json.loads(path.read_text())
    said = [{"role": "assistant", "content": "I look."}] if replied else []
    document["conversation"] = [{"role": "user", "content": "Who?"}, *said]
    path.write_text(json.dumps(document))
    path.with_name("val-001.trace.jsonl").write_text("thinking <b>\n126.04\n")
    with client(tmp_path / "outputs") as asking:
        page = parsed(asking.get(f"{RUN}/attempts?task=val-001&in=selection").text)
    assert ("thinking <b> 126.04" in " ".join(text_of(page).split())) is (not replied)


def test_the_turns_of_an_attempt_are_a_conversation(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    path = tmp_path / "outputs/searchqa/a/selection/val-001.json"
    document = json.loads(path.read_text())
    call = {"name": "search", "arguments": {"query": "polio <b>", "limit": 3}}
    document["conversation"] += [
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "content": "a long reply " * 40, "failed": True},
    ]
    document["private"] = json.dumps({"judge": "They agree.", "votes": [1, 0]})
    document["outcome"] = {"files": ["a.txt"], "exit": 0}
    path.write_text(json.dumps(document))
    with client(tmp_path / "outputs") as asking:
        page = parsed(asking.get(f"{RUN}/attempts?task=val-001&in=selection").text)
    folded = {one.get("id"): text_of(one) for one in page.iter("details")}
    # The prompt of the system, the tool call and its result are folded; the rest is not.
    assert set(folded) == {"turn-1", "call-4-1", "turn-5"}
    assert folded["call-4-1"].startswith('calls search {"query": "polio <b>", "limit": 3}')
    assert folded["call-4-1"].endswith("query polio <b> limit 3")
    terms = {text_of(dt) for dt in page.iter("dt")}
    assert {"judge", "votes", "files", "exit"} <= terms
    assert "They agree." in text_of(page) and '"judge"' not in text_of(page)
    expected = results(trained / "searchqa/a/selection")["val-001"]["expected"]
    assert f"Expected{' or '.join(expected)}" in text_of(page)


def test_backticks_are_code_on_every_page(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    log = tmp_path / "outputs/searchqa/a/events.jsonl"
    facts = log.read_text().splitlines()
    last = json.loads(facts[-1])
    refused = ParameterRefused("target", "m", "temperature")
    extra = dump_fact(Stamped(last["number"], last["time"], refused))
    last["number"] += 1
    log.write_text("\n".join([*facts[:-1], extra, json.dumps(last)]) + "\n")
    with client(tmp_path / "outputs") as asking:
        page = asking.get(f"{RUN}/spend").text
        assert "does not take <code>temperature</code>" in page
        for path in ("", "/tasks", "/spend", "/epochs", "/settings", "/steps/1", "/steer"):
            prose = Prose(asking.get(f"{RUN}{path}").text).text
            assert "`" not in prose, path


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


@pytest.mark.parametrize(
    ("best", "words"),
    [((0, 0), "the seed skill"), ((3, 0), "step 3"), ((2, 1), "the end of epoch 1")],
)
def test_a_step_names_the_origin_of_the_best_skill_in_words(
    trained: Path, tmp_path: Path, best: tuple[int, int], words: str
) -> None:
    shutil.copytree(trained, tmp_path / "outputs")
    log = tmp_path / "outputs/searchqa/a/events.jsonl"
    facts = [json.loads(line) for line in log.read_text().splitlines()]
    for fact in facts:
        if fact["event"]["kind"] == "checkpoint_saved":
            fact["event"] |= {"best_step": best[0], "best_epoch": best[1]}
    log.write_text("".join(f"{json.dumps(fact)}\n" for fact in facts))
    with client(tmp_path / "outputs") as asking:
        page = asking.get(f"{RUN}/steps/4").text
    assert f"<dt>best skill is from</dt><dd>{words}</dd>" in page


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
        (run / "best_skill/logo.png").write_bytes(b"\x89PNG\0\xff")
        page = asking.get("/runs/searchqa/b/skills?a=seed&b=best").text
        (listed,) = (e for e in parsed(page).iter("ul") if e.get("class") == "files")
        logo, script = listed.iter("li")
        assert text_of(logo) == "logo.png, 6 bytes, no text"
        assert text_of(next(script.iter("summary"))) == "scripts/say.py, 14 characters"
        assert next(script.iter("pre")).text == "print('best')\n"
        (run / "best_skill/scripts/away.py").symlink_to("/etc/hostname")
        answer = asking.get("/runs/searchqa/b/skills?a=seed&b=best")
        assert answer.status_code == 422


@pytest.mark.parametrize("split", ["train", "selection", "test", "all"])
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
        assert f"Heat map of {split} tasks" in page


def test_an_evaluation_names_its_skill_wherever_it_is_told(tmp_path: Path) -> None:
    skill = Path("better <i>.md")
    text = "---\nname: x\n---\n\n# Answer in <b>one word</b>\n\nBe short.\n"
    skill.write_text(text, encoding="utf-8")
    source = {"e": ("--skill", str(skill)), "empty": ("--from-scratch",)}
    for run_id, named in source.items():
        ended = skillopt("eval", "searchqa", *SMALLEST, *named, "--run-id", run_id)
        assert ended.code == 0
    told = "better <i>.md (first line: Answer in <b>one word</b>)"
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
        assert "An evaluation stores no copy" in asking.get("/runs/searchqa/e/skills").text
        assert "Skill an empty text" in asking.get("/runs/searchqa/empty").text
        assert "measured" not in asking.get("/runs/searchqa/nobody").text


def test_a_run_counts_the_looks_at_its_test_split(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "outputs")
    with client(folder) as asking:
        page = text_of(parsed(asking.get(RUN).text))
        shutil.rmtree(folder / "searchqa" / "b")
        alone = text_of(parsed(asking.get(RUN).text))
    assert re.search(r"The test split was looked at [5-6] times, by 2 runs", page)
    assert "Looks at the test split" in page
    assert "by this run alone" in alone
    assert "Looks at the test split" not in alone


def test_an_evaluation_shows_what_it_found(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "outputs")
    given = ("--out-root", folder, "--run-id")
    run = folder / "searchqa" / "a"
    assert skillopt("eval", "--skill", run, "--arms", "seed,best", *given, "arms").code == 0
    assert skillopt("prune", run, "--out", tmp_path / "short.md", *given, "short").code == 0
    with client(folder) as asking:
        arms = text_of(parsed(asking.get("/runs/searchqa/arms").text))
        short = text_of(parsed(asking.get("/runs/searchqa/short").text))
        assert "Comparison" not in asking.get(RUN).text
        result = folder / "searchqa" / "arms" / "eval_summary.json"
        result.write_text('{"arms": 7}')
        damaged = asking.get("/runs/searchqa/arms")
    assert "Comparison" in arms and "seed -> best" in arms
    assert "Pruning" in short and "blocks removed" in short
    assert "is damaged" in damaged.text and damaged.status_code < 500


def test_an_evaluation_shows_every_repeated_attempt() -> None:
    given = ("--from-scratch", "--repeats", "2", "--set", "model.simulated.flaky_rate=0.6")
    ended = skillopt("eval", "searchqa", *SMALLEST, *given, "--split", "selection", "--run-id", "r")
    assert ended.code == 0, ended.err
    draws = [results(Path("outputs/searchqa/r/selection/none", name)) for name in ("", "draw_2")]
    with client(Path("outputs")) as asking:
        shown = asking.get("/runs/searchqa/r/tasks").text
        for task in draws[0]:
            each = [draw[task]["hard"] for draw in draws]
            mean, listed = sum(each) / 2, ", ".join(f"{score:.2f}" for score in each)
            assert f"{mean:.2f} (attempts: {listed}; shown: 1)" in shown
            page = parsed(asking.get(f"/runs/searchqa/r/attempts?task={task}").text)
            links = [a.attrib["href"] for a in page.iter("a") if "in=selection" in a.attrib["href"]]
            assert len(links) == 2
            assert all(asking.get(link).status_code == 200 for link in links)


def test_what_the_user_set_is_counted_apart_from_what_a_preset_set(
    trained: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(trained, tmp_path / "outputs")
    # A resume reads the defaults from the run folder, which keeps paths as absolute.
    sources = folder / "searchqa/b/sources.json"
    known = json.loads(sources.read_text(encoding="utf-8"))
    sources.write_text(json.dumps(known | {"env.data_root": "config.yaml"}), encoding="utf-8")
    with client(folder) as asking:
        page = parsed(asking.get("/runs/searchqa/b").text)
    found = {}
    for details in page.iter("details"):
        if details.get("id", "").startswith("changed-"):
            rows = [text_of(row) for row in details.iter("tr")][1:]
            found[text_of(next(details.iter("summary")))] = rows
    own, provided = found.values()
    assert list(found) == [
        f"{count(len(own), 'setting')} set by you, not at the default",
        f"{count(len(provided), 'setting')} set by the preset or benchmark, not at the default",
    ]
    assert not any("env.name" in row or "run.display" in row or "data_root" in row for row in own)
    assert own and not any("preset tiny" in row or "configs/" in row for row in own)
    assert provided and all("preset tiny" in row or "configs/" in row for row in provided)


def test_a_run_without_a_test_score_shows_no_looks_of_other_runs(
    trained: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(trained, tmp_path / "outputs")
    log = folder / "searchqa/a/events.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = itertools.takewhile(lambda line: '"test_measured"' not in line, lines)
    log.write_text("".join(line for line in kept if '"label":"' not in line), encoding="utf-8")
    with client(folder) as asking:
        assert "The test split was looked at" not in asking.get(RUN).text


def test_a_whole_number_is_asked_for_where_one_is_required(trained: Path) -> None:
    with client(trained) as asking:
        page = parsed(asking.get("/new").text)
    helps = {one.get("id"): text_of(one) for one in page.iter("span") if one.get("id")}
    assert "A whole number, at least 1." in helps["set-train-batch_size-help"]


def test_the_scores_in_full_have_no_column_twice(trained: Path) -> None:
    with client(trained) as asking:
        page = parsed(asking.get(RUN).text)
    (table,) = (t for t in page.iter("table") if text_of(next(t.iter("th"))) == "Selection")
    titles = [text_of(head) for head in table.iter("th") if head.get("scope") == "col"]
    rows = [text_of(head) for head in table.iter("th") if head.get("scope") == "row"]
    assert titles == ["Selection", "hard", "soft", "tasks"]
    assert rows[0] == "seed" and rows[-1].startswith("final, ")
