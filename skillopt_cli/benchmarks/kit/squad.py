"""The SQuAD measures: exact match and word F1 on normalised text.

Source: the evaluation of Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of
Text" (2016), which SearchQA results are reported in.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from skillopt_cli.benchmarks.kit.answers import contrast
from skillopt_cli.core.score import Score

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(a|an|the)\b")


def normalise(text: str) -> str:
    """Lower case, without ASCII punctuation and articles, words set apart by single spaces."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())


def exact_match(prediction: str, golds: Sequence[str]) -> bool:
    """Whether the normalised prediction equals a normalised gold answer."""
    wanted = normalise(prediction)
    return any(normalise(gold) == wanted for gold in golds)


def f1(prediction: str, golds: Sequence[str]) -> float:
    """The best word-multiset F1 over the gold answers, in [0, 1].

    Without a word in the prediction it is 1 if some gold answer has none either, else 0; otherwise
    gold answers without a word are skipped.
    """
    words = normalise(prediction).split()
    if not words:
        return float(any(not normalise(gold) for gold in golds))
    return max((_overlap(words, normalise(gold).split()) for gold in golds), default=0.0)


def squad_score(answer: str, golds: tuple[str, ...]) -> Score:
    """Exact match as the hard score and word F1 as the soft one, both as SQuAD defines them."""
    hard, soft = exact_match(answer, golds), f1(answer, golds)
    feedback = "" if hard else contrast(golds, answer)
    if soft and not hard:
        feedback += f"; some words agree (F1 {soft:.2f})"
    return Score(float(hard), soft, feedback, golds)


def _overlap(prediction: list[str], gold: list[str]) -> float:
    common = (Counter(prediction) & Counter(gold)).total()
    # The sum of precision and recall is not needed: 2PR / (P + R) is exactly this ratio.
    return 2 * common / (len(prediction) + len(gold))
