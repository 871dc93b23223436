"""Keys on a cluster: in no log, no object and no table of Ray's, and not on its dashboard."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytest.importorskip("ray")
pytest.importorskip("aiohttp_cors", reason="the dashboard is in `ray[default]`")

from ray_nodes import RayNodes, ray_nodes

from skillopt_cli.testing import run_model_server, write_splits

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MODEL_KEY = "canary-of-the-model-7f3a91c2"
PROGRAM_KEY = "canary-of-the-program-55d0e8b4"
MARK = "a-line-of-the-skill-that-does-travel-0b1c2d"
PROGRAM = (sys.executable, "-c", "from skillopt_cli.cli.main import main; main()")

AGENT = f"""#!{sys.executable} -I
import os, sys
sys.stdin.read()
print("<answer>yes</answer>" if os.environ["PROGRAM_KEY"] == {PROGRAM_KEY!r} else sys.exit(3))
"""
TABLES = """
import sys, ray
ray.init(address=sys.argv[1], log_to_driver=False)
from ray._private.state import state
from ray.experimental import internal_kv
tables = state._connect_and_get_accessor()
rows = [*tables.get_job_table(), *tables.get_actor_table(None, None), *tables.get_worker_table()]
rows += tables.get_node_table() + (tables.get_task_events() or [])
for space in (None, b"fun", b"job", b"usage_stats", b"named_actors", b"tracing"):
    for key in internal_kv._internal_kv_list(b"", namespace=space):
        rows += [key, internal_kv._internal_kv_get(key, namespace=space) or b""]
for row in rows:
    sys.stdout.buffer.write(row if isinstance(row, bytes) else repr(row).encode())
"""
ANSWERS = Path(__file__).with_name("dashboard_answers.py")


class Dashboard:
    """What the dashboard of a cluster and its state API answer.

    Attributes:
        answers: all of them.
        actors, logs: how many it showed at the last time.
    """

    def __init__(self, nodes: RayNodes) -> None:
        self._nodes = nodes
        self.answers: list[bytes] = []
        self.actors = self.logs = 0

    def ask(self) -> None:
        script = [sys.executable, str(ANSWERS), self._nodes.dashboard]
        done = subprocess.run(script, env=self._nodes.environment, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        self.answers.append(done.stdout)
        self.actors, self.logs = map(int, done.stderr.split()[-2:])


def skillopt(dashboard: Dashboard, nodes: RayNodes, *words: str, **variables: str) -> None:
    known = {name: nodes.environment[name] for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")}
    process = subprocess.Popen(
        [*PROGRAM, *words, "--executor", "ray", "--ray-address", nodes.address, "--workers", "2"],
        env={**os.environ, **known, **variables},
        stdout=subprocess.DEVNULL,
    )
    while process.poll() is None:
        dashboard.ask()
    assert process.returncode == 0
    dashboard.ask()


def tables(nodes: RayNodes) -> bytes:
    """The tables of the cluster's head: jobs, actors, workers, tasks, and its keys and values."""
    script = [sys.executable, "-c", TABLES, nodes.address]
    return subprocess.run(script, env=nodes.environment, capture_output=True, check=True).stdout


def objects(nodes: RayNodes) -> Iterator[bytes]:
    """The memory of each node's object store."""
    mine = [p for node in nodes.nodes for p in psutil.Process(node.process.pid).children(True)]
    for process in mine:
        if process.name() != "raylet":
            continue
        folder = Path(f"/proc/{process.pid}/fd")
        stores = [fd for fd in folder.iterdir() if "plasma" in str(fd.readlink())]
        assert stores
        yield from (store.read_bytes() for store in stores)


def files(folder: Path) -> Iterator[bytes]:
    yield from (path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.skipif(sys.platform != "linux", reason="the object store is read through /proc")
def test_no_key_is_in_what_ray_writes_holds_or_shows(tmp_path: Path) -> None:
    write_splits(tmp_path / "tasks", train=2, selection=2, test=4, seed=5)
    (tmp_path / "seed.md").write_text(f"# Skill\n\n- {MARK}\n", encoding="utf-8")
    agent = tmp_path / "agent"
    agent.write_text(AGENT, encoding="utf-8")
    agent.chmod(0o755)
    evaluation = ("eval", "searchqa", "--skill", "seed.md", "--split-dir", "tasks")
    with (
        ray_nodes(dashboard=True, PROGRAM_KEY=PROGRAM_KEY) as nodes,
        run_model_server(key=MODEL_KEY) as server,
    ):
        nodes.add(2)
        dashboard = Dashboard(nodes)
        while dashboard.logs <= 10:  # it shows a node's logs some time after the node has joined
            dashboard.ask()
        skillopt(
            dashboard,
            nodes,
            *evaluation,
            *("--target-backend", "openai_compatible", "--target-model", "simulated"),
            *("--set", f"model.base_url={server.url}", "--run-id", "model"),
            OPENAI_API_KEY=MODEL_KEY,
        )
        skillopt(
            dashboard,
            nodes,
            *evaluation,
            *("--target-backend", "command", "--set", f'model.command.argv=["{agent}"]'),
            *("--set", 'model.command.variables=["PROGRAM_KEY"]', "--run-id", "program"),
            PROGRAM_KEY=PROGRAM_KEY,
        )
        held = [*dashboard.answers, *objects(nodes), tables(nodes), *files(nodes.folder)]
    summaries = [path.read_text() for path in tmp_path.rglob("eval_summary.json")]
    assert len(summaries) == 2

    # What there is to find is found: what travels, both runs' workers, the logs of both nodes.
    assert any(MARK.encode() in each for each in held)
    assert any(b"AttemptWorker" in each for each in dashboard.answers)
    assert dashboard.actors >= 2 and dashboard.logs > 10
    for key in (MODEL_KEY, PROGRAM_KEY):
        assert not [each for each in held if key.encode() in each]
