"""Plain lines: one per notable fact, for pipes and logs. The style is documented and stable.

```text
[Step 1/8] Rollout: 20 items, 4 workers...
[Step 1/8] Score: 0.65 -> Reflect...
[Step 1/8] 6 edit patches generated
[Step 1/8] Selected 4 edits (lr=8, cosine -> 7.7)
[Step 1/8] Gate: val score 0.68 > 0.65  ACCEPT
```

Our own words are ASCII. What happens often is written rarely: retries are summed up at most every
`RETRY_PAUSE` seconds, broken attempts once per stage, and a degraded path once per place.
"""

from __future__ import annotations

from typing import TextIO, assert_never

from skillopt_cli.core import events as ev
from skillopt_cli.core.edit_counts import LEFT_OUT, outcomes_words
from skillopt_cli.core.edits import Edit
from skillopt_cli.core.steering import struck
from skillopt_cli.runlog.event_groups import (
    CallFact,
    ControlFact,
    EpochFact,
    ResultFact,
    RunFact,
    StepFact,
    WorkFact,
)
from skillopt_cli.runlog.fold import apply
from skillopt_cli.runlog.fold_work import round_of
from skillopt_cli.runlog.parts import StageView, StepView
from skillopt_cli.runlog.pruning import pruned_words
from skillopt_cli.runlog.text.control import control_lines
from skillopt_cli.runlog.text.ending import ending_lines
from skillopt_cli.runlog.text.epoch import epoch_lines
from skillopt_cli.runlog.text.format import count, one_line, out_of, score
from skillopt_cli.runlog.text.gate import gate_line
from skillopt_cli.runlog.text.header import (
    data_words,
    drift_words,
    models_words,
    skill_words,
    start_notes,
)
from skillopt_cli.runlog.text.limits import call_lines, limits_words
from skillopt_cli.runlog.text.standing import proven_words
from skillopt_cli.runlog.text.step import (
    appendix_words,
    barren_words,
    checked_words,
    chosen_words,
    rate_words,
    verified_words,
)
from skillopt_cli.runlog.view import RunView

RETRY_PAUSE = 30.0

Lines = tuple[str, ...]


class PlainLines:
    """Writes a run's facts to a text stream, a line each, as they arrive.

    Args:
        stream: where the lines go, usually standard error.
        view: what earlier processes of the run left, for a resumed run.
        verbose: show guidance and notes whole.
    """

    def __init__(
        self, stream: TextIO, view: RunView | None = None, *, verbose: bool = False
    ) -> None:
        self._stream = stream
        self._view = view or RunView()
        self._verbose = verbose
        self._written = sum(self._view.retries.values())
        self._written_at: float | None = None

    def __call__(self, fact: ev.Stamped) -> None:
        """Write the lines for a fact, if there are any."""
        before, self._view = self._view, apply(self._view, fact)
        lines = (*self._retries(fact), *lines_of(before, self._view, fact, verbose=self._verbose))
        if lines:
            text = "".join(f"{line}\n" for line in lines)
            self._stream.write(_fitting(text, self._stream))
            self._stream.flush()

    def _retries(self, fact: ev.Stamped) -> Lines:
        """A summary of the retries not written yet, when it is time for one."""
        total = sum(self._view.retries.values())
        last = self._view.last_retry
        ends = isinstance(fact.event, ev.RunFinished | ev.RunFailed)
        rested = self._written_at is None or fact.time - self._written_at >= RETRY_PAUSE
        if last is None or total == self._written or not (rested or ends):
            return ()
        self._written, self._written_at = total, fact.time
        return (f"Retries: {total} so far, last of the {last.role}: {one_line(last.reason)}",)


def lines_of(before: RunView, after: RunView, fact: ev.Stamped, *, verbose: bool = False) -> Lines:
    """The lines for a fact, given the view before and after it. Pure."""
    event = fact.event
    if isinstance(event, RunFact):
        return _run_lines(before, after, event)
    if isinstance(event, WorkFact):
        return _work_lines(before, event)
    if isinstance(event, CallFact):
        return call_lines(event)
    if isinstance(event, StepFact):
        return tuple(f"{_tag(after, event.step)} {line}" for line in _step_lines(after, event))
    if isinstance(event, EpochFact):
        return tuple(
            f"{_epoch_tag(after, event.epoch)} {line}"
            for line in epoch_lines(event, verbose=verbose)
        )
    if isinstance(event, ResultFact):
        return _result_lines(before, event)
    if isinstance(event, ControlFact):
        return control_lines(event, after)
    assert_never(event)


