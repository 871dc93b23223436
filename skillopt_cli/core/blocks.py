"""Blocks of a Markdown skill (sections, list items, paragraphs), and the text without some. Pure.

Front matter and protected regions belong to no block and stay byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from skillopt_cli.core.skill import SkillDocument

BlockKind = Literal["section", "item", "paragraph"]

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING = re.compile(r"(#{1,6})[ \t]+\S")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_INDENT = re.compile(r"[ \t]*")
_TAB = 4


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch `text[start:end]` of a skill, with the blank lines below it.

    Attributes:
        line: its first line, without white space around it.
    """

    kind: BlockKind
    start: int
    end: int
    line: str

    def holds(self, other: Block) -> bool:
        """Whether another block lies in this one."""
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch that no block divides; the pieces of a text make it up without a gap.

    Attributes:
        level: of a heading its number of marks, of an item its indent.
        tail: where the blank lines at its end begin.
        segment: which stretch between protected regions it lies in.
    """

    kind: Literal["heading", "item", "paragraph", "gap", "fixed"]
    start: int
    end: int
    tail: int
    level: int = 0
    segment: int = 0


def blocks(skill: SkillDocument) -> tuple[Block, ...]:
    """The blocks of a skill's own text, each before those in it, in order of appearance."""
    pieces = tuple(_pieces(skill))
    return tuple(
        Block(kind, piece.start, pieces[_last(pieces, i)].end, _first_line(skill.text, piece.start))
        for i, piece in enumerate(pieces)
        if (kind := _KINDS.get(piece.kind))
    )


_KINDS: dict[str, BlockKind] = {"heading": "section", "item": "item", "paragraph": "paragraph"}


def without(skill: SkillDocument, removed: Collection[Block]) -> SkillDocument:
    """The skill without some of its blocks; without none it is the same text, byte for byte.

    A blank line between what is left above and below a block stays.
    """
    text, kept, blank = skill.text, "", ""
    for piece in _pieces(skill):
        gone = any(b.start <= piece.start and piece.end <= b.end for b in removed)
        if gone and piece.kind not in ("fixed", "gap"):
            blank = blank or text[piece.tail : piece.end]
            continue
        kept += ("" if _ends_blank(kept) else blank) + text[piece.start : piece.end]
        blank = ""
    return replace(skill, text=kept)


def _ends_blank(text: str) -> bool:
    return not text.strip() or not text.endswith("\n") or not text.splitlines()[-1].strip()


def _last(pieces: tuple[_Piece, ...], i: int) -> int:
    """The last piece of the block that the piece at `i` begins."""
    first, last = pieces[i], i
    for j in range(i + 1, len(pieces)):
        piece = pieces[j]
        if first.kind == "heading":
            if piece.kind == "heading" and piece.level <= first.level:
                break
            last = last if piece.kind in ("fixed", "gap") else j
        elif first.kind == "item" and piece.kind == "item" and piece.segment == first.segment:
            if piece.level <= first.level:
                break
            last = j
        else:
            break
    return last


def _first_line(text: str, start: int) -> str:
    found = _LINE.match(text, start)
    return found.group().strip() if found else ""


def _pieces(skill: SkillDocument) -> Iterator[_Piece]:
    """The text, cut into pieces."""
    at = 0
    for number, region in enumerate(skill.regions):
        yield from _cut(skill.text, at, region.start, number)
        yield _Piece("fixed", region.start, region.end, region.end)
        at = region.end
    yield from _cut(skill.text, at, len(skill.text), len(skill.regions))


def _cut(text: str, start: int, end: int, segment: int) -> Iterator[_Piece]:
    """The pieces of a stretch between protected regions."""
    piece: _Piece | None = None
    fence = ""
    for line in _LINE.finditer(text, start, end):
        begun = None if fence else _begun(line, piece)
        if begun is not None:
            if piece is not None:
                yield piece
            piece = replace(begun, segment=segment)
        assert piece is not None
        blank = not line.group().strip() and not fence
        piece = replace(piece, end=line.end(), tail=piece.tail if blank else line.end())
        fence = _fence(line.group(), fence)
    if piece is not None:
        yield piece


def _begun(line: re.Match[str], piece: _Piece | None) -> _Piece | None:
    """The piece that a line begins; None where it continues the one before."""
    text, at = line.group(), line.start()
    if not text.strip():
        return _Piece("gap", at, at, at) if piece is None else None
    if heading := _HEADING.match(text):
        return _Piece("heading", at, at, at, len(heading[1]))
    if item := _ITEM.match(text):
        return _Piece("item", at, at, at, _width(item[1]))
    apart = piece is None or piece.kind in ("heading", "gap") or piece.tail < piece.end
    if not apart:
        return None
    indent = _INDENT.match(text)
    inside = piece is not None and piece.kind == "item" and indent is not None
    if inside and piece is not None and indent is not None and _width(indent[0]) > piece.level:
        return None
    return _Piece("paragraph", at, at, at)


def _width(indent: str) -> int:
    return len(indent.expandtabs(_TAB))


def _fence(line: str, open_fence: str) -> str:
    """The fence of the code block that goes on after a line; empty outside of one."""
    found = _FENCE.match(line)
    if found is None:
        return open_fence
    if not open_fence:
        return found[1]
    closes = found[1].startswith(open_fence) and not line[found.end() :].strip()
    return "" if closes else open_fence
