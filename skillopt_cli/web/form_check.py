"""What is wrong with the form of a new run: every mistake, and the plan where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt_cli.compose.endpoints import WITHOUT_KEY
from skillopt_cli.compose.own_tasks import ARGUMENT, TASKS, inferred_line
from skillopt_cli.compose.privilege import Privilege
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.run_folder import check_run_id, vacant
from skillopt_cli.compose.script_paths import ARGV, CORRECT, missing_scripts, missing_words
from skillopt_cli.compose.seed_skill import read_skill
from skillopt_cli.compose.settings import settle
from skillopt_cli.compose.trust import required
from skillopt_cli.config import RunConfig
from skillopt_cli.config.section import in_home
from skillopt_cli.config.validation_messages import MEANING
from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.errors import SkillOptError, Undetermined, UsageError
from skillopt_cli.core.secrets import Secrets
from skillopt_cli.planning.planner import PlannedRun, plan_run
from skillopt_cli.plugins import BENCHMARKS, load_benchmark, names
from skillopt_cli.web.context import WebContext
from skillopt_cli.web.form import BENCHMARK, RUN_ID, SOURCE, Given, in_fields, in_labels, keys_in
from skillopt_cli.web.launcher import refuse_programs

MOST_MISTAKES = 20
"""Mistakes that are looked for."""
_SKILL = "env.skill_init"
_OF_SKILL = frozenset({_SKILL, "env.editable", "env.from_scratch"})
"""Settings that say which skill is read."""
SURROUNDINGS = frozenset({"env", "model"})
"""Groups of settings for whose lack an error may name none: an endpoint, a key, tasks."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A mistake.

    Attributes:
        place: the field it is about, empty where that is none alone.
        warning: whether the run can start with it all the same.
    """

    error: SkillOptError
    place: str = ""
    warning: bool = False

    @classmethod
    def of(cls, error: SkillOptError, given: Given) -> Wrong:
        """A mistake at the field that its error names, or whose path it names."""
        named = ["model.backend"] if WITHOUT_KEY in error.hint else keys_in(error.hint)
        place = next(iter([*_about(error, given), *named]), "")
        return cls(error, BENCHMARK if place == "env.name" else place)

    def shown(self, secrets: Secrets) -> Wrong:
        """The same in words for the page: without any key, and without what is there anyway."""
        message = self.error.message
        for source in (SOURCE, ARGUMENT):
            message = message.replace(f" ({source})", "")
        message = in_labels(message)
        hint = "" if self.error.hint.startswith(MEANING) else in_fields(self.error.hint)
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
    if wrong := _wrong_skill(given, context, environment):
        found.append(wrong)
        left = left.without(*_OF_SKILL)
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
    known = {wrong.error.message for wrong in found}
    missing = _missing_scripts(left, context, environment)
    found += [wrong for wrong in missing if wrong.error.message not in known]
    return replace(planned, wrong=tuple(found))


def _wrong_skill(given: Given, context: WebContext, environment: Mapping[str, str]) -> Wrong | None:
    """Why the seed skill that is named cannot be read, whatever else is wrong."""
    env = _config_of(_OF_SKILL.__contains__, given, context, environment).env
    if env.skill_init and not env.from_scratch:
        try:
            read_skill(Path(env.skill_init), env.editable or (SKILL_FILE,))
        except SkillOptError as error:
            wrong = Wrong.of(error, given)
            return wrong if wrong.place else replace(wrong, place=_SKILL)
    return None


def _missing_scripts(
    given: Given, context: WebContext, environment: Mapping[str, str]
) -> Iterator[Wrong]:
    """The scripts of a command that are not there, whatever else is wrong."""
    config = _config_of(_is_of_scripts, given, context, environment)
    for script in missing_scripts(config):
        # An attempt's folder may hold it.
        yield Wrong(UsageError(missing_words(script), CORRECT), ARGV, warning=True)


def _is_of_scripts(key: str) -> bool:
    """Whether a setting is of the models, or of the skill, whose folder may hold a script."""
    return key in _OF_SKILL or key.startswith("model.")


def _config_of(
    wanted: Callable[[str], bool],
    given: Given,
    context: WebContext,
    environment: Mapping[str, str],
) -> RunConfig:
    """The configuration with some settings of the form; the defaults where those are wrong too."""
    named = {key: value for key, value in given.settings.items() if wanted(key)}
    # Without the tasks, which may be what is wrong.
    part = replace(given, benchmark="", settings=named)
    try:
        return settle(part.overrides(context.outputs.root, roles=()), environment).config
    except SkillOptError:
        return RunConfig()


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
    keys = keys_in(f"{error.message} {error.hint}")
    if {*keys, *([error.key] if isinstance(error, Undetermined) else [])} & {*taken}:
        return True
    if typed:
        return False
    groups = {key.partition(".")[0] for key in taken}
    named = {key.partition(".")[0] for key in keys}
    return bool(groups & (named or SURROUNDINGS))
