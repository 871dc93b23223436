"""A program in the place of a chat model: serves it on this machine while a command runs.

    python stand_in.py orders/optimizer.py skillopt train ...

The first argument is a file with a function `reply(system, user)` that returns the text of a reply.
The command after it finds the server in OPENAI_COMPATIBLE_BASE_URL. The port depends on the path of
the file alone, so that a run that was interrupted finds the same server when it is resumed. Ctrl-C
is left to the command.
"""

from __future__ import annotations

import json
import runpy
import signal
import subprocess
import sys
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any


class ChatCompletions(BaseHTTPRequestHandler):
    """Answers each request for a chat completion with `reply`."""

    protocol_version = "HTTP/1.1"
    reply: Any

    def do_POST(self) -> None:
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = {message["role"]: message["content"] for message in request["messages"]}
        text = type(self).reply(texts.get("system", ""), texts.get("user", ""))
        choice = {"index": 0, "message": {"role": "assistant", "content": text}}
        reply = {
            "object": "chat.completion",
            "model": request["model"],
            "choices": [{**choice, "finish_reason": "stop"}],
        }
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


class Server(ThreadingHTTPServer):
    """A server whose port is its own."""

    allow_reuse_port = False


def port_of(program: str) -> int:
    """Return the port for a file: the same at every start, below those of outgoing connections."""
    return 20_000 + zlib.crc32(str(Path(program).resolve()).encode()) % 10_000


def main() -> int:
    """Run the command beside the server; its exit code is returned."""
    program, *command = sys.argv[1:]
    ChatCompletions.reply = staticmethod(runpy.run_path(program)["reply"])
    port = port_of(program)
    try:
        server = Server(("127.0.0.1", port), ChatCompletions)
    except OSError as error:
        print(f"port {port}, which belongs to {program}, cannot be used: {error}", file=sys.stderr)
        print("hint: end the other command that is run with it, or copy the file", file=sys.stderr)
        return 1
    # Not SIG_IGN, which the command would inherit.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    with server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{port}/v1"
        command = ["env", f"OPENAI_COMPATIBLE_BASE_URL={url}", *command]
        code = subprocess.run(command, check=False).returncode
        server.shutdown()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
