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
from playwright.sync_api import Browser, Page, expect, sync_playwright

HERE = Path(__file__).parent
PROGRAM = (sys.executable, "-m", "skillopt_cli")
TRAIN = (
    *("train", "searchqa", "--preset", "tiny", "--batch-size", "10", "--epochs", "3"),
    *("--set", "train.train_size=40", "--set", "optimizer.verify=edits"),
    *("--set", "evaluation.sel_env_num=40", "--set", "evaluation.test_env_num=60"),
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
    "sweep": "/sweeps/rates",
    "compare": "/compare?run=searchqa/first&run=searchqa/second",
    "new": "/new",
    "steer": f"{HELD}/steer",
}
GRID = """
benchmark: searchqa
preset: tiny
fixed:
  train.num_epochs: 2
  train.batch_size: 10
  train.train_size: 40
  evaluation.sel_env_num: 40
  evaluation.test_env_num: 60
grid:
  optimizer.verify: ["off", edits]
  optimizer.learning_rate: [2, 4, 16]
seeds: [1]
"""
WIDE, TELEPHONE = 1000, 390
TALLEST = 1400
UNREAD = re.compile("^reading$|being read")
"""Stands on a page whose run is not read to its end yet."""


def runs_in(folder: Path) -> None:
    """Two runs that are finished, and a sweep."""
    for run_id, seed in (("first", "11"), ("second", "1")):
        argv = [*PROGRAM, *TRAIN, "--seed", seed, "--run-id", run_id]
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)
    (folder / "rates.yaml").write_text(GRID, encoding="utf-8")
    argv = [*PROGRAM, "sweep", "rates.yaml", "--display", "none"]
    subprocess.run(argv, cwd=folder, check=True, capture_output=True)


@contextmanager
def held_at_edits(folder: Path) -> Iterator[None]:
    """A run that waits with the edits of its first step chosen."""
    slow = ("--set", "model.simulated.latency_ms=500", "--run-id", "held")
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
    """The page's link."""
    argv = [*PROGRAM, "webui", "--port", "0"]
    with subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[1]
        server.terminate()


def taken(browser: Browser, link: str, out: Path) -> None:
    """A picture of each page, light, and of a run dark, also on a telephone."""
    wide = browser.new_page(viewport={"width": WIDE, "height": 700}, color_scheme="light")
    address = link.partition("/?")[0]
    wide.goto(link)
    wide.wait_for_url(f"{address}/")
    for name, path in PAGES.items():
        wide.goto(f"{address}{path}")
        expect(wide.get_by_text(UNREAD)).to_have_count(0)
        picture(wide, out / f"web-{name}.png")
    wide.emulate_media(color_scheme="dark")
    wide.goto(f"{address}{RUN}")
    picture(wide, out / "web-dark.png")
    small = {"width": TELEPHONE, "height": 760}
    narrow = browser.new_page(viewport=small, color_scheme="dark", device_scale_factor=2)
    narrow.context.add_cookies(wide.context.cookies())
    narrow.goto(f"{address}{RUN}")
    narrow.screenshot(path=out / "web-telephone.png")


def picture(page: Page, path: Path) -> None:
    """A picture of a page from its top, as far as a picture may reach."""
    height = min(TALLEST, page.evaluate("document.documentElement.scrollHeight"))
    clip = {"x": 0, "y": 0, "width": WIDE, "height": height}
    page.screenshot(path=path, full_page=True, clip=clip)


def lighter(out: Path) -> None:
    """Few colours are enough for letters and lines, and make small files."""
    for path in out.glob("web-*.png"):
        with Image.open(path) as picture:
            few = picture.convert("RGB").quantize(256, kmeans=2)
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
        with held_at_edits(Path(folder)), served(Path(folder)) as link:
            taken(browser, link, arguments.out)
        browser.close()
    lighter(arguments.out)


if __name__ == "__main__":
    main()
