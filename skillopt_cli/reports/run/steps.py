"""A step and an epoch's end as blocks of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillopt_cli.core.edits import EditOutcome
from skillopt_cli.core.events import CandidateMade
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.reports.page import Block, Heading, Line, Quote
from skillopt_cli.runlog.parts import EpochView, StepView
from skillopt_cli.runlog.text.action import action_words
from skillopt_cli.runlog.text.edit import edit_words, first_tasks, ground_words, trial_words
from skillopt_cli.runlog.text.epoch import compared_words, slow_words
from skillopt_cli.runlog.text.flips import flip_names
from skillopt_cli.runlog.text.format import UNKNOWN, count, cut_rate, one_line, out_of, score
from skillopt_cli.runlog.text.gate import early_words, gate_line
from skillopt_cli.runlog.text.spend import spend_words
from skillopt_cli.runlog.text.step import (
    appendix_words,
    barren_words,
    checked_words,
    note_lines,
    rate_words,
    verified_words,
)

_EDIT_LIMIT = 72
_LISTED = 3
"""Edits with the same reason that are listed where the candidate does not hold them."""
_STYLES = {
    "accept_new_best": "bold green",
    "accept": "green",
    "force_accept": "yellow",
    "reject": "red",
    "indecisive": "yellow",
}


def step_line(step: StepView) -> str:
    """What came of a step, in one line."""
    if step.gate is not None:
        return gate_line(step.gate.decision)
    if step.skipped is not None:
        return f"skipped: {one_line(step.skipped)}"
    return "no decision recorded"


def step_blocks(
    step: StepView, *, closes_epoch: bool = False, of_files: bool = False
) -> Iterator[Block]:
    """A step: verdict, flips, edits and what became of them, learning rate, size, spend.

    Args:
        closes_epoch: whether the end of its epoch is included.
        of_files: whether the skill has files beside SKILL.md, which its size counts.
    """
    style = _STYLES.get(step.action or "", "dim")
    yield Heading(f"Step {step.number}", 3, action_words(step.action), style)
    yield Line(step_line(step))
    if step.gate is not None:
        yield from _measured(step.gate.decision, step.measured)
        if step.gate.hard is not None or step.gate.soft is not None:
            yield Line(f"candidate: hard {score(step.gate.hard)}, soft {score(step.gate.soft)}")
    yield from _proposed(step)
    yield from _edits(step)
    if step.candidate is not None:
        yield from _rewritten(step.candidate)
    if step.appendix is not None:
        yield Line(appendix_words(step.appendix))
        yield from (Line(note) for note in note_lines(step.appendix))
    extent = ", the epoch's end included" if closes_epoch else ""
    yield from _size(step, f"{' of all files' * of_files}{extent}")
    yield from _cost(step, extent)


def epoch_blocks(epoch: EpochView) -> Iterator[Block]:
    """An epoch's end: pairs by category, the slow update with its scores, guidance and notes."""
    slow = epoch.slow
    words = slow_words(slow) if slow else ""
    if not (epoch.compared or words or epoch.notes):
        return
    yield Heading(f"End of epoch {epoch.number}", 3)
    if epoch.compared is not None:
        yield Line(compared_words(epoch.compared))
    if slow is not None and words:
        yield Line(f"Slow update: {words}")
        if slow.decision is not None:
            yield from _measured(slow.decision, epoch.measured)
            if slow.hard is not None or slow.soft is not None:
                yield Line(f"text with guidance: hard {score(slow.hard)}, soft {score(slow.soft)}")
        if slow.guidance:
            yield Line("guidance:")
            yield Quote(slow.guidance)
    if epoch.notes:
        yield Line("Meta skill, the optimizer's own notes:")
        yield Quote(epoch.notes)


def _measured(decision: GateDecision, made: int) -> Iterator[Block]:
    if decision.early:
        yield Line(early_words(decision, made))
        return
    if not decision.n:
        return
    yield Line(f"measured on {out_of(decision.scored, decision.n)}")
    won, lost = flip_names(decision.metric)
    yield _tasks(won, decision.fixed, "green")
    yield _tasks(lost, decision.broke, "red")


def _tasks(word: str, tasks: Sequence[str], style: str) -> Line:
    return Line(f"{word} {len(tasks)}", style if tasks else "dim", tasks=tasks)


def _proposed(step: StepView) -> Iterator[Block]:
    batch, proposed = step.batch, step.proposed
    if batch is not None:
        yield Line(
            f"train: hard {score(batch.hard)}, soft {score(batch.soft)}"
            f" ({out_of(batch.scored, batch.n)})"
        )
    yield from _rate(step)
    if proposed is not None:
        patches = proposed.failure_patches + proposed.success_patches
        merged = "" if step.merged is None else f", merged into {count(step.merged, 'edit')}"
        tried = "to be verified" if step.verified else "chosen"
        kept = f", {len(step.ranked)} {tried}" if step.choices else ""
        several = f" in {len(step.choices)} rounds" if len(step.choices) > 1 else ""
        asked = count(proposed.asked, "patch", "patches")
        made = f"proposed{several}: {patches} of {asked}{merged}{kept}{_repeated(step)}"
        yield Line(barren_words(proposed) or made)
    yield from _verified(step)
    if step.checked is not None:
        yield Line(checked_words(step.checked))
    elif any(outcome.changed and outcome.trial for outcome in step.outcomes):
        yield Line("Check: none; what the edits do to solved tasks shows at the gate")


