"""The sweeps of an outputs folder: their list, and the settings and scores of one of them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request

from skillopt_cli.core.errors import BudgetExhausted, DataError
from skillopt_cli.safe_files import read_regular
from skillopt_cli.sweeps.command import LARGEST
from skillopt_cli.sweeps.trials import HOME, RESULT, sweep_of
from skillopt_cli.web.context import Page, WebContext
from skillopt_cli.web.paths import NotFound, RunName, inside, sweep_url
from skillopt_cli.web.sweep_chart import parallel_chart


def names(context: WebContext) -> list[str]:
    """The sweeps that have a result, in alphabetical order."""
    found = sorted((context.outputs.root / HOME).glob(f"*/{RESULT}"))
    return [path.parent.name for path in found if not path.parent.name.startswith(".")]


def sweep_link(root: Path, run: RunName) -> dict[str, str] | None:
    """Name and address of the sweep that a run is of; None where it is of none with a page."""
    if not (name := sweep_of(run.run_id)):
        return None
    try:
        inside(root, root / HOME / name / RESULT)
    except NotFound:
        return None
    return {"name": name, "url": sweep_url(name)}


def page(context: WebContext, request: Request) -> Page:
    """All sweeps."""
    listed = []
    for name in names(context):
        try:
            listed.append(_row(name, _read(context, name)))
        except (NotFound, DataError) as error:
            listed.append({"name": name, "error": str(error) or "it cannot be read"})
    return Page("sweeps.html", {"sweeps": listed, "root": str(context.outputs.root)})


def sweep(context: WebContext, request: Request) -> Page:
    """The combinations of a sweep, best first, with a parallel view of settings and scores."""
    name = request.path_params["sweep"]
    document = _read(context, name)
    try:
        combinations = list(_combinations(context, document))
        variables = {
            **_row(name, document),
            "document": document,
            "command": _command(document),
            # A sweep of an older version has the scores of the gate, whichever that was.
            "metric": str(document.get("ranked_by", "hard")),
            "notes": [str(text) for text in document.get("notes") or ()],
            "combinations": combinations,
            "keys": list(dict.fromkeys(key for one in combinations for key in one["settings"])),
            "chart": parallel_chart(document["combinations"]),
        }
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise _damaged(name) from error
    return Page("sweep.html", variables)


def _read(context: WebContext, name: str) -> dict[str, Any]:
    """The result of a sweep.

    Raises:
        NotFound: there is no such sweep, or its file leads out of the folder.
        DataError: it cannot be read.
    """
    if not name or name.startswith(".") or {"/", "\\", "\0"} & set(name):
        raise NotFound
    home = context.outputs.root / HOME / name
    path = inside(context.outputs.root, home / RESULT)
    try:
        found = json.loads(read_regular(path, LARGEST))
        if not isinstance(found, dict):
            raise ValueError("it is no object")
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(name) from error
    return found


def _damaged(name: str) -> DataError:
    return DataError(f"the result of the sweep {name} is damaged", "run `skillopt sweep` again")


def _row(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """What the list shows of a sweep.

    Raises:
        DataError: its result is damaged.
    """
    try:
        runs = [run for one in document["combinations"] for run in one["runs"]]
        finished = sum(run["status"] == "finished" for run in runs)
        tried = len(document["combinations"])
    except (LookupError, TypeError) as error:
        raise _damaged(name) from error
    return {
        "name": name,
        "url": sweep_url(name),
        "tried": tried,
        "finished": finished,
        "runs": len(runs),
    }


def _command(document: Mapping[str, Any]) -> str:
    """The command that continues the sweep; empty where it is finished or needs a higher cap."""
    command = document.get("command")
    if not command or document["finished"] or document["exit_code"] == BudgetExhausted.exit_code:
        return ""
    return f"cd {shlex.quote(document['working_folder'])} && {command}"


def _combinations(context: WebContext, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for one in document["combinations"]:
        names = [RunName(*Path(run["folder"]).parts[-2:]) for run in one["runs"]]
        # A run that has not begun has no folder yet, and no page.
        runs = [
            {**run, "url": name.url if context.outputs.holds(name) else ""}
            for run, name in zip(one["runs"], names, strict=True)
        ]
        yield {**one, "runs": runs, "settings": dict(one["settings"])}
