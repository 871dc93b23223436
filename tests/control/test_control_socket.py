"""The control socket: who may use it, what it makes of garbage, and where it lies."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt_cli.control import commands, server
from skillopt_cli.control.commands import Command, ControlReply
from skillopt_cli.control.server import SOCKET, send, serve_commands
from skillopt_cli.core.errors import NotRunning, UsageError


class Heard:
    """Carries nothing out, and remembers what it was asked."""

    def __init__(self) -> None:
        self.commands: list[Command] = []

    def __call__(self, command: Command) -> ControlReply:
        if isinstance(command, commands.Stop):
            raise UsageError("not now", "later")
        self.commands.append(command)
        return ControlReply("done", os.getpid(), 3, None, False, False, 64, {"max_usd": 1.5})


async def said(folder: Path, *lines: bytes) -> list[dict[str, object]]:
    """The answers to raw lines on one connection; fewer if it was closed."""
    reader, writer = await asyncio.open_unix_connection(str(folder / SOCKET))
    writer.write(b"".join(lines))
    answers = []
    for _ in lines:
        if not (line := await reader.readline()):
            break
        answers.append(json.loads(line))
    writer.close()
    return answers


async def test_each_function_of_the_client_is_one_command(tmp_path: Path) -> None:
    heard = Heard()
    async with serve_commands(tmp_path, heard):
        answer = await send(tmp_path, commands.Status())
        await send(tmp_path, commands.Pause("edits"))
        await send(tmp_path, commands.Resume())
        await send(tmp_path, commands.Set("run.max_usd", "2"))
        await send(tmp_path, commands.Veto(2, "déjà \ud800 vu"))
        await send(tmp_path, commands.Hint("two\nlines"))
        with pytest.raises(UsageError, match="not now") as refused:
            await send(tmp_path, commands.Stop())
    assert (answer.said, answer.in_flight, answer.caps) == ("done", 3, {"max_usd": 1.5})
    assert refused.value.hint == "later"
    assert heard.commands == [
        commands.Status(),
        commands.Pause("edits"),
        commands.Resume(),
        commands.Set("run.max_usd", "2"),
        commands.Veto(2, "déjà ? vu"),
        commands.Hint("two\nlines"),
    ]


async def test_only_the_owner_may_use_it_and_it_goes_with_the_run(tmp_path: Path) -> None:
    async with serve_commands(tmp_path, Heard()):
        assert stat.S_IMODE((tmp_path / SOCKET).stat().st_mode) == 0o600
    assert not (tmp_path / SOCKET).exists()
    with pytest.raises(NotRunning, match="no process is at work"):
        await send(tmp_path, commands.Status())


@pytest.mark.parametrize(
    "line",
    [
        b"hello\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b"null\n",
        b'{"command": "format"}\n',
        b'{"command": "veto", "number": "1"}\n',
        b'{"command": "veto", "number": 0}\n',
        b'{"command": "pause", "at": "tea"}\n',
        b'{"command": "status", "more": 1}\n',
        b"[" * 20_000 + b"\n",
        json.dumps({"command": "hint", "text": "x" * 3000}).encode() + b"\n",
    ],
)
async def test_garbage_is_refused_and_the_connection_lives(tmp_path: Path, line: bytes) -> None:
    heard = Heard()
    async with serve_commands(tmp_path, heard):
        first, second = await said(tmp_path, line, b'{"command": "status"}\n')
    assert first["ok"] is False and first["error"]
    assert second["ok"] is True
    assert heard.commands == [commands.Status()]


async def test_a_line_without_an_end_closes_its_connection_only(tmp_path: Path) -> None:
    async with serve_commands(tmp_path, Heard()):
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / SOCKET))
        writer.write(b"x" * 200_000)
        assert json.loads(await reader.readline())["ok"] is False
        writer.close()
        assert (await send(tmp_path, commands.Status())).said == "done"


async def test_clients_at_a_time_and_idle_ones_keep_nobody(tmp_path: Path) -> None:
    heard = Heard()
    async with asyncio.timeout(60):
        async with serve_commands(tmp_path, heard):
            _, idle = await asyncio.open_unix_connection(str(tmp_path / SOCKET))
            _, gone = await asyncio.open_unix_connection(str(tmp_path / SOCKET))
            gone.write(b'{"command": "status"}\n')
            gone.close()
            await asyncio.gather(*(send(tmp_path, commands.Hint(str(n))) for n in range(8)))
        idle.close()
    texts = {c.text for c in heard.commands if isinstance(c, commands.Hint)}
    assert texts == {str(n) for n in range(8)}


@pytest.fixture
def left_over(tmp_path: Path) -> Path:
    """A folder with the socket of a process that is gone."""
    program = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, str(tmp_path / SOCKET)], check=True)
    return tmp_path


async def test_the_socket_of_a_dead_process_is_replaced(left_over: Path) -> None:
    with pytest.raises(NotRunning):
        await send(left_over, commands.Status())
    async with serve_commands(left_over, Heard()):
        assert (await send(left_over, commands.Status())).said == "done"


async def test_a_folder_with_a_very_long_path_is_reached_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path.joinpath(
        *("a-name-of-fifty-characters-which-goes-on-and-on-é" for _ in range(6))
    )
    deep.mkdir(parents=True)
    assert len(os.fsencode(deep)) > 250
    async with serve_commands(deep, Heard()):
        assert stat.S_ISSOCK((deep / SOCKET).stat().st_mode)
        assert (await send(deep, commands.Status())).said == "done"
        monkeypatch.chdir(deep.parent)
        assert (await send(Path(deep.name), commands.Status())).said == "done"
    assert list(deep.iterdir()) == []


async def test_what_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / SOCKET).write_text("mine", encoding="utf-8")
    with pytest.raises(OSError):
        async with serve_commands(tmp_path, Heard()):
            raise AssertionError("it listens")
    assert (tmp_path / SOCKET).read_text(encoding="utf-8") == "mine"
    with pytest.raises(NotRunning):
        await send(tmp_path, commands.Status())


async def test_a_process_that_does_not_answer_is_waited_for_so_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.05)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / SOCKET))
        deaf.listen()
        with pytest.raises(NotRunning, match="does not answer"):
            await send(tmp_path, commands.Status())
