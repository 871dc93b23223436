"""A service and programs that repeat every secret they can see."""

from __future__ import annotations

import json
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

from planted_secrets import said

from skillopt_cli.testing import ModelServer
from skillopt_cli.testing.model_dialects import message_stream, response_stream

_ERRORS = 3
"""Every so many calls one fails, before it is answered."""


@dataclass
class EchoServer:
    """A model server in front of another one: its answers repeat the headers of the request.

    Attributes:
        calls: all of them so far.
        failed: those that were answered with an error.
    """

    behind: ModelServer
    url: str = ""
    calls: int = 0
    failed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[int, str]:
        """Status and body for a request."""
        words = said(headers.values())
        with self.lock:
            self.calls += 1
            fails = self.calls % _ERRORS == 0
            self.failed += fails
        if fails:
            return 500, json.dumps({"error": {"message": " ".join(words), "code": words[0]}})
        body = json.loads(raw)
        answer = self._answered(path, {**body, "stream": False})
        shown: dict[str, Any] = _repeating(answer, words)
        if not body.get("stream"):
            return 200, json.dumps(shown)
        stream = message_stream if path.endswith("/messages") else response_stream
        return 200, stream(shown)

    def _answered(self, path: str, body: dict[str, Any]) -> Any:
        kind = next(k for k in ("chat/completions", "responses", "messages") if path.endswith(k))
        request = urllib.request.Request(
            f"{self.behind.url}/{kind}",
            json.dumps({"model": "m", **body}).encode(),
            {"content-type": "application/json"},
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=60) as response:
            return json.loads(response.read())


def _repeating(answer: Any, words: list[str], key: str = "") -> Any:
    """An answer whose texts end with these words."""
    if isinstance(answer, dict):
        return {name: _repeating(value, words, name) for name, value in answer.items()}
    if isinstance(answer, list):
        return [_repeating(value, words, key) for value in answer]
    texts = key in ("content", "text", "arguments")
    return _spoilt(answer, words) if texts and isinstance(answer, str) else answer


def _spoilt(text: str, words: list[str]) -> str:
    """A text, or the texts in JSON that are more than a word, with these words."""
    try:
        value = json.loads(text)
    except ValueError:
        # Now and then the answer itself, so that it is scored with what takes the key's place.
        inside = f" {words[0]}</answer>" if words and len(text) % 3 == 0 else "</answer>"
        return " ".join([text.replace("</answer>", inside), *words])

    def each(inner: Any) -> Any:
        if isinstance(inner, dict):
            return {name: each(value) for name, value in inner.items()}
        if isinstance(inner, list):
            return [each(value) for value in inner]
        return " ".join([inner, *words]) if isinstance(inner, str) and " " in inner else inner

    return json.dumps(each(value))


@contextmanager
def echo_server(behind: ModelServer) -> Iterator[EchoServer]:
    """Serve on the loopback while the block lasts."""
    echo = EchoServer(behind)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            path = self.path.partition("?")[0]
            if not path.endswith(("completions", "responses", "messages")):
                # A collector of spans, which takes none of them.
                self._send(400, " ".join(said(self.headers.values())))
                return
            self._send(*echo.answer(path, dict(self.headers), raw))

        def do_GET(self) -> None:
            self._send(404, " ".join(said(self.headers.values())))

        do_HEAD = do_GET

        def _send(self, status: int, text: str) -> None:
            stream = text.startswith("event:")
            self.send_response(status)
            self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            for number, word in enumerate(said(self.headers.values())):
                self.send_header(f"X-Echo-{number}", quote(word, " "))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *words: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            # A killed client has broken off its connections.
            assert isinstance(sys.exception(), ConnectionError)

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    echo.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield echo
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


_PROGRAM = """#!{python} -ISB
import json, os, pathlib, re, sys
sys.path.insert(0, {tests!r})
if "--version" in sys.argv:
    print("echo 1.0")
    raise SystemExit
from planted_secrets import said
prompt = sys.stdin.buffer.read().decode()
around = pathlib.Path("/proc", str(os.getppid()), "environ")
near = around.read_bytes().decode(errors="replace").split("\\0") if around.exists() else []
words = said([*sorted(os.environ.values()), *sorted(line.partition("=")[2] for line in near)])
words = [word for word in words if not word.startswith("/")]
for folder in (pathlib.Path.cwd(), pathlib.Path(os.environ["HOME"])):
    (folder / "told.txt").write_text("\\n".join(words))
said_again = "I know " + "; ".join(words)
context = re.search(r"Context\\s*(.*?)\\n\\n", prompt, re.DOTALL)
answer = "<answer>" + (context[1].split(".")[0].split()[-1] if context else "none") + "</answer>"
print(said_again, file=sys.stderr)
{say}
raise SystemExit(1 if context and len(prompt) % 7 == 0 else 0)
"""
_SAY = {
    "command": 'print(said_again + "\\n" + answer)',
    "cursor_exec": (
        'print(json.dumps({"type": "result", "subtype": "success", "is_error": False,'
        ' "result": answer + " " + said_again}))'
    ),
    "copilot_exec": (
        'print(json.dumps({"type": "assistant.message",'
        ' "data": {"content": answer + " " + said_again}}))'
    ),
}


def echo_program(path: Path, backend: str = "command") -> Path:
    """A program that says whatever it finds in its own environment and in that of its parent."""
    here = str(Path(__file__).parent)
    text = _PROGRAM.format(python=sys.executable, tests=here, say=_SAY[backend])
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path
