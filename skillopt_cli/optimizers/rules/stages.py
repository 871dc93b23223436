"""Reflect, aggregate and select without a model; the same signatures as the stages with one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from skillopt_cli.core.edit_counts import Evidence
from skillopt_cli.core.edits import Edit, EditOutcome, Patch
from skillopt_cli.core.formatting import count
from skillopt_cli.core.minibatches import Minibatch
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson, Reflection
from skillopt_cli.optimizers.rules.analyst import (
    MOST_EXAMPLES,
    Notes,
    analyse_failures,
    analyse_successes,
)
from skillopt_cli.optimizers.rules.case import read_cases
from skillopt_cli.optimizers.rules.epoch_reflection import refused_for_good
from skillopt_cli.optimizers.rules.example_order import is_example, varied
from skillopt_cli.optimizers.rules.label_rules import find_cues, topic
from skillopt_cli.optimizers.rules.layout import BULLET, read_layout
from skillopt_cli.optimizers.rules.rejected_edits import focus, refused
from skillopt_cli.optimizers.rules.rulebook import Rule, recognise
from skillopt_cli.optimizers.rules.text import words
from skillopt_cli.optimizers.rules.violations import known_notes, reminders
from skillopt_cli.stages.leak_check import may_quote, train_labels
from skillopt_cli.stages.reflect import keep_patch, minibatches, with_claims
from skillopt_cli.stages.run import RateWish, Run

LEAST_SUPPORT = 2
"""Failures a rule must rest on, over all minibatches of the step."""
EXAMPLES_UNCAPPED = 4
"""Examples proposed per minibatch when the learning rate is not capped."""


async def reflect_by_rules(
    run: Run,
    skill: SkillDocument,
    trajectories: Sequence[Trajectory],
    lessons: Sequence[Lesson],
) -> Reflection:
    """One patch per minibatch, possibly empty: the analyst always answers."""
    batches = minibatches(run, trajectories)
    if not batches:
        return Reflection((), asked=0)
    layout = read_layout(skill, run.benchmark.brief(batches[0].trajectories[0].task))
    budget = run.most_edits
    labels = train_labels(run, trajectories)
    cases = read_cases(run.benchmark, trajectories, labels)
    longest = max((len(words(case.reference)) for case in cases if case.consistent), default=1)
    most = (budget or EXAMPLES_UNCAPPED) if may_quote(run) else 0
    notes = Notes(
        layout,
        refused(lessons, (*refused_for_good(run.memory), *(trial.edit for trial in run.refuted))),
        max(1, longest),
        most,
        focus(lessons) if may_quote(run) else "rules",
        labels=labels,
        cues=find_cues(cases),
    )
    if run.config.optimizer.use_skill_aware_reflection:
        lapsed = reminders(cases, layout, known_notes(skill, lessons), notes.longest)
        notes = replace(notes, reminders=lapsed)
    patches = []
    for batch in batches:
        patch = with_claims(run, _analyse(run, batch, notes), batch)
        keep_patch(run, run.of_round(f"patches/{batch.name}.json"), patch)
        patches.append(patch)
    fitting = sum(case.failed and case.consistent for case in cases)
    evidence = Evidence(sum(t.failed for t in trajectories), fitting)
    return Reflection(tuple(patches), asked=len(batches), evidence=evidence)


def _analyse(run: Run, batch: Minibatch, notes: Notes) -> Patch:
    cases = read_cases(run.benchmark, batch.trajectories, notes.labels)
    analyse = analyse_failures if batch.source == "failure" else analyse_successes
    return analyse(cases, notes)


async def merge_by_rules(run: Run, skill: SkillDocument, patches: Sequence[Patch]) -> Patch:
    """One patch, failures first.

    Equal edits become one with their support added; of contradicting ones the best supported
    stays. A rule needs two cases.
    """
    ordered = sorted(patches, key=lambda patch: patch.source != "failure")
    merged: dict[tuple[str, str, str], Edit] = {}
    for patch in ordered:
        for edit in patch.edits:
            known = merged.get(edit.change)
            merged[edit.change] = _joined(known, edit) if known else edit
    supported = [e for e in merged.values() if is_example(e) or e.support >= LEAST_SUPPORT]
    edits = _without_contradictions(supported)
    seen = tuple(dict.fromkeys(name for patch in ordered for name in patch.patterns))
    reasoning = " ".join(patch.reasoning for patch in ordered if patch.reasoning)
    return Patch(tuple(edits), reasoning, "merged", seen)


async def rate_by_support(
    run: Run, skill: SkillDocument, merged: Patch, lessons: Sequence[Lesson]
) -> RateWish:
    """As many edits as have half the support of the best one; half of them after a rejection."""
    best = max(edit.support for edit in merged.edits)
    strong = sum(2 * edit.support >= best for edit in merged.edits)
    said = f"{strong} of {len(merged.edits)} edits have at least half the best one's support"
    if lessons and lessons[-1].verdict == "reject":
        return RateWish(max(1, strong // 2), f"{said}; half of them, as the last step was rejected")
    return RateWish(strong, said)


async def select_by_support(
    run: Run, skill: SkillDocument, merged: Patch, budget: int | None
) -> Patch:
    """The best supported rules and examples in turn, at most `budget`; None keeps all that fit."""
    task = next(iter(run.splits["train"]))
    layout = read_layout(skill, run.benchmark.brief(task))
    rules = sorted((e for e in merged.edits if not is_example(e)), key=lambda e: -e.support)
    found = [e for e in merged.edits if is_example(e)]
    examples = varied(found, layout.examples, train_labels(run))
    room = max(0, MOST_EXAMPLES - len(layout.examples))
    added = [e for e in examples if e.op == "append"][:room]
    examples = [e for e in examples if e.op != "append" or e in added]
    ranked = list(_in_turn(rules, examples))
    kept = ranked[:budget]
    over = tuple(e for e in merged.edits if e in ranked and e not in kept)
    tried = ", so no more were tried at a time" if run.verifies else ""
    full = (
        f"the skill had room for {count(room, 'worked example')}{tried}: first come those of other"
        " kinds of answers, then those with more support"
    )
    crowded = tuple(EditOutcome(e, "not_selected", full) for e in found if e not in examples)
    return replace(
        merged,
        edits=tuple(_in_reading_order(kept)),
        dropped=over,
        set_aside=(*merged.set_aside, *crowded),
    )


def _in_turn(rules: Sequence[Edit], examples: Sequence[Edit]) -> Iterator[Edit]:
    """One of each by turns, the better supported head first, a rule when they are equal."""
    first, second = rules, examples
    if rules and examples and examples[0].support > rules[0].support:
        first, second = examples, rules
    for pair in zip_longest(first, second):
        yield from (edit for edit in pair if edit is not None)


def _in_reading_order(edits: Sequence[Edit]) -> list[Edit]:
    """Rules before examples, and insertions, which push each other down, the last one first."""
    rules = [e for e in edits if not is_example(e)]
    inserted = [e for e in rules if e.op == "insert_after"]
    others = [e for e in rules if e.op != "insert_after"]
    return [*reversed(inserted), *others, *(e for e in edits if is_example(e))]


def _joined(one: Edit, other: Edit) -> Edit:
    evidence = "; ".join(dict.fromkeys((one.evidence, other.evidence)))
    tasks = tuple(dict.fromkeys((*one.tasks, *other.tasks)))
    return replace(one, support=one.support + other.support, evidence=evidence, tasks=tasks)


def _without_contradictions(edits: Sequence[Edit]) -> list[Edit]:
    best: dict[tuple[str, str], Edit] = {}
    for edit in edits:
        for claim in _claims(edit):
            if claim not in best or edit.support > best[claim].support:
                best[claim] = edit
    return [e for e in edits if all(best[claim] is e for claim in _claims(e))]


def _claims(edit: Edit) -> list[tuple[str, str]]:
    """What an edit decides alone: a rule's topic, and the text it replaces."""
    rule, label_topic = _rule_of(edit), topic(edit.content.strip().removeprefix(BULLET))
    claims = [("topic", rule.topic)] if rule else [("topic", label_topic)] if label_topic else []
    if edit.op in ("replace", "delete"):
        claims.append(("target", edit.target.strip()))
    return claims


def _rule_of(edit: Edit) -> Rule | None:
    known = recognise(edit.content.strip().removeprefix(BULLET))
    return known[0] if known else None
