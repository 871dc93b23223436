"""What tasks that score differently with two skills are called."""

from __future__ import annotations


def flip_names(metric: str) -> tuple[str, str]:
    """What tasks did on which the second skill scores higher than the first, and lower.

    They are fixed or broke under the hard score alone: a graded score may move while the answer
    stays wrong.
    """
    return ("fixed", "broke") if metric == "hard" else ("higher", "lower")


def flips_words(metric: str, won: int, lost: int) -> str:
    """The numbers of these tasks: `5 fixed, 0 broken`, or under graded scores `5 higher, 0 lower`.

    Args:
        won, lost: number of tasks on which the second skill scores higher, and lower.
    """
    if metric == "hard":
        return f"{won} fixed, {lost} broken"
    return f"{won} higher, {lost} lower"