def _run_lines(before: RunView, view: RunView, event: RunFact) -> Lines:
    match event:
        case ev.RunStarted():
            return _start_lines(event, resumed=before.run is not None)
        case ev.PreflightPassed():
            return (f"Preflight: {event.role} {one_line(event.model)} answers",)
        case ev.DriftAllowed():
            return (drift_words(event.changes),)
        case ev.SubscriberDropped():
            text = f"Dropped: {one_line(event.name)}: {one_line(event.reason)}"
            return (text, f"hint: {one_line(event.hint)}") if event.hint else (text,)
        case ev.RunFinished() | ev.RunFailed():
            return ending_lines(view, event)
    assert_never(event)


def _start_lines(event: ev.RunStarted, *, resumed: bool) -> Lines:
    plan = (
        f", {count(event.total_steps, 'step')} in {count(event.epochs, 'epoch')}"
        if event.total_steps
        else ""
    )
    # The gate compares scores of selection tasks; tasks that are only answered have none.
    metric = f", gate metric {one_line(event.metric)}" if event.n_selection else ""
    lines = (
        f"Data: {data_words(event)}",
        f"Run: {one_line(event.benchmark)} {one_line(event.run_id)}{plan}{metric}",
        *((f"Skill: {skill}",) if (skill := skill_words(event)) else ()),
        f"Models: {models_words(event)}",
        *((f"Limits: {limits_words(event.limits)}",) if event.limits else ()),
        *(f"Note: {note}" for note in start_notes(event)),
    )
    if not event.total_steps or not (event.done or resumed):
        return lines
    return (*lines, f"Resume: {event.done} of {count(event.total_steps, 'step')} recorded")


def _work_lines(before: RunView, event: WorkFact) -> Lines:
    match event:
        case ev.StageStarted():
            return _stage_lines(before, event)
        case ev.StageFinished():
            key = (event.step, event.stage, event.label)
            ended = (stage for stage in before.stages if stage.key == key)
            return tuple(_broken_line(before, s) for s in ended if s.broken)
        case ev.RolloutFinished():
            return ()
    assert_never(event)


def _stage_lines(view: RunView, event: ev.StageStarted) -> Lines:
    """A line for work that may keep a reader waiting and that no later line announces."""
    amount = f"{count(event.total, 'item')}, {count(event.workers, 'worker')}..."
    if event.stage == "test":
        arms = {"eval": "", "no_skill": "no skill, ", "none": "no skill, "}
        return (f"Test: {arms.get(event.label, f'{_skill(event.label)}, ')}{amount}",)
    if event.stage == "measure" and event.label:
        verb = "Measure again" if view.total_steps else "Measure"
        return (f"{verb}: {_skill(event.label)}, {amount}",)
    if event.stage == "answer":
        return (f"Answer: {amount}",)
    if event.stage == "prune":
        return (f"Prune: {one_line(event.label)}, {amount}",)
    if event.stage == "measure" and event.step == 0:
        return (f"{'Baseline' if view.total_steps else 'Measure'}: {amount}",)
    words = {
        "rollout": f"Rollout: {_left_out(view, event)}{amount}",
        "verify": f"Verify {round_of(view, event)}: {_verified_now(view, event)}, {amount}",
        "check": f"Check {round_of(view, event)}: {amount}",
    }.get(event.stage)
    return (f"{_tag(view, event.step)} {words}",) if words else ()


def _left_out(view: RunView, event: ev.StageStarted) -> str:
    """How many train tasks a step leaves out; empty for none, and where a step is of a part."""
    run = view.run
    # In one step an epoch all train tasks are due: only those solved before are left out.
    if run is None or run.total_steps != run.epochs or event.total >= run.n_train:
        return ""
    left = run.n_train - event.total
    return (
        f"{event.total} of {count(run.n_train, 'train task')}, {left} solved before"
        f" {'is' if left == 1 else 'are'} left out; "
    )


def _verified_now(view: RunView, event: ev.StageStarted) -> str:
    """Which edits are tried on failed tasks."""
    step = view.step_at(event.step)
    if step is not None and step.verifies_again:
        return "what still fails, with the edits kept"
    return "the chosen edits"


def _to_verify(view: RunView, number: int) -> tuple[Edit, ...]:
    """The edits that the latest round of a step chose, without vetoed ones."""
    step = view.step_at(number)
    if step is None or step.chosen is None:
        return ()
    return struck(step.chosen.chosen, view.steering.vetoes_at(number, step.chosen.round))[0]


def _skill(label: str) -> str:
    return "skill" if label == "skill" else f"{one_line(label)} skill"


