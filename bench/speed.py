"""Runs all benches of speed: `python bench/speed.py [--quick]`.

It takes an hour and a half; the quick form has fewer rows, takes some minutes and writes nothing.
The results are kept in `docs/images/speed.json`, from which `docs/generate.py` makes the tables of
`docs/explanation/speed-measured.md`. GEPA is installed by `pip install -r bench/requirements.txt`;
without it its row is missing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

BENCH = Path(__file__).resolve().parent
FULL: Mapping[str, Sequence[str]] = {
    "cold_start": (),
    "cpu_per_call": (),
    "wall": ("--write",),
    "trainings": (),
    "rate_limit": ("--runs", "2"),
    "scale": (),
    "store_scale": (),
    "ray_scale": (),
    "overhead": (),
    "prompt_cache": (),
}
KEPT = (
    *("cold_start", "cpu_per_call", "trainings", "rate_limit"),
    *("scale", "store_scale", "ray_scale"),
)
"""Benches whose results are kept."""
QUICK: Mapping[str, Sequence[str]] = {
    "cold_start": ("--rounds", "3", "--only", "skillopt --help", "skillopt --version"),
    "trainings": ("--seeds", "1", "--outage", "10", "outage in a gate"),
    "rate_limit": ("no limit",),
    "scale": ("100", "1000"),
    "overhead": (),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    missed = []
    for name, given in (QUICK if quick else FULL).items():
        print(f"\n{name}", flush=True)
        kept = ["--keep"] if name in KEPT and not quick else []
        argv = [sys.executable, str(BENCH / f"{name}.py"), *given, *kept]
        if subprocess.run(argv, check=False).returncode:
            missed.append(name)
    print(f"\nmissed a target: {', '.join(missed) or 'none'}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
