"""The analyst: counts what went wrong in a minibatch and proposes rules and worked examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from skillopt_cli.core.edits import Edit, Patch
from skillopt_cli.rules.case import Case
from skillopt_cli.rules.detectors import DETECTORS, patterns
from skillopt_cli.rules.layout import BULLET, Layout, OwnRule, example_edit, example_text
from skillopt_cli.rules.memory import Focus, Refused
from skillopt_cli.rules.rulebook import BY_PATTERN, SLOT, Rule
from skillopt_cli.rules.text import plural, shape, words
from skillopt_cli.rules.variety import varied

MOST_EXAMPLES = 8
"""Worked examples a skill may hold; after that a new one takes an old one's place."""
LONGEST_EXAMPLE = 1200
"""Characters; longer tasks do not become examples."""
CONSISTENT = 0.5
"""Share of a minibatch's failures whose references must fit their tasks."""


@dataclass(frozen=True, slots=True)
class Notes:
    """What the analyst goes by besides the cases.

    Attributes:
        refused: edits the gate turned down in this epoch.
        longest: words of the longest reference of the step, of right answers too, at least 1.
        most: examples to propose per minibatch.
        focus: kinds of edits to propose for failures.
        reminders: by pattern, the skill's own rule to be noted instead of being changed.
    """

    layout: Layout
    refused: Refused
    longest: int
    most: int
    focus: Focus = "both"
    reminders: Mapping[str, str] = field(default_factory=dict)


def analyse_failures(cases: Sequence[Case], notes: Notes) -> Patch:
    """Rules against the patterns counted in failed cases, and examples taken from them.

    Proposes nothing when most references have nothing to do with their tasks: whatever could be
    counted then is chance.
    """
    fitting = [case for case in cases if case.consistent]
    if not cases or len(fitting) < CONSISTENT * len(cases):
        told = f"only {len(fitting)} of {len(cases)} references fit their tasks"
        return Patch(reasoning=f"No consistent evidence: {told}.")
    shown = [patterns(case) for case in fitting]
    counts = Counter(name for names in shown for name in names)
    order = sorted(counts, key=lambda name: (-counts[name], list(DETECTORS).index(name)))
    edits: list[Edit] = []
    reminded: list[str] = []
    if notes.focus != "examples":
        reminded = [notes.reminders[name] for name in order if name in notes.reminders]
        faulty = [name for name in order if name not in notes.reminders]
        counted = (_Count(BY_PATTERN[n], counts[n], len(cases), notes.longest) for n in faulty)
        edits += filter(None, (_rule_edit(each, notes) for each in counted))
    if notes.focus != "rules":
        edits += _example_edits(fitting, shown, len(cases), notes)
    if not edits and not reminded and notes.focus != "both":
        return analyse_failures(cases, replace(notes, focus="both"))
    seen = tuple(_seen(BY_PATTERN[name], notes.longest) for name in order)
    told = "; ".join(f"{counts[name]} {text}" for name, text in zip(order, seen, strict=True))
    reasoning = f"Of {len(cases)} failures: {told}."
    return Patch(tuple(edits), reasoning, "failure", seen, notes=tuple(reminded))


def analyse_successes(cases: Sequence[Case], notes: Notes) -> Patch:
    """The shape of right answers; loosens a length rule that right answers break."""
    if not cases:
        return Patch(source="success")
    longest = max(1, *(len(words(case.given)) for case in cases))
    own = notes.layout.on("length")
    edits: list[Edit] = []
    if own is not None and SLOT in own.rule.wordings[own.wording]:
        sentence = own.rule.says(own.wording, longest)
        breaking = [c for c in cases if len(words(c.given)) > own.limit]
        if breaking:
            evidence = (
                f"{len(breaking)} of {len(cases)} right answers are longer than the rule says"
            )
            edits = [_in_place(own, sentence, len(breaking), evidence)]
    told = f"{len(cases)} right answers have at most {plural(longest, 'word')}"
    open_edits = notes.refused.open(replace(edit, source="success") for edit in edits)
    return Patch(tuple(open_edits), f"{told}.", "success")


