"""The SQuAD measures and ANLS, written from their definitions in other ways than the package does.

Slow and plain: no regular expression, no counter, no library for edit distances.

Sources: the evaluation script of SQuAD 2.0 (Rajpurkar et al., 2018), and the paper of ANLS (Biten
et al., 2019) with the normalisation that DocVQA results are reported in.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
ARTICLES = ("a", "an", "the")


def squad_words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation and articles.

    An article is a run of letters and digits of its own; what stands beside it stays.
    """
    bare = "".join(letter for letter in text.lower() if letter not in PUNCTUATION)
    runs = ["".join(run) for _, run in groupby(bare, key=str.isalnum)]
    return "".join(" " if run in ARTICLES else run for run in runs).split()


def squad_exact(prediction: str, golds: Sequence[str]) -> bool:
    """Whether the words of the prediction are those of a gold answer.

    Gold answers without a word are dropped; where none is left, the only one is without a word.
    """
    return any(squad_words(prediction) == gold for gold in _answers(golds))


def squad_f1(prediction: str, golds: Sequence[str]) -> float:
    """The best harmonic mean of precision and recall of the prediction's words."""
    return max(_f1(squad_words(prediction), gold) for gold in _answers(golds))


def _answers(golds: Sequence[str]) -> list[list[str]]:
    return [words for gold in golds if (words := squad_words(gold))] or [[]]


def _f1(prediction: list[str], gold: list[str]) -> float:
    if not prediction or not gold:
        return float(prediction == gold)
    left = list(gold)
    for word in prediction:
        if word in left:
            left.remove(word)
    common = len(gold) - len(left)
    if not common:
        return 0.0
    precision, recall = common / len(prediction), common / len(gold)
    return 2 * precision * recall / (precision + recall)


def edit_distance(one: str, other: str) -> int:
    """The fewest insertions, deletions and replacements of characters, by the full table."""
    table = [[row + column for column in range(len(other) + 1)] for row in range(len(one) + 1)]
    for row, a in enumerate(one, 1):
        for column, b in enumerate(other, 1):
            table[row][column] = min(
                table[row - 1][column] + 1,
                table[row][column - 1] + 1,
                table[row - 1][column - 1] + (a != b),
            )
    return table[-1][-1]


def published_anls(answer: str, golds: Sequence[str]) -> float:
    """One minus the smallest normalised edit distance; 0 where that is half or more."""
    shares = []
    for gold in golds:
        texts = [" ".join(text.strip().lower().split()) for text in (answer, gold)]
        longest = max(len(text) for text in texts)
        shares.append(edit_distance(*texts) / longest if longest else 0.0)
    nearest = min(shares)
    return 1 - nearest if nearest < 0.5 else 0.0