def _repeated(step: StepView) -> str:
    """How many different edits the chosen ones are, where several rounds chose the same."""
    different = len({edit.identity for edit in step.ranked})
    again = len(step.ranked) - different
    same = (
        f"{again} of them the same as in an earlier round, so {count(different, 'different edit')}"
    )
    return f", {same}" if again else ""


def _verified(step: StepView) -> Iterator[Block]:
    """How many edits each round tried and kept."""
    vetoed = {o.edit.identity for o in step.outcomes if o.state == "vetoed"}
    choices = {choice.round: choice.chosen for choice in step.choices}
    for event in step.verified:
        chosen = [e for e in choices.get(event.round, ()) if e.identity not in vetoed]
        if words := verified_words(event, chosen):
            yield Line(f"Round {event.round}: {words}" if len(step.verified) > 1 else words)


def _rate(step: StepView) -> Iterator[Block]:
    """How many edits the step could apply, and who said so."""
    if step.rate is not None:
        reasoning = f": {one_line(step.rate.reasoning)}" if step.rate.reasoning else ""
        yield Line(f"learning rate: {rate_words(step.rate)}{reasoning}")
    elif step.plan is not None:
        plan, budget = step.plan, step.plan.edit_budget
        limit = "no limit" if budget is None else f"at most {count(budget, 'edit')}"
        rate = f"{one_line(plan.scheduler)} -> {cut_rate(plan.raw_rate)}"
        yield Line(f"learning rate: {limit} (lr={plan.learning_rate}, {rate})")


def _rewritten(made: CandidateMade) -> Iterator[Block]:
    """What a rewrite states that it changed, or why a proposal was refused as a whole."""
    yield from (Line(f"rewritten: {one_line(change)}") for change in made.changes)
    if made.refused:
        yield Line(f"refused: {one_line(made.refused)}", "yellow")


def _size(step: StepView, extent: str) -> Iterator[Block]:
    made, standing = step.candidate, step.standing
    if made is not None or standing is not None:
        after = standing.chars if standing else None
        size = UNKNOWN if after is None else count(after, "character")
        candidate = f"candidate {count(made.chars, 'character')}, " if made else ""
        yield Line(f"skill: {candidate}then in force {size}{extent}")


def _cost(step: StepView, extent: str) -> Iterator[Block]:
    spent = "; ".join(f"{role} {spend_words(step.spent_by(role))}" for role in step.ledger.roles)
    yield Line(f"spent{extent}: {spent}")
    if step.broken:
        yield Line(f"broken: {count(step.broken, 'attempt')}, not scored", "yellow")
    for path in sorted(step.degraded):
        yield Line(f"trouble: {one_line(path)}", "yellow")


def _edits(step: StepView) -> Iterator[Line]:
    """The edits by what became of them, with the reason of several in a line of its own.

    Of those that are not in the candidate the first few for each reason.
    """
    groups: dict[tuple[str, str], list[EditOutcome]] = {}
    for outcome in step.outcomes:
        left_out = "left out, " if outcome.state == "over_budget" else ""
        key = f"{left_out}{step.fate(outcome)}", _reason(outcome)
        groups.setdefault(key, []).append(outcome)
    for (fate, reason), found in groups.items():
        style = "" if found[0].changed else "yellow"
        why = f" ({reason})" if reason else ""
        if reason and len(found) > 1:
            yield Line(f"{fate}{why}, {count(len(found), 'edit')}:", style)
            why = ""
        shown = found if found[0].changed else found[:_LISTED]
        for outcome in shown:
            words = edit_words(outcome.edit, _EDIT_LIMIT)
            ground = ground_words(outcome.edit)
            yield Line(f"{fate}{why}: {words} [{ground}]{_evidence(step, outcome)}", style)
        if left := len(found) - len(shown):
            yield Line(f"{fate}: {left} more, listed in edit_report.json", style)


def _reason(outcome: EditOutcome) -> str:
    """Why an edit ended as it did."""
    trial, reason = outcome.trial, one_line(outcome.reason)
    short = trial is not None and 0 < len(trial.fixed) < trial.needed
    return f"{reason}, {trial.needed} needed to pass" if trial is not None and short else reason


def _evidence(step: StepView, outcome: EditOutcome) -> str:
    """What the trial of an edit showed, where it was tried; its reason may have the numbers."""
    if outcome.trial is None:
        return ""
    if outcome.state == "unverified":
        return f", solved {first_tasks(outcome.trial.fixed)}" if outcome.trial.fixed else ""
    return f", {trial_words(outcome.trial, step.checked_with(outcome))}"
