"""Answer extraction: the part of a reply that counts, and its contrast with the reference."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skillopt_cli.benchmarks.kit.typography import odd_character
from skillopt_cli.core.score import Score

_TAGGED = re.compile(r"<answer>((?:(?!</?answer>).)*)</answer>", re.IGNORECASE | re.DOTALL)
_LONE_TAG = re.compile(r"^<(?:answer|response)>|</(?:answer|response)>$", re.IGNORECASE)
_BRACE = re.compile(r"\\boxed\s*\{|(?<!\\)[{}]")
_SHOWN = 200


def extract_answer(reply: str) -> str:
    """The final answer: the last `<answer>…</answer>`, else the last line with content.

    Tags may be in any case and span lines. An opening tag that is only mentioned does not count:
    the pair has no other tag between. Of a pair that is not whole, as where a service stops at the
    closing tag, the last line counts without it. So it does in `<response>…</response>`, which some
    models put around all they answer.
    """
    inside = tagged(reply)
    if inside is not None:
        return inside
    lines = (_LONE_TAG.sub("", line.strip()).strip() for line in reversed(reply.split("\n")))
    return next(filter(None, lines), "")


def tagged_or_all(reply: str) -> str:
    """The last `<answer>…</answer>`, else the whole reply: for scorers that search a text."""
    inside = tagged(reply)
    return reply.strip() if inside is None else inside


def last_box(reply: str) -> str | None:
    r"""The content of the last complete `\boxed{…}`; None without one.

    Its braces may be nested; of a box within a box the outer one counts.
    """
    last, opened = None, list[tuple[int, bool]]()
    for match in _BRACE.finditer(reply):
        if match[0] != "}":
            opened.append((match.end(), match[0] != "{"))
        elif opened:
            start, box = opened.pop()
            last = reply[start : match.start()] if box else last
    return None if last is None else last.strip()


def marked(answer: str) -> tuple[str, ...]:
    """The replies that give an answer in the ways benchmarks ask for: bare, tagged, boxed."""
    return (answer, f"<answer>{answer}</answer>", f"\\boxed{{{answer}}}")


def contrast(expected: Sequence[str], got: str) -> str:
    """Expected and given answer in one line; long texts are cut."""
    wanted = " or ".join(_quoted(text) for text in expected)
    came = _quoted(got) if got.strip() else "an empty answer"
    return f"expected {wanted}, got {came}" if wanted else f"got {came}"


def tagged(reply: str) -> str | None:
    """The content of the last `<answer>…</answer>`; None without one."""
    found = _TAGGED.findall(reply)
    return str(found[-1]).strip() if found else None


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line[:_SHOWN]}…"' if len(line) > _SHOWN else f'"{line}"'


def binary_score(right: bool, expected: Sequence[str], answer: str, why: str = "") -> Score:
    """1 for a right answer; else 0, with the contrast of both answers and `why` as feedback."""
    why = "" if right else why or odd_character(answer, expected)
    feedback = "" if right else f"{contrast(expected, answer)}{why}"
    return Score(float(right), float(right), feedback, tuple(expected))


def given_up(expected: tuple[str, ...] = (), why: str = "") -> Score:
    """The score of an attempt that ended without an answer."""
    return Score(0.0, 0.0, why or "no answer was given", expected)
