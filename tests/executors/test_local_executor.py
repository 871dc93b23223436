from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest
from clock import out_of_time

from skillopt_cli.core.errors import BackendError
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.executors.supervisor import ResourceLimits
from skillopt_cli.ports import Finished

HIDING = """
import os, subprocess, sys, time
from pathlib import Path

# A child in a session of its own, and a daemon that its parents have left behind.
child = subprocess.Popen(["setsid", "sleep", "600"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        Path("daemon.tmp").write_text(str(os.getpid()))
        os.rename("daemon.tmp", "daemon")
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.exists("daemon"):
    time.sleep(0.005)
Path("pids.tmp").write_text(f"{os.getpid()} {child.pid} {Path('daemon').read_text()}")
os.rename("pids.tmp", "pids")
print("ready", flush=True)
Path("ready").touch()
if os.path.exists("fifo"):
    Path("fifo").write_text("ready")
time.sleep(float(sys.argv[1]))
"""


@pytest.fixture
def executor(tmp_path: Path) -> LocalExecutor:
    return LocalExecutor(tmp_path / "work", limits=ResourceLimits(grace=0.2))


def python(code: str, *args: str) -> list[str]:
    return [sys.executable, "-c", code, *args]


async def timed_out(executor: LocalExecutor, argv: list[str], folder: Path) -> Finished:
    """How a program ends whose time is up once it has made the file `ready`."""
    run = executor.run(argv, cwd=folder, limit=600)
    return await out_of_time(run, 600, (folder / "ready").exists)


def alive(folder: Path) -> list[int]:
    """Those of the hiding processes that still run."""
    pids = [int(pid) for pid in (folder / "pids").read_text("utf-8").split()]
    assert len(pids) == 3
    found = []
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        except psutil.NoSuchProcess:
            pass
    return found


async def test_a_workspace_is_fresh_and_goes_away(executor: LocalExecutor) -> None:
    async with executor.workspace("../a b/ü") as one, executor.workspace("../a b/ü") as two:
        assert one != two
        assert one.parent == two.parent == executor.root
        assert list(one.iterdir()) == []
        (one / "deep" / "er").mkdir(parents=True)
        (one / "deep" / "er" / "file").write_text("x", encoding="utf-8")
        (one / "deep").chmod(0o500)
    assert list(executor.root.iterdir()) == []


async def test_a_workspace_goes_away_after_an_error(executor: LocalExecutor) -> None:
    with pytest.raises(KeyError):
        async with executor.workspace("t"):
            raise KeyError
    assert list(executor.root.iterdir()) == []


async def test_a_program_reads_and_writes(executor: LocalExecutor, tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "text = sys.stdin.buffer.read().decode()\n"
        "sys.stdout.buffer.write((text.upper() + os.getcwd()).encode())\n"
        "sys.stderr.buffer.write(b'\\xff!')\n"
        "sys.exit(3)"
    )
    finished = await executor.run(python(code), cwd=tmp_path, stdin="grün\n" * 50_000, limit=60)
    assert finished.returncode == 3
    assert finished.stdout == "GRÜN\n" * 50_000 + str(tmp_path)
    assert finished.stderr == "\ufffd!"
    assert not finished.timed_out


async def test_the_environment_can_be_given(tmp_path: Path) -> None:
    code = "import os; print(*sorted(os.environ), os.environ['HOME'])"
    executor = LocalExecutor(tmp_path, environment={"ONLY": "1", "HERE": "no"})
    finished = await executor.run(
        python(code), cwd=tmp_path, limit=60, environment={"HERE": "yes", "HOME": "/nowhere"}
    )
    seen = set(finished.stdout.split()) - {"LC_CTYPE"}
    assert seen == {"ONLY", "HERE", "HOME", "TMPDIR", "SKILLOPT_PROCESS", "/nowhere"}


async def test_long_output_keeps_both_ends(tmp_path: Path) -> None:
    executor = LocalExecutor(tmp_path, limits=ResourceLimits(output=100))
    code = "print('begin' + 'x' * 5000 + 'end', end='')"
    finished = await executor.run(python(code), cwd=tmp_path, limit=60)
    assert finished.stdout.startswith("beginx")
    assert finished.stdout.endswith("xend")
    assert "[4908 bytes left out]" in finished.stdout
    assert len(finished.stdout) < 150


async def test_a_flood_of_output_is_stopped(tmp_path: Path) -> None:
    executor = LocalExecutor(tmp_path, limits=ResourceLimits(output=100, disk=1_000_000, grace=0.2))
    finished = await executor.run(["yes"], cwd=tmp_path, limit=60)
    assert finished.returncode != 0
    assert not finished.timed_out
    assert finished.stopped == "a stream grew beyond 1 MB"


async def test_a_program_that_cannot_start_is_named(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    with pytest.raises(BackendError, match="no-such-program") as caught:
        await executor.run(["no-such-program"], cwd=tmp_path, limit=60)
    assert caught.value.hint


async def test_a_child_holding_the_output_delays_nobody(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    finished = await executor.run(["sh", "-c", "sleep 600 & echo hi"], cwd=tmp_path, limit=300)
    assert (finished.stdout, finished.timed_out) == ("hi\n", False)


async def test_nothing_outlives_the_limit(executor: LocalExecutor, tmp_path: Path) -> None:
    finished = await timed_out(executor, python(HIDING, "600"), tmp_path)
    assert finished.timed_out
    assert finished.returncode != 0
    assert finished.stdout == "ready\n"
    assert alive(tmp_path) == []


async def test_nothing_outlives_a_program_that_ends(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    finished = await executor.run(python(HIDING, "0"), cwd=tmp_path, limit=60)
    assert (finished.returncode, finished.timed_out) == (0, False)
    assert alive(tmp_path) == []


async def test_nothing_outlives_a_cancelled_attempt(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    attempt = asyncio.create_task(executor.run(python(HIDING, "600"), cwd=tmp_path, limit=600))
    await asyncio.to_thread((tmp_path / "fifo").read_text, "utf-8")
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    assert alive(tmp_path) == []


async def test_a_program_may_end_itself_when_asked(tmp_path: Path) -> None:
    executor = LocalExecutor(tmp_path, limits=ResourceLimits(grace=300))
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: (print('saved', flush=True), sys.exit(7)))\n"
        "open('ready', 'w').close()\n"
        "time.sleep(600)"
    )
    finished = await timed_out(executor, python(code), tmp_path)
    assert (finished.returncode, finished.stdout, finished.timed_out) == (7, "saved\n", True)


async def test_a_program_that_will_not_listen_is_killed(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    code = (
        "import signal, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "open('ready', 'w').close()\n"
        "time.sleep(600)"
    )
    finished = await timed_out(executor, python(code), tmp_path)
    assert (finished.returncode, finished.timed_out) == (-9, True)


async def test_many_programs_at_once_do_not_harm_each_other(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    code = "import sys, time; time.sleep(float(sys.argv[1])); print(sys.argv[1])"
    waits = ["0", "0.1", "0.2", "0.3"]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(executor.run(python(code, wait), cwd=tmp_path, limit=60))
            for wait in waits
        ]
    assert [task.result().stdout for task in tasks] == [f"{wait}\n" for wait in waits]
