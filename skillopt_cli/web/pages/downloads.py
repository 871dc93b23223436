"""Files of a run for other programs: what `skillopt runs export` and `gate-report` write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import BinaryIO
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.task import Split
from skillopt_cli.reports.diff.named_skill import named_skill
from skillopt_cli.reports.export.skill import shipped_skill, zipped
from skillopt_cli.reports.export.steps import step_table
from skillopt_cli.reports.export.table import WRITERS, as_csv
from skillopt_cli.reports.export.tables import TABLES
from skillopt_cli.reports.export.tasks import ExportedTasks, exported_tasks
from skillopt_cli.reports.run.html import as_html
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.reports.split_ledger import split_ledger
from skillopt_cli.web.context import Page, WebContext, run_name
from skillopt_cli.web.pages.overview import evaluation
from skillopt_cli.web.pages.reading import reading_page
from skillopt_cli.web.paths import NotFound
from skillopt_cli.web.runs import MOST_RESULTS, RunSnapshot

FORMATS = {"csv": "text/csv", "jsonl": "application/x-ndjson"}
"""Formats of the tables, with their media types."""
SKILL, SKILL_FOLDER, REPORT = "skill.md", "skill.zip", "report.html"
STEPS = "steps.csv"
TRAIN = "train-tasks"
"""Name of the table of train tasks, without the ending of its format."""
_CHUNK = 1 << 16
_LOCK = Lock()
"""Held while a file is built: a table is several times as large in memory as it is on disk."""


def page(context: WebContext, request: Request) -> Page | Response:
    """One of the files, as an attachment.

    Raises:
        NotFound: there is no such run or file.
        UsageError: the run has nothing of the kind, or its results are too large for a page.
        DataError: a file of the run cannot be read.
    """
    file = request.path_params["file"]
    snapshot = context.runs.snapshot(run_name(request))
    if reading := reading_page(context, [snapshot]):
        return reading
    media, build = _builder(context, snapshot, file)
    kept = TemporaryFile()  # noqa: SIM115 # closed when it is sent
    try:
        with _LOCK:
            kept.write(build())
    # Whatever it was, nobody will read the file.
    except BaseException:
        kept.close()
        raise
    size = kept.tell()
    kept.seek(0)
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": _attachment(f"{snapshot.name.run_id}-{file}"),
        "Content-Length": str(size),
    }
    return StreamingResponse(_chunks(kept), media_type=media, headers=headers)


def download_links(snapshot: RunSnapshot) -> list[tuple[str, list[tuple[str, str]]]]:
    """What can be downloaded of a run: titles, and for each the name and file of its formats.

    Labels are there only where the answers are labels.
    """
    training = bool(snapshot.view.total_steps)
    tables = {"tasks": "tasks"} | ({"train tasks": TRAIN} if training else {})
    labelled = bool(snapshot.confusions.matrices)
    tables |= {what: what for what in TABLES if labelled or what not in _OF_LABELS}
    found = [
        (title, [(form.upper(), f"{name}.{form}") for form in FORMATS])
        for title, name in tables.items()
    ]
    found += [("steps", [("CSV", STEPS)])] if training else []
    if (snapshot.folder / "best_skill").is_dir():
        found.append(("best skill", [("ZIP", SKILL_FOLDER)]))
    elif (snapshot.folder / "best_skill.md").is_file():
        found.append(("best skill", [("Markdown", SKILL)]))
    return [*found, ("report", [("HTML", REPORT)])]


_OF_LABELS = ("labels", "confusions")


def _builder(
    context: WebContext, snapshot: RunSnapshot, file: str
) -> tuple[str, Callable[[], bytes]]:
    """The media type of a file, and what builds it."""
    what, _, form = file.rpartition(".")
    if what in TABLES and form in FORMATS:
        return FORMATS[form], lambda: _table(snapshot, what, form)
    if what == TRAIN and form in FORMATS:
        return FORMATS[form], lambda: _table(snapshot, "tasks", form, "train")
    if file == STEPS and snapshot.view.total_steps:
        subject = Subject(snapshot.name.run_id, snapshot.view)
        return FORMATS["csv"], lambda: as_csv(step_table([subject]))
    if file in (SKILL, SKILL_FOLDER):
        folder = context.outputs.texts(snapshot.name)
        if (folder / "best_skill").is_dir() != (file == SKILL_FOLDER):
            raise NotFound
        media = "application/zip" if file == SKILL_FOLDER else "text/markdown"
        return media, lambda: _skill(folder)
    if file == REPORT:
        return "text/html", lambda: _report(context, snapshot)
    raise NotFound


def _table(snapshot: RunSnapshot, what: str, form: str, split: Split | None = None) -> bytes:
    found = exported_tasks(snapshot.view, snapshot.folder, split, most=MOST_RESULTS)
    return WRITERS[form](TABLES[what](found))


def _skill(run: Path) -> bytes:
    """The best skill without our marks: its text, or a folder as an archive."""
    skill = shipped_skill(named_skill(str(run)))
    return zipped(skill) if skill.folder else skill.text.encode(errors="backslashreplace")


def _report(context: WebContext, snapshot: RunSnapshot) -> bytes:
    subject = Subject(
        snapshot.name.run_id,
        snapshot.view,
        split_ledger(snapshot.folder),
        evaluation(context, snapshot.name),
        _tasks(snapshot),
    )
    return as_html(run_report(subject, illustrated=True)).encode(errors="backslashreplace")


def _tasks(snapshot: RunSnapshot) -> ExportedTasks | None:
    try:
        return exported_tasks(snapshot.view, snapshot.folder, most=MOST_RESULTS)
    except UsageError:  # none was attempted, or there are too many for a page
        return None


def _attachment(name: str) -> str:
    """The header that has a browser store an answer under this name."""
    ascii_name = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}"


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk
