"""The first program inside a namespace: opens the one door, sets limits, becomes the real program.

Runs as a script of its own, read-only inside, with whatever Python is there: it uses the standard
library only, and knows nothing of this package.

Usage: start.py PORT SOCKET FILE_BYTES THREADS PROGRAM [ARGUMENT ...]. PORT 0 opens no door.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import sys
import threading
from contextlib import suppress

_PIECE = 65536


def main() -> None:
    """Start the program; what remains of this process is the program itself."""
    port, door, file_bytes, threads, *argv = sys.argv[1:]
    if port != "0":
        listener = socket.create_server(("127.0.0.1", int(port)), backlog=128)
        _leave_behind(listener, door)
        listener.close()
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, int(file_bytes)),
        (resource.RLIMIT_NPROC, int(threads)),
    ):
        ceiling = resource.getrlimit(kind)[1]
        most = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
        resource.setrlimit(kind, (most, most))
    # Python ignores these two, and what is ignored stays so for the program.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        sys.exit(f"{argv[0]}: {error.strerror}")


def _leave_behind(listener: socket.socket, door: str) -> None:
    """Serve the listener in a process that is no child of the program's and ends with it."""
    program = os.pidfd_open(os.getpid())
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os.close(program)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    # Whoever was to end the whole namespace may itself have been killed.
    heard = listener.fileno()
    while heard in select.select([heard, program], [], [])[0]:
        caller, _ = listener.accept()
        threading.Thread(target=_connect, args=(caller, door), daemon=True).start()
    os._exit(0)


def _connect(caller: socket.socket, door: str) -> None:
    with caller, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as service:
        try:
            service.connect(door)
        except OSError:
            return
        answers = threading.Thread(target=_pump, args=(service, caller), daemon=True)
        answers.start()
        _pump(caller, service)
        answers.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Pass bytes on until the source ends, and the end with them."""
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            sink.sendall(piece)
    # A side that is gone already needs no farewell.
    for end, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with suppress(OSError):
            end.shutdown(how)


if __name__ == "__main__":
    main()
