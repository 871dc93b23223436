"""Run the three worlds.

Without options a few seeds are run, in seconds, and compared with the figures kept beside the
page. `--full` runs all seeds, in minutes, and writes figures, plots and the page's tables anew.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import forgetting
import lapses
import verified_edits
import weak_optimizer
from plot import svg
from worlds import ARMS, Figures, World, figures, mean_curve, table

WORLDS = (forgetting.WORLD, lapses.WORLD, weak_optimizer.WORLD, verified_edits.WORLD)
FULL, FEW = tuple(range(12)), (0, 1)
DOCS = Path(__file__).resolve().parents[2]
IMAGES = DOCS / "images"
PAGE = DOCS / "explanation" / "mechanisms-at-work.md"


def kept(world: World) -> Figures:
    """The figures of all seeds, as the last `--full` wrote them."""
    found: Figures = json.loads((IMAGES / f"{world.name}.json").read_text(encoding="utf-8"))
    return found


def part(found: Figures, seeds: Sequence[int], names: Sequence[str]) -> Figures:
    """The figures of some of the seeds and settings."""
    places = [found["seeds"].index(seed) for seed in seeds]
    return {
        "seeds": list(seeds),
        "settings": {
            name: {
                arm: {key: [values[n] for n in places] for key, values in data.items()}
                for arm, data in found["settings"][name].items()
            }
            for name in names
        },
    }


def rendered(world: World, found: Figures) -> dict[Path, str]:
    """What follows from a world's figures: the plot, and the page with the table in its place."""
    page = PAGE.read_text(encoding="utf-8")
    start, end = f"<!-- figures: {world.name} -->", "<!-- end of figures -->"
    inner = re.compile(rf"({re.escape(start)}\n).*?({end})", re.DOTALL)
    text = table(found).replace("\\", r"\\")
    return {IMAGES / f"{world.name}.svg": plot(world, found), PAGE: inner.sub(rf"\1{text}\2", page)}


def plot(world: World, found: Figures) -> str:
    """The curves of the world's first setting."""
    setting = world.settings[0].name
    arms = found["settings"][setting]
    names = {arm: f"{world.mechanism} {arm}" for arm in ARMS}
    runs = {names[arm]: arms[arm]["curves"] for arm in ARMS}
    lines = {name: list(mean_curve(curves)) for name, curves in runs.items()}
    return svg(f"{setting}: mean of {len(found['seeds'])} runs", lines, runs)


def write(world: World, found: Figures) -> None:
    """Keep the figures of all seeds and what follows from them."""
    IMAGES.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1)
    flat = re.sub(r"\[[^\[\]{}]*\]", lambda m: " ".join(m.group().split()), text)
    (IMAGES / f"{world.name}.json").write_text(flat + "\n", encoding="utf-8")
    for path, content in rendered(world, found).items():
        path.write_text(content, encoding="utf-8")


def main() -> int:
    """Run the worlds; 1 when a few seeds gave other figures than those kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all seeds; write the figures")
    full = parser.parse_args().full
    stale = False
    for world in WORLDS:
        found = figures(world, FULL if full else FEW)
        print(f"{world.mechanism} ({len(found['seeds'])} runs each)\n\n{table(found)}")
        if full:
            write(world, found)
        elif found != part(kept(world), FEW, [setting.name for setting in world.settings]):
            stale = True
            print("These are not the figures kept in docs/images; run with --full.\n")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
