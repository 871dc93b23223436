"""The page that starts a run: the form, all that is wrong with it, the plan, the start."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from skillopt_cli.compose.own_tasks import ARGUMENT, INFERRED, TASKS, inferred_line
from skillopt_cli.compose.privilege import Privilege, privilege_lines
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.run_folder import anchored, check_run_id, free_id, vacant
from skillopt_cli.compose.script_paths import ARGV, CORRECT, missing_scripts, missing_words
from skillopt_cli.compose.secrets import known_secrets
from skillopt_cli.compose.seed_skill import read_skill
from skillopt_cli.compose.settings import settle
from skillopt_cli.compose.trust import agree, consent_mark, required, unapproved
from skillopt_cli.config import RunConfig
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.files import preset_names
from skillopt_cli.config.layers import DEFAULT, Resolved, resolve
from skillopt_cli.config.section import in_home
from skillopt_cli.config.validation_messages import MEANING
from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.errors import SkillOptError, Undetermined, UsageError
from skillopt_cli.core.secrets import Secrets
from skillopt_cli.planning.plan_notes import plan_notes
from skillopt_cli.planning.plan_text import plan_rows, time_words
from skillopt_cli.planning.planner import PlannedRun, plan_run
from skillopt_cli.plugins import BENCHMARKS, OWN_TASKS, load_benchmark, names
from skillopt_cli.web.context import Page, WebContext
from skillopt_cli.web.form import (
    BENCHMARK,
    OWN_FIELDS,
    OWN_FILE,
    RUN_ID,
    SOURCE,
    Field,
    Given,
    first_fields,
    keys_in,
    other_groups,
    own_fields,
)
from skillopt_cli.web.launcher import launch, refuse_programs
from skillopt_cli.web.pages.settings import stored_settings
from skillopt_cli.web.paths import RunName
from skillopt_cli.web.submitted_form import STALE_FORM, SubmittedForm

MOST_MISTAKES = 20
"""Mistakes that are looked for."""
ESTIMATE = ("all calls", "tokens (estimate)", "US dollars")
"""Rows of the plan that are shown beside the button."""
SURROUNDINGS = frozenset({"env", "model"})
"""Groups of settings for whose lack an error may name none: an endpoint, a key, tasks."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A mistake.

    Attributes:
        place: the field it is about, empty where that is none alone.
    """

    error: SkillOptError
    place: str = ""

    @classmethod
    def of(cls, error: SkillOptError, given: Given) -> Wrong:
        """A mistake at the field that its error names, or whose path it names."""
        place = next(iter([*_about(error, given), *keys_in(error.hint)]), "")
        return cls(error, BENCHMARK if place == "env.name" else place)

    def shown(self, secrets: Secrets) -> Wrong:
        """The same in words for the page: without any key, and without what is there anyway."""
        message = self.error.message
        for source in (SOURCE, ARGUMENT):
            message = message.replace(f" ({source})", "")
        hint = "" if self.error.hint.startswith(MEANING) else self.error.hint
        return replace(self, error=SkillOptError(secrets.hide(message), secrets.hide(hint)))


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of a form.

    Attributes:
        plan: what the run would take; None where something is wrong, or where a bug, a plug-in's
            mostly, keeps it from being shown.
        bug: the name of that bug's error.
        asked: what the run does beyond its own process.
        inferred: what own tasks determine, in a sentence.
    """

    wrong: tuple[Wrong, ...] = ()
    plan: PlannedRun | None = None
    bug: str = ""
    asked: tuple[Privilege, ...] = ()
    inferred: str = ""


def checked(given: Given, context: WebContext, environment: Mapping[str, str]) -> Checked:
    """Check a form as `skillopt train` does, and plan its run.

    What is found wrong is taken out of the form, and what is left is checked again.
    """
    found = list(_names(given, context.outputs.root))
    left, taken, planned = given, list[str](), Checked()
    while len(found) < MOST_MISTAKES:
        try:
            planned = _planned(left, context, environment)
            break
        except SkillOptError as error:
            typed = [key for key in _about(error, left) if key in left.settings]
            if not _follows(error, taken, typed):
                found.append(Wrong.of(error, left))
            if not typed:
                break
            taken.append(typed[0])
            left = left.without(typed[0])
    if found:
        known = {wrong.error.message for wrong in found}
        missing = _missing_files(left, context, environment)
        found += [wrong for wrong in missing if wrong.error.message not in known]
    return replace(planned, wrong=tuple(found))


def _missing_files(
    given: Given, context: WebContext, environment: Mapping[str, str]
) -> Iterator[Wrong]:
    """The seed skill and the scripts of a command that are not there, whatever else is wrong."""
    try:
        config = settle(given.overrides(context.outputs.root, roles=()), environment).config
        yield from (
            Wrong(UsageError(missing_words(script), CORRECT), ARGV)
            for script in missing_scripts(config)
        )
        if config.env.skill_init and not config.env.from_scratch:
            read_skill(Path(config.env.skill_init), config.env.editable or (SKILL_FILE,))
    except SkillOptError as error:
        if _about(error, given):
            yield Wrong.of(error, given)


