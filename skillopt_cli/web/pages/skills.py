"""The skill texts of a run and the differences between any two of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from starlette.requests import Request

from skillopt_cli.core.errors import DataError
from skillopt_cli.reports.diff.folder_diff import diff_folders
from skillopt_cli.reports.diff.lines import Opcode, pairs, words
from skillopt_cli.reports.diff.named_skill import NamedSkill, named_skill
from skillopt_cli.reports.diff.patch import notes, range_line
from skillopt_cli.reports.diff.skill_diff import SkillDiff, diff_skills
from skillopt_cli.reports.page import visible
from skillopt_cli.web.context import Page, WebContext, run_name
from skillopt_cli.web.pages.attempts import cut
from skillopt_cli.web.pages.run_page import run_page
from skillopt_cli.web.paths import NotFound, RunName
from skillopt_cli.web.runs import RunSnapshot

CANDIDATE = "candidate-"
Span = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a comparison.

    Attributes:
        kind: head, hunk, note, same, removed or added.
        sign: its first characters in a patch.
        parts: spans of its text, each with whether it differs.
    """

    kind: str
    sign: str
    parts: tuple[Span, ...]


def page(context: WebContext, request: Request) -> Page:
    """Two texts compared, and the second one in full; the first is of the run in `of`, if named."""
    snapshot = context.runs.snapshot(run_name(request))
    asked = request.query_params
    other = asked.get("of", "")
    base = context.runs.snapshot(RunName.of_key(other)) if other else snapshot
    for one in (base, snapshot):
        context.outputs.texts(one.name)
    before, choices = dict(_choices(base)), dict(_choices(snapshot))
    a, b = asked.get("a", "seed"), asked.get("b", "best")
    if "0" in (a, b):
        a, b = ("seed" if which == "0" else which for which in (a, b))
    selected: dict[str, Any] = {
        "choices": choices,
        "choices_before": before,
        "of": base.name if other else None,
        "a": a,
        "b": b,
    }
    if a not in before or b not in choices:
        if (before and choices) and base.whole and snapshot.whole:
            raise NotFound
        # Before the first step a run has no texts.
        return run_page(snapshot, "skills.html", "Skills", **selected, files=[], text=None)
    first, second = _skill(context, base, a), _skill(context, snapshot, b)
    headline, files, others = _comparison(first, second)
    return run_page(
        snapshot,
        "skills.html",
        "Skills",
        **selected,
        headline=headline,
        files=files,
        others=others,
        text=second.text,
        companions=[
            (file, cut(file.text) if file.text is not None else None)
            for file in (second.folder.files if second.folder else ())
        ],
    )


def _choices(snapshot: RunSnapshot) -> Iterator[tuple[str, str]]:
    """The available texts: name in the address, and title."""
    if (snapshot.folder / "skills" / "step_0000.md").is_file():
        yield "seed", "seed"
    for step in snapshot.view.steps:
        if (snapshot.folder / "steps" / f"step_{step.number:04d}" / "candidate_skill.md").is_file():
            yield f"{CANDIDATE}{step.number}", f"candidate of step {step.number}"
        if step.number <= snapshot.view.done:
            yield str(step.number), f"in force after step {step.number}"
    if (snapshot.folder / "best_skill.md").is_file():
        yield "best", "best"


def _skill(context: WebContext, snapshot: RunSnapshot, which: str) -> NamedSkill:
    name = f"{snapshot.name.run_id}:{which}"
    if which.startswith(CANDIDATE):
        number = int(which.removeprefix(CANDIDATE))
        path = context.outputs.file(snapshot.name, f"steps/step_{number:04d}/candidate_skill.md")
        return replace(named_skill(str(_whole(path))), name=name, run=None)
    return replace(named_skill(f"{snapshot.folder}:{which}"), name=name)


def _whole(path: Path) -> Path:
    """The skill folder beside a copy of SKILL.md, if there is one, else the copy."""
    folder = path.with_suffix("")
    return folder if folder.is_dir() else path


def _comparison(
    first: NamedSkill, second: NamedSkill
) -> tuple[str, list[tuple[str, list[DiffLine]]], Sequence[tuple[str, str]]]:
    """The summary, the changed files with their lines, and notes on other files."""
    try:
        if first.folder is None and second.folder is None:
            diff = diff_skills(first, second)
            return diff.headline, [("", list(diff_lines(diff)))] if not diff.equal else [], ()
        folders = diff_folders(first, second)
        files = [(path, list(diff_lines(part))) for path, part in folders.files]
        return folders.headline, files, folders.others
    except (KeyError, ValueError) as error:
        raise DataError(f"the skills cannot be compared: {error}") from error


def diff_lines(diff: SkillDiff) -> Iterator[DiffLine]:
    """The lines of a patch, with the words that differ marked."""
    yield DiffLine("head", "---", ((visible(diff.a), False),))
    yield DiffLine("head", "+++", ((visible(diff.b), False),))
    for hunk in diff.hunks:
        yield DiffLine("hunk", "", ((range_line(hunk), False),))
        for opcode in hunk:
            yield from _part(diff, opcode)


def _part(diff: SkillDiff, opcode: Opcode) -> Iterator[DiffLine]:
    kind, _, _, j, m = opcode
    if kind == "equal":
        yield from (_plain("same", " ", line) for line in diff.new[j:m])
        return
    for block in diff.blocks_in(opcode):
        yield from (DiffLine("note", "#", ((visible(note), False),)) for note in notes(block))
        removed = diff.old[block.old.start : block.old.stop]
        added = diff.new[block.new.start : block.new.stop]
        later: list[DiffLine] = []
        for before, after in pairs(removed, added):
            if before is not None and after is not None:
                stretches = words(before, after)
                yield DiffLine("removed", "-", _spans((k, old) for k, old, _ in stretches))
                later.append(DiffLine("added", "+", _spans((k, new) for k, _, new in stretches)))
            elif before is not None:
                yield _plain("removed", "-", before)
            elif after is not None:
                later.append(_plain("added", "+", after))
        yield from later


def _plain(kind: str, sign: str, line: str) -> DiffLine:
    return DiffLine(kind, sign, ((_visible(line), False),))


def _spans(found: Iterable[tuple[str, str]]) -> tuple[Span, ...]:
    return tuple((_visible(text), kind != "equal") for kind, text in found if text)


def _visible(line: str) -> str:
    return "\n".join(visible(part) for part in line.split("\n"))
