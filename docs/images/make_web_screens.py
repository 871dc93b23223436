"""Take pictures of the web page for the docs, with runs of the simulated model made for it.

    python docs/images/make_web_screens.py

Needs what the tests need, and Chromium. Pictures of equal pages can differ from machine to
machine by the fonts there are.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

HERE = Path(__file__).parent
PROGRAM = (sys.executable, "-m", "skillopt_cli")
TRAIN = (
    *("train", "searchqa", "--preset", "tiny", "--batch-size", "10", "--epochs", "2"),
    *("--set", "train.train_size=40", "--set", "evaluation.sel_env_num=30"),
)
RUN = "/runs/searchqa/first"
HELD = "/runs/searchqa/held"
PAGES = {
    "runs": "/",
    "run": RUN,
    "step": f"{RUN}/steps/3",
    "tasks": f"{RUN}/tasks",
    "attempt": f"{RUN}/attempts?task=val-001&in=selection",
    "skills": f"{RUN}/skills?a=seed&b=best",
    "epochs": f"{RUN}/epochs",
    "spend": f"{RUN}/spend",
    "settings": f"{RUN}/settings",
    "compare": "/compare?run=searchqa/first&run=searchqa/second",
    "new": "/new",
    "steer": f"{HELD}/steer",
}
WIDE, TELEPHONE = 1000, 360
TALLEST = 1400
UNREAD = re.compile("^reading$|being read")
"""Stands on a page whose run is not read to its end yet."""


def runs_in(folder: Path) -> None:
    """Two runs that are finished."""
    for run_id, seed in (("first", "42"), ("second", "7")):
        argv = [*PROGRAM, *TRAIN, "--seed", seed, "--run-id", run_id]
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)


@contextmanager
def held_at_edits(folder: Path) -> Iterator[None]:
    """A run that waits with the edits of its first step chosen."""
    slow = ("--set", "model.simulated.latency_ms=1500", "--run-id", "held")
    argv = [*PROGRAM, *TRAIN, *slow]
    with subprocess.Popen(
        argv, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as training:
        run = folder / "outputs/searchqa/held"
        while not (run / "control.sock").exists():
            time.sleep(0.1)
        subprocess.run([*PROGRAM, "ctl", "held", "pause", "--at", "edits"], cwd=folder, check=True)
        while b"run_paused" not in (run / "events.jsonl").read_bytes():
            time.sleep(0.1)
        yield
        training.terminate()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The page's address."""
    argv = [*PROGRAM, "webui", "--port", "0"]
    with subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[1]
        server.terminate()


def taken(browser: Browser, address: str, out: Path) -> None:
    """A picture of each page, light, and of a run on a telephone, dark."""
    wide = browser.new_page(viewport={"width": WIDE, "height": 700}, color_scheme="light")
    for name, path in PAGES.items():
        wide.goto(f"{address}{path}")
        expect(wide.get_by_text(UNREAD)).to_have_count(0)
        height = min(TALLEST, wide.evaluate("document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": WIDE, "height": height}
        wide.screenshot(path=out / f"web-{name}.png", full_page=True, clip=clip)
    small = {"width": TELEPHONE, "height": 760}
    narrow = browser.new_page(viewport=small, color_scheme="dark", device_scale_factor=2)
    narrow.goto(f"{address}{RUN}")
    narrow.screenshot(path=out / "web-telephone.png")


def lighter(out: Path) -> None:
    """Few colours are enough for letters and lines, and make small files."""
    for path in out.glob("web-*.png"):
        with Image.open(path) as picture:
            few = picture.convert("RGB").quantize(128)
        few.save(path, optimize=True)


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=HERE, help="where the files go")
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="the browser")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        runs_in(Path(folder))
        browser = playwright.chromium.launch(
            executable_path=arguments.chromium, args=["--no-sandbox"]
        )
        with held_at_edits(Path(folder)), served(Path(folder)) as address:
            taken(browser, address, arguments.out)
        browser.close()
    lighter(arguments.out)


if __name__ == "__main__":
    main()
