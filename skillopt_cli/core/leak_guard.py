"""The leak guard: refuses edits that carry a passage or the answer of one task, or a fixed answer.

What an edit may carry: labels, short phrases, text that most tasks share, text the skill holds
already, and, where the run allows them, worked examples of train tasks below their marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from skillopt_cli.core.edits import SUGGEST, Edit, EditOutcome, EditState, Patch
from skillopt_cli.core.labels import Labels
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.worked_examples import without_examples

PASSAGE_WORDS = 8
PASSAGE_WIDTH = 40
"""A passage is the shortest run of words with at least this many words and columns of text."""
SECRET_WORD = 12
SECRET_WORDS = 8
SECRET_DIGITS = 5
"""Columns from which on a secret answer of one word, of several words, or of digits is looked for.

Shorter ones turn up by chance. Five digits are more than a year has.
"""
LEAST_SHARED = 3
"""Tasks from which on a passage of most of them counts as common text."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
_VERBS = frozenset(
    _WORD.findall(
        "answer answers reply respond say write output return give choose pick select predict use"
        " label put"
    )
)
_ALWAYS = frozenset(
    _WORD.findall("always every each all any only just simply whatever regardless matter nothing")
)
_FILLERS = frozenset(
    _WORD.findall(
        "please you must should to with by the this that one is be as it and else no of in for"
        " what time case cases task tasks question questions text texts input inputs option class"
        " category says asked asks"
    )
)
_FOR_EVERY = re.compile(r"\b(?:for|to|in|on|of) (?:every|each|all|any) \w+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Material:
    """What belongs to one task.

    Attributes:
        texts: its brief, its record and its references.
        private: its rubric and checker, which may be those of all tasks and are no common text.
    """

    task_id: str
    texts: tuple[str, ...]
    private: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeakGuard:
    """What edits are compared with.

    Attributes:
        passages: passages of the material that belong to few tasks, each with the id of a task.
        secrets: words of secret answers, each with the id of its task.
        answers: frequent answers, for shortcuts.
        quotable: tasks that a marked worked example may quote.
    """

    passages: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    quotable: frozenset[str] = frozenset()

    def fault(self, text: str, known: Iterable[str]) -> tuple[EditState, str] | None:
        """Why a text may not enter the skill: the state of its edit and a reason, or None.

        The reason names the task and never quotes it.

        Args:
            known: texts of the skill, which may be repeated.
        """
        own = without_examples(text, self.quotable)
        old = "\n".join(known)
        found, held = words(own), words(old)
        kept = set(passages(held))
        for passage in passages(found):
            if passage in self.passages and passage not in kept:
                return "leak", f"it carries a passage of task `{self.passages[passage]}`"
        new, present = f" {' '.join(found)} ", f" {' '.join(held)} "
        for secret, task_id in self.secrets.items():
            if f" {secret} " in new and f" {secret} " not in present:
                return "leak", f"it carries the answer of task `{task_id}`"
        for sentence in _sentences(own):
            if sentence not in old and _fixed_answer(sentence, self.answers):
                return "shortcut", "it gives one answer whatever the task"
        return None


def make_guard(
    materials: Sequence[Material], labels: Labels, quotable: Iterable[str] = ()
) -> LeakGuard:
    """A guard for the tasks that an optimizer has read.

    Args:
        labels: of the whole train split.
        quotable: ids of the tasks that worked examples may quote.
    """
    owners = _owners({material.task_id: material.texts for material in materials})
    private = _owners({material.task_id: material.private for material in materials})
    most = max(LEAST_SHARED, len(materials) / 2 + 0.5)
    own = {passage: ids for passage, ids in owners.items() if len(ids) < most} | private
    read = {material.task_id for material in materials}
    secrets = {" ".join(words(text)): task for text, task in labels.secrets if task in read}
    return LeakGuard(
        {passage: min(ids) for passage, ids in own.items()},
        {secret: task for secret, task in secrets.items() if secret and _telling(secret)},
        labels.names,
        frozenset(quotable),
    )


def _owners(texts: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """The ids of the tasks that hold each passage."""
    owners: dict[str, set[str]] = {}
    for task_id, parts in texts.items():
        for passage in {found for text in parts for found in passages(words(text))}:
            owners.setdefault(passage, set()).add(task_id)
    return owners


def checked(patch: Patch, guard: LeakGuard, skill: SkillDocument) -> Patch:
    """The patch without the edits and notes that the guard refuses; refused edits are set aside."""
    known = tuple(skill.texts.values())
    kept: list[Edit] = []
    refused: list[EditOutcome] = []
    for edit in patch.edits:
        text = f"{edit.target}\n{edit.content}" if edit.op == SUGGEST else edit.content
        fault = guard.fault(text, known)
        if fault is None:
            kept.append(edit)
        else:
            refused.append(EditOutcome(edit, *fault))
    notes = tuple(note for note in patch.notes if guard.fault(note, known) is None)
    return replace(patch, edits=tuple(kept), notes=notes, set_aside=(*patch.set_aside, *refused))


def words(text: str) -> tuple[str, ...]:
    """The words of a text without case and punctuation; each ideograph and kana is a word."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def passages(found: Sequence[str]) -> Iterator[str]:
    """Every passage of a text: from each of its words on, the shortest run that is long enough."""
    widths = [_width(word) for word in found]
    end, width = 0, 0
    for start in range(len(found)):
        while end < len(found) and (end - start < PASSAGE_WORDS or width < PASSAGE_WIDTH):
            width += widths[end] + 1
            end += 1
        if end - start < PASSAGE_WORDS or width < PASSAGE_WIDTH:
            return
        yield " ".join(found[start:end])
        width -= widths[start] + 1


def _width(text: str) -> int:
    """Columns of a text on a terminal: an ideograph takes two."""
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def _telling(secret: str) -> bool:
    """Whether a secret is long enough not to turn up by chance."""
    parts = secret.split()
    if all(part.isdigit() for part in parts):
        return sum(map(len, parts)) >= SECRET_DIGITS
    return _width(secret) >= (SECRET_WORD if len(parts) == 1 else SECRET_WORDS)


def _sentences(text: str) -> Iterator[str]:
    yield from filter(None, map(str.strip, re.split(r"\n|(?<=[.!?;])\s", text)))


def _fixed_answer(sentence: str, answers: Sequence[str]) -> bool:
    """Whether a sentence gives one frequent answer without any condition.

    That is so when its words are the answer, a word such as "answer" or "choose", a word such as
    "always" or "every", and nothing else but fillers from a fixed list.
    """
    every = bool(_FOR_EVERY.search(sentence))
    said = _WORD.findall(_FOR_EVERY.sub("", sentence))
    for answer in answers:
        # A label of one letter differs from an article by its case alone.
        named = _WORD.findall(answer)
        rest = _without(said, named, exact=len(answer) == 1)
        if rest is None:
            continue
        left = {word.casefold() for word in rest}
        unconditional = every or bool(left & _ALWAYS)
        if unconditional and left & _VERBS and left <= _VERBS | _ALWAYS | _FILLERS:
            return True
    return False


def _without(said: Sequence[str], named: Sequence[str], *, exact: bool) -> list[str] | None:
    """The words of a sentence without the first run of some of them; None where there is none."""
    fold = (lambda word: word) if exact else str.casefold
    wanted = [fold(word) for word in named]
    for at in range(len(said) - len(wanted) + 1):
        if wanted and [fold(word) for word in said[at : at + len(wanted)]] == wanted:
            return [*said[:at], *said[at + len(wanted) :]]
    return None
