"""The trackers of a run, put together: opened at its first fact, closed with its summary."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.run_folder import anchored
from skillopt_cli.compose.secrets import known_secrets, names_a_key, secret_variables
from skillopt_cli.config.connection import CONNECTING
from skillopt_cli.config.environment import file_of
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import SubscriberDropped
from skillopt_cli.core.secrets import Secrets
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.permissions import FOLDER_MODES
from skillopt_cli.plugins import load_tracker
from skillopt_cli.ports import Closing, Emit, Point, TrackedRun, TrackerSpec
from skillopt_cli.runlog.writers import HISTORY
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import MEMORY, Journal
from skillopt_cli.store.layout import CONFIG, SUMMARY
from skillopt_cli.trackers import worker
from skillopt_cli.trackers.client import TrackerClient
from skillopt_cli.trackers.metrics import MetricsProjection, numbers
from skillopt_cli.trackers.worker import TrackerProcess, WorkerCommand

FOLDER = "trackers"
PATIENCE_SECONDS = 2.0
CLOSING_SECONDS = 120.0
"""How long the end of a run waits for its trackers, first silently."""
BETWEEN_SECONDS = 10.0
"""How often those that are waited for are asked whether their servers are still there."""
Link = Callable[[TrackedRun], str]
_FILES = ("best_skill.md", "best_skill", CONFIG, HISTORY, SUMMARY)


class Tracking:
    """The trackers of one process of a run.

    Args:
        folder: the run folder.
        clients: one per tracker, each with what writes the place of its numbers.
    """

    def __init__(
        self,
        folder: Path,
        clients: Mapping[TrackerClient, Link],
        secrets: Secrets,
    ) -> None:
        self._folder = folder
        self._clients = clients
        self._secrets = secrets

    @property
    def observers(self) -> list[Subscriber]:
        """The subscribers to the run's facts."""
        return [Subscriber(client.name, client) for client in self._clients]

    def close(self, summary: Mapping[str, Any], emit: Emit, tell: Callable[[str], None]) -> None:
        """Give the trackers the summary, wait for them, and state which of them failed.

        Args:
            tell: shows a line: which trackers are waited for, then where the numbers are.
        """
        for client in self._clients:
            client.finish(partial(self._closing, summary))
        if slow := self._wait(PATIENCE_SECONDS):
            tell(f"waiting for {' and '.join(slow)}")
            self._wait_for_servers()
        for client in self._clients:
            if failure := client.give_up():
                emit(SubscriberDropped(client.name, failure.message, failure.hint))
        for client, link in self._clients.items():
            if client.run and not client.failed and (words := link(client.run)):
                tell(self._secrets.hide(f"{client.name}: {words}"))

    def _wait_for_servers(self) -> None:
        """Wait as long as the trackers' servers answer, and not for ever."""
        until = time.monotonic() + CLOSING_SECONDS
        while time.monotonic() < until:
            for client in self._clients:
                if not client.wait(0):
                    client.check()
            if not self._wait(BETWEEN_SECONDS):
                return

    def _wait(self, seconds: float) -> list[str]:
        """Wait for all trackers together; the names of those that are not done then."""
        until = time.monotonic() + seconds
        return [
            client.name
            for client in self._clients
            if not client.wait(max(0.0, until - time.monotonic()))
        ]

    def _closing(self, summary: Mapping[str, Any], projection: MetricsProjection) -> Closing:
        return Closing(
            step=projection.done,
            time=time.time(),
            status=str(summary["status"]),
            exit_code=summary["exit_code"] or 0,
            values=numbers(summary),
            files=tuple(path for name in _FILES if self._sent(path := self._folder / name)),
            stages=projection.rest,
        )

    def _sent(self, path: Path) -> bool:
        """Whether a file or folder is there and holds no secret: a skill's text is the user's."""
        files = [inner for inner in path.rglob("*") if inner.is_file()] if path.is_dir() else [path]
        texts = (read_regular(inner).decode(errors="replace") for inner in files)
        try:
            return path.exists() and all(self._secrets.hide(text) == text for text in texts)
        except OSError:
            return False


def tracking(folder: Path, request: RunRequest) -> Tracking:
    """The trackers that the configuration names.

    Raises:
        ConfigError: there is no such tracker, or its package is missing.
    """
    specs = [ready(name) for name in request.config.run.trackers]
    secrets = known_secrets(request.environment, request.config)
    clients = {_client(spec, folder, request, secrets): spec.look for spec in specs}
    return Tracking(folder, clients, secrets)


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


def _client(
    spec: TrackerSpec, folder: Path, request: RunRequest, secrets: Secrets
) -> TrackerClient:
    settings = anchored(request.config).model_dump(mode="json", exclude_none=True)
    seen = _seen_by(spec, request)
    own = {name: value for name, value in seen.items() if name.startswith(spec.variables)}

    def describe(projection: MetricsProjection) -> TrackedRun:
        return TrackedRun(
            identity=projection.identity,
            name=folder.name,
            benchmark=request.config.env.name,
            began=projection.began,
            folder=(folder / FOLDER / spec.name).absolute(),
            home=folder.absolute().parents[1],
            settings=settings,
            environment=own,
        )

    command = WorkerCommand(
        # Without -P, a folder that is named like the library could be taken for it.
        (sys.executable, "-P", "-m", worker.__name__, spec.name),
        {**spec.calm, **seen},
        0o777 & ~FOLDER_MODES[request.config.run.shared_with],
        spec.speaks(own),
        spec.server(own),
    )
    projection, backlog = _logged(folder)
    return TrackerClient(
        TrackerProcess(spec.name, command), describe, projection, backlog, secrets.hide
    )


def _seen_by(spec: TrackerSpec, request: RunRequest) -> dict[str, str]:
    """The environment without any key but those its library reads by these names.

    Of a `.env` file it holds those names alone, and proxies and certificates: any other could have
    the process load foreign code, such as PYTHONPATH and LD_PRELOAD.
    """
    environment = request.environment
    named = secret_variables(environment, request.config)

    def seen(name: str) -> bool:
        own = name in CONNECTING or file_of(environment, name) is None
        return name.startswith(spec.variables) or (own and not names_a_key(name))

    return {n: value for n, value in environment.items() if n not in named and seen(n)}


def _logged(folder: Path) -> tuple[MetricsProjection, list[Point]]:
    """What earlier processes logged."""
    projection = MetricsProjection()
    # Reading the log needs no journal, so an in-memory one stands in.
    with Journal(MEMORY) as journal, FileStore(folder, journal) as store:
        backlog = [point for fact in store.facts() for point in projection.add(fact)]
    return projection, backlog
