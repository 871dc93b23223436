from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from clock import out_of_time

from skillopt_cli.core.errors import BackendError
from skillopt_cli.executors.program_executor import ProgramExecutor
from skillopt_cli.executors.sandbox import Bubblewrap, FileAccess, SandboxExecutor
from skillopt_cli.executors.sandbox_trial import sandbox_support
from skillopt_cli.executors.supervisor import ResourceLimits
from skillopt_cli.ports import ServiceAddress

MakeExecutor = Callable[..., ProgramExecutor]


def python(code: str, *args: str) -> list[str]:
    return [sys.executable, "-c", code, *args]


@asynccontextmanager
async def service(folder: Path) -> AsyncIterator[ServiceAddress]:
    """Answers a line with the line turned round, then reads on to the end of the stream."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        writer.write(line.strip()[::-1] + b"\n")
        rest = await reader.read()
        writer.write(f"{len(rest)} more\n".encode())
        writer.write_eof()
        await writer.drain()
        writer.close()

    network = await asyncio.start_server(serve, "127.0.0.1", 0)
    door = await asyncio.start_unix_server(serve, folder / "door.sock")
    async with network, door:
        yield ServiceAddress(network.sockets[0].getsockname()[1], folder / "door.sock")


ASK = """
import socket, sys, threading
port, size = map(int, sys.argv[1:])
def ask(word):
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(word + b"\\n" + bytes(size))
        s.shutdown(socket.SHUT_WR)
        got = b"".join(iter(lambda: s.recv(65536), b""))
    print(got.decode().split("\\n")[:2], flush=True)
