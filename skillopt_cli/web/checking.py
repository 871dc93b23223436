"""All that is wrong with a filled-in form, so that nobody has to send it once per mistake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt_cli.compose.folder import check_run_id, vacant
from skillopt_cli.compose.planning import Planned, planned
from skillopt_cli.compose.secrets import Secrets
from skillopt_cli.compose.settings import settle
from skillopt_cli.config import RunConfig
from skillopt_cli.config.wording import MEANING
from skillopt_cli.core.errors import SkillOptError, UsageError
from skillopt_cli.plugins import BENCHMARKS, names
from skillopt_cli.web.form import BENCHMARK, RUN_ID, SOURCE, Given, keys_in

MOST = 20
"""Mistakes that are looked for."""
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
        named = [*keys_in(error.message), *_paths_in(error, given), *keys_in(error.hint)]
        place = next(iter(named), "")
        return cls(error, BENCHMARK if place == "env.name" else place)

    def shown(self, secrets: Secrets) -> Wrong:
        """The same in words for the page: without any key, and without what stands there anyway."""
        message = self.error.message.replace(f" ({SOURCE})", "")
        hint = "" if self.error.hint.startswith(MEANING) else self.error.hint
        return replace(self, error=SkillOptError(secrets.hide(message), secrets.hide(hint)))


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of a form.

    Attributes:
        plan: what the run would take; None where something is wrong, or where a bug, a plug-in's
            mostly, keeps it from being told.
        bug: the name of that bug's error.
    """

    wrong: tuple[Wrong, ...] = ()
    plan: Planned | None = None
    bug: str = ""


def checked(given: Given, root: Path, environment: Mapping[str, str]) -> Checked:
    """Check a form as `skillopt train` does, and plan its run.

    What is found wrong is taken out of the form, and what is left is checked again.
    """
    found = list(_names(given, root))
    left, taken = given, list[str]()
    while len(found) < MOST:
        try:
            return replace(_planned(left, root, environment), wrong=tuple(found))
        except SkillOptError as error:
            about = keys_in(error.message) or _paths_in(error, left)
            typed = [key for key in about if key in left.settings]
            if typed or not _follows(error, taken):
                found.append(Wrong.of(error, left))
            if not typed:
                break
            taken.append(typed[0])
            left = left.without(typed[0])
    return Checked(tuple(found))


def _names(given: Given, root: Path) -> Iterable[Wrong]:
    """What is wrong with the names of benchmark and run."""
    if not given.benchmark:
        error = UsageError("no benchmark is named", "choose one of the list")
        yield Wrong(error, BENCHMARK)
    if given.run_id:
        try:
            check_run_id(given.run_id)
            if given.benchmark in names(BENCHMARKS):
                env = {"name": given.benchmark, "out_root": str(root)}
                vacant(RunConfig(env=env), given.run_id)
        except SkillOptError as error:
            yield Wrong(error, RUN_ID)


def _planned(given: Given, root: Path, environment: Mapping[str, str]) -> Checked:
    if not given.benchmark:
        # Without one only what holds of any can be checked.
        settle(given.wishes(root, roles=()), environment)
        return Checked()
    config = settle(given.wishes(root), environment).config
    try:
        return Checked(plan=planned(config, environment))
    except SkillOptError:
        raise
    # It keeps nobody from starting: the run leaves a traceback of it.
    except Exception as error:
        return Checked(bug=type(error).__name__)


def _paths_in(error: SkillOptError, given: Given) -> list[str]:
    """The settings whose value is a path that an error names, the longest path first."""
    paths = {key: str(Path(text).absolute()) for key, text in given.settings.items()}
    return sorted((k for k in paths if paths[k] in error.message), key=lambda k: -len(paths[k]))


def _follows(error: SkillOptError, taken: Iterable[str]) -> bool:
    """Whether an error may be there only for what was taken out."""
    groups = {key.partition(".")[0] for key in taken}
    named = {key.partition(".")[0] for key in keys_in(f"{error.message} {error.hint}")}
    return bool(groups & (named or SURROUNDINGS))
