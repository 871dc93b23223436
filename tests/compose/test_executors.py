from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sandbox_rig import lacking_bubblewrap, namespaces_or_skip

from skillopt_cli.compose.endpoints import ROLES
from skillopt_cli.compose.executors import ExecutorContext, open_executor, open_executors
from skillopt_cli.compose.roles import role_spec
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import Layer, assignment_layers, resolve
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Degraded, Role
from skillopt_cli.plugins import load_backend
from skillopt_cli.ports import BackendSpec, Executor


def config(*settings: str) -> RunConfig:
    layers = [Layer("test", {"env": {"name": "searchqa"}}), *assignment_layers(settings)]
    return resolve(layers).config


def place(tmp_path: Path, path: str) -> ExecutorContext:
    environment = {"PATH": path, "OPENAI_API_KEY": "canary", "HOME": "/nowhere"}
    return ExecutorContext(tmp_path / "run", tmp_path / "attempts", environment)


@pytest.fixture
def search(tmp_path: Path) -> str:
    """A search path on which a bubblewrap stands that this machine forbids to work."""
    wrapper = tmp_path / "bin" / "bwrap"
    wrapper.parent.mkdir()
    wrapper.write_text("#!/bin/sh\necho 'bwrap: not permitted' >&2\nexit 1\n", encoding="utf-8")
    wrapper.chmod(0o755)
    return str(wrapper.parent)


PROGRAMS = replace(load_backend("simulated"), runs_programs=True)
"""A target that starts programs."""


def housed(
    config: RunConfig, place: ExecutorContext, target: BackendSpec = PROGRAMS
) -> tuple[Executor, tuple[Degraded, ...]]:
    return open_executor(config, place, target)


def test_a_weaker_executor_is_announced(tmp_path: Path, search: str) -> None:
    executor, (warning,) = housed(config(), place(tmp_path, search))
    assert not executor.isolates
    assert warning.where == "target"
    assert "can read your files: bwrap: not permitted" in warning.reason


def test_a_missing_wrapper_is_announced(tmp_path: Path) -> None:
    _, (warning,) = housed(config(), place(tmp_path, str(tmp_path)))
    assert "bubblewrap (`bwrap`) is not installed" in warning.reason


def test_a_target_without_programs_needs_no_warning(tmp_path: Path, search: str) -> None:
    _, warnings = housed(config(), place(tmp_path, search), load_backend("simulated"))
    assert warnings == ()


def test_who_asks_for_the_local_one_knows(tmp_path: Path, search: str) -> None:
    executor, warnings = housed(config("run.executor=local"), place(tmp_path, search))
    assert (executor.isolates, warnings) == (False, ())


def test_who_asks_for_namespaces_gets_nothing_less(tmp_path: Path, search: str) -> None:
    with pytest.raises(ConfigError, match="not permitted") as caught:
        housed(config("run.executor=namespace"), place(tmp_path, search))
    assert "run.executor=local" in caught.value.hint


@pytest.mark.parametrize("wish", ["auto", "namespace"])
async def test_where_they_work_they_are_taken(tmp_path: Path, wish: str) -> None:
    wrapper = namespaces_or_skip().path
    path = f"{Path(wrapper).parent}:/usr/bin:/bin"
    shared = tmp_path / "shared"
    for name in ("data/items.json", "plain"):
        (shared / name).parent.mkdir(parents=True, exist_ok=True)
        (shared / name).write_text("text", encoding="utf-8")
    settings = (
        f"run.executor={wish}",
        f"run.readable=/no/such:{shared}",
        f"env.data_root={shared}/data",
    )
    executor, warnings = housed(config(*settings), place(tmp_path, path))
    assert executor.isolates
    assert warnings == ()
    async with executor.workspace("t") as folder:
        look = f"cat {shared}/plain; ls {shared}/data; env"
        finished = await executor.run(["sh", "-c", look], cwd=folder, limit=20)
    text, *variables = finished.stdout.replace("text", "text\n", 1).splitlines()
    assert text == "text"
    assert {line.split("=")[0] for line in variables} <= {
        *("PATH", "HOME", "TMPDIR", "PWD", "LC_CTYPE", "SKILLOPT_PROCESS")
    }
    assert "canary" not in finished.stdout


@pytest.mark.parametrize("wish", ["auto", "namespace"])
@pytest.mark.parametrize(
    ("part", "said"),
    [("seccomp", "has no seccomp filter"), ("keyctl", "has no session keyring of its own")],
)
def test_a_sandbox_that_lacks_a_part_is_announced(
    tmp_path: Path, wish: str, part: str, said: str
) -> None:
    path = str(lacking_bubblewrap(tmp_path / "bin", part).parent)
    asked = config(f"run.executor={wish}")
    executor, (warning,) = housed(asked, place(tmp_path, path))
    assert executor.isolates
    assert (warning.where, warning.reason) == (
        "target",
        f"the sandbox of its programs {said}: bwrap: no {part}",
    )
    assert housed(asked, place(tmp_path, path), load_backend("simulated"))[1] == ()


async def test_the_cap_on_folders_is_the_configured_one(tmp_path: Path) -> None:
    settings = ("run.executor=local", "run.workspace_mb=3")
    executor, _ = housed(config(*settings), place(tmp_path, "/usr/bin:/bin"))
    async with executor.workspace("t") as folder:
        fill = "head -c 2000000 /dev/zero > a; cp a b"
        finished = await executor.run(["sh", "-c", fill], cwd=folder, limit=20)
    assert finished.stopped == "the workspace grew beyond 3 MB"


def test_readable_paths_are_absolute() -> None:
    with pytest.raises(ConfigError, match="absolute paths"):
        config("run.readable=/fine:relative/folder")


def players(told: RunConfig, *roles: Role) -> dict[Role, BackendSpec]:
    return {role: role_spec(told, role) for role in roles or ROLES}


def test_each_role_that_is_a_program_has_an_executor_and_a_warning(
    tmp_path: Path, search: str
) -> None:
    told = config("model.optimizer.backend=codex_exec", "model.target.backend=simulated")
    executors, (warning,) = open_executors(told, place(tmp_path, search), players(told))
    assert set(executors) == set(ROLES)
    assert warning.where == "optimizer" and "can read your files" in warning.reason
    executors, warnings = open_executors(told, place(tmp_path, search), players(told, "target"))
    assert (set(executors), warnings) == ({"target"}, ())


def test_the_way_to_isolate_a_program_of_the_user_is_named(tmp_path: Path) -> None:
    told = config("model.target.backend=command")
    _, (warning,) = open_executors(told, place(tmp_path, ""), players(told, "target"))
    assert warning.reason.endswith("`run.executor=namespace` isolates one that needs none")
    told = config("model.target.backend=cursor_exec")
    _, (warning,) = open_executors(told, place(tmp_path, ""), players(told, "target"))
    assert "namespace" not in warning.reason


def test_a_networked_optimizer_takes_no_isolation_from_the_target(tmp_path: Path) -> None:
    wrapper = namespaces_or_skip().path
    told = config("model.optimizer.backend=copilot_chat", "model.target.backend=codex_exec")
    at = place(tmp_path, f"{Path(wrapper).parent}:/usr/bin:/bin")
    executors, (warning,) = open_executors(told, at, players(told))
    assert (executors["optimizer"].isolates, executors["target"].isolates) == (False, True)
    assert (warning.where, "needs the network" in warning.reason) == ("optimizer", True)
