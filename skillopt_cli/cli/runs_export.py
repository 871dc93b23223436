"""What `skillopt runs export` writes."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import typer

from skillopt_cli.api.tables import table_of, tasks_to_export
from skillopt_cli.cli.output import put
from skillopt_cli.compose.run_folder import find_run
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.formatting import count
from skillopt_cli.reports.diff.named_skill import by_id, named_skill
from skillopt_cli.reports.export.skill import ZIP, shipped_skill, zipped
from skillopt_cli.reports.export.table import WRITERS
from skillopt_cli.runlog.run_log import read_view
from skillopt_cli.runlog.text.unfinished import partial_words
from skillopt_cli.store.atomic_files import replace_folder


def export_table(
    run: str, out_root: Path, what: str, split: str | None, form: str, out: Path | None
) -> None:
    """Write a table of a run.

    Raises:
        UsageError: there is no such run, or nothing of the kind was measured.
    """
    if out is None and form == "parquet" and sys.stdout.isatty():
        raise UsageError("Parquet is no text for a terminal", "name a file with --out")
    folder = find_run(run, out_root)
    view = read_view(folder)
    found = tasks_to_export(view, folder, split)
    put(out, WRITERS[form](table_of(found, what)))
    _note(partial_words(view))
    if split is None and view.evaluated is None and view.run is not None and view.run.n_train:
        tasks = count(view.run.n_train, "train task")
        _note(f"the {tasks} of the run are not in this table; `--split train` has them")
    if found.textless:
        _note(
            f"the answers of {count(found.textless, 'attempt')} are not in the run folder:"
            " the stage has not ended, or its results.jsonl cannot be read"
        )


def export_skill(name: str, out_root: Path, out: Path | None) -> None:
    """Write a run's best skill, or another one that is named as `RUN:3`, without our marks.

    A skill that is a folder becomes one, or an archive where `out` ends in `.zip`.

    Raises:
        UsageError: there is no such skill, or one that is one file is to be an archive.
    """
    named = named_skill(by_id(name, out_root))
    skill = shipped_skill(named)
    archived = out is not None and out.suffix.lower() == ZIP
    if skill.folder is None:
        if archived:
            raise UsageError(f"the skill {name} is one file", "end the name in `.md`")
        put(out, skill.text)
    elif out is None:
        raise UsageError(f"the skill {name} is a folder", "name a new folder for it with --out")
    elif archived:
        put(out, zipped(skill))
    else:
        replace_folder(out, skill)
        typer.echo(f"wrote {out}", err=True)
    if named.best_of is not None:
        with suppress(DataError):  # the skill is there whether its log can be read or not
            _note(partial_words(read_view(named.best_of), "its best skill is that"))


def _note(words: str) -> None:
    if words:
        typer.echo(f"Note: {words}", err=True)
