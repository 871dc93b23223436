"""Checks of references: what a scorer cannot match, how labels are spread, near-duplicate tasks."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from skillopt_cli.benchmarks.kit.labels import (
    MOST_LABELS,
    Referenced,
    ScoreOf,
    labels_of,
    majority_baseline,
)
from skillopt_cli.benchmarks.kit.numbers import is_amount
from skillopt_cli.core.formatting import count
from skillopt_cli.core.labels import MOST_LABELS as LARGEST_SET
from skillopt_cli.core.task import SPLITS

Level = Literal["error", "warning", "info"]

ALIKE = 90
"""Percent of the characters from which on two prompts are nearly the same."""
_SHARED = 0.6
"""Share of words that two prompts have in common before their characters are compared."""
_COMMON = 100
"""Tasks with a word from which on it no longer marks two prompts as alike."""
_LIST = re.compile(
    r"""\s*(?:
        # Of JSON, Python or NumPy.
        (?:array\()?[\[({]\s*(["']).*\1\s*,?\s*[\])}](?:(?:,\s*dtype=\w+)?\))?
        | \[\s*[^\W\d][^\]"']*,[^\]]*\]  # [one, two]
    )\s*""",
    re.DOTALL | re.VERBOSE,
)
_OBJECT = re.compile(r"""\s*\{\s*(?:"[^"]*"|'[^']*')\s*:""")
_DECIMAL = re.compile(r"[-+]?\d*\.\d+")
_NUMERIC = "set env.scorer=numeric, with env.tolerance where digits may be rounded"
_FORMS = 'write the forms that are right as several answers, such as ["1.5", "1.50"]'
"""What to do about decimals among references that are no numbers, which `numeric` refuses."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault or shortcut of the data; an error makes results worthless."""

    level: Level
    what: str
    hint: str = ""


def label_spellings(tasks: Sequence[Referenced]) -> list[dict[str, Referenced]]:
    """The spellings of each label that has several, each with the first task that has it."""
    spellings: dict[str, dict[str, Referenced]] = defaultdict(dict)
    if labels_of(tasks, LARGEST_SET):
        for one in tasks:
            spellings[one.label].setdefault(one.expected[0], one)
    return [forms for forms in spellings.values() if len(forms) > 1]


def spelling_words(labels: Sequence[Iterable[str]]) -> str:
    """What is stated of labels with these spellings each, with the first three; "" of none."""
    if not labels:
        return ""
    are = "label is" if len(labels) == 1 else "labels are"
    return f"{len(labels)} {are} spelt in several ways: {_some(list(map(_alike, labels)))}"


async def label_findings(tasks: Sequence[Referenced], hard: ScoreOf) -> list[Finding]:
    """Counts of the labels with the majority baseline, and labels that a split lacks.

    Args:
        hard: the score of an answer to a task.
    """
    labels = labels_of(tasks)
    if not labels:
        return []
    parts = {split: Counter(one.label for one in tasks if one.split == split) for split in SPLITS}
    listed = ", ".join(
        f"{label[:40]} {'/'.join(str(parts[split][label]) for split in SPLITS)}"
        for label, _ in labels.most_common()
    )
    tested = [one.task for one in tasks if one.split == "test"]
    majority = await majority_baseline(tasks, tested, hard)
    constant = (
        f'; majority baseline: always answering "{majority.answer[:40]}" scores'
        f" {majority.score:.2f} on test"
        if majority
        else ""
    )
    found = [Finding("info", f"labels ({'/'.join(SPLITS)}): {listed}{constant}")]
    for split in SPLITS:
        missing = [label for label in labels if parts[split] and not parts[split][label]]
        if missing:
            found.append(
                Finding(
                    "warning",
                    f"the {split} split has no task with the {_labels(missing)}",
                    'cut a file with env.split_ratio="2:1:7 by label", or add such tasks',
                )
            )
    return found


def list_findings(tasks: Sequence[Referenced]) -> Iterator[Finding]:
    """References that look like a list but are one text, which only that very text meets."""
    found = [one.task.id for one in tasks if any(map(_is_list, one.expected))]
    if found:
        yield Finding(
            "warning",
            f"the reference of {count(len(found), 'task')} is a list written as text:"
            f" {_some(found)}",
            'write several answers as a JSON list, ["one", "two"]; in a table, in a column named'
            " `answers`",
        )


def _is_list(text: str) -> bool:
    return _LIST.fullmatch(text) is not None and not _OBJECT.match(text)


async def spelling_findings(tasks: Sequence[Referenced], hard: ScoreOf) -> list[Finding]:
    """Labels in several spellings, and decimals that the scorer distinguishes.

    Args:
        hard: the score of an answer to a task.
    """
    found = []
    mixed: list[str] = []
    equal: list[Iterable[str]] = []
    for forms in label_spellings(tasks):
        first, *others = forms
        distinct = [text for text in others if await hard(forms[first].task, text) < 1.0]
        if distinct:
            mixed.append(_alike((first, *distinct)))
        else:
            equal.append(forms)
    if mixed:
        found.append(
            Finding(
                "warning",
                f"the scorer distinguishes spellings of one label: {_some(mixed)}",
                "write each label in one way",
            )
        )
    if equal:
        found.append(
            Finding(
                "warning",
                spelling_words(equal),
                "write each label in one way, so that an exact scorer can compare them",
            )
        )
    numbers = all(is_amount(text) for one in tasks for text in one.expected)
    decimals = [one for one in tasks if any(map(_DECIMAL.fullmatch, one.expected))][:MOST_LABELS]
    strict = [one.task.id for one in decimals if await hard(one.task, f"{one.expected[0]}0") < 1.0]
    if strict:
        found.append(
            Finding(
                "warning",
                f"the reference of {count(len(strict), 'task')} is a decimal number that is"
                f" compared as text: {_some(strict)}",
                _NUMERIC if numbers else _FORMS,
            )
        )
    return found


def near_duplicates(tasks: Sequence[Referenced]) -> Iterator[Finding]:
    """Tasks of two splits with nearly the same prompt, the same numbers and the same reference."""
    from rapidfuzz import fuzz  # most commands check no data

    texts = [" ".join(re.findall(r"\w+", one.prompt.casefold())) for one in tasks]
    words = [set(text.split()) for text in texts]
    known = Counter(word for found in words for word in found)
    holders: Mapping[str, list[int]] = defaultdict(list)
    pairs = []
    for place, own in enumerate(words):
        rare = sorted(own, key=lambda word: (known[word], word))
        candidates: set[int] = set()
        # Two sets that share this much share one of the rarest words of either.
        for word in rare[: len(rare) - math.ceil(_SHARED * len(rare)) + 1]:
            if known[word] <= _COMMON:
                candidates.update(holders[word])
                holders[word].append(place)
        pairs += [
            f"{tasks[other].task.id} ~ {tasks[place].task.id}"
            for other in sorted(candidates)
            if tasks[other].split != tasks[place].split
            and _spaced(tasks[other]) != _spaced(tasks[place])
            and tasks[other].expected == tasks[place].expected
            and _numbers(texts[other]) == _numbers(texts[place])
            and fuzz.ratio(texts[other], texts[place], score_cutoff=ALIKE)
        ]
    if pairs:
        yield Finding(
            "warning",
            f"{count(len(pairs), 'pair')} of nearly the same task in two splits: {_some(pairs)}",
            "keep each in one split, else the test measures memory",
        )


def _spaced(one: Referenced) -> list[str]:
    return one.prompt.casefold().split()


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+", text)


def _alike(spellings: Iterable[str]) -> str:
    return " / ".join(f"`{text[:40]}`" for text in spellings)


def _labels(labels: Sequence[str]) -> str:
    return f"label{'s' * (len(labels) > 1)} {', '.join(f'`{label[:40]}`' for label in labels)}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
