"""Which step of a run made a change: a fold over the texts a run went through, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.edits import CHANGED, Edit, Trial
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.skill import APPENDIX, SLOW_UPDATE, SkillDocument
from skillopt_cli.core.verification import trials_by_edit
from skillopt_cli.reports.diff.lines import lines_of, matched
from skillopt_cli.reports.diff.named_skill import NamedSkill
from skillopt_cli.reports.diff.skill_file import SkillFile
from skillopt_cli.runlog.text.edit import edit_words, ground_words, trial_words
from skillopt_cli.safe_files import read_regular

_EDIT_LIMIT = 72
_REGION_WORDS = {SLOW_UPDATE: "slow update", APPENDIX: "notes in the appendix"}
_EDIT_FIELDS = {field.name for field in fields(Edit)}


@dataclass(frozen=True, slots=True)
class Cause:
    """What turned a text into the next one.

    Attributes:
        edits: that made the change; none where only a protected region changed. In the rewrite
            modes all that went into the step's text.
        trials: what each of these edits did to the tasks it was tried on, where it was tried.
        what: which other part of a step it was.
        epoch: the epoch whose end, after the step, made the change; 0 where the step did.
    """

    step: int
    edits: tuple[Edit, ...] = ()
    what: str = ""
    epoch: int = 0
    trials: tuple[Trial, ...] = ()

    @property
    def place(self) -> str:
        """What made the change: `step 3`, or `end of epoch 2`."""
        return f"end of epoch {self.epoch}" if self.epoch else f"step {self.step}"

    @property
    def lines(self) -> tuple[str, ...]:
        """The cause for people, an edit a line."""
        if not self.edits:
            return (f"{self.place}: {self.what}" if self.what else self.place,)
        return tuple(
            f"{self.place}: {edit_words(e, _EDIT_LIMIT)} [{ground_words(e)}]"
            + (f", {trial_words(trial)}" if (trial := self.trial_of(e)) else "")
            for e in self.edits
        )

    def trial_of(self, edit: Edit) -> Trial | None:
        """The trial of one of its edits; None where that was not tried on tasks."""
        return trials_by_edit(self.trials).get(edit.identity)


@dataclass(frozen=True, slots=True)
class Version:
    """A text a run went through, and what made it; None for the seed."""

    text: str
    cause: Cause | None
    step: int


@dataclass(frozen=True, slots=True)
class Blame:
    """Per line of either text what made it differ from the other; None where nothing did."""

    a: tuple[Cause | None, ...]
    b: tuple[Cause | None, ...]

    def of(self, old: range, new: range) -> tuple[Cause, ...]:
        """The causes of a changed block, each once, earlier steps first."""
        causes = (*(self.a[i] for i in old), *(self.b[i] for i in new))
        known = dict.fromkeys(cause for cause in causes if cause is not None)
        return tuple(sorted(known, key=lambda cause: cause.step))


def blame(a: NamedSkill, b: NamedSkill, path: str = SKILL_FILE) -> Blame | None:
    """What made two texts of one run differ; None when they are of different runs, or of none.

    Args:
        path: the file whose texts they are, in skills that are folders.

    Raises:
        DataError: the run's copies of its steps cannot be read.
    """
    if a.run is None or b.run is None or a.run.resolve() != b.run.resolve():
        return None
    chain = versions(a.run, SkillFile(path))
    places = [_place(chain, named, path) for named in (a, b)]
    first, last = places
    if first is None or last is None:
        return None
    if first <= last:
        old, new = _fold(chain[first : last + 1])
        return Blame(old, new)
    old, new = _fold(chain[last : first + 1])
    return Blame(new, old)


def versions(run: Path, file: SkillFile | None = None) -> tuple[Version, ...]:
    """The texts a file of the skill went through, the seed first: one after each applied edit.

    An edit is replayed on the text before it. Where the replay does not lead to the text the step
    made, as in the rewrite modes, the step's text comes in one piece.

    Raises:
        DataError: a file of a step cannot be read.
    """
    file = file or SkillFile()
    chain: list[Version] = []
    for path in sorted((run / "skills").glob("step_[0-9][0-9][0-9][0-9]*.md")):
        text, number = file.of(path.with_suffix("")) or "", int(path.stem.removeprefix("step_"))
        if not chain:
            chain.append(Version(text, None, 0))
        else:
            step = run / "steps" / f"step_{number:04d}"
            chain += _step(file, step, chain[-1].text, Version(text, None, number))
    best = file.of(run / "best_skill")
    if chain and best is not None and best not in [v.text for v in chain]:
        # Guidance was injected into a best skill that was not the current one.
        chain += _injected(file, chain, best)
    return tuple(chain)


def _step(file: SkillFile, folder: Path, before: str, done: Version) -> Iterator[Version]:
    after, number = done.text, done.step
    candidate = file.of(folder / "candidate_skill")
    made = before if candidate is None else candidate
    if made != before and file.body(made) == file.body(after):
        report = _applied(folder / "edit_report.json")
        edits = [edit for edit, _ in report if file.is_changed_by(edit)]
        trials = tuple(trial for _, trial in report if trial is not None)
        replayed = list(_replay(file, before, edits, Cause(number, trials=trials)))
        whole = replayed[-1].text if replayed else before
        if file.body(whole) == file.body(made):
            yield from replayed
        elif file.body(made) != file.body(before):
            yield Version(made, Cause(number, tuple(edits), trials=trials), number)
            whole = made
        if whole != made:
            yield Version(made, Cause(number, what=_what(file, whole, made)), number)
        before = made
    if after != before:
        cause = Cause(number, what=_what(file, before, after), epoch=_epoch(folder))
        yield Version(after, cause, number)


def _epoch(step: Path) -> int:
    """The epoch of a step, by its record; 0 where that is not known."""
    try:
        return int(json.loads(read_regular(step / "step_record.json"))["epoch"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0


def _replay(file: SkillFile, text: str, edits: Sequence[Edit], cause: Cause) -> Iterator[Version]:
    for edit in edits:
        changed = file.edited(text, edit)
        if changed != text:
            text = changed
            yield Version(text, replace(cause, edits=(edit,)), cause.step)


def _injected(file: SkillFile, chain: Sequence[Version], text: str) -> Iterator[Version]:
    start = next((v for v in chain if file.body(v.text) == file.body(text)), chain[-1])
    last = chain[-1].step
    yield Version(start.text, None, last)
    yield Version(text, Cause(last, what=_what(file, start.text, text)), last)


def _what(file: SkillFile, before: str, after: str) -> str:
    """Which protected regions a change was in, when it was nowhere else."""
    if not file.is_text_of_skill or file.body(before) != file.body(after):
        return ""
    old, new = ({name: _region(text, name) for name in _REGION_WORDS} for text in (before, after))
    return ", ".join(said for name, said in _REGION_WORDS.items() if old[name] != new[name])


def _region(text: str, name: str) -> str | None:
    return next(
        (text[r.start : r.end] for r in SkillDocument(text).regions if r.name == name), None
    )


def _fold(
    chain: Sequence[Version],
) -> tuple[tuple[Cause | None, ...], tuple[Cause | None, ...]]:
    """Why lines of the first text are gone, and why those of the last one are there."""
    lines = lines_of(chain[0].text)
    gone: list[Cause | None] = [None] * len(lines)
    origin: list[int | None] = list(range(len(lines)))
    born: list[Cause | None] = [None] * len(lines)
    for version in chain[1:]:
        following = lines_of(version.text)
        from_first: list[int | None] = []
        causes: list[Cause | None] = []
        for kind, i, k, j, m in matched(lines, following).get_opcodes():
            if kind == "equal":
                from_first += origin[i:k]
                causes += born[i:k]
                continue
            for at in origin[i:k]:
                if at is not None:
                    gone[at] = version.cause
            from_first += [None] * (m - j)
            causes += [version.cause] * (m - j)
        lines, origin, born = following, from_first, causes
    return tuple(gone), tuple(born)


def _place(chain: Sequence[Version], named: NamedSkill, path: str) -> int | None:
    """The place of a text among the versions: the last one of its step, or the first one."""
    text = named.texts.get(path, "")
    if named.step is not None:
        places = [i for i, v in enumerate(chain) if v.step <= named.step and v.text == text]
        return places[-1] if places else None
    return next((i for i, v in enumerate(chain) if v.text == text), None)


def _applied(report: Path) -> list[tuple[Edit, Trial | None]]:
    """The edits of a report that changed the text, as they did, and their trials."""
    if not report.is_file():
        return []
    try:
        entries = json.loads(read_regular(report))
        return [_read(entry) for entry in entries if entry["state"] in CHANGED]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{report} is not an edit report", "restore it from a copy") from error


def _read(entry: Mapping[str, Any]) -> tuple[Edit, Trial | None]:
    edit = Edit(**{key: value for key, value in entry.items() if key in _EDIT_FIELDS})
    edit = replace(edit, tasks=tuple(edit.tasks))
    trial = None
    if kept := entry.get("trial"):
        # JSON has no tuples, and a cause must be hashable.
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()
        }
        trial = Trial(edit, **values)
    if entry["state"] == "appended":
        edit = replace(edit, op="append", target="")
        trial = replace(trial, edit=edit) if trial else None
    return edit, trial
