"""What a hostile skill or task can make an agent try, one test per case of security.md's table."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from clock import out_of_time

import skillopt_cli
from skillopt_cli.executors.program_executor import ProgramExecutor
from skillopt_cli.executors.sandbox import Bubblewrap
from skillopt_cli.executors.supervisor import ResourceLimits
from skillopt_cli.ports import Finished

MakeExecutor = Callable[..., ProgramExecutor]

QUICK = ResourceLimits(grace=0.2)
SECONDS = f"333.{os.getpid()}"
"""How long those sleep that should not stay: so long that nobody else's sleep so."""
PACKAGE = str(Path(skillopt_cli.__file__).parent.parent)
CANARY = "canary-5f21"

READ = """
import sys
for name in sys.stdin.read().splitlines():
    try:
        print(open(name).read())
    except OSError as error:
        print("refused", error.strerror)
"""


def python(code: str, *args: str) -> list[str]:
    return [sys.executable, "-c", code, *args]


async def run(executor: ProgramExecutor, code: str, stdin: str = "", limit: float = 60) -> Finished:
    async with executor.workspace("attempt") as folder:
        return await executor.run(python(code), cwd=folder, stdin=stdin, limit=limit)


def planted(folder: Path) -> list[Path]:
    """Files somebody might look for: a key, a run folder with answers, a task file."""
    names = (".ssh/id_ed25519", "outputs/run/journal.json", "data/train/items.json", ".env")
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CANARY, encoding="utf-8")
    return [folder / name for name in names]


async def test_files_of_the_user_cannot_be_read(isolated: MakeExecutor, tmp_path: Path) -> None:
    paths = planted(tmp_path / "home")
    finished = await run(isolated(QUICK), READ, "\n".join(map(str, paths)))
    assert finished.stdout == "refused No such file or directory\n" * len(paths)


async def test_without_isolation_they_can(local: MakeExecutor, tmp_path: Path) -> None:
    paths = planted(tmp_path / "home")
    finished = await run(local(QUICK), READ, "\n".join(map(str, paths)))
    assert finished.stdout == f"{CANARY}\n" * len(paths)


async def test_home_is_an_empty_folder(either: MakeExecutor) -> None:
    code = "import os; print(os.environ['HOME'], os.listdir(os.path.expanduser('~')))"
    executor = either(QUICK)
    home, listed = (await run(executor, code)).stdout.split()
    assert Path(home).is_relative_to(executor.root)
    assert listed == "[]"