def _broken_line(view: RunView, stage: StageView) -> str:
    place = f"{_tag(view, stage.step)} " if stage.step else ""
    text = f"Broken: {stage.broken} of {count(stage.done, 'attempt')} in {stage.stage}, not scored"
    return f"{place}{text}; last: {one_line(stage.error) or 'no reason given'}"


def _step_lines(view: RunView, event: StepFact) -> Lines:
    match event:
        case ev.StepStarted() | ev.EditsMerged():
            return ()
        case ev.BatchScored():
            soft = view.run is not None and view.run.metric == "soft"
            part = "" if event.scored == event.n else f" ({event.scored} of {event.n} scored)"
            mean = score(event.soft if soft else event.hard)
            kind = " (hard)" if view.run is not None and view.run.metric == "mixed" else ""
            return (f"Score: {mean}{kind} -> Reflect...{part}",)
        case ev.PatchesProposed():
            patches = event.failure_patches + event.success_patches
            if barren := barren_words(event):
                return (barren,)
            asked = f" ({event.asked} asked for)" if patches < event.asked else ""
            word = "patch" if patches == 1 else "patches"
            return (f"{patches} edit {word} generated{asked}",)
        case ev.EditsChosen():
            if not (event.chosen or event.dropped):
                return ()
            step = view.step_at(event.step)
            return (chosen_words(step, len(event.chosen), len(event.dropped)),)
        case ev.CandidateMade():
            return _outcome_lines(event, view.step_at(event.step))
        case ev.EditsVerified():
            words = verified_words(event, _to_verify(view, event.step))
            return (words,) if words else ()
        case _:
            return (_step_line(event),)


def _step_line(
    event: ev.LearningRateChosen
    | ev.PassingChecked
    | ev.AppendixWritten
    | ev.StepSkipped
    | ev.GateDecided,
) -> str:
    match event:
        case ev.LearningRateChosen():
            return f"Learning rate: {rate_words(event)}"
        case ev.PassingChecked():
            return checked_words(event)
        case ev.AppendixWritten():
            return appendix_words(event)
        case ev.StepSkipped():
            return f"Skip: {one_line(event.reason)}"
        case ev.GateDecided():
            return f"Gate: {gate_line(event.decision)}"
    assert_never(event)


def _outcome_lines(event: ev.CandidateMade, step: StepView | None) -> Lines:
    """What became of the chosen edits, when the candidate does not hold all of them.

    An edit that several rounds chose counts once.
    """
    within = [outcome for outcome in event.outcomes if outcome.state not in LEFT_OUT]
    left_out = [outcome for outcome in within if not outcome.changed]
    if not left_out:
        return ()
    rounds = len(step.choices) if step is not None else 1
    edits = count(len(within), "different edit" if rounds > 1 else "edit")
    kept = f"Kept {len(within) - len(left_out)} of {edits}"
    kept += f" of {rounds} rounds" if rounds > 1 else ""
    return (f"{kept}; left out: {outcomes_words(left_out)}",)


def _result_lines(before: RunView, event: ResultFact) -> Lines:
    match event:
        case ev.BaselineMeasured():
            return (f"Baseline: val score {score(event.value)} ({out_of(event.scored, event.n)})",)
        case ev.Degraded():
            known = event.where in before.degraded_by_place
            return (
                () if known else (f"Degraded: {one_line(event.where)}: {one_line(event.reason)}",)
            )
        case ev.StoppedEarly():
            return (f"Stopped early: {one_line(event.reason)}",)
        case ev.SkillPruned():
            return (f"Pruned: {pruned_words(event)}",)
        case ev.VerdictReached():
            # Its sentences end the result of the training.
            return (f"Verdict: {proven_words(event.verdict, event.majority)[0]}",)
        case ev.CheckpointSaved() | ev.TestMeasured():
            return ()
    assert_never(event)


def _epoch_tag(view: RunView, epoch: int) -> str:
    return f"[Epoch {epoch}/{view.run.epochs if view.run else '?'}]"


def _tag(view: RunView, step: int) -> str:
    return f"[Step {step}/{view.total_steps or '?'}]"


def _fitting(text: str, stream: TextIO) -> str:
    """The text as the stream's encoding can hold it: a task's odd letters must not stop us.

    A terminal shows arrows and check marks where its encoding has them. Pipes and files get the
    ASCII form, which tools read.
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if stream.isatty():
        shown = text.replace(" -> ", " → ").replace("  ACCEPT", " ✓ ACCEPT")
        if shown.encode(encoding, "ignore").decode(encoding) == shown:
            return shown
    return text.encode(encoding, "backslashreplace").decode(encoding)
