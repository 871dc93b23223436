"""The first program inside a sandbox: forwards one port, sets limits, executes the real program.

It also replaces the session keyring that it inherited by an empty one.

Runs as a separate read-only script with the Python inside the sandbox, so it uses the standard
library only and imports nothing of this package.

Usage: sandbox_init.py PORT SOCKET FILE_BYTES THREADS KEYCTL PROGRAM [ARGUMENT ...]. PORT 0
forwards none. KEYCTL is the number of the system call; 0 keeps the session keyring.
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
_JOIN_SESSION_KEYRING = 1


def main() -> None:
    """Set up the sandbox, and replace this process by the program."""
    port, target, file_bytes, threads, keyctl, *argv = sys.argv[1:]
    if keyctl != "0":
        _replace_session_keyring(int(keyctl))
    if port != "0":
        listener = socket.create_server(("127.0.0.1", int(port)), backlog=128)
        _forward_in_background(listener, target)
        listener.close()
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, int(file_bytes)),
        (resource.RLIMIT_NPROC, int(threads)),
    ):
        ceiling = resource.getrlimit(kind)[1]
        most = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
        resource.setrlimit(kind, (most, most))
    # Python ignores these two signals, and the program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        sys.exit(f"{argv[0]}: {error.strerror}")


def _replace_session_keyring(keyctl: int) -> None:
    """Join a new, empty session keyring; exit where the system refuses that."""
    import ctypes  # missing in some builds of Python, which matters here alone

    system = ctypes.CDLL(None, use_errno=True)
    if system.syscall(keyctl, _JOIN_SESSION_KEYRING, None) < 0:
        sys.exit(f"a session keyring cannot be made: {os.strerror(ctypes.get_errno())}")


def _forward_in_background(listener: socket.socket, target: str) -> None:
    """Serve the listener in a process that is not a child of the program and ends with it."""
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
    # The process that ends the sandbox may have been killed, so the program is watched too.
    incoming = listener.fileno()
    while incoming in select.select([incoming, program], [], [])[0]:
        caller, _ = listener.accept()
        threading.Thread(target=_connect, args=(caller, target), daemon=True).start()
    os._exit(0)


def _connect(caller: socket.socket, target: str) -> None:
    with caller, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as service:
        try:
            service.connect(target)
        except OSError:
            return
        answers = threading.Thread(target=_pump, args=(service, caller), daemon=True)
        answers.start()
        _pump(caller, service)
        answers.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Forward bytes until the source ends, then forward its end."""
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            sink.sendall(piece)
    # A closed side cannot be shut down.
    for end, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with suppress(OSError):
            end.shutdown(how)


if __name__ == "__main__":
    main()
