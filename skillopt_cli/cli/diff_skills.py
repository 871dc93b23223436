"""`skillopt diff-skills`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from skillopt_cli.apply_skill.file import FileChange, apply_to_file, undo
from skillopt_cli.apply_skill.folder import (
    FolderChange,
    Undone,
    apply_to_folder,
    undo_folder,
    unlike,
)
from skillopt_cli.cli.options import JsonOption, LookupRoot
from skillopt_cli.cli.output import show, show_json
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.core.errors import UsageError
from skillopt_cli.reports.diff.folder_diff import diff_folders
from skillopt_cli.reports.diff.named_skill import NamedSkill, by_id, named_skill, seed_of
from skillopt_cli.reports.diff.patch import document, origins, patch_text
from skillopt_cli.reports.diff.skill_diff import SkillDiff, diff_skills
from skillopt_cli.reports.diff.terminal import EQUAL, Screen, words_text
from skillopt_cli.runlog.run_log import read_view
from skillopt_cli.runlog.verdict import why_not_better

_USAGE = "`skillopt diff-skills --help` shows the usage"


def compare_skills(
    a: Annotated[
        str | None,
        typer.Argument(
            metavar="A", help="Skill file or folder, run, or RUN:seed, RUN:best, RUN:3."
        ),
    ] = None,
    b: Annotated[
        str | None,
        typer.Argument(metavar="B", help="The other one; else A's seed is compared with A."),
    ] = None,
    out_root: LookupRoot = Path("outputs"),
    words: Annotated[
        bool, typer.Option("--words", help="Mark words inside lines: [-old-]{+new+}.")
    ] = False,
    apply: Annotated[
        Path | None,
        typer.Option("--apply", help="Write B over this file or folder; keeps backups."),
    ] = None,
    with_front_matter: Annotated[
        bool, typer.Option("--with-front-matter", help="With --apply: take B's front matter too.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="With --apply: even if it is no longer the run's seed."),
    ] = False,
    restore: Annotated[
        Path | None,
        typer.Option("--undo", help="Restore what --apply last overwrote there."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show how two skills differ, and which steps of a run made the changes.

    One skill of a run alone is compared with the seed of that run.

    --apply writes the second skill over a file of yours, below the file's own front matter. Skill
    folders are compared file by file; over a folder of yours it writes the files that the run
    changed.
    """
    if (with_front_matter or force) and apply is None:
        raise UsageError("--with-front-matter and --force belong to --apply", _USAGE)
    if restore is not None:
        if a is not None or apply is not None:
            raise UsageError("--undo goes without skills and --apply", _USAGE)
        _undo(restore, json=json)
        return
    first, second = _pair([by_id(name, out_root) for name in (a, b) if name is not None])
    changes = _Changes(first, second, words=words, json=json)
    options = None
    if apply is not None:
        options = _ApplyOptions(apply, force=force, with_front_matter=with_front_matter)
    if first.folder is not None or second.folder is not None:
        changes.of_folders(options)
    else:
        changes.of_files(options)


def _pair(names: Sequence[str]) -> tuple[NamedSkill, NamedSkill]:
    """The two skills; one alone is compared with the seed of its run."""
    skills = [named_skill(name) for name in names]
    if len(skills) == 1 and skills[0].run is not None:
        skills.insert(0, named_skill(f"{skills[0].run}:seed"))
    if len(skills) != 2:
        raise UsageError("two skills to compare are needed, or one of a run", _USAGE)
    return skills[0], skills[1]


@dataclass(frozen=True, slots=True)
class _ApplyOptions:
    """The options of --apply."""

    target: Path
    force: bool
    with_front_matter: bool


