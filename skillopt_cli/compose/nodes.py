"""Attempts on a Ray cluster: what travels to its nodes, and what they open of it."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import skillopt_cli
from skillopt_cli.cluster.attempt_worker import NodeSite
from skillopt_cli.cluster.cluster_runner import ClusterRunner
from skillopt_cli.cluster.ray_cluster import RayCluster, WorkerNeeds
from skillopt_cli.compose.executors import ExecutorContext, clear_leftovers, open_executor
from skillopt_cli.compose.roles import agent_of, role_settings, role_spec
from skillopt_cli.compose.secrets import known_secrets
from skillopt_cli.config import RunConfig
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.run_section import ray_address
from skillopt_cli.core.errors import ConfigError, DataError, SkillOptError
from skillopt_cli.core.task import Task, TaskFile
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.ports import AgentBackend, Benchmark, ChatBackend, Emit, Filed, Interactive
from skillopt_cli.stages.episodes import LocalRunner

_PROGRAM_CPUS, _PROGRAM_MB = 1.0, 1000
"""What an attempt takes at least where the target runs programs."""


@dataclass(frozen=True)
class RunPlan:
    """What a node needs to make the attempts of a run; holds no key. See `NodePlan`.

    Attributes:
        benchmark: a copy of it is made on each node.
        same: what must be the same there as on the driver's machine, by its name for people.
    """

    config: RunConfig
    benchmark: Benchmark
    same: Mapping[str, str]

    def open(self, chat: ChatBackend, files: Path, workspaces: Path) -> NodeSite:
        """See `NodePlan.open`.

        Raises:
            ConfigError: the node has another version of something, or lacks a variable.
            DataError, BackendUnusable: it lacks a package or program.
        """
        clear_leftovers(workspaces.parent)
        config, environment = self.config, read_environment()
        try:
            if lacking := load_benchmark(config.env.name).missing():
                raise DataError(f"the {config.env.name} benchmark needs {lacking}")
            agent = _agent(config, chat, environment)
            self._refuse_difference(agent)
            hide = known_secrets(environment, config).hide
            place = ExecutorContext(files, workspaces, environment, hide)
            executor, notices = open_executor(config, place, role_spec(config, "target"))
        except SkillOptError as error:
            error.message = f"on the node {platform.node()}: {error.message}"
            raise
        interactive = self.benchmark if isinstance(self.benchmark, Interactive) else None
        runner = LocalRunner(agent, interactive, executor, hide)
        return NodeSite(runner, self._read_at, notices)

    def _read_at(self, files: Sequence[TaskFile]) -> None:
        if isinstance(self.benchmark, Filed):
            self.benchmark.read_at(files)

    def _refuse_difference(self, agent: AgentBackend) -> None:
        for name, here in _facts(self.benchmark, agent).items():
            if here != self.same[name]:
                raise ConfigError(
                    f"the {name} is {here}, and on the driver's machine {self.same[name]}",
                    "install the same versions on all machines of the cluster",
                )


def cluster_runner(
    config: RunConfig,
    environment: Mapping[str, str],
    benchmark: Benchmark,
    target: tuple[AgentBackend, ChatBackend],
    emit: Emit,
) -> ClusterRunner:
    """What makes the attempts of a run on a cluster.

    Args:
        target: with its model behind the journal.
    """
    section, (agent, chat) = config.run, target
    there = section.model_copy(update={"executor": section.ray.isolation})
    plan = RunPlan(config.model_copy(update={"run": there}), benchmark, _facts(benchmark, agent))
    cluster = RayCluster(ray_address(section.ray, environment), needs_of(config))
    return ClusterRunner(cluster, section.workers, plan, chat, _files_of(benchmark), emit)


def needs_of(config: RunConfig) -> WorkerNeeds:
    """What an attempt takes of its node: as set, else what benchmark and target take."""
    ray, spec = config.run.ray, load_benchmark(config.env.name)
    cpus, memory_mb = spec.cpus, spec.memory_mb
    if role_spec(config, "target").runs_programs:
        cpus, memory_mb = max(cpus, _PROGRAM_CPUS), max(memory_mb, _PROGRAM_MB)
    return WorkerNeeds(
        cpus if ray.cpus is None else ray.cpus,
        memory_mb if ray.memory_mb is None else ray.memory_mb,
    )


def _agent(config: RunConfig, chat: ChatBackend, environment: Mapping[str, str]) -> AgentBackend:
    """The target. A key is read here for a program alone that brings its own model."""
    spec = role_spec(config, "target")
    settings = role_settings(config, "target", environment, needs_key=spec.networked)
    return agent_of(spec, chat, settings if spec.networked else replace(settings, api_key=None))


def _facts(benchmark: Benchmark, agent: AgentBackend) -> dict[str, str]:
    return {
        "version of skillopt": skillopt_cli.__version__,
        "benchmark's version": benchmark.version,
        "target": agent.fingerprint,
    }


def _files_of(benchmark: Benchmark) -> Callable[[Task], Sequence[TaskFile]]:
    return benchmark.files if isinstance(benchmark, Filed) else lambda task: ()
