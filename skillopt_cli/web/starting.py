"""Starting a run: the form, what the run would take, and the run as a process of its own."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from skillopt_cli.compose.folder import free_id
from skillopt_cli.compose.secrets import Secrets
from skillopt_cli.compose.settings import settle
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.files import preset_names
from skillopt_cli.config.layers import Resolved, resolve
from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.plugins import BENCHMARKS, load_benchmark, names
from skillopt_cli.ui.forecast import plan_rows
from skillopt_cli.ui.plan_notes import plan_notes
from skillopt_cli.web.checking import Checked, Wrong, checked
from skillopt_cli.web.form import BENCHMARK, RUN_ID, Given, first_fields, other_groups
from skillopt_cli.web.launching import launch
from skillopt_cli.web.places import Named
from skillopt_cli.web.posting import STALE, Posted
from skillopt_cli.web.site import Page, Site


def page(site: Site, request: Request) -> Page:
    """The empty form; its address may name a benchmark and a preset."""
    return _page(site, Given.of(request.query_params))


def act(site: Site, request: Request, form: Posted) -> Page | Response:
    """Show what a run would take, or start it once that was shown."""
    given, wish = Given.of(form.values), form["do"]
    if wish == "look":
        return _page(site, given)
    secrets = Secrets.of(environment := read_environment())
    if not form.genuine:
        return _page(site, given, wrong=[Wrong(STALE)])
    found = checked(given, site.outputs.root, environment)
    if found.wrong:
        return _page(site, given, wrong=[wrong.shown(secrets) for wrong in found.wrong])
    if wish != "start" or form["planned"] != given.mark:
        plan = _shown(site, given, found) | {"outdated": wish == "start"}
        return _page(site, given, plan=plan)
    try:
        name = _started(site, given)
    except SkillOptError as error:
        return _page(site, given, wrong=[Wrong.of(error, given).shown(secrets)])
    return RedirectResponse(name.url, status_code=303)


def _shown(site: Site, given: Given, found: Checked) -> dict[str, Any]:
    """What the run would take, as `skillopt plan` says it, and how a shell would start it."""
    made = found.plan
    return {
        "mark": given.mark,
        "command": shlex.join(["skillopt", *given.command(site.outputs.root)]),
        "rows": plan_rows(made) if made else [],
        "notes": plan_notes(made) if made else [f"No plan could be made ({found.bug})."],
    }


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
    wrong: Sequence[Wrong] = (),
) -> Page:
    empty, options = _unsaid(site, given)
    first, groups = first_fields(), other_groups(options, given)
    fields = (*first, *(field for group in groups for field in group.fields))
    # In the order of the page, so that whoever mends them goes from top to bottom.
    places = [BENCHMARK, RUN_ID, *(field.key for field in fields)]
    told = {place: [w.error for w in wrong if w.place == place] for place in places}
    shown = {
        "given": given,
        "benchmarks": names(BENCHMARKS),
        "presets": preset_names(),
        "first": first,
        "groups": groups,
        "empty": {row["key"]: row for row in empty.rows()},
        "plan": plan,
        "wrong": {place: errors for place, errors in told.items() if errors},
        "elsewhere": [w.error for w in wrong if w.place not in told],
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
        options = load_benchmark(given.benchmark).option_names if given.benchmark else frozenset()
        return settle(nothing, read_environment()), options
    except SkillOptError:
        return resolve([]), frozenset()