async def test_secrets_of_our_environment_are_not_passed_on(
    either: MakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    finished = await run(either(QUICK), "import os; print(dict(os.environ))")
    assert "PATH" in finished.stdout
    assert CANARY not in finished.stdout


async def test_our_own_process_is_not_there_to_be_asked(isolated: MakeExecutor) -> None:
    code = (
        "import os, glob\n"
        "print(sorted(int(p[6:]) for p in glob.glob('/proc/[0-9]*')))\n"
        f"print(os.path.exists('/proc/{os.getpid()}/environ'))"
    )
    shown, ours = (await run(isolated(QUICK), code)).stdout.splitlines()
    assert all(pid < 10 for pid in json.loads(shown))
    assert ours == "False" or os.getpid() < 10


async def test_another_attempt_cannot_be_read(isolated: MakeExecutor) -> None:
    executor = isolated(QUICK)
    async with executor.workspace("other") as other:
        (other / "notes").write_text(CANARY, encoding="utf-8")
        finished = await run(executor, READ, f"{other / 'notes'}\n")
        assert finished.stdout == "refused No such file or directory\n"


async def test_nothing_outside_can_be_written(isolated: MakeExecutor, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("as it was", encoding="utf-8")
    code = """
import os, sys
for name in sys.stdin.read().splitlines():
    try:
        open(name, "a").write("x")
    except OSError as error:
        print(name, error.strerror)
"""
    outside = ["/new", "/usr/new", "/etc/new", "/dev/new", "/run/skillopt/sandbox_init.py"]
    # Root inside is root's equal outside, and these are root's to write.
    machine = ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"]
    tried = [*outside, *machine, sys.executable]
    # In the private /tmp a file of the victim's name may be made; it is another one.
    finished = await run(isolated(QUICK), code, "\n".join([*tried, str(victim)]))
    refused = [line.split()[0] for line in finished.stdout.splitlines()]
    assert refused[: len(tried)] == tried
    assert victim.read_text("utf-8") == "as it was"


async def test_what_is_shown_cannot_be_made_writable(isolated: MakeExecutor) -> None:
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
REMOUNT, BIND = 32, 4096
print(libc.mount(None, b"/usr", None, REMOUNT | BIND, None), libc.umount2(b"/usr", 2))
print([line for line in open("/proc/self/status") if line.startswith("CapEff")])
"""
    finished = await run(isolated(QUICK), code)
    done, capabilities = finished.stdout.splitlines()
    assert done == "-1 -1"
    assert "0000000000000000" in capabilities


LEAVING = f"""
import os, subprocess, sys, time

nowhere = subprocess.DEVNULL
subprocess.Popen(["nohup", "sleep", "{SECONDS}"], stdout=nowhere, stderr=nowhere)
subprocess.Popen(["setsid", "sleep", "{SECONDS}"])
subprocess.Popen(["sleep", "{SECONDS}"], env={{"PATH": os.environ["PATH"]}})
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep({SECONDS})
    os._exit(0)
os.wait()
time.sleep(0.3)
print("left", flush=True)
open("left", "w").close()
time.sleep(float(sys.stdin.read()))
"""


def sleepers() -> set[int]:
    found = set()
    for process in psutil.process_iter(["cmdline", "status"]):
        line = process.info["cmdline"] or []
        if SECONDS in line or LEAVING in line:
            found.add(process.pid)
    return found


async def test_not_even_one_that_hides_from_its_mark(isolated: MakeExecutor) -> None:
    """Without isolation nothing is left to know such a process by: security.md says so."""
    before = sleepers()
    sleep = f"setsid sleep {SECONDS} &"
    hide = f"setsid env -i sh -c '{sleep} {sleep}'; echo left"
    executor = isolated(QUICK)
    async with executor.workspace("t") as folder:
        finished = await executor.run(["sh", "-c", hide], cwd=folder, limit=60)
    assert finished.stdout == "left\n"
    assert sleepers() <= before


@pytest.mark.parametrize("stays", [False, True])
async def test_nothing_stays_in_the_background(either: MakeExecutor, stays: bool) -> None:
    before, executor = sleepers(), either(QUICK)

    def left() -> bool:
        return stays and any(executor.root.rglob("left"))

    working = run(executor, LEAVING, "600" if stays else "0", 600)
    finished = await out_of_time(working, 600, left)
    assert finished.stdout == "left\n"
    assert finished.timed_out == stays
    assert sleepers() <= before


FILLS = {
    "one file": "f = open('big', 'wb')\nwhile True: f.write(bytes(1_000_000))",
    "many files": """
import os, itertools
for n in itertools.count():
    os.makedirs(f"d{n % 7}", exist_ok=True)
    open(f"d{n % 7}/{n}", "wb").write(bytes(500_000))
""",
    "home": """
import os, itertools
for n in itertools.count():
    open(os.path.expanduser(f"~/{n}"), "wb").write(bytes(500_000))
""",
    "tmp": """
import tempfile
while True:
    open(tempfile.mkstemp()[1], "wb").write(bytes(500_000))
""",
    "a file that is given away and left": "open('big', 'wb').write(bytes(25_000_000))",
}


@pytest.mark.parametrize("code", FILLS.values(), ids=list(FILLS))
async def test_the_disk_is_not_filled(either: MakeExecutor, code: str) -> None:
    limits = ResourceLimits(workspace=20_000_000, disk=20_000_000, grace=0.1)
    finished = await run(either(limits), code, limit=600)
    assert finished.stopped == "the workspace grew beyond 20 MB"
    assert not finished.timed_out


async def test_memory_cannot_be_filled_through_files(isolated: MakeExecutor) -> None:
    code = """
import os
for folder in ("/", "/dev", "/run", "/run/skillopt", "/root", "/home", "/etc", "/var"):
    if os.path.isdir(folder):
        try:
            open(folder + "/fill", "wb").write(bytes(1000))
            print(folder)
        except OSError:
            pass
try:
    open("/dev/shm/fill", "wb").write(bytes(100_000_000))
except OSError as error:
    print(error.strerror)
"""
    finished = await run(isolated(QUICK), code)
    assert finished.stdout == "No space left on device\n"


async def test_a_gigabyte_of_output_is_cut_off(either: MakeExecutor) -> None:
    code = "import os\nfor _ in range(1024): os.write(1, bytes([120]) * 1_048_576)"
    limits = ResourceLimits(output=1000, disk=50_000_000, workspace=100_000_000, grace=0.1)
    finished = await run(either(limits), code, limit=600)
    assert finished.stopped == "a stream grew beyond 50 MB"
    assert len(finished.stdout) < 1100
    assert "bytes left out" in finished.stdout


async def test_a_crowd_of_processes_is_stopped(either: MakeExecutor) -> None:
    code = f"""
import subprocess, time
for _ in range(120):
    subprocess.Popen(["sleep", "{SECONDS}"], start_new_session=True)
time.sleep(600)
"""
    before = sleepers()
    finished = await run(either(ResourceLimits(processes=60, grace=0.1)), code, limit=600)
    assert finished.stopped == "more than 60 processes ran"
    assert sleepers() <= before


@contextmanager
def bystander() -> Iterator[tuple[int, list[bytes]]]:
    """A server on this machine that no program has any business with."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                with caller:
                    heard.append(caller.recv(100))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1], heard
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


CALL = """
import socket, sys
try:
    with socket.create_connection(("127.0.0.1", int(sys.stdin.read())), timeout=60) as s:
        s.sendall(b"hello")
    print("sent")
except OSError as error:
    print(error.strerror)
"""


async def test_no_other_server_can_be_reached(isolated: MakeExecutor) -> None:
    with bystander() as (port, heard):
        finished = await run(isolated(QUICK), CALL, str(port))
    assert (finished.stdout, heard) == ("Connection refused\n", [])


async def test_without_isolation_it_can(local: MakeExecutor) -> None:
    with bystander() as (port, heard):
        finished = await run(local(QUICK), CALL, str(port))
    assert (finished.stdout, heard) == ("sent\n", [b"hello"])


async def test_there_is_no_way_out_of_the_machine(isolated: MakeExecutor) -> None:
    code = (
        "import os; print(sorted(os.listdir('/proc/self/net/dev_snmp6')), os.path.exists('/sys'))"
    )
    finished = await run(isolated(QUICK), code)
    assert finished.stdout == "['lo'] False\n"


async def test_its_parent_cannot_be_killed(isolated: MakeExecutor) -> None:
    code = """
import os, signal
os.kill(os.getppid(), signal.SIGKILL)
print("still here", flush=True)
os.kill(-1, signal.SIGKILL)
"""
    finished = await run(isolated(QUICK), code)
    assert finished.stdout == "still here\n"
    assert not finished.timed_out


OURS = """
import asyncio, os, sys
from pathlib import Path
from skillopt_cli.executors.sandbox import Bubblewrap, SandboxExecutor

async def main():
    executor = SandboxExecutor(Path("attempts"), dict(os.environ), wrapper=Bubblewrap(sys.argv[1]))
    async with executor.workspace("t") as folder:
        argv = ["sh", "-c", f"echo > ready; sleep {sys.argv[2]}"]
        await executor.run(argv, cwd=folder, limit=600)

asyncio.run(main())
"""


def until(holds: Callable[[], bool]) -> None:
    """Wait for what no event tells us: another program's doings."""
    give_up = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_nothing_outlives_us(wrapper: Bubblewrap, tmp_path: Path) -> None:
    before = sleepers()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": PACKAGE}
    with subprocess.Popen(python(OURS, wrapper.path, SECONDS), env=environment) as ours:
        until(lambda: any(tmp_path.glob("attempts/t-*/ready")) and sleepers() > before)
        ours.kill()
    until(lambda: sleepers() <= before)
