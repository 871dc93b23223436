"""Plug-ins through entry points. Ours are listed there like a stranger's.

A plug-in is imported only when named. A broken one is an error that names it, never "unknown".
"""

from __future__ import annotations

import difflib
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from traceback import walk_tb
from typing import TypeVar

from pydantic import BaseModel

from skillopt_cli.core.errors import ConfigError
from skillopt_cli.ports import BackendSpec, BenchmarkSpec, TrackerSpec

BENCHMARKS = "skillopt.benchmarks"
BACKENDS = "skillopt.backends"
TRACKERS = "skillopt.trackers"
OWN_TASKS = "folder"
"""The benchmark that reads task files of users."""
SIMULATED = "simulated"
"""The backend that plays at being a model."""

S = TypeVar("S", BackendSpec, BenchmarkSpec, TrackerSpec)


def names(group: str) -> list[str]:
    """Names in a group, sorted."""
    return sorted({point.name for point in _points(group)})


def _points(group: str) -> EntryPoints:
    return _installed(group, tuple(sys.path))


@cache
def _installed(group: str, path: tuple[str, ...]) -> EntryPoints:
    """Looked for once: every package on the path is opened, which takes longer than a command."""
    return entry_points(group=group)


def load_benchmark(name: str) -> BenchmarkSpec:
    """A benchmark by name.

    Raises:
        ConfigError: it is unknown, or its plug-in is broken.
    """
    return _load(BENCHMARKS, "benchmark", name, BenchmarkSpec)


def load_backend(name: str) -> BackendSpec:
    """A backend by name.

    Raises:
        ConfigError: it is unknown, or its plug-in is broken.
    """
    return _load(BACKENDS, "backend", name, BackendSpec)


def backend_options(name: str) -> type[BaseModel] | None:
    """The section of the configuration that a backend declares; None where there is none.

    Raises:
        ConfigError: the backend's plug-in is broken.
    """
    return load_backend(name).options if name in names(BACKENDS) else None


def sound_backends() -> list[BackendSpec]:
    """Every installed backend that can be loaded; a broken one is an error where it is used."""
    found = []
    for name in names(BACKENDS):
        with suppress(ConfigError):
            found.append(load_backend(name))
    return found


def load_tracker(name: str) -> TrackerSpec:
    """A tracker by name.

    Raises:
        ConfigError: it is unknown, or its plug-in is broken.
    """
    return _load(TRACKERS, "tracker", name, TrackerSpec)


def _load(group: str, what: str, name: str, kind: type[S]) -> S:
    point = _find(group, what, name)
    try:
        spec = point.load()
    # A plug-in is foreign code: whatever its import raises, the user must learn which one it was.
    except Exception as error:
        raise ConfigError(
            f"the {what} plug-in `{name}` ({point.value}) cannot be loaded: {error!r}",
            "reinstall or remove the package that provides it",
        ) from error
    if not isinstance(spec, kind):
        raise ConfigError(
            f"the {what} plug-in `{name}` ({point.value}) is not a {kind.__name__}",
            "see the guide on writing plug-ins",
        )
    return spec


def _find(group: str, what: str, name: str) -> EntryPoint:
    found = _points(group)
    # A distribution that is found twice on the path offers the same point twice.
    mine = {point.value: point for point in found if point.name == name}
    if len(mine) > 1:
        raise ConfigError(
            f"several packages offer the {what} `{name}`: {', '.join(sorted(mine))}",
            "remove all but one of the packages that provide it",
        )
    if mine:
        return mine.popitem()[1]
    close = difflib.get_close_matches(name, found.names, n=1, cutoff=0.5)
    listed = ", ".join(sorted(found.names))
    raise ConfigError(
        f"there is no {what} `{name}`",
        f"did you mean `{close[0]}`?" if close else f"{what}s: {listed}",
    )


def at_fault(error: BaseException) -> str | None:
    """The plug-in whose code an error was raised in, for people; None when it was ours.

    The innermost frame that belongs to us or to a plug-in decides: what a library raises is the
    fault of its caller, and what we raise while a plug-in calls us is our own.
    """
    ours = __name__.partition(".")[0]
    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    for module in reversed(modules):
        root = module.partition(".")[0]
        if root == ours:
            return None
        found = sorted(_plugins_of(root), key=lambda plugin: plugin[0] != module)
        if found:
            return found[0][1]
    return None


def _plugins_of(package: str) -> list[tuple[str, str]]:
    """The plug-ins a package offers: the module of each, and what it is called."""
    return [
        (point.module, f"the {what} plug-in `{point.name}`")
        for group, what in ((BENCHMARKS, "benchmark"), (BACKENDS, "backend"), (TRACKERS, "tracker"))
        for point in _points(group)
        if point.module.partition(".")[0] == package
    ]
