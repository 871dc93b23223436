"""The web page in a process of its own, runs to look at, and a browser that notices faults."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from skillopt_cli.web.app import application
from skillopt_cli.web.security import Access

PROGRAM = (sys.executable, "-m", "skillopt_cli")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in BROWSERS if (path := shutil.which(name))), None)
HOME = "http://127.0.0.1:7860"


def bare(home: Path) -> dict[str, str]:
    """An environment with nothing in it that could alter a run."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home)}


def train_in(folder: Path, run_id: str, *arguments: str) -> Path:
    """A small simulated training; the outputs folder."""
    argv = [*PROGRAM, "train", "searchqa", "--preset", "tiny", "--run-id", run_id, *arguments]
    subprocess.run(argv, cwd=folder, env=bare(folder), check=True, capture_output=True)
    return folder / "outputs"


@contextmanager
def served(root: Path, *flags: str) -> Iterator[str]:
    """`skillopt webui` on a free port; its address."""
    argv = [*PROGRAM, "webui", "--port", "0", "--out-root", str(root), *flags]
    process = subprocess.Popen(
        argv, cwd=root.parent, env=bare(root.parent), text=True, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        assert said.startswith("open http"), said
        yield said.split()[1]
    finally:
        process.terminate()
        process.communicate(timeout=30)


@contextmanager
def client(root: Path, access: Access | None = None, **headers: str) -> Iterator[TestClient]:
    """Asks the application without a network; it reads every log to its end at once."""
    made = application(root, access or Access(), patience=60)
    asking = TestClient(made, base_url=HOME, headers=headers)
    with asking:
        yield asking


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

    def open(self, path: str) -> None:
        """Go to a page of the site."""
        self.page.goto(f"{self.address.rstrip('/')}{path}")


@contextmanager
def held_at_edits(folder: Path) -> Iterator[Path]:
    """A training that waits with the edits of its first step chosen; its run folder."""
    slow = ("--set", "model.simulated.latency_ms=400", "--run-id", "held")
    argv = [*PROGRAM, "train", "searchqa", "--preset", "tiny", *slow]
    silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, cwd=folder, env=bare(folder), **silent) as training:
        try:
            run = folder / "outputs/searchqa/held"
            until(lambda: (run / "control.sock").exists() and b"run_started" in log_of(run))
            argv = [*PROGRAM, "ctl", str(run), "pause", "--at", "edits"]
            subprocess.run(argv, cwd=folder, env=bare(folder), check=True, capture_output=True)
            until(lambda: b"run_paused" in log_of(run))
            yield run
        finally:
            training.kill()


def log_of(run: Path) -> bytes:
    """The log of a run as far as it is written."""
    path = run / "events.jsonl"
    return path.read_bytes() if path.exists() else b""


def until(sign: Callable[[], bool], patience: float = 60) -> None:
    """Wait for a sign of another process."""
    end = time.monotonic() + patience
    while not sign():
        assert time.monotonic() < end, f"it did not happen within {patience:g} s"
        time.sleep(0.05)


def text_of(address: str) -> str:
    """A page as it is served."""
    with urllib.request.urlopen(address) as answer:
        found: str = answer.read().decode()
        return found
