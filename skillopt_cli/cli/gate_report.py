"""`skillopt gate-report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt_cli.cli.options import ForceOption, JsonOption, LookupRoot, OutOption
from skillopt_cli.cli.output import (
    as_text,
    json_line,
    put,
    show,
    show_json,
)
from skillopt_cli.compose.run_folder import find_run
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.events import VerdictReached
from skillopt_cli.reports.export.steps import step_table
from skillopt_cli.reports.export.table import as_csv
from skillopt_cli.reports.page import as_markdown
from skillopt_cli.reports.recompute import disagreements, recomputed, summary_disagreements
from skillopt_cli.reports.run.comparison import side_by_side
from skillopt_cli.reports.run.document import report_document
from skillopt_cli.reports.run.html import as_html
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import (
    NO_DIFFERENCES,
    Subject,
    labels_of,
    read_subject,
    run_differences,
)
from skillopt_cli.reports.terminal import as_rich
from skillopt_cli.runlog.run_log import read_view
from skillopt_cli.runlog.text.unfinished import partial_words
from skillopt_cli.runlog.text.verdict import majority_document, verdict_document
from skillopt_cli.store.atomic_files import check_replaceable


class Format(StrEnum):
    """How a report is written."""

    table = "table"
    md = "md"
    html = "html"
    json = "json"
    csv = "csv"


def gate_report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Run folders or run ids.")],
    out_root: LookupRoot = Path("outputs"),
    format: Annotated[
        Format | None,
        typer.Option(
            help="table for a terminal, md for GitHub, html for a browser, json for programs,"
            " csv for the steps as a table."
        ),
    ] = None,
    out: OutOption = None,
    force: ForceOption = False,
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute", help="Compute each verdict again from the stored results of the tasks."
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show what each step proposed and how the gate decided; several runs side by side.

    Several runs are compared task by task on the selection and test tasks that all of them have.
    A file named by --out has the format of its ending, unless --format is given.
    """
    if json and format not in (None, Format.json):
        raise UsageError(f"--json and --format {format} exclude each other", "give one of the two")
    form = Format.json if json else format or _ending_of(out)
    if out is not None:
        check_replaceable(out, force=force)
    folders = [find_run(run, out_root) for run in runs]
    labels = labels_of(folders)
    if recompute:
        _recompute(dict(zip(labels, folders, strict=True)), as_json=json)
        return
    illustrated = form == Format.html
    reported = [
        read_subject(label, folder, tasks=illustrated and len(folders) == 1)
        for label, folder in zip(labels, folders, strict=True)
    ]
    differences = run_differences(reported, folders) if len(reported) > 1 else NO_DIFFERENCES
    if form == Format.json:
        put(out, json_line(report_document(reported, differences)))
        return
    if form == Format.csv:
        _put_steps(out, reported)
        return
    if len(reported) == 1:
        page = run_report(reported[0], illustrated=illustrated)
    else:
        page = side_by_side(reported, differences, illustrated=illustrated)
    if form == Format.html:
        put(out, as_html(page))
    elif form == Format.md:
        put(out, as_markdown(page))
    elif out is not None:
        put(out, as_text(as_rich(page)))
    else:
        show(as_rich(page))


_ENDINGS = {
    "": Format.table,
    ".txt": Format.table,
    ".md": Format.md,
    ".html": Format.html,
    ".htm": Format.html,
    ".json": Format.json,
    ".csv": Format.csv,
}


def _ending_of(out: Path | None) -> Format:
    """The format of a file's ending; a table where there is none.

    Raises:
        UsageError: no format has that ending.
    """
    ending = out.suffix.lower() if out else ""
    if ending not in _ENDINGS:
        raise UsageError(
            f"no format has the ending of {out}",
            f"the formats are {', '.join(filter(None, _ENDINGS))}: end it in one of them, or give"
            " --format",
        )
    return _ENDINGS[ending]


def _put_steps(out: Path | None, runs: Sequence[Subject]) -> None:
    """Write the steps of the runs as CSV, with a note on each run that is not finished.

    Raises:
        UsageError: none of the runs is a training.
    """
    if not any(run.view.total_steps for run in runs):
        raise UsageError(
            "an evaluation has no steps, and `--format csv` is a table of steps",
            f"`skillopt runs export {runs[0].label}` writes its tasks as CSV",
        )
    put(out, as_csv(step_table(runs)))
    for run in runs:
        if words := partial_words(run.view):
            typer.echo(f"Note: {words}", err=True)


def _recompute(folders: Mapping[str, Path], *, as_json: bool) -> None:
    """Print for each run whether its recorded verdict follows from its stored results.

    Raises:
        UsageError: a run has no verdict.
        DataError: a recorded verdict does not follow from the results.
    """
    documents: list[dict[str, Any]] = []
    wrong: list[str] = []
    for label, folder in folders.items():
        view = read_view(folder)
        if view.verdict is None:
            raise UsageError(
                f"the run {label} has no verdict",
                "a finished training has one, unless evaluation.eval_test is off and"
                " evaluation.confirm_fraction is 0",
            )
        recorded = VerdictReached(view.verdict, view.majority)
        found = recomputed(folder, recorded)
        differences = disagreements(recorded, found) + summary_disagreements(folder, recorded)
        documents.append({
            "run": label,
            "agrees": not differences,
            "recorded": verdict_document(recorded.verdict, recorded.majority),
            "recomputed": verdict_document(found.verdict, found.majority),
            "majority_baseline": majority_document(found.verdict, found.majority),
        })
        wrong += [f"{label}: {difference}" for difference in differences]
    if as_json:
        show_json({"runs": documents, "differences": wrong})
    if wrong:
        raise DataError(
            f"a recorded verdict does not follow from the stored results: {'; '.join(wrong)}",
            "the folder was changed after the run; restore it from a copy",
        )
    for document in documents if not as_json else ():
        typer.echo(f"{document['run']}: {document['recomputed']['sentence']}")
        for sentence in (document["majority_baseline"] or {"sentences": ()})["sentences"]:
            typer.echo(sentence)
        typer.echo("The recorded verdict is the same.")
