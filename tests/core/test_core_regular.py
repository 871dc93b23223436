"""What is no regular file is refused at once."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Literal

import pytest

from skillopt_cli.core.regular import open_regular, read_regular

MODES: tuple[Literal["rb", "ab"], ...] = ("rb", "ab")


@pytest.mark.parametrize("mode", MODES)
def test_a_pipe_a_device_and_a_socket_are_refused(mode: Literal["rb", "ab"]) -> None:
    os.mkfifo("pipe")
    Path("device").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for name in ("pipe", "device", "socket", "."):
            with pytest.raises(OSError):
                open_regular(Path(name), mode)


def test_a_pipe_with_a_reader_is_refused_as_well() -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="it is no regular file"):
        open_regular(Path("pipe"), "ab")
    os.close(reader)


def test_a_file_is_read_and_added_to() -> None:
    with open_regular(Path("new"), "ab") as file:
        file.write(b"one")
    assert read_regular(Path("new")) == b"one"
    with pytest.raises(FileNotFoundError):
        read_regular(Path("gone"))
