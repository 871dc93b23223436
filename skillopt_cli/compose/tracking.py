"""The trackers of a run, put together: opened at its first fact, closed with its summary."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from skillopt_cli.compose.build import Order
from skillopt_cli.compose.folder import CONFIG, anchored
from skillopt_cli.compose.secrets import Secrets
from skillopt_cli.config.environment import lent
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import SubscriberDropped
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.plugins import load_tracker
from skillopt_cli.ports import Closing, Emit, Point, TrackedRun, TrackerSpec
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.scribe import HISTORY
from skillopt_cli.trackers.courier import Courier
from skillopt_cli.trackers.following import Follower, numbers

FOLDER = "trackers"
CLOSING_SECONDS = 60.0
"""How long the end of a run waits for its trackers, all together."""
_FILES = ("best_skill.md", "best_skill", CONFIG, HISTORY, "summary.json")


class Tracking:
    """The trackers of one process of a run.

    Args:
        folder: the run folder.
    """

    def __init__(self, folder: Path, couriers: Sequence[Courier], secrets: Secrets) -> None:
        self._folder = folder
        self._couriers = couriers
        self._secrets = secrets

    @property
    def observers(self) -> list[Subscriber]:
        """Who is to be told the run's facts."""
        return [Subscriber(courier.name, courier) for courier in self._couriers]

    def close(self, summary: Mapping[str, Any], emit: Emit) -> None:
        """Give the trackers the summary, wait for them, and state which of them failed."""
        for courier in self._couriers:
            courier.seal(partial(self._closing, summary))
        until = time.monotonic() + CLOSING_SECONDS
        for courier in self._couriers:
            if failure := courier.wait(max(0.0, until - time.monotonic())):
                emit(SubscriberDropped(courier.name, failure))

    def _closing(self, summary: Mapping[str, Any], follower: Follower) -> Closing:
        return Closing(
            step=follower.done,
            time=time.time(),
            status=str(summary["status"]),
            exit_code=summary["exit_code"] or 0,
            values=numbers(summary),
            files=tuple(path for name in _FILES if self._sent(path := self._folder / name)),
            stages=follower.rest,
        )

    def _sent(self, path: Path) -> bool:
        """Whether a file or folder is there and holds no secret: a skill's text is the user's."""
        files = [inner for inner in path.rglob("*") if inner.is_file()] if path.is_dir() else [path]
        texts = (inner.read_text("utf-8", errors="replace") for inner in files)
        return path.exists() and all(self._secrets.hide(text) == text for text in texts)


@contextmanager
def tracked(folder: Path, order: Order) -> Iterator[Tracking]:
    """The trackers that the configuration names.

    Raises:
        ConfigError: there is no such tracker, or its package is missing.
    """
    specs = [load_tracker(name) for name in order.config.run.trackers]
    for spec in specs:
        _check(spec)
    secrets = Secrets.of(order.environment, order.config)
    variables: dict[str, str] = {}
    for spec in specs:
        variables |= {**spec.calm, **_own(spec, order.environment)}
    couriers = [_courier(spec, folder, order, secrets) for spec in specs]
    with lent(variables):
        yield Tracking(folder, couriers, secrets)


def _check(spec: TrackerSpec) -> None:
    if lacking := spec.missing():
        raise ConfigError(
            f"the tracker `{spec.name}` needs {lacking}, which is not installed",
            f"pip install 'skillopt-cli[{spec.extra}]'" if spec.extra else "install it",
        )


def _own(spec: TrackerSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables a tracker's library reads."""
    return {name: value for name, value in environment.items() if name.startswith(spec.variables)}


def _courier(spec: TrackerSpec, folder: Path, order: Order, secrets: Secrets) -> Courier:
    settings = _hidden(anchored(order.config).model_dump(mode="json", exclude_none=True), secrets)

    def describe(follower: Follower) -> TrackedRun:
        return TrackedRun(
            identity=follower.identity,
            name=folder.name,
            benchmark=order.config.env.name,
            began=follower.began,
            folder=folder / FOLDER / spec.name,
            home=folder.parent.parent,
            settings=settings,
            environment=_own(spec, order.environment),
        )

    follower, backlog = _followed(folder)
    return Courier(spec, describe, follower, backlog, secrets.hide)


def _followed(folder: Path) -> tuple[Follower, list[Point]]:
    """What earlier processes logged."""
    follower = Follower()
    # Reading the log needs no journal, so an in-memory one stands in.
    with Journal(Path(":memory:")) as journal, FileStore(folder, journal) as store:
        backlog = [point for fact in store.facts() for point in follower.add(fact)]
    return follower, backlog


def _hidden(value: Any, secrets: Secrets) -> Any:
    """A document without any secret."""
    if isinstance(value, str):
        return secrets.hide(value)
    if isinstance(value, dict):
        return {key: _hidden(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list):
        return [_hidden(inner, secrets) for inner in value]
    return value
