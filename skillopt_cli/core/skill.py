"""The skill document: the text that is trained, and the parts of it that no step may touch."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from skillopt_cli.core.errors import DataError

SLOW_UPDATE = "SLOW_UPDATE"
APPENDIX = "APPENDIX"
FRONT_MATTER = "FRONT_MATTER"

MARKER = re.compile(r"<!--\s*(SLOW_UPDATE|APPENDIX)_(START|END)\s*-->")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Region:
    """A protected stretch of the text, markers included: `text[start:end]`."""

    name: str
    start: int
    end: int
    inner: str

    @property
    def empty(self) -> bool:
        """Whether nothing but white space stands between the markers."""
        return not self.inner.strip()


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """A Markdown skill. Immutable; two documents are equal when their texts are.

    Protected regions (method, section 1) are the YAML front matter at the very start and the
    stretches between `<!-- SLOW_UPDATE_START/END -->` and `<!-- APPENDIX_START/END -->`.
    """

    text: str

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the text."""
        return hashlib.sha256(self.text.encode(errors="surrogatepass")).hexdigest()

    @property
    def regions(self) -> tuple[Region, ...]:
        """Protected regions in order of appearance.

        Raises:
            DataError: markers are unbalanced, nested or repeated.
        """
        found: list[Region] = []
        front = _FRONT_MATTER.match(self.text)
        if front:
            found.append(Region(FRONT_MATTER, 0, front.end(), front.group()))
        opened: re.Match[str] | None = None
        for marker in MARKER.finditer(self.text, front.end() if front else 0):
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
        """What the target reads: the document without *empty* protected regions.

        A document that merely gained an empty region is the same instruction, so rollout keys
        use this text's digest (method, decision 5). It ends with exactly one line break.
        """
        empty = tuple(r for r in self.regions if r.empty and r.name != FRONT_MATTER)
        text = _cut(self.text, empty).rstrip("\n")
        return SkillDocument(f"{text}\n" if text else "")

    @property
    def has_instructions(self) -> bool:
        """Whether anything but white space stands outside the protected regions."""
        return bool(self.body.strip())

    def region(self, name: str) -> str | None:
        """What stands in a region, without markers and surrounding blank lines; None without it."""
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
                return SkillDocument(self.text[: region.start] + block + self.text[region.end :])
        gap = "" if not self.text else "\n" if self.text.endswith("\n") else "\n\n"
        return SkillDocument(f"{self.text}{gap}{block}\n")

    def __str__(self) -> str:
        return self.text


def _cut(text: str, regions: tuple[Region, ...]) -> str:
    for region in reversed(regions):
        text = text[: region.start] + text[region.end :]
    return text


def _unbalanced(name: str) -> DataError:
    return DataError(
        f"the skill's {name} markers do not pair up",
        f"write <!-- {name}_START --> and <!-- {name}_END --> once each, in this order",
    )
