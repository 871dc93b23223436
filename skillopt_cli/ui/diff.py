"""`diff-skills`: how one skill text differs from another, and whether protected parts changed."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.text import Text

from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.ui.words import count

_STEP = re.compile(r"[0-9]+\Z")
_NO_NEWLINE = "\\ No newline at end of file"
_HINT = "write a skill file, a run folder, or RUN:best, RUN:seed, RUN:<step number>"


@dataclass(frozen=True, slots=True)
class SkillDiff:
    """Two skill texts compared.

    Attributes:
        a, b: what the texts are called.
        lines: the unified diff without line ends; empty when the texts are equal.
        added, removed: lines.
        chars_a, chars_b: characters.
        protected: what happened to protected regions, region name to added, removed or changed;
            None when the markers of a text do not pair up, so that nobody can tell.
    """

    a: str
    b: str
    lines: tuple[str, ...]
    added: int
    removed: int
    chars_a: int
    chars_b: int
    protected: dict[str, str] | None

    @property
    def text(self) -> str:
        """The diff as plain text, exact down to white space; empty when the texts are equal."""
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def headline(self) -> str:
        """The summary in one line."""
        grown = f"{self.chars_b - self.chars_a:+,}"
        return (
            f"{count(self.added, 'line')} added, {self.removed:,} removed; "
            f"{count(self.chars_b, 'character')} ({grown}); {self._protected_words}"
        )

    @property
    def _protected_words(self) -> str:
        if self.protected is None:
            return "protected regions unknown: the markers do not pair up"
        if not self.protected:
            return "protected regions untouched"
        parts = ", ".join(f"{name} {what}" for name, what in self.protected.items())
        return f"protected regions touched: {parts}"

    @property
    def document(self) -> dict[str, Any]:
        """The comparison as one JSON document."""
        return {
            "a": self.a,
            "b": self.b,
            "equal": not self.lines,
            "added": self.added,
            "removed": self.removed,
            "chars_a": self.chars_a,
            "chars_b": self.chars_b,
            "protected": self.protected,
            "diff": self.text,
        }

    def __rich__(self) -> Group:
        """The diff in colours, then the summary."""
        names = [Text(_visible(line), style="bold") for line in self.lines[:2]]
        body = [Text(_visible(line), style=_style(line)) for line in self.lines[2:]]
        lines = names + body
        return Group(*(lines or [Text("the skills are equal")]), Text(self.headline, style="bold"))


def diff_skills(a: str, b: str) -> SkillDiff:
    """Compare two skills named on the command line, see `read_skill`."""
    return compare((a, read_skill(a)), (b, read_skill(b)))


def read_skill(name: str) -> str:
    """The text of a skill, byte for byte.

    Args:
        name: a file; a run folder (its best skill); or `RUN:best`, `RUN:seed`, `RUN:<step>` for the
            skill in force after that step.

    Raises:
        UsageError: there is no such skill.
        DataError: the file is not UTF-8 text.
    """
    path = _locate(name)
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", _HINT) from error


def _locate(name: str) -> Path:
    path = Path(name)
    if path.is_file():
        return path
    if path.is_dir():
        return _existing(path / "best_skill.md", name)
    folder, _, which = name.rpartition(":")
    run = Path(folder)
    if not folder or not run.is_dir():
        raise UsageError(f"there is no skill or run folder {name}", _HINT)
    if which == "best":
        return _existing(run / "best_skill.md", name)
    if which == "seed" or _STEP.match(which):
        number = 0 if which == "seed" else int(which)
        return _existing(run / "skills" / f"step_{number:04d}.md", name)
    raise UsageError(f"`{which}` in {name} is neither a step number nor best or seed", _HINT)


def _existing(path: Path, name: str) -> Path:
    if not path.is_file():
        raise UsageError(f"{name} has no {path.name}", _HINT)
    return path


def compare(a: tuple[str, str], b: tuple[str, str]) -> SkillDiff:
    """Compare two texts, each given with its name. Lines end at line feeds only. Pure."""
    (name_a, text_a), (name_b, text_b) = a, b
    old, new = _lines(text_a), _lines(text_b)
    lines = tuple(difflib.unified_diff(old, new, name_a, name_b, lineterm=""))
    body = lines[2:]
    return SkillDiff(
        name_a,
        name_b,
        tuple(part for line in lines for part in _shown(line)),
        added=sum(line.startswith("+") for line in body),
        removed=sum(line.startswith("-") for line in body),
        chars_a=len(text_a),
        chars_b=len(text_b),
        protected=_protected(text_a, text_b),
    )


def _lines(text: str) -> list[str]:
    """Lines, with the last one marked when no line end follows it, so that this differs too."""
    parts = text.split("\n")
    last = parts.pop()
    return [*parts, f"{last}\n{_NO_NEWLINE}"] if last else parts


def _shown(line: str) -> list[str]:
    return line.split("\n")


def _protected(a: str, b: str) -> dict[str, str] | None:
    try:
        old, new = _regions(a), _regions(b)
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


def _regions(text: str) -> dict[str, str]:
    return {r.name: text[r.start : r.end] for r in SkillDocument(text).regions}


def _style(line: str) -> str:
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def _visible(line: str) -> str:
    """The line without characters a terminal would obey; tabs stay, indentation means something."""
    return "".join(c if c.isprintable() or c == "\t" else "?" for c in line)
