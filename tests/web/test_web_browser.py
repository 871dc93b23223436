"""The reading pages in a browser: nothing is clipped, nothing fails, everybody can use them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from appearance import faults_of
from facts import accepted_step, begun, opening, rejected_step, saved, skipped_step, stamp
from web_rig import PROGRAM, Tab, bare, held_at_edits, served, text_of, until

from skillopt_cli.core import events as ev
from skillopt_cli.store.codec import dump_fact

RUN = "/runs/searchqa/a"
LINES = """
(link) => {
    const lines = [], letter = document.createRange();
    let top = null;
    for (const node of link.childNodes) for (let i = 0; i < (node.data ?? "").length; i++) {
        letter.setStart(node, i);
        letter.setEnd(node, i + 1);
        const at = letter.getBoundingClientRect().top;
        if (at !== top) lines.push("");
        top = at;
        lines[lines.length - 1] += node.data[i];
    }
    return lines;
}
"""
"""The lines in which a link is set."""
HIGH = """
(cells) => cells.filter((cell) => {
    const words = document.createRange();
    words.selectNodeContents(cell);
    const line = parseFloat(getComputedStyle(cell).lineHeight);
    return words.getBoundingClientRect().height > 1.5 * line;
}).map((cell) => cell.textContent)
"""
"""The cells whose text takes more than one line."""
BROKEN_WORDS = """
(cells) => cells.filter((cell) => {
    const text = [...cell.childNodes].at(-1), letter = document.createRange();
    const top = (i) => {
        letter.setStart(text, i);
        letter.setEnd(text, i + 1);
        return letter.getBoundingClientRect().top;
    };
    const pairs = [...(text?.data ?? "").matchAll(/(?=\\S\\S)/g)];
    return pairs.some(({ index }) => top(index) !== top(index + 1));
}).map((cell) => cell.textContent)
"""
"""The cells in which a word is set in two lines."""
EPOCHS = """
(chart) => [...chart.shadowRoot.querySelectorAll("text")]
    .filter((text) => text.textContent.startsWith("epoch "))
    .map((text) => [text.textContent, text.getBoundingClientRect()])
    .map(([name, box]) => [name, box.left, box.right])
    .sort((one, other) => one[1] - other[1])
"""
"""The names of epochs over a chart, each with its left and right end."""


@pytest.fixture(scope="module")
def address(trained: Path) -> Iterator[str]:
    with served(trained) as address:
        # Read to their end, so that no page changes while it is looked at.
        until(lambda: text_of(address).count("state finished") == 2)
        yield address


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The outputs folder of a run that waits with its edits chosen."""
    folder = tmp_path_factory.mktemp("held")
    with held_at_edits(folder):
        yield folder / "outputs"


@pytest.mark.slow
def test_a_run_at_work_is_for_everybody(tab: Callable[..., Tab], held: Path) -> None:
    with served(held) as address:
        opened = tab(address)
        for path in ("/steps/1", "/steer", "/skills"):
            opened.open(f"/runs/searchqa/held{path}")
            assert faults_of(opened.page) == [], path
        # Its first step is at work: the list counts the recorded ones, the page names the step.
        opened.open("/")
        opened.page.locator("td[data-title=Steps]", has_text="0 of 4").wait_for()
        opened.open("/runs/searchqa/held")
        wait_for_text(opened.page.locator("#part-status"), "step 1 of 4")
        wait_for_text(opened.page.locator("#part-status"), "paused with its edits chosen")
        opened.open("/runs/searchqa/held/steps/1")
        # A log that is still being read is told bit by bit.
        opened.page.get_by_role("heading", name="Chosen edits").wait_for()


def test_from_the_list_to_a_trajectory(tab: Callable[..., Tab], address: str) -> None:
    opened = tab(address)
    page = opened.page
    opened.open("/")
    page.get_by_role("link", name="searchqa/b").click()
    assert page.get_by_role("heading", level=1).inner_text() == "b"
    page.get_by_role("link", name="Tasks", exact=True).click()
    page.get_by_role("group", name="Heat map of selection tasks").first.wait_for()
    page.get_by_role("row", name="val-001").get_by_role("link").click()
    page.get_by_role("link", name="seed skill").click()
    page.get_by_role("region", name="Turn 1: system").wait_for()
    page.get_by_role("heading", name="Answer").wait_for()


