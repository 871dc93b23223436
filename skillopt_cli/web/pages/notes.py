"""The form of a run's note and tags, which is part of its overview."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.web.context import Page, WebContext, run_name
from skillopt_cli.web.pages import overview
from skillopt_cli.web.run_notes import RunNotes, write_notes
from skillopt_cli.web.submitted_form import STALE_FORM, SubmittedForm


def submit(context: WebContext, request: Request, form: SubmittedForm) -> Page | Response:
    """Store the note and the tags; a refused form shows the page with the typed values."""
    name = run_name(request)
    folder = context.outputs.folder(name)
    try:
        if not form.genuine:
            raise STALE_FORM
        write_notes(folder, RunNotes.typed(form["note"], form["tags"]))
    except SkillOptError as error:
        return overview.overview(context, name, request.query_params, form, error)
    return RedirectResponse(f"{name.url}#notes", status_code=303)
