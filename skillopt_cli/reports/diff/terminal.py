"""A comparison drawn in colours on a terminal, or with marked words where there are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.text import Text

from skillopt_cli.reports.diff.lines import Opcode, pairs, words
from skillopt_cli.reports.diff.patch import notes, range_line
from skillopt_cli.reports.diff.skill_diff import SkillDiff
from skillopt_cli.reports.page import visible

EQUAL = "the skills are equal"


@dataclass(frozen=True, slots=True)
class Screen:
    """A comparison for a terminal: removed and added lines, with the words that differ marked.

    What made a change, and the protected region it is in, stand above it.

    Args:
        marks: one line for a removed and an added one, with `[-old-]{+new+}`.
    """

    diff: SkillDiff
    marks: bool = False

    def __rich__(self) -> Group:
        """The drawing, a Rich text a line."""
        return Group(*self.texts())

    def texts(self) -> Iterator[Text]:
        """The lines of the drawing."""
        diff = self.diff
        if diff.equal:
            yield Text(EQUAL)
        else:
            yield Text(visible(f"--- {diff.a}"), "bold")
            yield Text(visible(f"+++ {diff.b}"), "bold")
        for hunk in diff.hunks:
            yield Text(range_line(hunk), style="cyan")
            for opcode in hunk:
                yield from self._part(opcode)
        yield Text(diff.headline, style="bold")

    def _part(self, opcode: Opcode) -> Iterator[Text]:
        kind, _, _, j, m = opcode
        diff = self.diff
        if kind == "equal":
            for number, line in enumerate(diff.new[j:m], j):
                guarded = any(a <= number < b for a, b in diff.guarded_b.values())
                yield from _texts(" ", line, "magenta" if guarded else "")
            return
        drawn = _merged if self.marks else _paired
        for block in diff.blocks_in(opcode):
            for note in notes(block):
                yield Text(f"# {visible(note)}", style="italic dim cyan")
            yield from drawn(
                diff.old[block.old.start : block.old.stop],
                diff.new[block.new.start : block.new.stop],
            )


def words_text(diff: SkillDiff) -> str:
    """The comparison with words marked inside the lines, for a reader without colours."""
    return "".join(f"{text.plain}\n" for text in Screen(diff, marks=True).texts())


def _paired(removed: Sequence[str], added: Sequence[str]) -> Iterator[Text]:
    """Removed lines, then added ones; in lines that have a partner the words that differ stand out.

    Lines stay in the order of a patch, so that a screen and a patch read alike.
    """
    old, new = [], []
    for before, after in pairs(removed, added):
        if before is not None and after is not None:
            old.append(_highlighted("-", before, after))
            new.append(_highlighted("+", before, after))
        elif before is not None:
            old.append(list(_texts("-", before, "red")))
        elif after is not None:
            new.append(list(_texts("+", after, "green")))
    for texts in (*old, *new):
        yield from texts


def _highlighted(sign: str, before: str, after: str) -> list[Text]:
    colour = "red" if sign == "-" else "green"
    text = Text(sign, style=colour)
    for kind, old, new in words(before, after):
        piece = old if sign == "-" else new
        text.append(piece, "" if kind == "equal" else f"bold reverse {colour}")
    return _cleaned(text)


def _merged(removed: Sequence[str], added: Sequence[str]) -> Iterator[Text]:
    """One line for a pair, with `[-old-]{+new+}` where the words differ."""
    for before, after in pairs(removed, added):
        text = Text()
        for kind, old, new in words(before or "", after or ""):
            if kind == "equal":
                text.append(new)
                continue
            if old:
                text.append(f"[-{old}-]", "red")
            if new:
                text.append(f"{{+{new}+}}", "green")
        if not (before or after):
            text.append("[--]" if after is None else "{++}", "red" if after is None else "green")
        yield from _cleaned(text)


def _texts(sign: str, line: str, style: str) -> Iterator[Text]:
    for i, part in enumerate(line.split("\n")):
        yield Text(visible(f"{'' if i else sign}{part}"), style=style)


def _cleaned(text: Text) -> list[Text]:
    """The text by lines, without characters a terminal would obey."""
    parts = []
    for part in text.split("\n"):
        shown = Text(style=text.style)
        for piece in part.divide(sorted({at for s in part.spans for at in (s.start, s.end)})):
            style = piece.spans[0].style if piece.spans else ""
            shown.append(visible(piece.plain), style)
        parts.append(shown)
    return parts
