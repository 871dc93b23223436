"""The web page in a process of its own, runs to look at, and a browser that notices faults."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from skillopt_cli.control.commands import Pause
from skillopt_cli.control.server import send
from skillopt_cli.web.app import application
from skillopt_cli.web.security import Access
from skillopt_cli.web.token import VARIABLE

PROGRAM = (sys.executable, "-m", "skillopt_cli")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in BROWSERS if (path := shutil.which(name))), None)
HOME = "http://127.0.0.1:7860"
TOKEN = "token-of-these-tests"
UNREAD = re.compile("^reading$|being read")
"""Stands on a page that shows a run whose log is not read to its end yet."""


def bare(home: Path) -> dict[str, str]:
    """An environment with nothing in it that could alter a run."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home)}


@dataclass
class WebUi:
    """`skillopt webui` as a process.

    Attributes:
        link: as it was printed.
        address: without the code of the link.
    """

    process: subprocess.Popen[str]
    link: str

    @property
    def address(self) -> str:
        return self.link.partition("/?")[0]

    def end(self, sign: signal.Signals = signal.SIGTERM) -> tuple[str, str]:
        """End it by a signal; what it printed after the link, and to stderr."""
        self.process.send_signal(sign)
        return self.process.communicate(timeout=600)


@contextmanager
def webui(root: Path, *flags: str, **variables: str) -> Iterator[WebUi]:
    """`skillopt webui` on a free port."""
    argv = [*PROGRAM, "webui", "--port", "0", "--out-root", str(root), *flags]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    variables = bare(root.parent) | variables
    with subprocess.Popen(argv, cwd=root.parent, env=variables, text=True, **streams) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            said = process.stdout.readline()
            assert said.startswith("open http"), said + process.stderr.read()
            yield WebUi(process, said.split()[1])
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=600)


def token_in(login_file: Path) -> str:
    """The token that a login file posts."""
    (found,) = re.findall(r'name="token" value="([\w-]+)"', login_file.read_text(encoding="utf-8"))
    return str(found)


@contextmanager
def served(root: Path, *flags: str) -> Iterator[str]:
    """The page with the token of these tests; its address."""
    with webui(root, *flags, **{VARIABLE: TOKEN}) as page:
        yield page.address


@contextmanager
def client(
    root: Path, access: Access | None = None, *, patience: float = 60, **headers: str
) -> Iterator[TestClient]:
    """Asks the application without a network; it reads every log to its end at once.

    It has the token, unless an access of its own is given.
    """
    known = Access(TOKEN)
    made = application(root, access or known, patience=patience)
    asking = TestClient(made, base_url=HOME, headers=headers)
    if access is None:
        asking.cookies.set(known.cookie, known.pass_value)
    with asking:
        yield asking


def addresses_of(app: Starlette) -> list[tuple[str, str]]:
    """Every method and address of the application, for its run `searchqa/a`."""
    parts = {"benchmark": "searchqa", "run": "a", "step": "1", "name": "app.js", "sweep": "s"}
    parts |= {"file": "tasks.csv"}
    routes = [route for route in app.routes if isinstance(route, Route)]
    return [
        (method, route.path.format(**parts))
        for route in routes
        for method in sorted(route.methods or ())
    ]


@dataclass
class Tab:
    """A page of the browser, and what went wrong on it."""

    page: Any
    address: str
    faults: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Note errors on the console, and requests to anywhere else."""
        home = self.address.rstrip("/")

        def asked(request: Any) -> None:
            if not request.url.startswith(home):
                self.faults.append(f"asked {request.url}")

        def said(message: Any) -> None:
            if message.type in ("error", "warning"):
                self.faults.append(f"{message.type}: {message.text}")

        self.page.on("console", said)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", asked)

    def log_in(self) -> None:
        """Have the cookie that a link sets."""
        port = int(self.address.rpartition(":")[2])
        access = Access(TOKEN, port=port)
        cookie = {"name": access.cookie, "value": access.pass_value, "url": self.address}
        self.page.context.add_cookies([cookie | {"httpOnly": True, "sameSite": "Strict"}])

    def open(self, path: str) -> None:
        """Go to a page of the site, and wait until the logs it shows are read to their end."""
        from playwright.sync_api import expect

        self.page.goto(f"{self.address.rstrip('/')}{path}")
        expect(self.page.get_by_text(UNREAD)).to_have_count(0, timeout=120_000)


@contextmanager
def held_at_edits(folder: Path) -> Iterator[Path]:
    """A training that waits with the edits of its first step chosen; its run folder."""
    slow = ("--set", "model.simulated.latency_ms=1000", "--run-id", "held")
    argv = [*PROGRAM, "train", "searchqa", "--preset", "tiny", *slow]
    silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, cwd=folder, env=bare(folder), **silent) as training:
        try:
            run = folder / "outputs/searchqa/held"
            until(lambda: (run / "control.sock").exists() and b"run_started" in log_of(run))
            # At once, and in a thread, since the browser's library has a loop in this one.
            with ThreadPoolExecutor() as thread:
                thread.submit(asyncio.run, send(run, Pause("edits"))).result()
            until(lambda: b"run_paused" in log_of(run))
            yield run
        finally:
            training.kill()


def log_of(run: Path) -> bytes:
    """The log of a run as far as it is written."""
    path = run / "events.jsonl"
    return path.read_bytes() if path.exists() else b""


def until(sign: Callable[[], bool], patience: float = 300) -> None:
    """Wait for a sign of another process."""
    end = time.monotonic() + patience
    while not sign():
        assert time.monotonic() < end, f"it did not happen within {patience:g} s"
        time.sleep(0.05)


def text_of(address: str) -> str:
    """A page as it is served to those who have the token."""
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request) as answer:
        found: str = answer.read().decode()
        return found