def _names(given: Given, root: Path) -> Iterable[Wrong]:
    """What is wrong with the names of benchmark and run."""
    if not given.benchmark:
        error = UsageError("no benchmark is named", "choose one of the list, or a file of your own")
        yield Wrong(error, BENCHMARK)
    elif not given.argument:
        yield Wrong(UsageError("no task file is named", "type the path of your file"), TASKS[0])
    if given.run_id:
        try:
            check_run_id(given.run_id)
            if given.name in names(BENCHMARKS):
                env = {"name": given.name, "out_root": str(root)}
                vacant(RunConfig(env=env), given.run_id)
        except SkillOptError as error:
            yield Wrong(error, RUN_ID)


def _planned(given: Given, context: WebContext, environment: Mapping[str, str]) -> Checked:
    root = context.outputs.root
    if not given.argument:
        # Without one only what holds of any can be checked.
        settle(given.overrides(root, roles=()), environment)
        return Checked()
    load_benchmark(given.name)  # the path of a file is no name
    overrides = given.overrides(root)
    resolved = settle(overrides, environment)
    config, asked = resolved.config, required(overrides, resolved, environment)
    if not context.access.token:
        refuse_programs(overrides, resolved, environment)
    line = inferred_line(config, resolved.sources, resolved.unused)
    found = Checked(asked=asked, inferred=line)
    try:
        return replace(found, plan=plan_run(RunRequest(config, environment)))
    except SkillOptError:
        raise
    # It keeps nobody from starting: the run leaves a traceback of it.
    except Exception as error:
        return replace(found, bug=type(error).__name__)


def _about(error: SkillOptError, given: Given) -> list[str]:
    """The settings that an error names, or whose path it names, the likeliest first."""
    unclear = [error.key] if isinstance(error, Undetermined) else []
    return [*unclear, *keys_in(error.message), *_paths_in(error, given)]


def _paths_in(error: SkillOptError, given: Given) -> list[str]:
    """The settings whose path an error names, or begins with as it is given; the longest first."""
    paths = {key: Path(in_home(text)) for key, text in given.settings.items()}

    def named(key: str) -> bool:
        whole, path = str(paths[key].absolute()), paths[key]
        begins = error.message.startswith(str(path)) and _is_path(key, path)
        return begins or whole in error.message

    return sorted(filter(named, paths), key=lambda key: -len(str(paths[key].absolute())))


def _is_path(key: str, value: Path) -> bool:
    """Whether a relative value is surely a path, and no number or name."""
    return key in TASKS or len(value.parts) > 1 or value.suffix[1:].isalpha()


def _follows(error: SkillOptError, taken: Sequence[str], typed: Sequence[str]) -> bool:
    """Whether an error may be there only for what was taken out.

    Args:
        typed: settings of the form that the error is about.
    """
    if isinstance(error, Undetermined) and error.key in taken:
        return True
    if typed:
        return False
    groups = {key.partition(".")[0] for key in taken}
    named = {key.partition(".")[0] for key in keys_in(f"{error.message} {error.hint}")}
    return bool(groups & (named or SURROUNDINGS))


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
    resolved, _ = _defaults(context, Given(benchmark, "", "", {}))
    # A run stores its paths as absolute.
    stored = replace(resolved, config=anchored(resolved.config))
    return Given.like(values, sources, {row["key"]: row["value"] for row in stored.rows()})


def submit(context: WebContext, request: Request, form: SubmittedForm) -> Page | Response:
    """Show the plan of the run, or start the run if that plan was shown."""
    given, action = Given.of(form.values), form["do"]
    if action == "look":
        return _page(context, given)
    secrets = known_secrets(environment := read_environment())
    if not form.genuine:
        return _page(context, given, wrong=[Wrong(STALE_FORM)])
    found = checked(given, context, environment)
    if found.wrong:
        return _page(context, given, wrong=[wrong.shown(secrets) for wrong in found.wrong])
    if action != "start" or form["planned"] != given.mark:
        plan = _plan(context, given, found) | {"outdated": action == "start"}
        return _page(context, given, plan=plan)
    if form["trust"] != consent_mark(unapproved(found.asked)):
        return _page(context, given, plan=_plan(context, given, found) | {"unagreed": True})
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
    errors = {place: [w.error for w in wrong if w.place == place] for place in places}
    rows = {row["key"]: row for row in empty.rows()}
    variables = {
        "given": given,
        "like": like,
        "benchmarks": [OWN_FILE, *names(BENCHMARKS)],
        "own_file": OWN_FILE,
        "own": own,
        "of_own_file": _of_own_file(own, options, given, errors),
        "inferred": _inferred(given, rows),
        "presets": preset_names(),
        "first": first,
        "groups": groups,
        "empty": rows,
        "plan": plan,
        "wrong": {place: found for place, found in errors.items() if found},
        "elsewhere": [w.error for w in wrong if w.place not in errors],
        "root": str(context.outputs.root),
    }
    return Page("new.html", variables, 422 if wrong else 200)


def _of_own_file(
    own: Iterable[Field],
    options: frozenset[str],
    given: Given,
    errors: Mapping[str, Sequence[SkillOptError]],
) -> set[str]:
    """The fields that are shown only where a file of own tasks is chosen.

    Others are of the benchmark as well, or hold something.
    """
    shown = {*TASKS, *given.settings, *(f"env.{name}" for name in options)}
    return {field.key for field in own if field.key not in shown and not errors[field.key]}


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
