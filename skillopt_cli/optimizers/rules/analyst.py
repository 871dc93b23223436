"""The analyst: counts what went wrong in a minibatch and proposes rules and worked examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from skillopt_cli.core.edits import Edit, Patch
from skillopt_cli.core.labels import Labels
from skillopt_cli.core.worked_examples import without_marks
from skillopt_cli.optimizers.rules.case import NO_LABELS, Case
from skillopt_cli.optimizers.rules.detectors import DETECTORS, patterns
from skillopt_cli.optimizers.rules.example_order import kind, varied
from skillopt_cli.optimizers.rules.label_rules import (
    LIST_TOPIC,
    Cues,
    label_sentences,
    list_sentences,
    outside_set,
    topic,
)
from skillopt_cli.optimizers.rules.layout import BULLET, Layout, OwnRule, example_edit, example_text
from skillopt_cli.optimizers.rules.rejected_edits import Focus, Refused
from skillopt_cli.optimizers.rules.rulebook import BY_PATTERN, SLOT, Rule
from skillopt_cli.optimizers.rules.text import plural, words

MOST_EXAMPLES = 8
"""Worked examples a skill may hold; after that a new one takes an old one's place."""
LONGEST_EXAMPLE = 1200
"""Characters; longer tasks do not become examples."""
FORM = frozenset({"empty", "untagged", "sentence", "opening", "article", "too_long"})
"""Patterns that say something about the form of a label."""
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
        labels: of the train split.
        cues: words that separate each label, counted over the step.
    """

    layout: Layout
    refused: Refused
    longest: int
    most: int
    focus: Focus = "both"
    reminders: Mapping[str, str] = field(default_factory=dict)
    labels: Labels = NO_LABELS
    cues: Mapping[str, Cues] = field(default_factory=dict)


def analyse_failures(cases: Sequence[Case], notes: Notes) -> Patch:
    """Rules against the patterns counted in failed cases, and examples taken from them.

    Proposes nothing when most references have nothing to do with their tasks: whatever could be
    counted then is chance.
    """
    fitting = [case for case in cases if case.consistent]
    if not cases or len(fitting) < CONSISTENT * len(cases):
        told = f"only {len(fitting)} of {len(cases)} references fit their tasks"
        return Patch(reasoning=f"No consistent evidence: {told}.")
    shown = [_patterns(case) for case in fitting]
    counts = Counter(name for names in shown for name in names)
    showing = {
        name: tuple(c.task for c, names in zip(fitting, shown, strict=True) if name in names)
        for name in counts
    }
    order = sorted(counts, key=lambda name: (-counts[name], list(DETECTORS).index(name)))
    edits: list[Edit] = []
    reminded: list[str] = []
    if notes.focus != "examples":
        reminded = [notes.reminders[name] for name in order if name in notes.reminders]
        faulty = [name for name in order if name not in notes.reminders]
        counted = (_Count(BY_PATTERN[n], showing[n], len(cases), notes.longest) for n in faulty)
        edits += filter(None, (_rule_edit(each, notes) for each in counted))
        edits += label_edits(fitting, notes)
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
    """A pattern's rule, which of a minibatch's failures show it, and the longest reference."""

    rule: Rule
    tasks: tuple[str, ...]
    failures: int
    length: int

    @property
    def count(self) -> int:
        """How many failures show it."""
        return len(self.tasks)

    @property
    def evidence(self) -> str:
        return f"{self.count} of {self.failures} failures {_seen(self.rule, self.length)}"


def _rule_edit(counted: _Count, notes: Notes) -> Edit | None:
    """The first edit about a pattern that was not turned down: add, correct, reword or delete."""
    own = notes.layout.on(counted.rule.topic)
    options = _additions(counted, notes.layout) if own is None else _changes(counted, own)
    open_edits = (edit for edit in options if edit not in notes.refused)
    return next((replace(edit, tasks=counted.tasks) for edit in open_edits), None)


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
    """Worked examples, of kinds of answers the skill shows least first.

    An example is for the failures that went wrong as its own did, or else for all others: that its
    own task is solved with it proves nothing.
    """
    edits: list[Edit] = []
    for case, names in zip(cases, shown, strict=True):
        text = example_text(case.brief, _shortest_grounded(case))
        known = text in notes.layout.examples or without_marks(text) in notes.layout.examples
        fits = case.grounded or case.label is not None
        if not fits or known or len(without_marks(text)) > LONGEST_EXAMPLE:
            continue
        alike = [c.task for c, others in zip(cases, shown, strict=True) if names & others]
        count = max(1, len(alike))
        ways = [name for name in DETECTORS if name in names]
        told = _seen(BY_PATTERN[ways[0]], notes.longest) if ways else "missed it"
        evidence = f"{count} of {failures} failures went wrong as this one did, which {told}"
        tasks = _others(alike, case) or _others([c.task for c in cases], case)
        placed = _placed_example(text, notes)
        edits.append(replace(placed, support=count, evidence=evidence, tasks=tasks))
    return varied(notes.refused.open(edits), notes.layout.examples, notes.labels)[: notes.most]


def _others(tasks: Iterable[str], case: Case) -> tuple[str, ...]:
    return tuple(task for task in tasks if task != case.task)


def _placed_example(text: str, notes: Notes) -> Edit:
    """Add an example, or, in a full skill, put it in the place of one of the commonest kind."""
    layout = notes.layout
    if len(layout.examples) < MOST_EXAMPLES:
        return example_edit(text)
    kinds = [kind(old, notes.labels) for old in layout.examples]
    oldest = kinds.index(Counter(kinds).most_common(1)[0][0])
    return Edit("replace", text, layout.examples[oldest])


def _shortest_grounded(case: Case) -> str:
    """The reference an example shows: one that occurs in the task, else the nearest one."""
    return next((text for text in case.wanted if case.stands_in_task(text)), case.reference)


def _patterns(case: Case) -> frozenset[str]:
    """The patterns of a failed case; a label is not read from the text, only its form counts."""
    return patterns(case) & FORM if case.label is not None else patterns(case)


def label_edits(cases: Sequence[Case], notes: Notes) -> Iterator[Edit]:
    """A rule that lists the labels, and one for each label that fails and has separating words.

    The first is for the failures whose answer is no label, the others for those of their label.
    """
    names = notes.labels.names
    if strays := tuple(case.task for case in cases if outside_set(case, names)):
        evidence = f"{len(strays)} of {len(cases)} failures gave an answer that is no label"
        yield from _label_edit(LIST_TOPIC, list_sentences(names), (strays, evidence), notes)
    for label in dict.fromkeys(case.label for case in cases if case.label):
        if (cues := notes.cues.get(label)) is not None:
            failing = tuple(case.task for case in cases if case.label == label)
            sentences = tuple(label_sentences(cues))
            yield from _label_edit(topic(sentences[0]), sentences, (failing, cues.evidence), notes)


def _label_edit(
    about: str, sentences: Iterable[str], ground: tuple[tuple[str, ...], str], notes: Notes
) -> Iterator[Edit]:
    """The first edit about a label that was not turned down: add, reword or delete.

    Args:
        ground: the failed tasks it is for, and the evidence.
    """
    tasks, evidence = ground
    line = notes.layout.label_rules.get(about)
    edits = [
        Edit("replace", BULLET + sentence, line) if line else notes.layout.rule_edit(sentence)
        for sentence in sentences
        if BULLET + sentence != line
    ]
    if line:
        edits.append(Edit("delete", target=f"{line}\n"))
    for edit in notes.refused.open(edits)[:1]:
        yield replace(edit, support=len(tasks), evidence=evidence, tasks=tasks)


def _seen(rule: Rule, length: int) -> str:
    return rule.seen.replace(SLOT, plural(length, "word"))
