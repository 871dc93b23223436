r"""Scoring of BabyVision: boxed answers, as far as no judge is needed.

The published scorer asks a judge about every answer. Here none is asked where the
score is obvious: `\boxed{…}` is empty, an option is named by letter or text, or the answer equals
the reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from skillopt_cli.benchmarks.babyvision.tasks import BLANKS
from skillopt_cli.benchmarks.kit.answers import binary_score, last_box
from skillopt_cli.benchmarks.kit.choices import chosen, expected
from skillopt_cli.core.score import Score

NO_BOX = "the reply has no answer in \\boxed{...}"
_OPEN, _CLOSE = "<|begin_of_box|>", "<|end_of_box|>"
_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_BETWEEN = re.compile(r" ?[|,;] ?")
_EDGES = " \t\r\n.,;:!?\"'*_`$"


def boxed(reply: str) -> str:
    r"""The answer: the last `\boxed{…}`, else the text between the last box tokens, else ""."""
    box = last_box(reply)
    if box is not None:
        return box
    before, closed, _ = reply.rpartition(_CLOSE)
    _, opened, inside = before.rpartition(_OPEN)
    return inside.strip() if closed and opened else ""


def clear_score(data: Mapping[str, Any], answer: str) -> Score | None:
    """The score of an extracted answer that needs no judge; None for any other."""
    wanted = expected(data)
    if not answer:
        return binary_score(False, wanted, "", f": {NO_BOX}")
    if data["choices"]:
        picked = chosen(answer, data["choices"])
        right = None if picked is None else picked == data["right"]
    else:
        right = _same(answer, data["answer"]) or None
    if right is None:
        return None
    return binary_score(right, wanted, answer)


def _same(answer: str, reference: str) -> bool:
    wanted = _parts(reference, BLANKS)
    return answer == reference or (all(wanted) and _parts(answer) == wanted)


def _parts(text: str, between: str = "") -> list[str]:
    """What fills each blank, apart from case, spacing and the marks around it."""
    plain = " ".join(_TEXT.sub(r"\1", text).split())
    blanks = plain.split(between) if between else [plain]
    parts = [part for blank in blanks for part in _BETWEEN.split(blank)]
    return [" ".join(part.casefold().split()).strip(_EDGES) for part in parts]