ask(b"abc")
threads = [threading.Thread(target=ask, args=(b"xyz",)) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
"""


async def test_the_one_service_is_reached_at_its_own_address(
    either: MakeExecutor, tmp_path: Path
) -> None:
    executor = either()
    async with service(tmp_path) as address, executor.workspace("t") as folder:
        argv = python(ASK, str(address.port), "2000000")
        finished = await executor.run(argv, cwd=folder, limit=60, service=address)
    said = [["cba", "2000000 more"], *[["zyx", "2000000 more"]] * 8]
    assert finished.stdout == "".join(f"{line}\n" for line in said)


async def test_a_service_that_is_gone_hangs_up(isolated: MakeExecutor, tmp_path: Path) -> None:
    executor = isolated()
    async with service(tmp_path) as address:
        pass
    (tmp_path / "door.sock").touch()
    async with executor.workspace("t") as folder:
        code = (
            "import socket, sys\n"
            "s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
            "s.settimeout(20)\n"
            "print(s.recv(10))"
        )
        argv = python(code, str(address.port))
        finished = await executor.run(argv, cwd=folder, limit=60, service=address)
    assert finished.stdout == "b''\n"


async def test_a_program_reads_and_writes(isolated: MakeExecutor) -> None:
    executor = isolated()
    code = (
        "import os, pathlib, sys\n"
        "text = sys.stdin.buffer.read().decode()\n"
        "sys.stdout.buffer.write((text.upper() + os.getcwd()).encode())\n"
        "sys.stderr.buffer.write(b'\\xff!')\n"
        "pathlib.Path('../beside/made').write_text('x')\n"
        "sys.exit(3)"
    )
    async with executor.workspace("t") as folder:
        for name in ("work", "beside"):
            (folder / name).mkdir()
        finished = await executor.run(
            python(code), cwd=folder / "work", stdin="grün\n" * 50_000, limit=60
        )
        assert (folder / "beside" / "made").read_text("utf-8") == "x"
    assert finished.returncode == 3
    assert finished.stdout == "GRÜN\n" * 50_000 + str(folder / "work")
    assert finished.stderr == "\ufffd!"


async def test_the_environment_is_what_was_given(isolated: MakeExecutor) -> None:
    executor = isolated()
    code = "import os; print(*sorted(os.environ), os.environ['TMPDIR'], os.environ['HOME'])"
    async with executor.workspace("t") as folder:
        finished = await executor.run(
            python(code), cwd=folder, limit=60, environment={"TOKEN": "t", "HOME": str(folder)}
        )
    names = "HOME LC_CTYPE PATH PWD SKILLOPT_PROCESS TMPDIR TOKEN"
    assert set(finished.stdout.split()) <= {*names.split(), "/tmp", str(folder)}
    assert {"TOKEN", "/tmp", str(folder)} <= set(finished.stdout.split())


async def test_a_script_outside_brings_its_interpreter(
    isolated: MakeExecutor, tmp_path: Path, environment: dict[str, str]
) -> None:
    tools = tmp_path / "tools" / "bin"
    tools.mkdir(parents=True)
    (tools.parent / "lib").mkdir()
    (tools.parent / "lib" / "words").write_text("hello", encoding="utf-8")
    (tools.parent / "secret").write_text("no", encoding="utf-8")
    script = tools / "greet"
    script.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        "prefix = pathlib.Path(__file__).parent.parent\n"
        "print((prefix / 'lib/words').read_text(), (prefix / 'secret').exists())\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    executor = isolated()
    path = f"{tools}{os.pathsep}{environment['PATH']}"
    async with executor.workspace("t") as folder:
        finished = await executor.run(["greet"], cwd=folder, limit=60, environment={"PATH": path})
    assert (finished.stdout, finished.stderr) == ("hello False\n", "")


async def test_files_that_the_command_names_are_shown(
    isolated: MakeExecutor, tmp_path: Path
) -> None:
    script = tmp_path / "agent.py"
    script.write_text("import os; print(os.listdir(os.path.dirname(__file__)))", encoding="utf-8")
    (tmp_path / "secret").touch()
    executor = isolated()
    async with executor.workspace("t") as folder:
        finished = await executor.run([sys.executable, str(script)], cwd=folder, limit=60)
    assert "agent.py" in finished.stdout
    assert "secret" not in finished.stdout


async def test_readable_and_hidden_folders(isolated: MakeExecutor, tmp_path: Path) -> None:
    open_folder = tmp_path / "open"
    for name in ("answers/gold", "plain", "key"):
        (open_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (open_folder / name).write_text("text", encoding="utf-8")
    (tmp_path / "link").symlink_to(open_folder)
    hidden = frozenset({open_folder / "answers", open_folder / "key", open_folder / "later"})
    executor = isolated(access=FileAccess(frozenset({tmp_path / "link"}), hidden))
    code = """
import os, sys
os.chdir(sys.argv[1])
print(sorted(os.listdir()), os.listdir("answers"), open("plain").read())
for name, mode in (("key", "r"), ("answers/fill", "w")):
    try:
        print(open(name, mode).read())
    except OSError as error:
        print(error.strerror)
"""
    async with executor.workspace("t") as folder:
        argv = python(code, str(tmp_path / "link"))
        finished = await executor.run(argv, cwd=folder, limit=60)
    assert finished.stdout.splitlines() == [
        "['answers', 'key', 'plain'] [] text",
        "Permission denied",
        "Read-only file system",
    ], finished.stderr


async def test_a_program_that_is_not_there_is_named(isolated: MakeExecutor) -> None:
    executor = isolated()
    async with executor.workspace("t") as folder:
        with pytest.raises(BackendError, match="no-such-program") as caught:
            await executor.run(["no-such-program"], cwd=folder, limit=60)
    assert caught.value.hint


async def test_a_namespace_that_cannot_be_made_is_an_error(
    isolated: MakeExecutor, tmp_path: Path
) -> None:
    executor = isolated()
    async with executor.workspace("t") as folder:
        with pytest.raises(BackendError, match=r"bwrap: .*no\.sock"):
            await executor.run(
                python("pass"),
                cwd=folder,
                limit=60,
                service=ServiceAddress(1, tmp_path / "no.sock"),
            )


async def test_a_program_cannot_pretend_that(isolated: MakeExecutor) -> None:
    code = (
        "import os, sys\n"
        "print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1], flush=True)\n"
        "for number in range(3, 100):\n"
        "    try: os.ftruncate(number, 0)\n"
        "    except OSError: pass\n"
        "sys.exit('bwrap: no')"
    )
    executor = isolated()
    async with executor.workspace("t") as folder:
        finished = await executor.run(python(code), cwd=folder, limit=60)
    assert (finished.returncode, finished.stderr) == (1, "bwrap: no\n")
    assert finished.stdout == "[0, 1, 2]\n"


async def test_a_program_may_end_itself_when_asked(isolated: MakeExecutor) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: (print('saved', flush=True), sys.exit(7)))\n"
        "open('ready', 'w').close()\n"
        "time.sleep(600)"
    )
    executor = isolated(ResourceLimits(grace=300))
    async with executor.workspace("t") as folder:
        run = executor.run(python(code), cwd=folder, limit=600)
        finished = await out_of_time(run, 600, (folder / "ready").exists)
    assert (finished.returncode, finished.stdout, finished.timed_out) == (7, "saved\n", True)


async def test_signals_reach_the_program_as_the_system_sends_them(isolated: MakeExecutor) -> None:
    """Whoever starts a program from Python must not hand down what Python ignores."""
    executor = isolated()
    async with executor.workspace("t") as folder:
        finished = await executor.run(["sh", "-c", "yes | head -1"], cwd=folder, limit=60)
        assert (finished.stdout, finished.stderr) == ("y\n", "")
        finished = await executor.run(["sh", "-c", "kill -9 $$"], cwd=folder, limit=60)
    assert finished.returncode == 128 + 9


def fake(folder: Path, text: str) -> str:
    path = folder / "bwrap"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def refusal(path: str) -> str:
    return sandbox_support(Bubblewrap(path)).refusal


def test_a_trial_says_why_not(tmp_path: Path) -> None:
    wrapper = fake(tmp_path, "echo 'bwrap: No permissions to create a new namespace' >&2; exit 1")
    assert refusal(wrapper) == "bwrap: No permissions to create a new namespace"
    assert refusal(str(tmp_path / "none")) == "it cannot be started: No such file or directory"


def test_a_trial_that_says_nothing_counts_as_well(tmp_path: Path) -> None:
    assert refusal(fake(tmp_path, "exit 3")) == "a trial of it ended with code 3"


def test_only_the_isolating_executor_says_so(isolated: MakeExecutor, local: MakeExecutor) -> None:
    assert isolated().isolates and isinstance(isolated(), SandboxExecutor)
    assert not local().isolates


async def test_a_run_can_be_shown_more(either: MakeExecutor, tmp_path: Path) -> None:
    """As packages that an interpreter finds elsewhere; a link is shown with what it leads to."""
    real = tmp_path / "real"
    real.mkdir()
    (real / "module.py").write_text("x = 42\n")
    (tmp_path / "link").symlink_to(real)
    executor = either()
    code = (
        f"import sys; sys.path.append({str(tmp_path / 'link')!r}); import module; print(module.x)"
    )
    async with executor.workspace("t") as folder:
        done = await executor.run(
            python(code), cwd=folder, limit=60, readable=[tmp_path / "link", tmp_path / "none"]
        )
    assert done.stdout == "42\n", done.stderr


async def test_what_is_shown_to_one_run_is_read_only_and_not_shown_to_the_next(
    isolated: MakeExecutor, tmp_path: Path
) -> None:
    shown = tmp_path / "shown"
    (shown / "secret").mkdir(parents=True)
    (shown / "secret" / "x").write_text("hidden")
    (shown / "y").write_text("y")
    executor = isolated(access=FileAccess(hidden=frozenset({shown / "secret"})))
    code = (
        "import os, sys\n"
        "print(os.path.exists(sys.argv[1] + '/y'), os.path.exists(sys.argv[1] + '/secret/x'))\n"
        "try: open(sys.argv[1] + '/z', 'w')\n"
        "except OSError as error: print(type(error).__name__)"
    )
    said = []
    async with executor.workspace("t") as folder:
        for readable in ([shown], []):
            argv = python(code, str(shown))
            done = await executor.run(argv, cwd=folder, limit=60, readable=readable)
            said.append(done.stdout.split())
    assert said == [["True", "False", "OSError"], ["False", "False", "FileNotFoundError"]]
