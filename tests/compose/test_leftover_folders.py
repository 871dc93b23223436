"""What a killed process left in the folder for temporary files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from skillopt_cli.compose.executors import clear_leftovers
from skillopt_cli.executors.workspaces import owner_pid, temp_prefix

MAKES_ONE = """
import sys, tempfile
from pathlib import Path
from skillopt_cli.executors.workspaces import temp_prefix
with tempfile.TemporaryDirectory(prefix=temp_prefix(), dir=sys.argv[1]) as folder:
    cache = Path(folder, "attempt", "cache")
    cache.mkdir(parents=True)
    Path(cache, "file").touch()
    cache.chmod(0o500)
    print(folder, flush=True)
    sys.stdin.read()
"""


def started(root: Path) -> tuple[subprocess.Popen[str], Path]:
    argv = [sys.executable, "-c", MAKES_ONE, str(root)]
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def ended(process: subprocess.Popen[str]) -> None:
    process.communicate()


def test_what_a_killed_process_left_is_removed_and_what_a_live_one_holds_stays(
    tmp_path: Path,
) -> None:
    dead, left = started(tmp_path)
    alive, held = started(tmp_path)
    elsewhere = tmp_path / f"skillopt-{dead.pid}-00000000-x"
    elsewhere.mkdir()
    other = tmp_path / "skillopt-notes"
    other.mkdir()
    (tmp_path / "precious").mkdir()
    link = tmp_path / temp_prefix().replace(str(os.getpid()), str(dead.pid))
    link.symlink_to(tmp_path / "precious")

    clear_leftovers(tmp_path)
    assert left.exists()  # its process still runs
    dead.send_signal(signal.SIGKILL)
    ended(dead)
    assert left.exists()
    clear_leftovers(tmp_path)

    assert not left.exists()
    assert held.exists() and elsewhere.exists() and other.exists()
    assert (tmp_path / "precious").exists() and link.is_symlink()
    ended(alive)
    assert not held.exists()


def test_names_tell_their_maker() -> None:
    assert owner_pid(f"{temp_prefix()}abc") == os.getpid()
    assert owner_pid("skillopt-abc") is None
    assert owner_pid(f"skillopt-{os.getpid()}-00000000-abc") is None
