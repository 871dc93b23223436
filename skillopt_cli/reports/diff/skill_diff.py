"""Two skill texts compared: blocks of changed lines, counts, and what was protected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from skillopt_cli.core.edits import Edit
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.reports.diff.blame import Blame, Cause, blame
from skillopt_cli.reports.diff.lines import NO_NEWLINE, Opcode, lines_of, matched, regions_of
from skillopt_cli.reports.diff.named_skill import NamedSkill
from skillopt_cli.runlog.text.format import count

_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that differ; line numbers count from 0.

    Attributes:
        old, new: where the lines stand in either text; empty for a pure insertion or deletion.
        regions: protected regions the block reaches into.
        causes: what made the change, for two texts of one run.
    """

    old: range
    new: range
    regions: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillDiff:
    """Two skill texts compared.

    Attributes:
        a, b: what the texts are called.
        old, new: their lines, as `lines_of` gives them.
        blocks: the changed lines, in reading order; none when the texts are equal.
        chars_a, chars_b: characters.
        protected: what happened to protected regions, region name to added, removed or changed;
            None when the markers of a text do not pair up, so that it is not known.
        guarded_a, guarded_b: protected regions as line ranges.
    """

    a: str
    b: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    blocks: tuple[Block, ...]
    chars_a: int
    chars_b: int
    protected: dict[str, str] | None
    guarded_a: dict[str, tuple[int, int]]
    guarded_b: dict[str, tuple[int, int]]

    @property
    def equal(self) -> bool:
        """Whether the texts are the same to the byte."""
        return not self.blocks

    @property
    def added(self) -> int:
        """Lines that are new."""
        return sum(len(block.new) for block in self.blocks)

    @property
    def removed(self) -> int:
        """Lines that are gone."""
        return sum(len(block.old) for block in self.blocks)

    @property
    def hunks(self) -> Iterator[list[Opcode]]:
        """Changed blocks with the lines around them, as `difflib` groups them."""
        yield from matched(self.old, self.new).get_grouped_opcodes(_CONTEXT)

    def blocks_in(self, opcode: Opcode) -> Iterator[Block]:
        """The blocks that an opcode other than `equal` consists of."""
        _, i, k, j, m = opcode
        for block in self.blocks:
            old, new = block.old, block.new
            if i <= old.start and old.stop <= k and j <= new.start and new.stop <= m:
                yield block

    @property
    def headline(self) -> str:
        """The summary in one line."""
        grown = f"{self.chars_b - self.chars_a:+,}"
        regions = f"; {words}" if (words := self._protected_words) else ""
        return (
            f"{count(self.added, 'line')} added, {self.removed:,} removed; "
            f"{count(self.chars_b, 'character')} ({grown}){regions}"
        )

    @property
    def _protected_words(self) -> str:
        if self.protected is None:
            return "protected regions unknown: the markers do not pair up"
        if not self.protected:
            return "protected regions equal" if self.guarded_b else ""
        parts = ", ".join(f"{name} {what}" for name, what in self.protected.items())
        return f"protected regions touched: {parts}"

    def block_document(self, block: Block) -> dict[str, Any]:
        """A block as JSON; line numbers count from 1."""
        return {
            "a_start": block.old.start + 1,
            "removed": _bare(self.old[block.old.start : block.old.stop]),
            "b_start": block.new.start + 1,
            "added": _bare(self.new[block.new.start : block.new.stop]),
            "protected": list(block.regions),
            "causes": [
                {
                    "step": c.step,
                    "epoch_end": c.epoch or None,
                    "what": c.what or None,
                    "edits": [_record(c, edit) for edit in c.edits],
                }
                for c in block.causes
            ],
        }


def diff_skills(a: NamedSkill, b: NamedSkill) -> SkillDiff:
    """Compare two named skills; two of one run with what made them differ."""
    return compare((a.name, a.text), (b.name, b.text), blame(a, b))


def compare(
    a: tuple[str, str], b: tuple[str, str], causes: Blame | None = None, *, guarded: bool = True
) -> SkillDiff:
    """Compare two texts, each given with its name. Pure.

    Args:
        guarded: whether they can have protected regions.
    """
    (name_a, text_a), (name_b, text_b) = a, b
    old, new = lines_of(text_a), lines_of(text_b)
    guarded_a, guarded_b = (
        (regions_of(text) or {}) if guarded else {} for text in (text_a, text_b)
    )

    def about(before: range, after: range) -> tuple[tuple[str, ...], tuple[Cause, ...]]:
        names = (*_reached(guarded_a, before), *_reached(guarded_b, after))
        return tuple(dict.fromkeys(names)), causes.of(before, after) if causes else ()

    opcodes = [code for code in matched(old, new).get_opcodes() if code[0] != "equal"]
    blocks = (
        Block(before, after, *about(before, after))
        for code in opcodes
        for before, after in _parts(code, about)
    )
    return SkillDiff(
        name_a,
        name_b,
        tuple(old),
        tuple(new),
        tuple(blocks),
        chars_a=len(text_a),
        chars_b=len(text_b),
        protected=_protected(text_a, text_b) if guarded else {},
        guarded_a=guarded_a,
        guarded_b=guarded_b,
    )


def _parts(
    opcode: Opcode, about: Callable[[range, range], object]
) -> Iterator[tuple[range, range]]:
    """An insertion or deletion, cut where its lines stop having the same cause and region.

    A replacement stays whole: its lines belong together in pairs.
    """
    kind, i, k, j, m = opcode
    if kind == "replace":
        yield range(i, k), range(j, m)
        return
    single = [(range(n, n + 1), range(j, j)) for n in range(i, k)]
    single += [(range(i, i), range(n, n + 1)) for n in range(j, m)]
    for _, group in groupby(single, key=lambda line: about(*line)):
        lines = list(group)
        (old, new), (last_old, last_new) = lines[0], lines[-1]
        yield range(old.start, last_old.stop), range(new.start, last_new.stop)


def _bare(lines: Sequence[str]) -> list[str]:
    return [line.removesuffix(f"\n{NO_NEWLINE}") for line in lines]


def _reached(regions: dict[str, tuple[int, int]], lines: range) -> Iterator[str]:
    for name, (start, stop) in regions.items():
        if lines.start < stop and lines.stop > start and len(lines):
            yield name


def _protected(a: str, b: str) -> dict[str, str] | None:
    try:
        old, new = (
            {r.name: text[r.start : r.end] for r in SkillDocument(text).regions} for text in (a, b)
        )
    except DataError:
        return None
    touched: dict[str, str] = {}
    for name in (*old, *(n for n in new if n not in old)):
        if name not in new:
            touched[name] = "removed"
        elif name not in old:
            touched[name] = "added"
        elif old[name] != new[name]:
            touched[name] = "changed"
    return touched


def _record(cause: Cause, edit: Edit) -> dict[str, Any]:
    """An edit with its trial, where it was tried on tasks."""
    trial = cause.trial_of(edit)
    return edit.record | ({"trial": trial.record} if trial else {})
