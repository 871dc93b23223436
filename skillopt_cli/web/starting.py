"""Starting a run: the form, what the run would take, and the run as a process of its own."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from skillopt_cli.compose.folder import free_id, vacant
from skillopt_cli.compose.planning import planned
from skillopt_cli.compose.secrets import Secrets
from skillopt_cli.compose.settings import settle
from skillopt_cli.config import RunConfig
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.files import preset_names
from skillopt_cli.config.layers import Resolved, resolve
from skillopt_cli.core.errors import SkillOptError, UsageError
from skillopt_cli.plugins import BENCHMARKS, load_benchmark, names
from skillopt_cli.ui.forecast import plan_rows
from skillopt_cli.ui.plan_notes import plan_notes
from skillopt_cli.web.form import (
    BENCHMARK,
    RUN_ID,
    Given,
    first_fields,
    other_groups,
    place_of,
)
from skillopt_cli.web.launching import launch
from skillopt_cli.web.places import Named
from skillopt_cli.web.posting import STALE, Posted
from skillopt_cli.web.site import Page, Site


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a form.

    Attributes:
        place: the field it is about, empty where that is none alone.
    """

    error: SkillOptError
    place: str


def page(site: Site, request: Request) -> Page:
    """The empty form; its address may name a benchmark and a preset."""
    return _page(site, Given.of(request.query_params))


def act(site: Site, request: Request, form: Posted) -> Page | Response:
    """Show what a run would take, or start it once that was shown."""
    given, wish = Given.of(form.values), form["do"]
    if wish == "look":
        return _page(site, given)
    environment = read_environment()
    place = BENCHMARK
    try:
        if not form.genuine:
            raise STALE
        if not given.benchmark:
            raise UsageError("no benchmark is named", "choose one of the list")
        place = ""
        config = settle(given.wishes(site.outputs.root), environment).config
        if given.run_id:
            place = RUN_ID
            vacant(config, given.run_id)
            place = ""
        plan = _plan(site, given, config, environment)
        if wish != "start" or form["planned"] != given.mark:
            return _page(site, given, plan=plan | {"outdated": wish == "start"})
        name = _started(site, given)
    except SkillOptError as error:
        error.message, error.hint = map(Secrets.of(environment).hide, (error.message, error.hint))
        return _page(site, given, wrong=Wrong(error, place or place_of(error)))
    return RedirectResponse(name.url, status_code=303)


def _plan(
    site: Site, given: Given, config: RunConfig, environment: Mapping[str, str]
) -> dict[str, Any]:
    """What the run would take, as `skillopt plan` says it, and how a shell would start it."""
    shown = {
        "mark": given.mark,
        "command": shlex.join(["skillopt", *given.command(site.outputs.root)]),
    }
    try:
        made = planned(config, environment)
    except SkillOptError:
        raise
    # A bug, a plug-in's mostly, keeps nobody from starting: the run leaves a traceback of it.
    except Exception as error:
        notes = [f"No plan could be made ({type(error).__name__})."]
        return shown | {"rows": [], "notes": notes}
    return shown | {"rows": plan_rows(made), "notes": list(plan_notes(made))}


def _started(site: Site, given: Given) -> Named:
    """Start the run.

    Raises:
        SkillOptError: it ended before it began.
    """
    home = site.outputs.root / given.benchmark
    run_id = given.run_id or free_id(home, datetime.now().astimezone())
    launch(given.command(site.outputs.root, run_id), home / run_id)
    return Named(given.benchmark, run_id)


def _page(
    site: Site,
    given: Given,
    *,
    plan: Mapping[str, Any] | None = None,
    wrong: Wrong | None = None,
) -> Page:
    empty, options = _unsaid(site, given)
    groups = other_groups(options, given)
    known = {BENCHMARK, RUN_ID, *(field.key for field in first_fields())}
    known |= {field.key for group in groups for field in group.fields}
    shown = {
        "given": given,
        "benchmarks": names(BENCHMARKS),
        "presets": preset_names(),
        "first": first_fields(),
        "groups": groups,
        "empty": {row["key"]: row for row in empty.rows()},
        "plan": plan,
        "error": wrong and wrong.error,
        "place": wrong.place if wrong and wrong.place in known else "",
        "root": str(site.outputs.root),
    }
    return Page("new.html", shown, 422 if wrong else 200)


def _unsaid(site: Site, given: Given) -> tuple[Resolved, frozenset[str]]:
    """What holds where a field is left empty, and the benchmark's own settings.

    Where that cannot be told, as with a misspelt variable, it is the defaults: the fault itself is
    told when the form is sent.
    """
    nothing = Given(given.benchmark, given.preset, "", {}).wishes(site.outputs.root, roles=())
    try:
        options = load_benchmark(given.benchmark).options if given.benchmark else frozenset()
        return settle(nothing, read_environment()), options
    except SkillOptError:
        return resolve([]), frozenset()
