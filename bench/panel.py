"""What the live panel costs of one core: `python bench/panel.py`.

A run of 40 steps with 200 selection tasks is told at the pace of a busy one, and drawn as often as
the panel draws; the processor's time for both, by the seconds that this stands for, is the share.
Drawn for a wide terminal with all colours, at the end of the run, where there is most to show.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator, Sequence

from rich.console import Console

from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Edit, EditOutcome
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.task import Usage
from skillopt_cli.ui.live import REFRESHES_PER_SECOND, LivePanel

TARGET = 0.03
STEPS, TASKS = 40, 200
FACTS_PER_SECOND = 100
ROUNDS, DRAWINGS = 10, 20
"""The best round counts: what others do on the machine only ever adds."""
SECONDS = 30
"""How much of the run's end is measured."""


def main() -> None:
    facts = [ev.Stamped(n, n / FACTS_PER_SECOND, fact) for n, fact in enumerate(run(), 1)]
    last = FACTS_PER_SECOND * SECONDS
    paper = io.StringIO()
    screen = Console(
        file=paper,
        width=160,
        height=50,
        color_system="truecolor",
        force_terminal=True,
        _environ={"TERM": "xterm-256color"},
    )
    with LivePanel(screen, clock=lambda: facts[-1].time, beat=False) as panel:
        for fact in facts[:-last]:
            panel(fact)
        size = last // ROUNDS
        rounds = [facts[-last:][i * size : (i + 1) * size] for i in range(ROUNDS)]
        told = min(telling(panel, part) for part in rounds) * last
        drawn = min(drawing(panel) for _ in range(ROUNDS)) * SECONDS * REFRESHES_PER_SECOND
    assert paper.getvalue().count("skillopt searchqa") > ROUNDS * DRAWINGS
    share = (told + drawn) / SECONDS
    print(f"facts         {len(facts):,}, {FACTS_PER_SECOND} a second")
    print(f"a fact        {1000 * told / last:.3f} ms")
    print(f"a drawing     {1000 * drawn / SECONDS / REFRESHES_PER_SECOND:.2f} ms")
    print(f"share of core {share:.2%}, ratio to target {share / TARGET:.2f}")
    print(f"target        < {TARGET:.0%}")
    sys.exit(share >= TARGET)


def telling(panel: LivePanel, facts: Sequence[ev.Stamped]) -> float:
    """Seconds of the processor a fact takes."""
    began = time.process_time()
    for fact in facts:
        panel(fact)
    return (time.process_time() - began) / len(facts)


def drawing(panel: LivePanel) -> float:
    """The same of a drawing."""
    began = time.process_time()
    for _ in range(DRAWINGS):
        panel.draw()
    return (time.process_time() - began) / DRAWINGS


def run() -> Iterator[ev.RunEvent]:
    limits = ev.Limits(16, 16, 64, (("max_usd", 50.0), ("max_calls", 100_000)))
    yield ev.RunStarted(
        *("bench", "searchqa", 0, STEPS, 4, "optimizer", "target", "files", 400, TASKS, 200),
        "hard",
        limits=limits,
    )
    yield ev.BaselineMeasured(0.5, 0.5, 0.5, TASKS, TASKS)
    edits = tuple(Edit("append", f"rule {i} of many, told in a sentence") for i in range(8))
    for step in range(1, STEPS + 1):
        yield ev.StepStarted(step, 1 + step // 11, 1 + step % 10, 8, 7.5, 8, "cosine")
        yield from attempts(step, "rollout", 40)
        yield ev.BatchScored(step, 0.5, 0.5, 20, 40, 40)
        yield ev.EditsChosen(step, edits, ())
        made = tuple(EditOutcome(edit, "applied") for edit in edits)
        yield ev.CandidateMade(step, f"digest-{step}", 4000, made)
        yield from attempts(step, "measure", TASKS)
        score = 0.5 + step / 100
        fixed = tuple(f"task-{i}" for i in range(9))
        decision = GateDecision("new_best", "hard", score, 0.5, 0.5, TASKS, TASKS, fixed=fixed)
        yield ev.GateDecided(step, decision, score, score)
        yield ev.CheckpointSaved(step, score, score, step, step, 4000)
    yield from attempts(0, "test", TASKS)


def attempts(step: int, stage: ev.StageName, n: int) -> Iterator[ev.RunEvent]:
    yield ev.StageStarted(step, stage, n, 16)
    for i in range(n):
        yield ev.CallMade("target", stage, Usage(1, 900, 40, 600), 0.0004)
        right = float(i % 3 > 0)
        yield ev.RolloutFinished(step, stage, f"task-{i}", right, right, "answered", False)
    yield ev.StageFinished(step, stage)


if __name__ == "__main__":
    main()
