"""Checks of labels: how they are spread over the splits, and in which spellings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from skillopt_cli.benchmarks.kit.labels import (
    MOST_LABELS,
    Referenced,
    ScoreOf,
    labels_of,
    majority_baselines,
)
from skillopt_cli.benchmarks.kit.missing_groups import missing_groups, missing_words
from skillopt_cli.benchmarks.kit.numbers import is_amount
from skillopt_cli.benchmarks.kit.reference_checks import Finding, first_three
from skillopt_cli.benchmarks.kit.typography import plain_line
from skillopt_cli.core.formatting import count
from skillopt_cli.core.labels import MOST_LABELS as LARGEST_SET
from skillopt_cli.core.labels import TASKS_PER_LABEL
from skillopt_cli.core.task import SPLITS, Split

_SEPARATORS = re.compile(
    r"(?<=[^\W_])[\s_-]+(?=[^\W\d_])|(?<=[^\W\d_])[\s_-]+(?=[^\W_])"  # not of two numbers
)
_DECIMAL = re.compile(r"[-+]?\d*\.\d+")
_NUMERIC = "set env.scorer=numeric, with env.tolerance where digits may be rounded"
_FORMS = 'write the forms that are right as several answers, such as ["1.5", "1.50"]'
"""What to do about decimals among references that are no numbers, which `numeric` refuses."""


async def label_findings(
    tasks: Sequence[Referenced], hard: ScoreOf, hint: str = ""
) -> list[Finding]:
    """Counts of the labels with the majority baseline, and labels that a split lacks.

    Args:
        hard: the score of an answer to a task.
        hint: how a label gets into a split that lacks it.
    """
    alike = _spelt_alike(tasks)
    if not alike:
        return []
    labels = Counter(alike.values())
    parts = {
        split: Counter(alike[one.task.id] for one in tasks if one.split == split)
        for split in SPLITS
    }
    listed = ", ".join(
        f"{label[:40]} {'/'.join(str(parts[split][label]) for split in SPLITS)}"
        for label, _ in labels.most_common()
    )
    tested = [one.task for one in tasks if one.split == "test"]
    majority = next(iter(await majority_baselines(tasks, tested, hard)), None)
    constant = (
        f'; majority baseline: always answering "{majority.answer[:40]}" scores'
        f" {majority.score:.2f} on test"
        if majority
        else ""
    )
    found = [Finding("info", f"labels ({'/'.join(SPLITS)}): {listed}{constant}")]
    rare = rare_labels(tasks)
    if rare:
        found.append(
            Finding(
                "warning",
                rare_words(rare),
                f"add tasks until each has {len(SPLITS)}, or leave these out: a split without a"
                " label shows nothing about it",
            )
        )
    for split, names in missing_labels(tasks).items():
        found.append(Finding("warning", missing_words(split, "label", names), hint))
    return found


def rare_labels(tasks: Sequence[Referenced]) -> dict[str, int]:
    """The labels with fewer tasks than there are splits, with how many they have.

    None where most answers are of few tasks, or are numbers: then the answers are no set of labels.
    """
    labels = Counter(_spelt_alike(tasks).values())
    if TASKS_PER_LABEL * len(labels) > len(tasks) or all(map(is_amount, labels)):
        return {}
    return {label: n for label, n in labels.items() if n < len(SPLITS)}


def rare_words(labels: Mapping[str, int]) -> str:
    """What is stated of labels with so few tasks each, with the first three; "" of none."""
    if not labels:
        return ""
    have = "label has" if len(labels) == 1 else "labels have"
    named = [f"`{label[:40]}` ({n})" for label, n in labels.items()]
    return f"{len(labels)} {have} fewer tasks than there are splits: {first_three(named)}"


def missing_labels(tasks: Sequence[Referenced]) -> dict[Split, list[str]]:
    """The labels that a split lacks, without those that have too few tasks for all of them."""
    alike, rare = _spelt_alike(tasks), rare_labels(tasks)
    parts: dict[Split, Counter[str]] = {
        split: Counter(alike[one.task.id] for one in tasks if one.split == split)
        for split in SPLITS
        if alike
    }
    return missing_groups(parts, [label for label in Counter(alike.values()) if label not in rare])


async def spelling_findings(tasks: Sequence[Referenced], hard: ScoreOf) -> list[Finding]:
    """Labels in several spellings, and decimals that are compared as text.

    Args:
        hard: the score of an answer to a task.
    """
    found = []
    distinguished = label_spellings(tasks)
    if distinguished:
        listed = first_three(list(map(_alike, distinguished)))
        found.append(
            Finding(
                "warning",
                f"the scorer distinguishes spellings of one label: {listed}",
                "write each label in one way",
            )
        )
    # What the exact scorer would distinguish.
    exact = label_spellings([replace(one, normalised=plain_line) for one in tasks])
    known = {form for forms in distinguished for form in forms}
    if equal := [forms for forms in exact if known.isdisjoint(forms)]:
        found.append(
            Finding(
                "info",
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
                f" compared as text: {first_three(strict)}",
                _NUMERIC if numbers else _FORMS,
            )
        )
    return found


def label_spellings(tasks: Sequence[Referenced]) -> list[list[str]]:
    """The spellings of each label of which the scorer distinguishes several, with single spaces."""
    spellings: dict[str, dict[str, str]] = defaultdict(dict)
    if labels_of(tasks, LARGEST_SET):
        for one in tasks:
            spellings[_joined(one.label)].setdefault(one.compared, plain_line(one.expected[0]))
    return [list(forms.values()) for forms in spellings.values() if len(forms) > 1]


def spelling_words(labels: Sequence[Iterable[str]]) -> str:
    """What is stated of labels with these spellings each, with the first three; "" of none."""
    if not labels:
        return ""
    are = "label is" if len(labels) == 1 else "labels are"
    return f"{len(labels)} {are} spelt in several ways: {first_three(list(map(_alike, labels)))}"


def _spelt_alike(tasks: Sequence[Referenced]) -> dict[str, str]:
    """The label of each task by its id, each in its commonest spelling; nothing without labels."""
    labels = labels_of(tasks)
    commonest = {_joined(label): label for label, _ in reversed(labels.most_common())}
    return {one.task.id: commonest[_joined(one.label)] for one in tasks} if labels else {}


def _joined(label: str) -> str:
    """A label without what separates its words."""
    return _SEPARATORS.sub("", label)


def _alike(spellings: Iterable[str]) -> str:
    return " / ".join(f"`{text[:40]}`" for text in spellings)
