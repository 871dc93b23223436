"""Recorded facts of a small run, in each of its states, and one fact of every kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from skillopt_cli.core import events as ev
from skillopt_cli.core.edits import Edit, EditOutcome, Trial
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.run_verdict import RunVerdict
from skillopt_cli.core.task import Usage

START = 1_800_000_000.0

LIMITS = ev.Limits(4, 16, 64, (("max_usd", 0.05), ("max_calls", 1000)))

NEAR = ev.Limits(4, 16, 64, (("max_usd", 0.025), ("max_calls", 1000)))

TIDY = Edit("append", "Answer with one to three words.", support=5, source="failure")
COPY = Edit("replace", "Copy the span.", "Answer.", support=2, source="success")
GONE = Edit("delete", target="No such line", support=1)
LATE = Edit("insert_after", "- digits for numbers", "# Rules", support=1)


def stamp(
    facts: Iterable[ev.RunEvent], *, first: int = 1, start: float = START, pace: float = 1.0
) -> list[ev.Stamped]:
    """The facts, one every `pace` seconds."""
    return [ev.Stamped(first + i, start + i * pace, fact) for i, fact in enumerate(facts)]


def begun(done: int = 0, **changes: object) -> ev.RunStarted:
    known: dict[str, object] = {
        "run_id": "2026-01-31_10-30-00",
        "benchmark": "searchqa",
        "done": done,
        "total_steps": 3,
        "epochs": 1,
        "optimizer": "rules",
        "target": "tiny-model",
        "data": "bundled sample",
        "n_train": 12,
        "n_selection": 20,
        "n_test": 100,
        "metric": "hard",
        "limits": LIMITS,
    }
    return ev.RunStarted(**(known | changes))  # type: ignore[arg-type]


def opening() -> list[ev.RunEvent]:
    """Start, preflight, baseline, first checkpoint."""
    return [
        begun(),
        ev.PreflightPassed("target", "tiny-model"),
        ev.StageStarted(0, "measure", 20, 4),
        *attempts(0, "measure", 20, wins=13),
        ev.StageFinished(0, "measure"),
        ev.BaselineMeasured(0.65, 0.65, 0.7, 20, 20),
        saved(0, 0.65, 0.65, 0, 0, 120),
    ]


def attempts(
    step: int, stage: ev.StageName, n: int, *, wins: int, broken: int = 0, label: str = ""
) -> list[ev.RunEvent]:
    made: list[ev.RunEvent] = []
    for i in range(n):
        if i < broken:
            made.append(
                ev.RolloutFinished(
                    step, stage, f"t{i}", None, None, "broken", False, "connection refused", label
                )
            )
            continue
        won = 1.0 if i < wins + broken else 0.0
        made.append(
            ev.RolloutFinished(step, stage, f"t{i}", won, won, "answered", False, "", label)
        )
        made.append(ev.CallMade("target", stage, Usage(1, 100, 5, 60), 0.0005))
    return made


def saved(
    done: int, current: float, best: float, current_step: int, best_step: int, chars: int
) -> ev.CheckpointSaved:
    def means(score: float, step: int) -> ev.Means:
        return ev.Means(f"digest-{step}", score, round(score + 0.02, 2), 20, 20)

    texts = means(current, current_step), means(best, best_step)
    return ev.CheckpointSaved(done, current, best, current_step, best_step, chars, *texts)


def proposing(step: int) -> list[ev.RunEvent]:
    """Rollout, reflect, aggregate, select, update of a step."""
    return [
        ev.StepStarted(step, 1, step, 8, 7.7716 - step + 1, 8, "cosine"),
        ev.StageStarted(step, "rollout", 4, 4),
        *attempts(step, "rollout", 4, wins=2),
        ev.StageFinished(step, "rollout"),
        ev.BatchScored(step, 0.5, 0.55, 2, 4, 4),
        ev.StageStarted(step, "reflect", 2, 2),
        ev.CallMade("optimizer", "reflect", Usage(1, None, None)),
        ev.StageFinished(step, "reflect"),
        ev.PatchesProposed(step, 2, 1, 1, 4),
        ev.EditsMerged(step, 4),
        ev.EditsChosen(step, (TIDY, COPY, GONE), (LATE,)),
        ev.CandidateMade(
            step,
            f"digest-{step}",
            160,
            (
                EditOutcome(TIDY, "applied"),
                EditOutcome(COPY, "applied"),
                EditOutcome(GONE, "unmatched", "the target does not occur in the skill"),
                EditOutcome(LATE, "over_budget"),
            ),
        ),
    ]


def accepted_step(step: int = 1) -> list[ev.RunEvent]:
    decision = GateDecision(
        "new_best",
        "hard",
        0.8,
        0.65,
        0.65,
        20,
        20,
        fixed=("t14", "t15", "t16", "t17"),
        broke=("t1",),
    )
    return [
        *proposing(step),
        ev.StageStarted(step, "measure", 20, 4),
        *attempts(step, "measure", 20, wins=16),
        ev.StageFinished(step, "measure"),
        ev.GateDecided(step, decision, 0.8, 0.82),
        saved(step, 0.8, 0.8, step, step, 160),
    ]


def rejected_step(step: int = 2, *, current: float = 0.8, holder: int = 1) -> list[ev.RunEvent]:
    decision = GateDecision(
        "reject", "hard", round(current - 0.05, 2), current, current, 6, 20, early=True
    )
    return [
        *proposing(step),
        ev.StageStarted(step, "measure", 20, 4),
        *attempts(step, "measure", 6, wins=1),
        ev.StageFinished(step, "measure"),
        ev.GateDecided(step, decision, None, None),
        saved(step, current, current, holder, holder, 160),
    ]


def skipped_step(step: int = 3, *, current: float = 0.8, holder: int = 1) -> list[ev.RunEvent]:
    return [
        ev.StepStarted(step, 1, step, 2, 2.0, 8, "cosine"),
        ev.StageStarted(step, "rollout", 4, 4),
        *attempts(step, "rollout", 4, wins=3, broken=1),
        ev.StageFinished(step, "rollout"),
        ev.BatchScored(step, 1.0, 1.0, 0, 3, 4),
        ev.Degraded("reflect", "no answer: the service failed"),
        ev.PatchesProposed(step, 1, 0, 0, 0),
        ev.EditsMerged(step, 0),
        ev.EditsChosen(step, (), ()),
        ev.CandidateMade(step, "digest-1", 160, ()),
        ev.StepSkipped(step, "no edit was proposed"),
        saved(step, current, current, holder, holder, 160),
    ]


def closing() -> list[ev.RunEvent]:
    return [
        ev.StageStarted(0, "test", 100, 4, "seed"),
        ev.StageFinished(0, "test", "seed"),
        ev.TestMeasured("seed", "digest-0", 0.6, 0.65, 100, 100),
        ev.StageStarted(0, "test", 100, 4, "best"),
        ev.StageFinished(0, "test", "best"),
        ev.TestMeasured("best", "digest-1", 0.79, 0.8, 100, 100),
        ev.TestMeasured("final", "digest-1", 0.79, 0.8, 100, 100),
        ev.RunFinished(3, 1, 0.8, 0),
    ]


def retries(n: int = 3) -> list[ev.RunEvent]:
    return [ev.CallRetried("target", "rollout", "HTTP 429", 1.0) for _ in range(n)]


def limited() -> list[ev.RunEvent]:
    """A service that holds a model back, a parameter it does not take, and a mark passed."""
    return [
        ev.ParameterRefused("optimizer", "big-model", "temperature"),
        ev.CallFailed("target", "rollout", "RateLimited"),
        ev.CallFailed("target", "rollout", "EmptyReply", Usage(1, 100, 0), 0.0002),
        ev.PaceChanged("openai_compatible", "tiny-model", 8, 95.0, "rate limited"),
        ev.BudgetSpent("max_usd", 0.0251, 0.05, 0.5),
    ]


def whole_run() -> list[ev.RunEvent]:
    """Accepted, rejected early, skipped; tests; finished."""
    return [
        *opening(),
        *accepted_step(1),
        *retries(),
        *rejected_step(2),
        *skipped_step(3),
        *closing(),
    ]


def epoch_end(step: int, epoch: int = 2) -> list[ev.RunEvent]:
    """Comparison, slow update and notes at the end of an epoch."""
    pairs = (("improved", 3), ("regressed", 1), ("persistent_fail", 4), ("stable_success", 2))
    return [
        ev.EpochCompared(step, epoch, pairs, 10, 0),
        ev.SlowUpdateDecided(step, epoch, "force_accept", "- keep answers short", None, 0.8, 0.82),
        ev.MemoryWritten(step, epoch, "- short edits were accepted"),
    ]


def barren_run() -> list[ev.RunEvent]:
    """Nothing was accepted."""
    tie = GateDecision("reject", "hard", 0.65, 0.65, 0.65, 20, 20, fixed=("t1",), broke=("t2",))
    doubt = GateDecision("indecisive", "hard", 0.7, 0.65, 0.65, 12, 20)
    return [
        *opening(),
        *rejected_step(1, current=0.65, holder=0),
        *proposing(2),
        ev.GateDecided(2, tie, 0.65, 0.7),
        saved(2, 0.65, 0.65, 0, 0, 120),
        *proposing(3),
        ev.GateDecided(3, doubt, 0.7, 0.7),
        saved(3, 0.65, 0.65, 0, 0, 120),
        ev.RunFinished(3, 0, 0.65, 10),
    ]


def failed_run() -> list[ev.RunEvent]:
    return [
        *opening(),
        *accepted_step(1),
        ev.RunFailed("BudgetExhausted", "the budget of 100 calls is used up", "", 5, True),
    ]


def gating(step: int = 2) -> list[ev.RunEvent]:
    return [
        *proposing(step),
        ev.StageStarted(step, "measure", 20, 4),
        *attempts(step, "measure", 9, wins=7),
    ]


def guiding() -> list[ev.RunEvent]:
    """The end of an epoch: tasks under both skills, then the text with guidance is measured."""
    return [
        ev.StageStarted(1, "slow_update", 8, 4),
        *attempts(1, "slow_update", 8, wins=5),
        ev.StageFinished(1, "slow_update"),
        *epoch_end(1),
    ]


def resumed() -> list[ev.RunEvent]:
    """Killed in its second step and taken up again; the journal has what was measured."""
    again = [replace(a, recalled=True) for a in attempts(2, "rollout", 2, wins=2) if of_rollout(a)]
    return [
        *opening(),
        *accepted_step(1),
        *proposing(2)[:4],
        ev.DriftAllowed(("train.seed: 42 -> 43",)),
        begun(1, recorded=saved(1, 0.8, 0.8, 1, 1, 160)),
        *proposing(2)[:2],
        *again,
    ]


def of_rollout(fact: ev.RunEvent) -> bool:
    return isinstance(fact, ev.RolloutFinished)


def states() -> dict[str, list[ev.RunEvent]]:
    """The run in each state a screen may have to show."""
    whole = whole_run()
    return {
        "nothing": [],
        "started": whole[:1],
        "baseline": whole[:14],
        "rollout": [*opening(), *accepted_step(1), *proposing(2)[:6]],
        "reflect": [*opening(), *accepted_step(1), *proposing(2)[:13]],
        "weighing": [*opening(), *accepted_step(1), *proposing(2)],
        "skipped": [*opening(), *accepted_step(1), *rejected_step(2), *skipped_step(3)],
        "limited": [*opening(), *accepted_step(1), *proposing(2)[:6], *limited()],
        "gating": [*opening(), *accepted_step(1), *gating()],
        "early": [*opening(), *accepted_step(1), *rejected_step(2)],
        "comparing": [*opening(), *accepted_step(1)[:-1], *guiding()[:10]],
        "guided": [*opening(), *accepted_step(1)[:-1], *guiding()],
        "near": [begun(limits=NEAR), *opening()[1:], *accepted_step(1), *proposing(2)[:6]],
        "broken": [
            *opening(),
            *accepted_step(1),
            *proposing(2)[:2],
            *attempts(2, "rollout", 3, wins=1, broken=2),
            *retries(2),
        ],
        "paused": [*opening(), *accepted_step(1), *proposing(2)[:6], ev.RunPaused(2, "now")],
        "vetoing": [
            *opening(),
            *accepted_step(1),
            ev.HintGiven(2, "mind the units"),
            *proposing(2)[:-1],
            ev.RunPaused(2, "edits"),
            ev.EditVetoed(2, 2, COPY, "too long"),
        ],
        "resumed": resumed(),
        "testing": whole[:-5],
        "finished": whole,
        "barren": barren_run(),
        "failed": failed_run(),
        "interrupted": [
            *opening(),
            *accepted_step(1),
            *proposing(2)[:6],
            ev.StopRequested(),
            ev.RunFailed("Interrupted", "stopped by the user", "", 130, True),
        ],
    }


def steered() -> list[ev.RunEvent]:
    """What a person may ask of a run."""
    return [
        ev.HintGiven(2, "mind\nthe units"),
        ev.SettingChanged("run.max_usd", None, 2.5),
        ev.PausePlanned(),
        ev.PauseDropped(),
        ev.RunPaused(1, "edits"),
        ev.EditVetoed(1, 2, COPY, "too long"),
        ev.VetoDropped(1, 2, COPY),
        ev.RunContinued(),
        ev.StopRequested(),
    ]


VERDICT = RunVerdict(
    "improved", "test", "hard", 0.6, 0.79, 100, 100, 0.19, 0.1, 0.28, 21, 2, 0.00003, 0.12
)


def one_of_each() -> list[ev.RunEvent]:
    """One fact of every kind of the union."""
    kept: dict[type, ev.RunEvent] = {}
    extra: list[ev.RunEvent] = [
        ev.DriftAllowed(("train.seed: 42 -> 43",)),
        ev.StoppedEarly("the current skill solves every selection task that could be scored"),
        ev.AppendixWritten(2, 3, ("Be short.",), 4, consolidated=6),
        ev.LearningRateChosen(2, 2, 3, 2, True, "all of them help", 0.7),
        ev.EditsVerified(2, 1, (Trial(COPY, ("t1", "t2"), ("t1",)), Trial(LATE, ("t3",))), 1),
        ev.PassingChecked(2, 4, ("t5", "t6"), ("t6",), (LATE,)),
        ev.SubscriberDropped("web", "the socket closed"),
        ev.SkillPruned(
            "digest-1",
            "digest-2",
            0.8,
            0.8,
            160,
            120,
            (
                ev.BlockTried("item", "- Be\nbrief.", 40, True, "", 0.0),
                ev.BlockTried("section", "# Title", 160, False, "nothing would be left"),
            ),
        ),
        ev.VerdictReached(VERDICT),
        ev.JudgedTwice(1, "rollout", "task-1", agree=True),
        ev.RunFailed("AuthFailed", "the key was refused", "check OPENAI_API_KEY", 4, True),
    ]
    for fact in [*whole_run(), *epoch_end(3), *limited(), *steered(), *extra]:
        kept.setdefault(type(fact), fact)
    return list(kept.values())
