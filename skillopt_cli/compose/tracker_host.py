"""The program a tracker runs in: `python -m skillopt_cli.compose.tracker_host NAME`."""

from __future__ import annotations

import sys

from skillopt_cli.plugins import load_tracker
from skillopt_cli.trackers.hosting import serve

if __name__ == "__main__":
    serve(load_tracker(sys.argv[1]).open)
