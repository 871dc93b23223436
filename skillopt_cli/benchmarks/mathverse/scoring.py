"""Scoring of MathVerse, as far as no judge is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from skillopt_cli.benchmarks.kit.answers import binary_score, extract_answer, last_box, tagged
from skillopt_cli.benchmarks.kit.choices import choice_score, expected
from skillopt_cli.benchmarks.mathverse.equivalence import (
    same_as_published,
    same_mathematics,
    same_text,
)
from skillopt_cli.core.score import Score

Equivalence = Literal["algebra", "published"]


def answered(reply: str) -> str:
    r"""The answer: the last `<answer>…</answer>`, else the last `\boxed{…}`, else the last line.

    A box within the tags, too, only sets the answer apart.
    """
    inside = tagged(reply)
    boxed = last_box(reply if inside is None else inside)
    if boxed is not None:
        return boxed
    return extract_answer(reply) if inside is None else inside


def clear_score(data: Mapping[str, Any], answer: str, by: Equivalence) -> Score | None:
    """The score of an extracted answer that needs no judge; None for any other.

    Args:
        by: how free answers are compared: by text and then algebra, or as published.
    """
    if data["choices"]:
        return choice_score(answer, data["choices"], {data["right"]})
    right = bool(answer) and _same(answer, data["answer"], by)
    return binary_score(right, expected(data), answer) if right or not answer else None


def _same(answer: str, reference: str, by: Equivalence) -> bool:
    if by == "published":
        return same_as_published(answer, reference)
    return same_text(answer, reference) or same_mathematics(answer, reference)