@pytest.mark.slow
def test_tasks_are_searched_and_sorted_in_place(tab: Callable[..., Tab], address: str) -> None:
    opened = tab(address)
    page = opened.page
    opened.open("/runs/searchqa/b/tasks?split=test")
    whole = page.locator("#part-count").inner_text()
    page.get_by_role("searchbox", name="Search").fill("no such text")
    page.locator("#part-count", has_text="0 of ").wait_for()
    page.get_by_role("searchbox", name="Search").fill("")
    page.locator("#part-count", has_text=whole).wait_for()
    page.get_by_label("Result").select_option("fixed")
    page.wait_for_url("**result=fixed**")
    page.get_by_role("columnheader", name="Flips").get_by_role("link").focus()
    for order in ("ascending", "descending"):
        page.keyboard.press("Enter")
        page.locator(f"th[aria-sort={order}]", has_text="Flips").wait_for()
        # What has the focus keeps it, and the filter stays.
        assert page.evaluate("document.activeElement.id") == "sort-flips"
        assert "result=fixed" in page.url
    assert page.evaluate("performance.getEntriesByType('navigation').length") == 1
    page.locator("#map a").first.click()
    page.wait_for_url("**/attempts?task=**")


@pytest.mark.slow
def test_names_of_runs_break_where_their_parts_end(
    tab: Callable[..., Tab], tmp_path: Path, trained: Path
) -> None:
    name = "2026-01-31_learning-rate_of_eight_with_cosine_and_a_batch_of_forty_tasks"
    shutil.copytree(trained / "searchqa/a", tmp_path / "outputs/searchqa" / name)
    with served(tmp_path / "outputs") as address:
        opened = tab(address, viewport={"width": 800, "height": 900})
        opened.open("/")
        link = opened.page.get_by_role("link", name=f"searchqa/{name}", exact=True)
        assert link.inner_text() == f"searchqa/{name}"
        lines = link.evaluate(LINES)
        assert len(lines) > 1
        assert all(line[-1] in "/-_" for line in lines[:-1]), lines


@pytest.mark.slow
def test_any_two_texts_can_be_compared(tab: Callable[..., Tab], address: str) -> None:
    opened = tab(address)
    page = opened.page
    opened.open("/runs/searchqa/b/skills")
    page.get_by_label("From").select_option("seed")
    page.get_by_label("To").select_option("candidate-4")
    page.get_by_role("button", name="Compare").click()
    assert page.locator(".diff .added").count() > 0
    assert "candidate of step 4" in page.get_by_role("heading", level=2).last.inner_text()


