"""Every page in every state: nothing is cut off, nobody is kept out, nothing fails."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from appearance import faults_of
from command_line import labelled_run
from facts import attempts, begun, saved, stamp, states
from web_rig import HOME, Tab, served, text_of, until

from skillopt_cli.core import events as ev
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.store.codec import dump_fact
from skillopt_cli.store.lock import lock_run

RUNNING = ("started", "vetoing", "limited", "broken")
STILL = ("nothing", "failed", "interrupted", "barren")
OF_A_STATE = ("", "/steps/1", "/tasks", "/steer")
EVERY = (
    *OF_A_STATE,
    "/tasks?split=train",
    "/tasks?q=nothing+has+this",
    "/attempts?task=val-001",
    "/attempts?task=val-001&in=selection",
    "/skills",
    "/skills?a=seed&b=seed",
    "/epochs",
    "/spend",
    "/settings",
)
LABELS = [f"a long name of label {i}" for i in range(18)]
LONG = ("", "/steps/40", "/tasks", "/tasks?split=train&page=2", "/attempts?task=t1", "/spend")
SITE = ("/", "/?q=nothing+has+this", "/sweeps", "/new", "/new?benchmark=own+file", "/nowhere")
SITE += ("/new?run=searchqa/finished",)
COMPARED = "/compare?run=searchqa/finished&run=searchqa/other"


def long_run(steps: int = 40, tasks: int = 200) -> Iterator[ev.RunEvent]:
    """A training whose every step measures all tasks."""
    yield begun(total_steps=steps)
    yield ev.StageStarted(0, "measure", tasks, 8)
    yield from attempts(0, "measure", tasks, wins=60)
    yield ev.StageFinished(0, "measure")
    yield ev.BaselineMeasured(0.3, 0.3, 0.35, tasks, tasks)
    for step in range(1, steps + 1):
        yield ev.StepStarted(step, 1 + step // 11, step, 8, 8.0, 8, "cosine")
        for stage in ("rollout", "measure"):
            yield ev.StageStarted(step, stage, tasks, 8)
            yield from attempts(step, stage, tasks, wins=60 + step, broken=step % 3)
            yield ev.StageFinished(step, stage)
        score = 0.3 + step / tasks
        decision = GateDecision("new_best", "hard", score, score - 0.005, 0.3, tasks, tasks)
        yield ev.GateDecided(step, decision, score, score)
        yield saved(step, score, score, step, step, 100 + step)
    yield ev.RunFinished(steps, steps, 0.5, steps)


def log(folder: Path, facts: list[ev.RunEvent]) -> None:
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("env:\n  name: searchqa\n", encoding="utf-8")
    lines = (dump_fact(fact) for fact in stamp(facts))
    (folder / "events.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture(scope="module")
def address(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site with runs in all states."""
    home = tmp_path_factory.mktemp("states") / "outputs" / "searchqa"
    shutil.copytree(trained / "searchqa" / "a", home / "finished")
    shutil.copytree(trained / "searchqa" / "b", home / "other")
    folder = home / "finished/best_skill"
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(folder.with_suffix(".md"), folder / "SKILL.md")
    (folder / "logo.png").write_bytes(b"\x89PNG\0\xff")
    (folder / f"scripts/{'a_long_name_' * 12}.py").write_text("print()\n", encoding="utf-8")
    known = states()
    for state in (*RUNNING, *STILL):
        log(home / state, known[state])
    log(home / "long", list(long_run()))
    many = labelled_run(tmp_path_factory.mktemp("labels"), LABELS)
    shutil.copytree(many, home / "labels")
    with ExitStack() as held, served(home.parent) as address:
        for state in RUNNING:
            held.enter_context(lock_run(home / state))
        # Read to their end, so that no page changes while it is looked at.
        until(lambda: "state reading" not in text_of(address))
        yield address


@pytest.mark.slow
@pytest.mark.parametrize(
    "paths",
    [
        pytest.param([*SITE, COMPARED], id="site"),
        pytest.param([f"/runs/searchqa/finished{path}" for path in EVERY], id="finished"),
        pytest.param([f"/runs/searchqa/long{path}" for path in LONG], id="long"),
        pytest.param(["/runs/searchqa/labels/tasks?split=test"], id="labels"),
        *(
            pytest.param([f"/runs/searchqa/{state}{path}" for path in OF_A_STATE], id=state)
            for state in (*RUNNING, *STILL)
        ),
    ],
)
def test_nothing_is_cut_off_and_nobody_kept_out(
    tab: Callable[..., Tab], address: str, paths: list[str]
) -> None:
    opened = tab(address)
    found = []
    for path in paths:
        opened.open(path)
        found += [f"{path}: {fault}" for fault in faults_of(opened.page)]
    # What is not there is a fault to a browser: a page, or a step of a run that has none.
    found += [fault for fault in opened.faults if "404" not in fault]
    opened.faults.clear()
    assert found == []


@pytest.mark.slow
def test_what_is_cut_off_or_unreadable_is_found(tab: Callable[..., Tab]) -> None:
    opened = tab(HOME)
    for fault, body in {
        "wider than the screen": '<div style="width: 500px">wide</div>',
        "cut off: <p": '<p style="width: 9px; overflow: hidden; white-space: nowrap">cut off</p>',
        "light: color-contrast": '<p style="color: #999; background: #fff">pale</p>',
        "dark: color-contrast": "<style>@media (prefers-color-scheme: dark) { p { color: #111;"
        " background: #000 } }</style><p>dark</p>",
        "light: label": "<input>",
        "dark: label": "<input>",
        # Of rows that are made alike, one is looked at; of others each.
        "link-name": '<ul><li><a href="/a">a</a></li><li><a href="/b"></a></li></ul>',
    }.items():
        opened.page.set_content(f"<html lang=en><title>x</title><main>{body}</main></html>")
        assert any(fault in found for found in faults_of(opened.page)), fault
