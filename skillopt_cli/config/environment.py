"""The one place that reads the environment: the process's own over a `.env` file beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dotenv import dotenv_values


def read_environment(folder: Path | None = None) -> Mapping[str, str]:
    """Variables by name. `.env` of `folder` (the working directory) fills gaps only.

    Empty variables count as unset everywhere, so they are left out.
    """
    path = (folder or Path.cwd()) / ".env"
    written = dotenv_values(path) if path.is_file() else {}
    merged = {**written, **{k: v for k, v in os.environ.items() if v}}
    return {name: value for name, value in merged.items() if value}