@pytest.mark.slow
def test_runs_are_ticked_and_compared_by_keyboard(tab: Callable[..., Tab], address: str) -> None:
    opened = tab(address)
    page = opened.page
    opened.open("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    ticked = 0
    for _ in range(40):
        page.keyboard.press("Tab")
        kind = page.evaluate("document.activeElement.type ?? ''")
        if kind == "checkbox":
            page.keyboard.press("Space")
            ticked += 1
        elif ticked == 2 and kind == "submit":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?**")
    # The list needs no log, so that both may still be read.
    page.get_by_role("heading", level=1, name="2 runs side by side").wait_for()
    page.get_by_role("img", name="Score curves of 2 runs").wait_for()


@pytest.mark.slow
def test_pages_work_without_script(tab: Callable[..., Tab], address: str) -> None:
    opened = tab(address, java_script_enabled=False)
    opened.open(RUN)
    opened.page.get_by_role("link", name="Step 1").click()
    assert "step 1" in opened.page.get_by_role("heading", level=1).inner_text()


@pytest.mark.slow
def test_open_pages_follow_a_run(tab: Callable[..., Tab], tmp_path: Path) -> None:
    with served(tmp_path / "outputs") as address:
        runs, run = tab(address), tab(address)
        runs.open("/")
        assert "There are no runs" in runs.page.inner_text("main")
        slow = ("--set", "model.simulated.latency_ms=150")
        argv = [*PROGRAM, "train", "searchqa", "--preset", "tiny", *slow, "--run-id", "live"]
        with subprocess.Popen(
            argv,
            cwd=tmp_path,
            env=bare(tmp_path),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        ) as training:
            runs.page.get_by_role("link", name="searchqa/live").wait_for()
            run.open("/runs/searchqa/live")
            told = run.page.locator("#part-status")
            run.page.get_by_role("link", name="Step 1").wait_for()
            # What is open stays open, and what has the focus keeps it, while the page follows.
            run.page.get_by_role("link", name="Step 1").focus()
            wait_for_text(told, "4 of 4 steps recorded")
            wait_for_text(told, "finished")
            focused = run.page.evaluate("document.activeElement.textContent")
            assert focused.startswith("Step 1")
            assert training.wait(600) == 0
        wait_for_text(runs.page.locator("#part-runs"), "finished")
        assert run.page.evaluate("performance.getEntriesByType('navigation').length") == 1
        run.page.get_by_role("img", name="Score curve over 4 steps").first.wait_for()


@pytest.mark.slow
def test_a_page_opened_before_there_is_a_chart_draws_it(
    tab: Callable[..., Tab], trained: Path, tmp_path: Path
) -> None:
    run = tmp_path / "outputs/searchqa/early"
    run.mkdir(parents=True)
    shutil.copy(trained / "searchqa/a/config.yaml", run)
    log = trained.joinpath("searchqa/a/events.jsonl").read_bytes()
    cut = log.index(b"\n", log.index(b'"run_started"')) + 1
    run.joinpath("events.jsonl").write_bytes(log[:cut])
    with served(tmp_path / "outputs") as address:
        opened = tab(address)
        opened.open("/runs/searchqa/early")
        assert opened.page.locator("score-chart").count() == 0
        with run.joinpath("events.jsonl").open("ab") as file:
            file.write(log[cut:])
        opened.page.get_by_role("img", name="Score curve over 4 steps").first.wait_for()
        opened.page.locator("score-chart svg").wait_for()


def write_log(run: Path, facts: list[ev.RunEvent]) -> None:
    run.mkdir(parents=True)
    (run / "config.yaml").write_text("env:\n  name: searchqa\n", encoding="utf-8")
    lines = (dump_fact(fact) for fact in stamp(facts))
    (run / "events.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.mark.slow
def test_names_of_epochs_are_left_out_where_they_would_overlap(
    tab: Callable[..., Tab], tmp_path: Path
) -> None:
    steps = 16
    facts: list[ev.RunEvent] = [begun(total_steps=steps)]
    facts += [ev.BaselineMeasured(0.5, 0.5, 0.5, 20, 20), saved(0, 0.5, 0.5, 0, 0, 100)]
    for step in range(1, steps + 1):
        plan = ev.StepStarted(step, (step + 1) // 2, step, 8, 8.0, 8, "cosine")
        facts += [plan, saved(step, 0.5, 0.5, 0, 0, 100)]
    write_log(tmp_path / "outputs/searchqa/epochs", facts)
    with served(tmp_path / "outputs") as address:
        for width, least in ((390, 3), (1400, 7)):
            opened = tab(address, viewport={"width": width, "height": 900})
            opened.open("/runs/searchqa/epochs")
            opened.page.locator("score-chart svg").wait_for()
            names = opened.page.locator("score-chart").evaluate(EPOCHS)
            assert least <= len(names) <= 7, names
            assert all(one[2] < other[1] for one, other in pairwise(names)), names


@pytest.mark.slow
def test_only_results_of_steps_break_on_a_wide_screen(
    tab: Callable[..., Tab], tmp_path: Path
) -> None:
    facts = [*opening(), *accepted_step(1), *rejected_step(2), *skipped_step(3)]
    write_log(tmp_path / "outputs/searchqa/steps", [*facts, ev.RunFinished(3, 1, 0.8, 3)])
    with served(tmp_path / "outputs") as address:
        opened = tab(address, viewport={"width": 1400, "height": 900})
        opened.open("/runs/searchqa/steps")
        rows = opened.page.locator("#part-steps tbody tr")
        rows.get_by_text("at most 0.75 (6 of 20)").wait_for()
        cells = rows.locator("th, td:not([data-title=Result])")
        assert cells.count() == 3 * 6
        assert cells.evaluate_all(HIGH) == []


@pytest.mark.slow
def test_tables_of_labels_are_read_on_a_telephone(tab: Callable[..., Tab], labelled: Path) -> None:
    run = f"/runs/{labelled.parent.name}/{labelled.name}"
    with served(labelled.parent.parent) as address:
        opened = tab(address, viewport={"width": 390, "height": 900})
        opened.open(f"{run}/tasks?split=selection")
        tables = opened.page.locator("#labels .scroll")
        tables.first.wait_for()
        for table in tables.all():
            widths = table.evaluate("(one) => [one.clientWidth, one.scrollWidth]")
            assert widths[0] == widths[1]
            # A wider one is scrolled below its caption.
            table.evaluate("(one) => one.querySelector('thead th').style.minWidth = '900px'")
            for _ in range(2):
                box = table.locator("caption").bounding_box()
                assert box["x"] >= 0 and box["x"] + box["width"] <= 390
                table.evaluate("(one) => one.scrollLeft = one.scrollWidth")


@pytest.mark.slow
def test_words_of_tasks_are_whole_on_a_tablet(tab: Callable[..., Tab], address: str) -> None:
    opened = tab(address, viewport={"width": 800, "height": 900})
    for split in ("selection", "train", "test"):
        opened.open(f"{RUN}/tasks?split={split}")
        cells = opened.page.locator("table.tasks tbody td")
        cells.first.wait_for()
        assert cells.evaluate_all(BROKEN_WORDS) == []


def wait_for_text(place: Any, text: str) -> None:
    place.get_by_text(text).or_(place.filter(has_text=text)).first.wait_for()