@dataclass(frozen=True, slots=True)
class _Count:
    """A pattern's rule, how many of a minibatch's failures show it, and the longest reference."""

    rule: Rule
    count: int
    failures: int
    length: int

    @property
    def evidence(self) -> str:
        return f"{self.count} of {self.failures} failures {_seen(self.rule, self.length)}"


def _rule_edit(counted: _Count, notes: Notes) -> Edit | None:
    """The first edit about a pattern that was not turned down: add, correct, reword or delete."""
    own = notes.layout.on(counted.rule.topic)
    options = _additions(counted, notes.layout) if own is None else _changes(counted, own)
    return next((edit for edit in options if edit not in notes.refused), None)


def _additions(counted: _Count, layout: Layout) -> Iterator[Edit]:
    for wording in range(len(counted.rule.wordings)):
        sentence = counted.rule.says(wording, counted.length)
        edit = layout.rule_edit(sentence)
        yield replace(edit, support=counted.count, evidence=counted.evidence)


def _changes(counted: _Count, own: OwnRule) -> Iterator[Edit]:
    """What to do about a rule in the skill whose pattern, or whose opposite's, still shows."""
    rule = counted.rule
    if own.rule.pattern != rule.pattern:
        evidence = f"{counted.evidence}, and the skill asks for the opposite"
        for wording in range(len(rule.wordings)):
            yield _in_place(own, rule.says(wording, counted.length), counted.count, evidence)
        return
    evidence = f"{counted.evidence}, although the skill has a rule about it"
    for step in range(1, len(rule.wordings)):
        wording = (own.wording + step) % len(rule.wordings)
        yield _in_place(own, rule.says(wording, counted.length), counted.count, evidence)
    yield Edit("delete", target=f"{own.line}\n", support=counted.count, evidence=evidence)


def _in_place(own: OwnRule, sentence: str, support: int, evidence: str) -> Edit:
    return Edit("replace", BULLET + sentence, own.line, support, evidence=evidence)


def _example_edits(
    cases: Sequence[Case], shown: Sequence[frozenset[str]], failures: int, notes: Notes
) -> list[Edit]:
    """Worked examples, of kinds of answers the skill shows least first."""
    edits: list[Edit] = []
    for case, names in zip(cases, shown, strict=True):
        text = example_text(case.brief, _shortest_grounded(case))
        if not case.grounded or text in notes.layout.examples or len(text) > LONGEST_EXAMPLE:
            continue
        alike = max(1, sum(bool(names & others) for others in shown))
        ways = [name for name in DETECTORS if name in names]
        told = _seen(BY_PATTERN[ways[0]], notes.longest) if ways else "missed it"
        evidence = f"{alike} of {failures} failures went wrong as this one did, which {told}"
        placed = _placed_example(text, notes.layout)
        edits.append(replace(placed, support=alike, evidence=evidence))
    return varied(notes.refused.open(edits), notes.layout.examples)[: notes.most]


def _placed_example(text: str, layout: Layout) -> Edit:
    """Add an example, or, in a full skill, put it in the place of one of the commonest kind."""
    if len(layout.examples) < MOST_EXAMPLES:
        return example_edit(text)
    kinds = [shape(old.rpartition(": ")[2]) for old in layout.examples]
    oldest = kinds.index(Counter(kinds).most_common(1)[0][0])
    return Edit("replace", text, layout.examples[oldest])


def _shortest_grounded(case: Case) -> str:
    """The reference an example shows: one that stands in the task, else the nearest one."""
    return next((text for text in case.wanted if case.stands_in_task(text)), case.reference)


def _seen(rule: Rule, length: int) -> str:
    return rule.seen.replace(SLOT, plural(length, "word"))
