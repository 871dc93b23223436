"""A program in the place of a chat model: serves it on this machine while a command runs.

    python stand_in.py orders/optimizer.py skillopt train ...

The first argument is a file with a function `reply(system, user)` that returns the text of a reply.
The command after it finds the server in OPENAI_COMPATIBLE_BASE_URL.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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


def main() -> int:
    """Run the command beside the server; its exit code is returned."""
    program, *command = sys.argv[1:]
    ChatCompletions.reply = staticmethod(runpy.run_path(program)["reply"])
    with ThreadingHTTPServer(("127.0.0.1", 0), ChatCompletions) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        command = ["env", f"OPENAI_COMPATIBLE_BASE_URL={url}", *command]
        try:
            return subprocess.run(command, check=False).returncode
        finally:
            server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
