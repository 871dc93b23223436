"""Pages of long runs show a part of their tables, and keep a bounded part of the runs in memory."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from facts import attempts, begun, saved, stamp
from starlette.datastructures import QueryParams
from starlette.testclient import TestClient
from web_rig import client

from skillopt_cli.core import events as ev
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.runlog import expectation
from skillopt_cli.store.codec import dump_fact
from skillopt_cli.web import runs as reader
from skillopt_cli.web.listing import part_of
from skillopt_cli.web.paths import Outputs, RunName
from skillopt_cli.web.runs import Runs

STEPS, TASKS = 130, 110
RUN = "/runs/searchqa/long"


def facts() -> Iterator[ev.RunEvent]:
    """A training of many steps, of which each measures the first of many tasks."""
    yield begun(total_steps=STEPS)
    yield ev.StageStarted(0, "measure", TASKS, 4)
    yield from attempts(0, "measure", TASKS, wins=50)
    yield ev.StageFinished(0, "measure")
    yield ev.BaselineMeasured(0.45, 0.45, 0.5, TASKS, TASKS)
    for step in range(1, STEPS + 1):
        yield ev.StepStarted(step, 1, step, 8, 8.0, 8, "cosine")
        yield ev.StageStarted(step, "measure", 2, 4)
        yield from attempts(step, "measure", 2, wins=step % 3)
        yield ev.StageFinished(step, "measure")
        decision = GateDecision("reject", "hard", 0.4, 0.45, 0.45, 2, TASKS, early=True)
        yield ev.GateDecided(step, decision, None, None)
        yield saved(step, 0.45, 0.45, 0, 0, 100)
    yield ev.RunFinished(STEPS, 0, 0.45, 0)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("long")
    folder = root / "searchqa" / "long"
    folder.mkdir(parents=True)
    log = "".join(f"{dump_fact(fact)}\n" for fact in stamp(list(facts())))
    (folder / "events.jsonl").write_text(log)
    (folder / "config.yaml").write_text("env:\n  name: searchqa\n")
    return root


@pytest.fixture(scope="module")
def asking(root: Path) -> Iterator[TestClient]:
    with client(root) as asking:
        yield asking


def steps_in(page: str) -> list[int]:
    return [int(number) for number in re.findall(rf'<a href="{RUN}/steps/(\d+)">', page)]


def pager(page: str, rows: str) -> str:
    (found,) = re.findall(
        rf'<nav class="pager" aria-label="More {rows}">\s*(.*?)</nav>', page, re.S
    )
    return str(found)


def test_the_steps_of_a_long_run_have_several_pages(asking: TestClient) -> None:
    page = asking.get(RUN).text
    assert steps_in(page) == list(range(STEPS, STEPS - 100, -1))
    assert "1 to 100 of 130 steps" in pager(page, "steps")
    (earlier,) = re.findall(r'href="([^"]+)"', pager(page, "steps"))
    assert steps_in(asking.get(earlier).text) == list(range(STEPS - 100, 0, -1))
    # A number beyond the last page, or none at all, is the nearest one.
    assert steps_in(asking.get(f"{RUN}?steps=999").text)[-1] == 1
    assert asking.get(f"{RUN}?steps=x").text == page
    assert "101 to 130 of 130 steps" in pager(asking.get(f"{RUN}/spend?page=2").text, "steps")


def test_tasks_and_columns_of_the_heat_map_have_several_pages(asking: TestClient) -> None:
    page = asking.get(f"{RUN}/tasks?sort=-flips").text
    assert "1 to 100 of 110 tasks" in pager(page, "tasks")
    assert re.findall(r'data-column="(\w+)"', page) == [
        str(n) for n in range(STEPS - 59, STEPS + 1)
    ]
    assert len(re.findall("<tr ", page)) == 1 + 100
    (later,) = re.findall(r'href="([^"]+)"', pager(page, "tasks"))
    assert len(re.findall("<tr ", asking.get(later.replace("&amp;", "&")).text)) == 1 + 10
    columns = asking.get(f"{RUN}/tasks?columns=3").text
    assert re.findall(r'data-column="(\w+)"', columns) == [str(n) for n in range(11)]
    # Labels and flips are those over all columns, whichever are shown.
    wide = re.findall(r'data-title="(?:Result|Flips)">(.*?)</td>', page)
    assert wide == re.findall(
        r'data-title="(?:Result|Flips)">(.*?)</td>',
        asking.get(f"{RUN}/tasks?sort=-flips&columns=3").text,
    )


def test_the_attempts_at_a_task_have_several_pages(asking: TestClient) -> None:
    page = asking.get(f"{RUN}/attempts?task=t0").text
    assert "1 to 100 of 131 attempts" in pager(page, "attempts")
    second = asking.get(f"{RUN}/attempts?task=t0&page=2").text
    assert "101 to 131 of 131 attempts" in pager(second, "attempts")
    assert second.count('<th role="rowheader"') == 31


@pytest.mark.parametrize("n", [0, 1, 3, 4, 7])
def test_parts_of_a_table_add_up_to_it(n: int) -> None:
    rows, seen, query = list(range(n)), [], "q=a&page=1"
    while True:
        part = part_of(rows, "/x", QueryParams(query), size=3)
        assert (
            [*part.rows] == rows[part.first - 1 : part.last] if n else part.first == part.last == 0
        )
        seen += part.rows
        if not part.after:
            break
        query = part.after.removeprefix("/x?")
        assert query.startswith("q=a&")
    assert (seen, part.total) == (rows, n)


def test_runs_of_too_many_attempts_leave_the_memory(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(Outputs(root), patience=60)
    name = RunName("searchqa", "long")
    derived = runs.snapshot(name).derived
    runs.snapshot(name)
    assert runs.snapshot(name).derived is derived
    other = root / "searchqa" / "other"
    other.mkdir()
    (other / "config.yaml").touch()
    runs.snapshot(RunName("searchqa", "other"))
    assert runs.snapshot(name).derived is derived
    monkeypatch.setattr(reader, "MOST_ATTEMPTS", 10)
    runs.snapshot(RunName("searchqa", "other"))
    assert runs.snapshot(name).derived is not derived
    shutil.rmtree(other)


def test_the_bootstrap_is_made_once_for_the_same_measurements(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(Outputs(root), patience=60)
    found = runs.snapshot(RunName("searchqa", "long")).summary
    monkeypatch.setattr(expectation, "optimism", pytest.fail)
    monkeypatch.setattr(reader, "expected_best", pytest.fail)
    assert runs.snapshot(RunName("searchqa", "long")).summary == found
