"""The page that starts a run: the form, the plan, the start."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from skillopt_cli.compose.own_tasks import INFERRED, TASKS
from skillopt_cli.compose.privilege import privilege_lines
from skillopt_cli.compose.run_folder import anchored, free_id
from skillopt_cli.compose.secrets import known_secrets
from skillopt_cli.compose.settings import settle
from skillopt_cli.compose.trust import agree, consent_mark, unapproved
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.files import preset_layers, preset_names
from skillopt_cli.config.layers import DEFAULT, Resolved, resolve
from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.planning.plan_notes import plan_notes
from skillopt_cli.planning.plan_text import plan_rows, time_words
from skillopt_cli.planning.planner import PlannedRun
from skillopt_cli.plugins import BENCHMARKS, OWN_TASKS, load_benchmark, names
from skillopt_cli.store.layout import CONFIG
from skillopt_cli.web.context import Page, WebContext
from skillopt_cli.web.form import (
    BENCHMARK,
    OWN_FIELDS,
    OWN_FILE,
    RUN_ID,
    Field,
    Given,
    first_fields,
    other_groups,
    own_fields,
    title_of,
)
from skillopt_cli.web.form_check import Checked, Wrong, checked
from skillopt_cli.web.launcher import launch
from skillopt_cli.web.pages.settings import stored_settings
from skillopt_cli.web.paths import RunName
from skillopt_cli.web.submitted_form import STALE_FORM, SubmittedForm

ESTIMATE = ("all calls", "tokens (estimate)", "US dollars")
"""Rows of the plan that are shown beside the button."""


def page(context: WebContext, request: Request) -> Page:
    """The empty form; the address may preselect a benchmark and a preset, or name a run.

    Then the form is filled in with the settings of that run.
    """
    if key := request.query_params.get("run", ""):
        name = RunName.of_key(key)
        return _page(context, _settings_of(context, name), like=name)
    return _page(context, Given.of(request.query_params))


def _settings_of(context: WebContext, name: RunName) -> Given:
    values, sources = stored_settings(context, context.runs.snapshot(name))
    benchmark = Given.like(values, sources, {}).benchmark
    preset = _preset_in(map(str, sources.values()))
    resolved, _ = _defaults(context, Given(benchmark, preset, "", {}))
    # A run stores its paths as absolute.
    stored = replace(resolved, config=anchored(resolved.config))
    empty = {row["key"]: row["value"] for row in stored.rows()}
    root = "env.data_root"
    # Nobody chose the default, and in another working folder there may be nothing at its path.
    if sources.get(root, CONFIG) == CONFIG and not Path(str(values.get(root))).is_dir():
        values.pop(root, None)
    return Given.like(values, sources, empty, preset)


def _preset_in(sources: Iterable[str]) -> str:
    """The preset that settings come from; empty where there is none, or none of that name today."""
    known = {name: preset_layers(name) for name in preset_names() if name != DEFAULT}
    named = {*sources}
    found = [name for name in known if f"preset {name}" in named]
    # A preset may be based on another.
    return max(found, key=lambda name: len(known[name]), default="")


def submit(context: WebContext, request: Request, form: SubmittedForm) -> Page | Response:
    """Show the plan of the run, or start the run if that plan was shown."""
    given, action = Given.of(form.values), form["do"]
    if action == "look":
        return _page(context, given)
    secrets = known_secrets(environment := read_environment())
    if not form.genuine:
        return _page(context, given, wrong=[Wrong(STALE_FORM)])
    found = checked(given, context, environment)
    wrong = [wrong.shown(secrets) for wrong in found.wrong]
    if not all(one.warning for one in wrong):
        return _page(context, given, wrong=wrong)
    if action != "start" or form["planned"] != given.mark:
        plan = _plan(context, given, found) | {"outdated": action == "start"}
        return _page(context, given, plan=plan, wrong=wrong)
    if form["trust"] != consent_mark(unapproved(found.asked)):
        plan = _plan(context, given, found) | {"unagreed": True}
        return _page(context, given, plan=plan, wrong=wrong)
    agree(found.asked)
    try:
        name = _start(context, given)
    except SkillOptError as error:
        return _page(context, given, wrong=[Wrong.of(error, given).shown(secrets)])
    return RedirectResponse(name.url, status_code=303)


def _plan(context: WebContext, given: Given, found: Checked) -> dict[str, Any]:
    """The plan as `skillopt plan` prints it, and the equivalent shell command."""
    made, lacking = found.plan, unapproved(found.asked)
    return {
        "mark": given.mark,
        "command": shlex.join(["skillopt", *given.command(context.outputs.root)]),
        "rows": (rows := plan_rows(made) if made else []),
        "estimate": _estimate(made, rows) if made else "",
        "notes": [
            *([found.inferred] if found.inferred else []),
            *(plan_notes(made) if made else [f"No plan could be made ({found.bug})."]),
            *privilege_lines(found.asked),
        ],
        "lacking": [one.sentence for one in lacking],
        "consent": consent_mark(lacking),
        "outdated": False,
        "unagreed": False,
    }


def _estimate(plan: PlannedRun, rows: Iterable[tuple[str, str, str]]) -> str:
    """What is shown beside the button: what the run likely takes, and how its time was computed."""
    shown = [f"{what} {likely}" for what, likely, _ in rows if what in ESTIMATE]
    return ", ".join([*shown, f"time {time_words(plan)}"])


def _start(context: WebContext, given: Given) -> RunName:
    """Start the run.

    Raises:
        SkillOptError: its process ended before the run started.
    """
    home = context.outputs.root / given.name
    run_id = given.run_id or free_id(home, datetime.now().astimezone())
    launch(given.command(context.outputs.root, run_id), home / run_id)
    return RunName(given.name, run_id)


def _page(
    context: WebContext,
    given: Given,
    *,
    plan: Mapping[str, Any] | None = None,
    wrong: Sequence[Wrong] = (),
    like: RunName | None = None,
) -> Page:
    empty, options = _defaults(context, given)
    own, first, groups = own_fields(), first_fields(), other_groups(options, given)
    fields = (*first, *(field for group in groups for field in group.fields))
    # In the order of the page, to be corrected from top to bottom.
    places = [BENCHMARK, *OWN_FIELDS, RUN_ID, *(field.key for field in fields)]
    told = {place: [w for w in wrong if w.place == place] for place in places}
    rows = {row["key"]: row for row in empty.rows()}
    variables = {
        "given": given,
        "like": like,
        "benchmarks": [OWN_FILE, *names(BENCHMARKS)],
        "own_file": OWN_FILE,
        "own": own,
        "of_own_file": _of_own_file(own, options, given, told),
        "inferred": _inferred(given, rows),
        "presets": preset_names(),
        "first": first,
        "groups": groups,
        "empty": rows,
        "title_of": title_of,
        "plan": plan,
        "told": {place: found for place, found in told.items() if found},
        "wrong": [place for place, found in told.items() if not all(w.warning for w in found)],
        "elsewhere": [w.error for w in wrong if w.place not in told],
        "root": str(context.outputs.root),
    }
    return Page("new.html", variables, 200 if all(w.warning for w in wrong) else 422)


def _of_own_file(
    own: Iterable[Field],
    options: frozenset[str],
    given: Given,
    told: Mapping[str, Sequence[Wrong]],
) -> set[str]:
    """The fields that are shown only where a file of own tasks is chosen.

    Others are of the benchmark as well, or hold something.
    """
    shown = {*TASKS, *given.settings, *(f"env.{name}" for name in options)}
    return {field.key for field in own if field.key not in shown and not told[field.key]}


def _inferred(given: Given, rows: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """The settings that own tasks determine where their fields are empty."""
    if given.benchmark == OWN_TASKS:
        return set()
    keys = {f"env.{name}" for name in INFERRED}
    if given.benchmark != OWN_FILE:
        keys &= {*OWN_FIELDS}
    return {key for key in keys if key not in rows or rows[key]["source"] == DEFAULT}


def _defaults(context: WebContext, given: Given) -> tuple[Resolved, frozenset[str]]:
    """The values of empty fields, and the benchmark's own settings.

    If they cannot be resolved, as with a misspelt variable, the program's defaults are returned:
    the error itself is shown when the form is submitted.
    """
    nothing = Given(given.benchmark, given.preset, "", {}).overrides(context.outputs.root, roles=())
    try:
        options = load_benchmark(given.name).option_names if given.name else frozenset()
        return settle(nothing, read_environment()), options
    except SkillOptError:
        return resolve([]), frozenset()
