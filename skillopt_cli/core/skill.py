"""The skill document: the text that is trained, and the parts of it that no step may touch."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from skillopt_cli.core.companion_files import SKILL_FILE, Folder
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.front_matter import fault_of_metadata, front_matter
from skillopt_cli.core.worked_examples import set_apart, without_marks

SLOW_UPDATE = "SLOW_UPDATE"
APPENDIX = "APPENDIX"
FRONT_MATTER = "FRONT_MATTER"

MARKER = re.compile(r"<!--\s*(SLOW_UPDATE|APPENDIX)_(START|END)\s*-->")
_PAIR = re.compile(
    r"<!--\s*(SLOW_UPDATE|APPENDIX)_START\s*-->"
    r"(?:(?!<!--\s*(?:SLOW_UPDATE|APPENDIX)_(?:START|END)\s*-->).)*"
    r"<!--\s*\1_END\s*-->",
    re.DOTALL,
)
_LONGEST_TITLE = 100
_BLANK_LINES = re.compile(r"(?:[ \t]*\r?\n)+")


@dataclass(frozen=True, slots=True)
class Region:
    """A protected stretch of the text, markers included: `text[start:end]`."""

    name: str
    start: int
    end: int
    inner: str

    @property
    def empty(self) -> bool:
        """Whether there is nothing but white space between the markers."""
        return not self.inner.strip()


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """A Markdown skill, alone or in a folder. Immutable; equal when all they hold is.

    Protected regions (method, section 1) are the YAML front matter at the very top and the
    stretches between `<!-- SLOW_UPDATE_START/END -->` and `<!-- APPENDIX_START/END -->`. The files
    of a folder have none.

    Attributes:
        text: the Markdown; of a folder, its SKILL.md.
        folder: what lies beside it; None for a skill that is one file.
    """

    text: str
    folder: Folder | None = None

    @property
    def digest(self) -> str:
        """Hex SHA-256 of what a target is given: the text, and every file beside it.

        What an optimizer may change is no part of it. Without files it is that of the text.
        """
        own = hashlib.sha256(self.text.encode(errors="surrogatepass")).hexdigest()
        if self.folder is None or not self.folder.files:
            return own
        files = [[file.path, file.digest, file.executable] for file in self.folder.files]
        return hashlib.sha256(json.dumps([own, files]).encode()).hexdigest()

    @property
    def title(self) -> str:
        """Its first line with content, in plain letters; empty where none has any."""
        front = front_matter(self.text)
        rest = MARKER.sub("", self.text[front.end if front else 0 :])
        lines = (line.strip().lstrip("#").strip("-*_ \t") for line in rest.splitlines())
        return next(filter(None, lines), "")[:_LONGEST_TITLE]

    @property
    def texts(self) -> Mapping[str, str]:
        """Every text by its path, that of SKILL.md first."""
        return {SKILL_FILE: self.text, **dict(self.folder.texts if self.folder else ())}

    @property
    def chars(self) -> int:
        """Characters of all its texts together."""
        return sum(map(len, self.texts.values()))

    @property
    def regions(self) -> tuple[Region, ...]:
        """Protected regions in order of appearance.

        Raises:
            DataError: markers are unbalanced, nested or repeated.
        """
        found: list[Region] = []
        front = front_matter(self.text)
        if front:
            found.append(Region(FRONT_MATTER, 0, front.end, self.text[: front.end]))
        opened: re.Match[str] | None = None
        for marker in MARKER.finditer(self.text, front.end if front else 0):
            name, edge = marker.groups()
            if edge == "START" and opened is None:
                opened = marker
            elif edge == "END" and opened is not None and opened.group(1) == name:
                inner = self.text[opened.end() : marker.start()]
                found.append(Region(name, opened.start(), marker.end(), inner))
                opened = None
            else:
                raise _unbalanced(name)
        if opened is not None:
            raise _unbalanced(opened.group(1))
        names = [region.name for region in found]
        for name in names:
            if names.count(name) > 1:
                raise DataError(
                    f"the skill has more than one {name} region",
                    "keep one pair of markers and merge their texts",
                )
        return tuple(found)

    @property
    def body(self) -> str:
        """The text without its protected regions: what step edits may change."""
        return _cut(self.text, self.regions)

    @property
    def sent(self) -> SkillDocument:
        """What the target reads: without *empty* protected regions and marks of worked examples.

        A document that merely gained an empty region is the same instruction, so rollout keys
        use this text's digest (method, decision 5). It ends with exactly one line break. The files
        of a folder stay as they are.
        """
        empty = tuple(r for r in self.regions if r.empty and r.name != FRONT_MATTER)
        text = without_marks(_cut(self.text, empty)).rstrip("\n")
        return replace(self, text=f"{text}\n" if text else "")

    def shipped(self, original: str | None = None) -> str:
        """The text to take away: what regions hold stays as plain text, every mark of ours goes.

        Args:
            original: the text that was trained. It is returned byte for byte where the training
                changed nothing but marks and the line ends at the very end.
        """
        plain = _unmarked(self)
        if original is None:
            return plain
        same = plain.rstrip("\r\n") == _unmarked(SkillDocument(original)).rstrip("\r\n")
        return original if same else plain

    @property
    def has_instructions(self) -> bool:
        """Whether there is anything but white space outside the protected regions."""
        return bool(self.body.strip())

    def region(self, name: str) -> str | None:
        """The content of a region, without markers and surrounding blank lines; None without it."""
        return next((r.inner.strip("\n") for r in self.regions if r.name == name), None)

    def with_region(self, name: str, inner: str) -> SkillDocument:
        """The document with `inner` in a region, planted at the end when it is missing.

        Everything outside the region stays byte for byte. White space around `inner` is dropped.

        Raises:
            ValueError: `inner` holds a region marker.
        """
        if MARKER.search(inner):
            raise ValueError("the text of a region must not hold a marker")
        body = f"\n{inner.strip()}\n" if inner.strip() else "\n"
        block = f"<!-- {name}_START -->{body}<!-- {name}_END -->"
        for region in self.regions:
            if region.name == name:
                text = self.text[: region.start] + block + self.text[region.end :]
                return replace(self, text=text)
        gap = "" if not self.text else "\n" if self.text.endswith("\n") else "\n\n"
        return replace(self, text=f"{self.text}{gap}{block}\n")

    def __str__(self) -> str:
        return self.text


def _unmarked(skill: SkillDocument) -> str:
    """The text without region markers, empty regions and marks of worked examples.

    A blank line separates an example from the rules right below it.
    """
    text = skill.text
    for region in reversed([r for r in skill.regions if r.name != FRONT_MATTER]):
        above, below = text[: region.start], text[region.end :]
        if region.empty:
            # Of the blank lines on both sides, those on one are left.
            kept, lead = above.rstrip("\r\n"), _blank_lines(below, 0)
            gap = max(above[len(kept) :], lead, key=len) if below.strip() else lead
            text = kept + (gap if kept else "") + below[len(lead) :]
        else:
            text = above + region.inner.strip("\r\n") + below
    text = set_apart(text)
    # In rounds: joined pieces may form a mark.
    while (cut := MARKER.sub("", without_marks(text))) != text:
        text = cut
    return text


def taught_text(skill: SkillDocument) -> str:
    """What a target reads that cannot open files: the text, then each text file under its path."""
    taught = skill.text
    for path, text in skill.folder.texts if skill.folder else ():
        end = "" if taught.endswith("\n") else "\n"
        taught = f"{taught}{end}\n## File `{path}`\n\n{text}"
    return taught


def restored(original: SkillDocument, text: str) -> SkillDocument:
    """A rewritten `text` in which the protected regions of `original` are kept byte for byte.

    Whatever the rewrite did to them (dropped, altered, repeated, moved, cut in half), they come
    back once each, in their order: before or behind the body where they were there, else below
    the line above them, else at the end. Text that only repeats a region outside goes.
    """
    if text == original.text:
        return original
    regions = original.regions
    front = original.text[: regions[0].end] if regions and regions[0].name == FRONT_MATTER else ""
    body = _freed(original, text, has_front=bool(front))
    read, head = len(front), ""
    for region in regions[1 if front else 0 :]:
        above, below = original.text[read : region.start], original.text[region.end :]
        place = _place(above, _cut_markers(below), body)
        head = _stacked(head + _unled(body[:place], head), original.text, region)
        body, read = body[place:], region.end
    whole = head + _unled(body, head)
    if not front:
        return replace(original, text=whole)
    below = _blank_lines(original.text, len(front))
    end = "" if front.endswith("\n") else "\n"
    return replace(original, text=front + end + below + _unled(whole, front))


def _freed(original: SkillDocument, text: str, *, has_front: bool) -> str:
    """The text of a rewrite outside regions. In rounds: joined pieces may form a marker."""
    known = original.body
    repeats = [
        re.compile(rf"^[ \t]*{re.escape(said)}[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
        for region in original.regions
        if (said := region.inner.strip()) and said not in known
    ]
    while True:
        freed = _cut_markers(text)
        for repeat in repeats:
            freed = repeat.sub("", freed)
        start = freed.lstrip() if has_front else freed
        found = front_matter(start)
        if found or fault_of_metadata(start):
            # Without front matter in the original, a block between rules is text like any other.
            freed = start[found.end if found and has_front else start.index("\n") + 1 :]
        if freed == text:
            return text
        text = freed


def _cut_markers(text: str) -> str:
    """The text without balanced regions, then without stray markers."""
    return MARKER.sub("", _PAIR.sub("", text))


def _place(above: str, below: str, body: str) -> int:
    """Where in the new `body` a region belongs that was between two stretches of the old one."""
    if not below.strip():
        return len(body)
    if not above.strip():
        return 0
    anchor = re.escape(above.rstrip().rpartition("\n")[2])
    found = list(re.finditer(rf"^{anchor}[ \t]*\r?$\n?", body, re.MULTILINE))
    return found[0].end() if len(found) == 1 else len(body)


def _stacked(head: str, text: str, region: Region) -> str:
    """`head` and below it a region of `text`, with the blank lines that surrounded it there."""
    above, head = text[: region.start], head.rstrip()
    gap = above[len(above.rstrip()) :]
    lead = "" if not head else gap if "\n" in gap else "\n\n"
    return head + lead + text[region.start : region.end] + (_blank_lines(text, region.end) or "\n")


def _unled(text: str, head: str) -> str:
    """The text without blank lines at its start, if something comes before it."""
    return text.removeprefix(_blank_lines(text, 0)) if head else text


def _blank_lines(text: str, at: int) -> str:
    """The line end and the blank lines at a place; empty where there is text."""
    found = _BLANK_LINES.match(text, at)
    return found.group() if found else ""


def _cut(text: str, regions: tuple[Region, ...]) -> str:
    for region in reversed(regions):
        text = text[: region.start] + text[region.end :]
    return text


def _unbalanced(name: str) -> DataError:
    return DataError(
        f"the skill's {name} markers do not pair up",
        f"write <!-- {name}_START --> and <!-- {name}_END --> once each, in this order",
    )
