"""`skillopt diff-skills`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from skillopt_cli.cli.options import JsonOption, LookupRoot
from skillopt_cli.cli.show import show, show_json
from skillopt_cli.compose.adopt import Adoption, adopt, undo
from skillopt_cli.compose.folder import CONFIG, find_run
from skillopt_cli.core.errors import UsageError
from skillopt_cli.ui.diff import (
    EQUAL,
    NamedSkill,
    Screen,
    SkillDiff,
    diff_folders,
    diff_skills,
    document,
    named_skill,
    origins,
    patch_text,
    seed_of,
    words_text,
)

_USAGE = "`skillopt diff-skills --help` shows the usage"


def compare_skills(
    a: Annotated[
        str | None,
        typer.Argument(
            metavar="A", help="Skill file or folder, run, or RUN:seed, RUN:best, RUN:3."
        ),
    ] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="The other one.")] = None,
    out_root: LookupRoot = Path("outputs"),
    words: Annotated[
        bool, typer.Option("--words", help="Mark words inside lines: [-old-]{+new+}.")
    ] = False,
    apply: Annotated[
        Path | None,
        typer.Option("--apply", help="Write B over this file; keeps a backup."),
    ] = None,
    with_front_matter: Annotated[
        bool, typer.Option("--with-front-matter", help="With --apply: take B's front matter too.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="With --apply: although that file is not the run's seed."),
    ] = False,
    restore: Annotated[
        Path | None,
        typer.Option("--undo", help="Restore the newest backup of this file."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show how two skills differ, and which steps of a run made the changes.

    --apply writes the second skill over a file of yours, below the file's own front matter. Skill
    folders are compared file by file.
    """
    if (with_front_matter or force) and apply is None:
        raise UsageError("--with-front-matter and --force belong to --apply", _USAGE)
    if restore is not None:
        if a is not None or apply is not None:
            raise UsageError("--undo stands alone, without skills and --apply", _USAGE)
        _undo(restore, json=json)
        return
    if a is None or b is None:
        raise UsageError("two skills to compare are needed", _USAGE)
    first, second = (named_skill(by_id(name, out_root)) for name in (a, b))
    if first.folder is not None or second.folder is not None:
        _compare_folders(first, second, words=words, apply=apply, json=json)
        return
    difference = diff_skills(first, second)
    applied = None
    if apply is not None:
        seed = None if force else _seed(first, second)
        wish = Adoption(apply, second.text, seed, with_front_matter=with_front_matter)
        applied = {"target": str(apply), "backup": _name(adopt(wish, datetime.now(UTC)))}
    if json:
        show_json(document(difference) | ({"applied": applied} if applied else {}))
        return
    _show(difference, words=words)
    if applied:
        backup = applied["backup"]
        said = f"written, the old text is in {backup}" if backup else "holds this text already"
        typer.echo(f"{apply}: {said}")


def _compare_folders(
    first: NamedSkill, second: NamedSkill, *, words: bool, apply: Path | None, json: bool
) -> None:
    if apply is not None:
        source = (
            second.path if second.folder is not None and second.path else Path("RUN/best_skill")
        )
        raise UsageError(
            "--apply writes one file, and a skill here is a folder",
            f"copy what you want of {source} over your folder, such as `cp -r {source}/. FOLDER`",
        )
    difference = diff_folders(first, second)
    if json:
        show_json(difference.document())
        return
    for _, part in difference.files:
        _show_changes(part, words=words)
    for path, what in difference.others:
        typer.echo(f"{path}: {what}")
    typer.echo(EQUAL if difference.equal else difference.headline)


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
    backup, kept = undo(target, datetime.now(UTC))
    if json:
        show_json({"target": str(target), "restored": str(backup), "kept": str(kept)})
    else:
        typer.echo(f"{target}: restored from {backup.name}; the text it replaced is in {kept}")


def _seed(first: NamedSkill, second: NamedSkill) -> str | None:
    """What a user's file must still hold, where a run is known: the seed of that run."""
    run = second.run or first.run
    return seed_of(run) if run is not None else None


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)


def by_id(name: str, out_root: Path) -> str:
    """The name of a skill with a run's folder in place of its id."""
    run, colon, which = name.partition(":")
    if Path(name).exists() or Path(run).exists() or not list(out_root.glob(f"*/{run}/{CONFIG}")):
        return name
    return f"{find_run(run, out_root)}{colon}{which}"
