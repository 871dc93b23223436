"""What a program in the sandbox cannot ask of the kernel, call by call, and whose keys it reads."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import replace
from errno import EFAULT, EINVAL, ENOSYS
from pathlib import Path
from typing import Any

import pytest
from sandbox_rig import lacking_bubblewrap, namespaces_or_skip, whole_sandbox_or_skip

from skillopt_cli.executors.sandbox import Bubblewrap, SandboxExecutor
from skillopt_cli.executors.sandbox_trial import sandbox_support
from skillopt_cli.executors.system_calls import NEWEST, REFUSED

CANARY = "canary-5f21"
MACHINE = platform.machine()
ARGUMENTS = {
    "keyctl": [11, 1],  # read the first key
    "ioctl": [0, 0x5412],
    "socket": [40, 1],  # to the host of a virtual machine
    "clone": [0x10000000 | 17],
    "unshare": [0x10000000],
}
"""Those that are refused with certain arguments only; all others are called with none."""

CALL = """
import ctypes, json, os, sys
system = ctypes.CDLL(None, use_errno=True)
said = {}
for name, number, arguments in json.load(sys.stdin):
    words = [ctypes.c_long(value) for value in (arguments + [0] * 6)[:6]]
    ctypes.set_errno(0)
    answer = system.syscall(ctypes.c_long(number), *words)
    if name == "clone" and answer == 0:
        os._exit(0)
    said[name] = ctypes.get_errno() if answer == -1 else 0
print(json.dumps(said))
"""


async def output(root: Path, wrapper: Bubblewrap, code: str, stdin: str = "") -> str:
    executor = SandboxExecutor(root, {"PATH": os.environ["PATH"]}, wrapper=wrapper)
    async with executor.workspace("t") as folder:
        argv = [sys.executable, "-c", code]
        done = await executor.run(argv, cwd=folder, stdin=stdin, limit=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def errors(root: Path, wrapper: Bubblewrap, calls: dict[str, int]) -> dict[str, int]:
    """The errno of each call, 0 where it succeeds."""
    asked = [(name, number, ARGUMENTS.get(name, [])) for name, number in calls.items()]
    said: dict[str, int] = json.loads(asyncio.run(output(root, wrapper, CALL, json.dumps(asked))))
    return said


NUMBERS = {c.name: n for c in REFUSED if (n := c.number(MACHINE)) is not None}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """What every call of the table, and some that no table knows, end with inside."""
    newer = {"newer": NEWEST + 1, "x32": 0x40000000 + 39}
    return errors(tmp_path_factory.mktemp("calls"), whole_sandbox_or_skip(), {**NUMBERS, **newer})


@pytest.mark.parametrize("call", REFUSED, ids=[call.name for call in REFUSED])
def test_each_refused_call_fails(answers: dict[str, int], call: Any) -> None:
    if call.name not in NUMBERS:
        pytest.skip("this kind of processor does not have it")
    assert answers[call.name] == call.errno


def test_what_is_newer_does_not_exist(answers: dict[str, int]) -> None:
    assert (answers["newer"], answers["x32"]) == (ENOSYS, ENOSYS)


def test_it_is_the_filter_that_refuses_them(tmp_path: Path) -> None:
    """Without it these come further, on any kernel."""
    further = {"ptrace": 0, "clone3": EINVAL, "add_key": EFAULT}
    without = replace(whole_sandbox_or_skip(), seccomp=b"")
    calls = {name: NUMBERS[name] for name in further}
    assert errors(tmp_path, without, calls) == further


THIRTY_TWO = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))  # getpid of a 32-bit program
run = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print(run() > 0)
"""


def test_calls_of_another_architecture_do_not_exist(tmp_path: Path) -> None:
    whole = whole_sandbox_or_skip()
    here = [sys.executable, "-c", THIRTY_TWO]
    if MACHINE != "x86_64" or subprocess.run(here, capture_output=True, check=False).returncode:
        pytest.skip("this machine runs no 32-bit programs")
    assert asyncio.run(output(tmp_path, whole, THIRTY_TWO)) == "False\n"
    assert asyncio.run(output(tmp_path, replace(whole, seccomp=b""), THIRTY_TWO)) == "True\n"


ORDINARY = """
import asyncio, multiprocessing, os, socket, subprocess, sys, threading
def square(x): return x * x
if __name__ == "__main__":
    thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
    print(subprocess.run(["sh", "-c", "echo child | cat"], capture_output=True, text=True).stdout)
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(2) as pool:
            print(pool.map(square, [1, 2, 3]))
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()): print("connected")
    one, other = socket.socketpair(); one.send(b"pair"); print(other.recv(9).decode())
    print([name for _, name in socket.if_nameindex()])
    asyncio.run(asyncio.sleep(0))
"""


async def test_what_programs_usually_do_works(tmp_path: Path) -> None:
    """Threads, processes, pipes, sockets; the agents' own programs have tests of theirs."""
    script = tmp_path / "usual.py"
    script.write_text(ORDINARY, encoding="utf-8")
    executor = SandboxExecutor(tmp_path / "a", {"PATH": os.environ["PATH"]})
    async with executor.workspace("t") as folder:
        done = await executor.run([sys.executable, str(script)], cwd=folder, limit=60)
    said = ["thread", "child", "", *["[1, 4, 9]"] * 2, "connected", "pair", "['lo']"]
    assert (done.stdout.splitlines(), done.stderr) == (said, "")


