"""Bubblewrap where this machine allows it, and a stand-in that lacks a part."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from skillopt_cli.executors.sandbox import Bubblewrap
from skillopt_cli.executors.sandbox_trial import sandbox_support


def namespaces_or_skip() -> Bubblewrap:
    """Bubblewrap as it is used where nothing is lacking."""
    whole = Bubblewrap(shutil.which("bwrap") or "bwrap")
    if reason := sandbox_support(whole).refusal:
        pytest.skip(f"no namespaces here: {reason}")
    return whole


def whole_sandbox_or_skip() -> Bubblewrap:
    """Bubblewrap where nothing is lacking."""
    whole = namespaces_or_skip()
    if lacking := sandbox_support(whole).lacking:
        pytest.skip(f"no whole sandbox here: {lacking}")
    return whole


def lacking_bubblewrap(folder: Path, part: str) -> Path:
    """A `bwrap` that fails where it is asked for `seccomp` or for `keyctl`, and works otherwise."""
    whole = whole_sandbox_or_skip()
    asked = {
        "seccomp": "*' --seccomp '*",
        "keyctl": f"*' {whole.keyctl} {Path(sys.executable).resolve()} '*",
    }
    path = folder / "bwrap"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "#!/bin/sh\n"
        f"case \" $* \" in {asked[part]}) echo 'bwrap: no {part}' >&2; exit 1;; esac\n"
        f'exec {whole.path} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path
