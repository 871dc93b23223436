"""An object store of this machine: as much of S3 as putting and getting takes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MISSING = b"<Error><Code>NoSuchKey</Code><Message>The key does not exist.</Message></Error>"


class ObjectServer(ThreadingHTTPServer):
    """Objects by path.

    Attributes:
        objects: what was put.
        asked: method and path of each request.
        refusing: whether every request is refused from now on.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.refusing = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def variables(self) -> dict[str, str]:
        """What a client finds it by."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "canary-of-the-object-store",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "1",
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ObjectServer

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self._refused():
            self.server.objects[self.path] = body
            self._answer(200, b"")

    def do_GET(self) -> None:
        if not self._refused():
            found = self.server.objects.get(self.path)
            self._answer(404, MISSING) if found is None else self._answer(200, found)

    def log_message(self, *_: object) -> None:
        pass

    def _refused(self) -> bool:
        self.server.asked.append((self.command, self.path))
        if self.server.refusing:
            self._answer(403, b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
        return self.server.refusing

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"0"')
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def object_server() -> Iterator[ObjectServer]:
    """A server while the block lasts."""
    with ObjectServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