NODE = """
const { Worker } = require("worker_threads");
const { execFileSync } = require("child_process");
const { promises: files } = require("fs");
const code = 'require("worker_threads").parentPort.postMessage("worker")';
const worker = new Worker(code, { eval: true });
worker.on("message", async (said) => {
  await files.writeFile("made", said);
  console.log(String(await files.readFile("made")), String(execFileSync("echo", ["child"])).trim());
});
"""
GIT = """
git init -q here && cd here && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
git clone -q . ../there && git -C ../there log --format=%s
"""
MAKE = """
printf 'int main(void) { return 7; }' > x.c && gcc -o x x.c; ./x; echo $?
"""


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["node", "-e", NODE], "worker child"),
        (["sh", "-c", GIT], "x"),
        (["sh", "-c", MAKE], "7"),
    ],
    ids=["node", "git", "gcc"],
)
async def test_the_usual_tools_work(tmp_path: Path, argv: list[str], said: str) -> None:
    if any(shutil.which(name) is None for name in ("node", "git", "gcc") if name in str(argv)):
        pytest.skip("it is not installed")
    executor = SandboxExecutor(
        tmp_path, {"PATH": os.environ["PATH"]}, wrapper=whole_sandbox_or_skip()
    )
    async with executor.workspace("t") as folder:
        done = await executor.run(argv, cwd=folder, limit=60)
    assert (done.stdout, done.stderr) == (f"{said}\n", "")


LOOK = """
import ctypes, json, sys
system = ctypes.CDLL(None, use_errno=True)
keyctl, request_key, key = json.load(sys.stdin)
def called(*arguments):
    return system.syscall(*(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
def read(key):
    text = ctypes.create_string_buffer(100)
    called(keyctl, 11, key, text, 100)
    return text.value.decode()
print(read(key), read(called(keyctl, 10, -3, b"user", b"skillopt-test", 0)),
      read(called(request_key, b"user", b"skillopt-test", None, 0)))
try: print("skillopt-test" in open("/proc/keys").read())
except OSError: print(False)
"""
OWNER = f"""
import asyncio, ctypes, json, os, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from skillopt_cli.executors.sandbox import Bubblewrap, SandboxExecutor
from test_closed_namespace import LOOK, NUMBERS, output

path, seccomp, keyring = sys.argv[1], sys.argv[2] == "True", sys.argv[3] == "True"
system = ctypes.CDLL(None, use_errno=True)
system.syscall(NUMBERS["keyctl"], 1, None)
key = system.syscall(NUMBERS["add_key"], b"user", b"skillopt-test", b"{CANARY}", 11, -3)
if key < 0:
    sys.exit("no keys here: " + os.strerror(ctypes.get_errno()))
wrapper = Bubblewrap(path)
wrapper = Bubblewrap(path, wrapper.seccomp * seccomp, wrapper.keyctl * keyring)
asked = json.dumps([NUMBERS["keyctl"], NUMBERS["request_key"], key])
print(asyncio.run(output(Path("attempts"), wrapper, LOOK, asked)), end="")
"""


@pytest.mark.parametrize("keyring", [True, False])
@pytest.mark.parametrize("seccomp", [True, False])
def test_a_key_in_our_session_keyring_is_ours(seccomp: bool, keyring: bool) -> None:
    """Either part protects what it holds; that it exists is hidden in any case."""
    whole = whole_sandbox_or_skip()
    owner = [sys.executable, "-c", OWNER, whole.path, str(seccomp), str(keyring)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(owner, capture_output=True, text=True, env=environment, check=False)
    if done.stderr.startswith("no keys here"):
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    read, listed = done.stdout.splitlines()
    assert read.split() == ([] if seccomp or keyring else [CANARY] * 3)
    assert listed == "False"


def test_a_part_that_cannot_be_had_is_left_out_and_named(tmp_path: Path) -> None:
    whole = whole_sandbox_or_skip()
    path = str(lacking_bubblewrap(tmp_path / "old", "seccomp"))
    old = sandbox_support(replace(whole, path=path))
    assert (old.refusal, old.lacking) == ("", (("seccomp filter", "bwrap: no seccomp"),))
    assert (old.wrapper.seccomp, old.wrapper.keyctl) == (b"", whole.keyctl)
    path = str(lacking_bubblewrap(tmp_path / "keyless", "keyctl"))
    keyless = sandbox_support(replace(whole, path=path))
    assert keyless.lacking == (("session keyring of its own", "bwrap: no keyctl"),)
    assert (keyless.wrapper.seccomp, keyless.wrapper.keyctl) == (whole.seccomp, 0)


def test_another_kind_of_processor_has_namespaces_alone() -> None:
    found = sandbox_support(replace(namespaces_or_skip(), seccomp=b"", keyctl=0))
    assert found.refusal == ""
    assert [name for name, _ in found.lacking] == ["seccomp filter", "session keyring of its own"]
    assert {reason for _, reason in found.lacking} == {
        "the system calls of this kind of processor are not known"
    }


async def test_a_keyring_that_is_refused_later_ends_the_program_before_it_starts(
    tmp_path: Path,
) -> None:
    """As at the limit on keys: nothing runs with less than what was announced."""
    wrapper = replace(whole_sandbox_or_skip(), seccomp=b"", keyctl=NEWEST + 100)
    executor = SandboxExecutor(tmp_path, {"PATH": os.environ["PATH"]}, wrapper=wrapper)
    async with executor.workspace("t") as folder:
        done = await executor.run(["sh", "-c", "echo ran"], cwd=folder, limit=60)
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr == "a session keyring cannot be made: Function not implemented\n"
