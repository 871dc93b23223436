"""The skill texts of a run, and how any two of them differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from starlette.requests import Request

from skillopt_cli.core.errors import DataError
from skillopt_cli.ui.diff import NamedSkill, SkillDiff, diff_folders, diff_skills, named_skill
from skillopt_cli.ui.diff.lines import Opcode, pairs, words
from skillopt_cli.ui.diff.patch import notes, range_line
from skillopt_cli.ui.page import visible
from skillopt_cli.web.pages.framed import framed
from skillopt_cli.web.places import Missing
from skillopt_cli.web.runs import Seen
from skillopt_cli.web.site import Page, Site, named

CANDIDATE = "candidate-"
Stretch = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class Shown:
    """A line of a comparison.

    Attributes:
        kind: head, hunk, note, same, removed or added.
        sign: what it begins with in a patch.
        parts: stretches of it, and whether each is what differs.
    """

    kind: str
    sign: str
    parts: tuple[Stretch, ...]


def page(site: Site, request: Request) -> Page:
    """Two texts of a run compared, and the second one in full."""
    seen = site.runs.seen(named(request))
    site.outputs.texts(seen.name)
    choices = dict(_choices(seen))
    asked = request.query_params
    a, b = asked.get("a", "seed"), asked.get("b", "best")
    if "0" in (a, b):
        a, b = ("seed" if which == "0" else which for which in (a, b))
    if not {a, b} <= choices.keys():
        if choices and seen.whole:
            raise Missing
        # A run that is not at its first step yet has no texts to show.
        return framed(seen, "skills.html", "Skills", choices=choices, a=a, b=b, files=[], text=None)
    first, second = (_skill(site, seen, which) for which in (a, b))
    headline, files, others = _compared(first, second)
    return framed(
        seen,
        "skills.html",
        "Skills",
        choices=choices,
        a=a,
        b=b,
        headline=headline,
        files=files,
        others=others,
        text=second.text,
    )


def _choices(seen: Seen) -> Iterator[tuple[str, str]]:
    """The texts there are: name in the address, and name for people."""
    if (seen.folder / "skills" / "step_0000.md").is_file():
        yield "seed", "seed"
    for step in seen.view.steps:
        if (seen.folder / "steps" / f"step_{step.number:04d}" / "candidate_skill.md").is_file():
            yield f"{CANDIDATE}{step.number}", f"candidate of step {step.number}"
        if step.number <= seen.view.done:
            yield str(step.number), f"in force after step {step.number}"
    if (seen.folder / "best_skill.md").is_file():
        yield "best", "best"


def _skill(site: Site, seen: Seen, which: str) -> NamedSkill:
    called = f"{seen.name.run_id}:{which}"
    if which.startswith(CANDIDATE):
        number = int(which.removeprefix(CANDIDATE))
        path = site.outputs.file(seen.name, f"steps/step_{number:04d}/candidate_skill.md")
        return replace(named_skill(str(_whole(path))), name=called, run=None)
    return replace(named_skill(f"{seen.folder}:{which}"), name=called)


def _whole(path: Path) -> Path:
    """The skill folder that lies beside a copy of SKILL.md, where there is one."""
    folder = path.with_suffix("")
    return folder if folder.is_dir() else path


def _compared(
    first: NamedSkill, second: NamedSkill
) -> tuple[str, list[tuple[str, list[Shown]]], Sequence[tuple[str, str]]]:
    """The summary, the changed files with their lines, and what is to be said of other files."""
    try:
        if first.folder is None and second.folder is None:
            diff = diff_skills(first, second)
            return diff.headline, [("", list(shown(diff)))] if not diff.equal else [], ()
        folders = diff_folders(first, second)
        files = [(path, list(shown(part))) for path, part in folders.files]
        return folders.headline, files, folders.others
    except (KeyError, ValueError) as error:
        raise DataError(f"the skills cannot be compared: {error}") from error


def shown(diff: SkillDiff) -> Iterator[Shown]:
    """The comparison line by line, as a patch has them, with the words that differ marked."""
    yield Shown("head", "---", ((visible(diff.a), False),))
    yield Shown("head", "+++", ((visible(diff.b), False),))
    for hunk in diff.hunks:
        yield Shown("hunk", "", ((range_line(hunk), False),))
        for opcode in hunk:
            yield from _part(diff, opcode)


def _part(diff: SkillDiff, opcode: Opcode) -> Iterator[Shown]:
    kind, _, _, j, m = opcode
    if kind == "equal":
        yield from (_plain("same", " ", line) for line in diff.new[j:m])
        return
    for block in diff.blocks_in(opcode):
        yield from (Shown("note", "#", ((visible(note), False),)) for note in notes(block))
        removed = diff.old[block.old.start : block.old.stop]
        added = diff.new[block.new.start : block.new.stop]
        later: list[Shown] = []
        for before, after in pairs(removed, added):
            if before is not None and after is not None:
                stretches = words(before, after)
                yield Shown("removed", "-", _stretches((k, old) for k, old, _ in stretches))
                later.append(Shown("added", "+", _stretches((k, new) for k, _, new in stretches)))
            elif before is not None:
                yield _plain("removed", "-", before)
            elif after is not None:
                later.append(_plain("added", "+", after))
        yield from later


def _plain(kind: str, sign: str, line: str) -> Shown:
    return Shown(kind, sign, ((_visible(line), False),))


def _stretches(found: Iterable[tuple[str, str]]) -> tuple[Stretch, ...]:
    return tuple((_visible(text), kind != "equal") for kind, text in found if text)


def _visible(line: str) -> str:
    return "\n".join(visible(part) for part in line.split("\n"))
