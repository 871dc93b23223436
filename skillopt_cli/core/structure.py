"""What must hold of a skill folder before anything is spent on measuring it.

Only what an edit can break counts: a file that could not be parsed before is not asked to be, and a
link that led nowhere before may go on doing so.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import unquote

from skillopt_cli.core.companion_files import SKILL_FILE, excess
from skillopt_cli.core.skill import FRONT_MATTER, SkillDocument

Language = Literal["python", "json", "yaml", "shell"]

_ENDINGS: Mapping[str, Language] = {
    ".py": "python",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".sh": "shell",
    ".bash": "shell",
}
_PROGRAM = re.compile(r"#!\S*/(?:env\s+(?:-\S+\s+)*)?(python|bash|sh|dash)[\d.]*\b")
_MARKDOWN = (".md", ".markdown")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(
    r"\]\(\s*(<[^<>]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)"
    r"""(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)"""
)
_DEFINITION = re.compile(r" {0,3}\[[^\]^][^\]]*\]:\s*(<[^<>]*>|\S+)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/|#|\?|\{")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file.

    Attributes:
        file: its path in the folder; empty for the folder as a whole.
        line: from 1; None where it is not known.
    """

    file: str
    said: str
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{place}: {self.said}" if place else self.said


def language_of(path: str, text: str) -> Language | None:
    """What a file is written in, by its name or its first line; None for what is not checked."""
    if known := _ENDINGS.get(PurePosixPath(path).suffix.lower()):
        return known
    program = _PROGRAM.match(text)
    if program is None:
        return None
    return "python" if program[1] == "python" else "shell"


def changed_files(before: SkillDocument, after: SkillDocument) -> dict[str, str]:
    """The texts that differ or are new, by path."""
    old = before.texts
    return {path: text for path, text in after.texts.items() if old.get(path) != text}


def structure_faults(before: SkillDocument, after: SkillDocument) -> tuple[Fault, ...]:
    """What changes broke of links, of Python and JSON files, and of the folder's bounds. Pure.

    Python is compiled, never run.
    """
    faults: list[Fault] = []
    old = before.texts
    if _has_front_matter(before) and not _has_front_matter(after):
        faults.append(Fault(SKILL_FILE, "its front matter is gone", 1))
    for path, text in changed_files(before, after).items():
        if fault := newly(path, old.get(path), text, _parse_fault):
            faults.append(fault)
        if path.lower().endswith(_MARKDOWN):
            known = {target for _, target in _dead_links(before, path, old.get(path, ""))}
            faults += [
                Fault(path, f"the link to `{target}` leads to no file of the skill", line)
                for line, target in _dead_links(after, path, text)
                if target not in known
            ]
    if after.folder is not None and (said := excess(after.folder)):
        faults.append(Fault("", f"the skill folder would be too large: {said}"))
    return tuple(faults)


def newly(
    path: str, before: str | None, after: str, check: Callable[[str, str], Fault | None]
) -> Fault | None:
    """What `check(path, text)` finds in a file that it did not find before the change."""
    fault = check(path, after)
    broken_before = fault is not None and before is not None and check(path, before) is not None
    return None if broken_before else fault


def _parse_fault(path: str, text: str) -> Fault | None:
    match language_of(path, text):
        case "python":
            return _python_fault(path, text)
        case "json":
            return _json_fault(path, text)
        case _:
            return None


def _python_fault(path: str, text: str) -> Fault | None:
    try:
        with warnings.catch_warnings():
            # What Python only warns of is no fault, and not ours to print.
            warnings.simplefilter("ignore")
            compile(text.encode(errors="surrogatepass"), path, "exec", dont_inherit=True)
    except SyntaxError as error:
        return Fault(path, error.msg, error.lineno)
    except ValueError as error:
        return Fault(path, str(error))
    except (RecursionError, MemoryError):
        return Fault(path, "it is nested too deeply")
    return None


def _json_fault(path: str, text: str) -> Fault | None:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        return Fault(path, error.msg, error.lineno)
    except RecursionError:
        return Fault(path, "it is nested too deeply")
    return None


def _dead_links(skill: SkillDocument, path: str, text: str) -> Iterator[tuple[int, str]]:
    """Line and target of every relative link that leads to no file or folder of the skill."""
    files = list(skill.texts) + [file.path for file in (skill.folder.files if skill.folder else ())]
    known = {str(place) for file in files for place in (PurePosixPath(file), *_above(file))}
    for line, target in _links(text):
        place = unquote(re.split(r"[#?]", target, maxsplit=1)[0])
        if place and _resolved(PurePosixPath(path).parent, place) not in known:
            yield line, target


def _links(text: str) -> Iterator[tuple[int, str]]:
    """Line and target of every relative link outside of code."""
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        plain = _CODE.sub("", line)
        defined = _DEFINITION.match(plain)
        for found in (*_LINK.finditer(plain), *([defined] if defined else [])):
            target = found[1].strip("<>")
            if target and not _SCHEME.match(target):
                yield number, target


def _has_front_matter(skill: SkillDocument) -> bool:
    return any(region.name == FRONT_MATTER for region in skill.regions)


def _above(file: str) -> tuple[PurePosixPath, ...]:
    return tuple(PurePosixPath(file).parents)


def _resolved(home: PurePosixPath, target: str) -> str:
    """A relative target from a folder; one that leaves the skill resolves to nothing."""
    parts = list(home.parts)
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return ""
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or "."
