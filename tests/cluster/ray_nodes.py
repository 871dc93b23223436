"""Ray nodes of this machine, as processes of their own that a test may kill."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

HERE = "127.0.0.1"
_START = (sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats")


class RayNode:
    """One node, started by `ray start --block`."""

    def __init__(self, *options: str, environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [*_START, "--node-ip-address", HERE, *options],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        assert self.process.stdout is not None
        told = []
        for line in self.process.stdout:
            told.append(line)
            if "--block" in line:  # the last of its words, once it runs
                break
        else:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process.stdout.close()
            raise AssertionError("".join(told))

    def kill(self) -> None:
        """As a machine that is cut off: all its processes at once, and none in order."""
        mine = psutil.Process(self.process.pid)
        for process in (*mine.children(recursive=True), mine):
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


class RayNodes:
    """A head without room for attempts, and nodes with some."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], *, dashboard: bool = False
    ) -> None:
        self.folder = folder
        self.environment = {
            **environment,
            "HOME": str(folder),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
        }
        port, client, shown = _free_ports(3)
        self.address = f"{HERE}:{port}"
        self.dashboard = f"http://{HERE}:{shown}"
        self.nodes: list[RayNode] = []
        self.head = self._start(
            *("--head", "--port", port, "--temp-dir", str(folder), "--num-cpus", "0"),
            *("--include-dashboard", str(dashboard).lower(), "--dashboard-port", shown),
            *("--object-store-memory", "80000000"),
            *("--ray-client-server-port", client, "--system-config", FAST),
        )

    def add(self, cpus: int) -> RayNode:
        """A node with room for attempts."""
        return self._start(
            *("--address", self.address, "--num-cpus", str(cpus)),
            *("--object-store-memory", "80000000"),
        )

    def _start(self, *options: str) -> RayNode:
        for left in reversed(range(STARTS)):
            # It is one and the same otherwise, and of all agents of the machine one could start.
            (agent,) = _free_ports(1)
            options = (*options, "--dashboard-agent-listen-port", agent)
            try:
                node = RayNode(*options, environment=self.environment)
                break
            except AssertionError:
                if not left:
                    raise
        self.nodes.append(node)
        return node


def _free_ports(n: int) -> list[str]:
    with ExitStack() as held:
        taken = [held.enter_context(socket.create_server((HERE, 0))) for _ in range(n)]
        return [str(each.getsockname()[1]) for each in taken]


STARTS = 5
"""A node gives up after 15 seconds in which a part of it has not started, as on a busy machine."""


FAST = '{"health_check_initial_delay_ms": 0, "health_check_period_ms": 500}'
"""How often the head looks for its nodes, which on real machines is more seldom."""


@contextmanager
def ray_nodes(*, dashboard: bool = False, **more: str) -> Iterator[RayNodes]:
    """A cluster that ends with the block.

    Args:
        dashboard: whether it has one, which needs `ray[default]`.
        more: variables of the nodes' processes.
    """
    # Its sockets have paths of limited length.
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    nodes = RayNodes(folder, {"PATH": os.environ["PATH"], **more}, dashboard=dashboard)
    try:
        yield nodes
    finally:
        for node in reversed(nodes.nodes):
            if node.process.poll() is None:
                node.kill()
        shutil.rmtree(folder, ignore_errors=True)
