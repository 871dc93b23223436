"""Nodes killed at work, the driver killed, and both: the same ending as on one machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray")

from killing import WORKERS, Patient, Reference, Trigger, facts, in_stage, prepare
from ray_nodes import RayNodes, ray_nodes

from skillopt_cli.testing import ModelServer, run_model_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
NODES = 2
"""Each makes one attempt at a time, which is fewer than a stage has: when the first attempt has
ended, another one is at work on each node."""
LATENCY = 450
"""Milliseconds of a call, and so of an attempt."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ModelServer]:
    prepare(tmp_path)
    log = tmp_path / "requests.jsonl"
    with run_model_server(log, bodies=False, latency_ms=LATENCY) as running:
        yield running


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[RayNodes]:
    with ray_nodes() as cluster:
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
            monkeypatch.setenv(name, cluster.environment[name])
        for _ in range(NODES):
            cluster.add(1)
        yield cluster


def on(nodes: RayNodes) -> tuple[str, ...]:
    return (
        *("--executor", "ray", "--ray-address", nodes.address),
        *("--set", "run.ray.cpus=1", "--set", "run.ray.memory_mb=1"),
        *("--set", f"run.workers={NODES}"),
    )


def first_end_in(stage: str, passed: int = 0) -> Trigger:
    """The moment the first of a stage's attempts has ended: the next ones have just begun."""
    begins, inside = in_stage(stage, passed), False

    def moment(line: str) -> bool:
        nonlocal inside
        inside = inside or begins(line)
        return inside and '"kind":"rollout_finished"' in line

    return moment


class NodeKiller:
    """Kills the oldest node with attempts at each of some moments; a new one takes its place.

    It strikes a third of an attempt later: no log has a line on an attempt that has begun.
    """

    def __init__(self, nodes: RayNodes, *moments: Trigger) -> None:
        self.nodes = nodes
        self.left = list(moments)
        self.starting: list[threading.Thread] = []

    def __call__(self, line: str) -> bool:
        if self.left and self.left[0](line):
            self.left.pop(0)
            time.sleep(LATENCY / 1000 / 3)
            self.strike()
        return False

    def strike(self) -> None:
        alive = [
            n for n in self.nodes.nodes if n is not self.nodes.head and n.process.poll() is None
        ]
        alive[0].kill()
        thread = threading.Thread(target=self.nodes.add, args=(1,))
        thread.start()
        self.starting.append(thread)

    def join(self) -> None:
        for thread in self.starting:
            thread.join()


def lost_attempts(patient: Patient) -> list[str]:
    told = (fact for fact in facts(patient.events) if fact["kind"] == "degraded")
    return [fact["reason"] for fact in told if "made again" in fact["reason"]]


def test_a_node_killed_in_a_rollout_and_one_in_a_gate(
    tmp_path: Path, server: ModelServer, nodes: RayNodes
) -> None:
    reference = Reference.make(tmp_path, server)
    patient = Patient(tmp_path, server, "on-nodes", on(nodes))
    killer = NodeKiller(nodes, first_end_in("rollout"), first_end_in("measure", passed=1))
    life = patient.live(killer)
    killer.join()

    assert not killer.left
    assert life.code == 0
    assert patient.result() == reference.result
    reference.check_calls(life)  # not one call was paid for twice
    assert len(lost_attempts(patient)) >= 2


def test_the_driver_killed_alone_and_together_with_a_node(
    tmp_path: Path, server: ModelServer, nodes: RayNodes
) -> None:
    reference = Reference.make(tmp_path, server)
    patient = Patient(tmp_path, server, "on-nodes", on(nodes))
    killer = NodeKiller(nodes)
    lives = [
        patient.live(first_end_in("rollout", passed=1)),
        patient.live(first_end_in("measure", passed=1), besides=killer.strike),
        patient.live(first_end_in("rollout", passed=1), besides=killer.strike),
        patient.live(),
    ]
    killer.join()

    assert [life.code for life in lives] == [None, None, None, 0]
    assert patient.result() == reference.result
    for life in lives:
        reference.check_calls(life)
    assert sum(life.lost for life in lives) <= 3 * WORKERS
