from __future__ import annotations

import asyncio
import os
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from skillopt_cli.executors import sandbox_init
from skillopt_cli.executors.process_tree import ProcessTree
from skillopt_cli.executors.program_executor import ProgramExecutor

MakeExecutor = Callable[..., ProgramExecutor]

RUNS = 200
SECONDS = f"444.{os.getpid()}"
"""How long those sleep that should not stay: so long that nobody else's sleep so."""
STUB = f"echo x > file; sleep {SECONDS} & echo $! >&2; exec echo done"


def descendants() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


def ours() -> set[int]:
    return {
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if SECONDS in (process.info["cmdline"] or [])
    }


async def test_two_hundred_runs_leave_nothing(
    either: MakeExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    executor = either()
    before, descended = ours(), descendants()
    gate = asyncio.Semaphore(4)

    async def one() -> str:
        async with gate, executor.workspace("attempt") as folder:
            finished = await executor.run(["sh", "-c", STUB], cwd=folder, limit=60)
            return finished.stdout

    assert await one() == "done\n"
    open_files = psutil.Process().num_fds()
    async with asyncio.TaskGroup() as group:
        runs = [group.create_task(one()) for _ in range(RUNS)]
    assert [run.result() for run in runs] == ["done\n"] * RUNS
    assert psutil.Process().num_fds() <= open_files
    assert descendants() <= descended
    assert ours() <= before
    assert list(executor.root.iterdir()) == []
    assert os.listdir(tmp_path) == [executor.root.name]  # noqa: PTH208 - Path's would need a thread


def test_the_number_of_a_process_that_ended_interrupts_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numbers come round again: by then it is the process of somebody else."""
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    )
    tree = ProcessTree("mark", frozenset())
    tree.led_by(process.pid)
    assert tree.alive()
    process.communicate(b"\n")
    hit: list[int] = []
    monkeypatch.setattr(os, "getpgid", lambda pid: pid)
    monkeypatch.setattr(os, "killpg", lambda group, number: hit.append(group))
    tree.interrupt(spare_leader=False)
    assert hit == []


def test_the_door_ends_with_its_program_when_nobody_is_left_to_end_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    listens, held = os.pipe()
    limits = ["1000000000", "4096", "0"]
    argv = [
        sys.executable,
        sandbox_init.__file__,
        str(port),
        str(tmp_path / "door"),
        *limits,
        "/bin/true",
    ]
    assert subprocess.run(argv, pass_fds=[held], check=False, timeout=60).returncode == 0
    os.close(held)
    # The end of the pipe comes once the last process that holds it is gone.
    ended, _, _ = select.select([listens], [], [], 60)
    assert ended
    assert os.read(listens, 1) == b""
    os.close(listens)