@dataclass(frozen=True, slots=True)
class _Changes:
    """Two skills to be compared, and how that is shown."""

    first: NamedSkill
    second: NamedSkill
    words: bool
    json: bool

    def of_files(self, options: _ApplyOptions | None) -> None:
        """Show how two files differ; first apply it, if asked to."""
        difference = diff_skills(self.first, self.second)
        applied = None
        if options is not None:
            run = None if options.force else self.second.run or self.first.run
            seed = seed_of(run) if run is not None else None
            whole = options.with_front_matter
            one = FileChange(options.target, self.second.text, seed, with_front_matter=whole)
            applied = {options.target: apply_to_file(one, datetime.now(UTC))}
        if self.json:
            told = [_applied(*each) for each in (applied or {}).items()]
            done = {"applied": {**told[0], **self._note}} if told else {}
            show_json(document(difference) | done)
            return
        _show(difference, words=self.words)
        for path, backup in (applied or {}).items():
            said = f"written, the old text is in {backup}" if backup else "holds this text already"
            typer.echo(f"{path}: {said}")
        if options is not None:
            self._warn()

    def of_folders(self, options: _ApplyOptions | None) -> None:
        """Show how two folders differ, file by file; first apply it, if asked to."""
        difference = diff_folders(self.first, self.second)
        change = self._folder_change(options) if options is not None else None
        applied = apply_to_folder(change, datetime.now(UTC)) if change is not None else None
        # Where the run changed nothing, nothing is written, whatever the folder holds.
        apart = unlike(change) if change is not None and difference.equal and not applied else ()
        if self.json:
            told = [_applied(*each) for each in (applied or {}).items()]
            differing = {"differing": list(apart)} if apart else {}
            done = (
                {"target": str(options.target), "files": told, **differing, **self._note}
                if options
                else {}
            )
            show_json(difference.document() | ({"applied": done} if done else {}))
            return
        for _, part in difference.files:
            _show_changes(part, words=self.words)
        for path, what in difference.others:
            typer.echo(f"{path}: {what}")
        typer.echo(EQUAL if difference.equal else difference.headline)
        if options is not None and apart:
            for line in self._unwritten(options.target, apart):
                typer.echo(line)
        elif options is not None and not applied:
            typer.echo(f"{options.target}: holds all of this already")
        for written, backup in (applied or {}).items():
            said = f"written, the old text is in {backup.name}" if backup else "a new file"
            typer.echo(f"{written}: {said}")
        if options is not None:
            self._warn()

    @property
    def _note(self) -> dict[str, str]:
        """Why the best skill of the applied skill's run is no better than its seed, if so."""
        sentence = why_not_better(read_view(self.second.run)) if self.second.run else ""
        return {"note": sentence} if sentence else {}

    def _warn(self) -> None:
        for sentence in self._note.values():
            typer.echo(f"Note: {sentence}")

    def _unwritten(self, target: Path, apart: Sequence[str]) -> tuple[str, str]:
        """That nothing is written over a folder of other texts, and how they can be seen."""
        held = f"{target} holds another text in {', '.join(apart)}, which stays"
        shown = f"skillopt diff-skills {quote(self.second.name)} {quote(str(target))}"
        return (
            f"{target}: nothing is written, as the two skills are equal; {held}",
            in_shell(
                f"hint: `{shown}` shows how they differ; a training starts from {target} with"
                f" `--skill-init {quote(str(target))}`"
            ),
        )

    def _folder_change(self, options: _ApplyOptions) -> FolderChange:
        run = self.second.run or self.first.run
        files = self.second.folder.files if self.second.folder else ()
        return FolderChange(
            options.target,
            self.second.texts,
            named_skill(f"{run}:seed").texts if run is not None else None,
            frozenset(file.path for file in files if file.executable),
            with_front_matter=options.with_front_matter,
            force=options.force,
        )


def _applied(target: Path, backup: Path | None) -> dict[str, str | None]:
    return {"target": str(target), "backup": None if backup is None else str(backup)}


def _show(difference: SkillDiff, *, words: bool) -> None:
    _show_changes(difference, words=words)
    if not (sys.stdout.isatty() or words):
        typer.echo(EQUAL if difference.equal else difference.headline)


def _show_changes(difference: SkillDiff, *, words: bool) -> None:
    """The changes in one text; where no patch is wanted, with their summary."""
    if sys.stdout.isatty():
        show(Screen(difference, marks=words))
    elif words:
        typer.echo(words_text(difference), nl=False)
    else:
        # Exact down to white space, so that the output is a patch; what follows it is ignored.
        typer.echo(patch_text(difference), nl=False)
        for line in origins(difference):
            typer.echo(line)


def _undo(target: Path, *, json: bool) -> None:
    now = datetime.now(UTC)
    folder = target.is_dir()
    undone = undo_folder(target, now) if folder else Undone({target: undo(target, now)})
    if json:
        told = [
            {"target": str(path), "restored": str(backup), "kept": str(kept) if kept else None}
            for path, (backup, kept) in undone.restored.items()
        ]
        added = {
            "removed": [str(path) for path in undone.removed],
            "changed": [str(path) for path in undone.kept],
        }
        show_json({"target": str(target), "files": told, **added} if folder else told[0])
        return
    for path, (backup, kept) in undone.restored.items():
        changed = f"; it had changed since --apply, and that text is in {kept}" if kept else ""
        typer.echo(f"{path}: restored from {backup.name}{changed}")
    for path in undone.removed:
        typer.echo(f"{path}: removed, as --apply had added it")
    for path in undone.kept:
        typer.echo(f"{path}: stays, as it changed since --apply added it")
