"""The trackers of a run, put together: opened at its first fact, closed with its summary."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from skillopt_cli.compose import tracker_host
from skillopt_cli.compose.build import Order
from skillopt_cli.compose.folder import CONFIG, anchored
from skillopt_cli.compose.secrets import Secrets, named_by, names_a_key
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
from skillopt_cli.trackers.hosting import Host, HostedTracker

FOLDER = "trackers"
PATIENCE_SECONDS = 2.0
CLOSING_SECONDS = 120.0
"""How long the end of a run waits for its trackers, first silently."""
BETWEEN_SECONDS = 10.0
"""How often those that are waited for are asked whether their servers are still there."""
Look = Callable[[TrackedRun], str]
_FILES = ("best_skill.md", "best_skill", CONFIG, HISTORY, "summary.json")


class Tracking:
    """The trackers of one process of a run.

    Args:
        folder: the run folder.
        looks: of each courier, where its tracker's numbers go.
    """

    def __init__(
        self, folder: Path, couriers: Sequence[Courier], looks: Sequence[Look], secrets: Secrets
    ) -> None:
        self._folder = folder
        self._couriers = couriers
        self._looks = looks
        self._secrets = secrets

    @property
    def observers(self) -> list[Subscriber]:
        """Who is to be told the run's facts."""
        return [Subscriber(courier.name, courier) for courier in self._couriers]

    def close(self, summary: Mapping[str, Any], emit: Emit, tell: Callable[[str], None]) -> None:
        """Give the trackers the summary, wait for them, and state which of them failed.

        Args:
            tell: is told when that takes a while, and of whom; then where the numbers are.
        """
        for courier in self._couriers:
            courier.seal(partial(self._closing, summary))
        if slow := self._wait(PATIENCE_SECONDS):
            tell(f"waiting for {' and '.join(slow)}")
            self._wait_for_servers()
        for courier in self._couriers:
            if failure := courier.give_up():
                emit(SubscriberDropped(courier.name, failure.message, failure.hint))
        for courier, look in zip(self._couriers, self._looks, strict=True):
            if courier.run and not courier.failed and (words := look(courier.run)):
                tell(self._secrets.hide(f"{courier.name}: {words}"))

    def _wait_for_servers(self) -> None:
        """Wait as long as the trackers' servers answer, and not for ever."""
        until = time.monotonic() + CLOSING_SECONDS
        while time.monotonic() < until:
            for courier in self._couriers:
                if not courier.wait(0):
                    courier.check()
            if not self._wait(BETWEEN_SECONDS):
                return

    def _wait(self, seconds: float) -> list[str]:
        """Wait for all trackers together; the names of those that are not done then."""
        until = time.monotonic() + seconds
        return [
            courier.name
            for courier in self._couriers
            if not courier.wait(max(0.0, until - time.monotonic()))
        ]

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


def tracking(folder: Path, order: Order) -> Tracking:
    """The trackers that the configuration names.

    Raises:
        ConfigError: there is no such tracker, or its package is missing.
    """
    specs = [ready(name) for name in order.config.run.trackers]
    secrets = Secrets.of(order.environment, order.config)
    couriers = [_courier(spec, folder, order, secrets) for spec in specs]
    return Tracking(folder, couriers, [spec.look for spec in specs], secrets)


def ready(name: str) -> TrackerSpec:
    """A tracker whose packages are there.

    Raises:
        ConfigError: there is no such tracker, or its package is missing.
    """
    spec = load_tracker(name)
    if lacking := spec.missing():
        raise ConfigError(
            f"the tracker `{name}` needs {lacking}, which is not installed",
            f"pip install 'skillopt-cli[{spec.extra}]'" if spec.extra else "install it",
        )
    return spec


def _courier(spec: TrackerSpec, folder: Path, order: Order, secrets: Secrets) -> Courier:
    settings = _hidden(anchored(order.config).model_dump(mode="json", exclude_none=True), secrets)
    seen = _seen_by(spec, order)
    own = {name: value for name, value in seen.items() if name.startswith(spec.variables)}

    def describe(follower: Follower) -> TrackedRun:
        return TrackedRun(
            identity=follower.identity,
            name=folder.name,
            benchmark=order.config.env.name,
            began=follower.began,
            folder=(folder / FOLDER / spec.name).absolute(),
            home=folder.absolute().parents[1],
            settings=settings,
            environment=own,
        )

    host = Host(
        # Without -P, a folder that is named like the library could be taken for it.
        (sys.executable, "-P", "-m", tracker_host.__name__, spec.name),
        {**spec.calm, **seen},
        spec.speaks(own),
        spec.server(own),
    )
    follower, backlog = _followed(folder)
    return Courier(HostedTracker(spec.name, host), describe, follower, backlog, secrets.hide)


def _seen_by(spec: TrackerSpec, order: Order) -> dict[str, str]:
    """The environment without any key but those its library reads by these names."""
    named = named_by(order.config)
    return {
        name: value
        for name, value in order.environment.items()
        if name not in named and (name.startswith(spec.variables) or not names_a_key(name))
    }


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
