"""Rules about labels: the label set, and the words that separate each label from the others."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillopt_cli.core.labels import folded
from skillopt_cli.optimizers.rules.case import Case
from skillopt_cli.optimizers.rules.text import plural

LABEL_WORDINGS = (
    'Label "{label}" when the text has {words}.',
    'A text with {words} belongs to "{label}".',
)
LIST_WORDINGS = (
    "Answer with one of these labels and nothing else: {labels}.",
    "The answer is one of {labels}; add no other word.",
)
MOST_WORDS = 5
LEAST_TASKS = 2
"""Tasks of a label that must have a word."""
LEAST_ODDS = 1.0
"""Least log-odds of a word between tasks of a label and all others."""
LEAST_LETTERS = 3
COMMON = frozenset(
    re.findall(
        r"\w+",
        "about after all also and any are because been before but can could did does for from had"
        " has have her here his how into its just more most not now only our out over she should"
        " since some than that the their them then there these they this those too under very was"
        " were what when where which while who why will with would you your",
    )
)
"""Words of English that tell nothing about a topic."""

_LABEL_LINES = tuple(
    re.compile(
        re
        .escape(wording)
        .replace(r"\{label\}", "(?P<label>.+?)")
        .replace(r"\{words\}", '(?P<words>".+")')
    )
    for wording in LABEL_WORDINGS
)
_LIST_LINES = tuple(
    re.compile(re.escape(wording).replace(r"\{labels\}", ".+")) for wording in LIST_WORDINGS
)
LIST_TOPIC = "labels"


@dataclass(frozen=True, slots=True)
class Cue:
    """A word that separates a label: tasks of the label with it, and all others with it."""

    word: str
    inside: int
    outside: int
    odds: float


@dataclass(frozen=True, slots=True)
class Cues:
    """The separating words of one label, best first, and the tasks counted."""

    label: str
    words: tuple[Cue, ...]
    inside: int
    outside: int

    def says(self, wording: int) -> str:
        """The rule in one of its wordings."""
        quoted = [f'"{cue.word}"' for cue in self.words]
        listed = " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
        return LABEL_WORDINGS[wording].format(label=self.label, words=listed)

    @property
    def evidence(self) -> str:
        """The counts behind the rule."""
        counts = "; ".join(f'"{c.word}" {c.inside} and {c.outside}' for c in self.words)
        of, others = plural(self.inside, "task"), plural(self.outside, "other")
        return f'of {of} of "{self.label}" and {others}, so many have the word: {counts}'


def topic(sentence: str) -> str:
    """What a label rule decides alone: the label it is about, or the label set; "" for others."""
    for line in _LABEL_LINES:
        if found := line.fullmatch(sentence):
            return f'label "{folded(found["label"])}"'
    return LIST_TOPIC if any(line.fullmatch(sentence) for line in _LIST_LINES) else ""


def find_cues(cases: Sequence[Case]) -> Mapping[str, Cues]:
    """The separating words of each label, counted over all cases that have one.

    A word's weight is its smoothed log-odds: how much likelier a task of the label has it than a
    task of another label, each count raised by a half.
    """
    tasks = [(case.label, frozenset(_telling(case.source))) for case in cases if case.label]
    have = Counter((label, word) for label, found in tasks for word in found)
    everywhere = Counter(word for _, found in tasks for word in found)
    sizes = Counter(label for label, _ in tasks)
    cues: dict[str, Cues] = {}
    for label in sorted(sizes):
        inside, outside = sizes[label], len(tasks) - sizes[label]
        counted = [
            Cue(word, n, everywhere[word] - n, _odds(n, inside, everywhere[word] - n, outside))
            for (of, word), n in have.items()
            if of == label and n >= LEAST_TASKS
        ]
        strong = [cue for cue in counted if cue.odds >= LEAST_ODDS]
        strong.sort(key=lambda cue: (-cue.odds, cue.word))
        if strong and outside:
            cues[label] = Cues(label, tuple(strong[:MOST_WORDS]), inside, outside)
    return cues


def _odds(a: int, inside: int, b: int, outside: int) -> float:
    return math.log((a + 0.5) / (inside - a + 0.5)) - math.log((b + 0.5) / (outside - b + 0.5))


def _telling(source: Sequence[str]) -> Iterator[str]:
    """The words of a text that may tell a label: no short ones, no numbers, none of `COMMON`."""
    for word in source:
        if len(word) >= LEAST_LETTERS and not word[0].isdigit() and word not in COMMON:
            yield word


def label_sentences(cues: Cues) -> Iterator[str]:
    """The rule about a label, in each of its wordings."""
    yield from (cues.says(wording) for wording in range(len(LABEL_WORDINGS)))


def list_sentences(names: Sequence[str]) -> Iterator[str]:
    """The rule that lists the label set, in each of its wordings."""
    listed = ", ".join(names)
    yield from (wording.format(labels=listed) for wording in LIST_WORDINGS)


def outside_set(case: Case, names: Sequence[str]) -> bool:
    """Whether an answer is none of the labels, to the letter."""
    return case.label is not None and case.given.strip() not in names
