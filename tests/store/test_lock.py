from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt_cli.core.errors import RunLocked
from skillopt_cli.store.lock import lock_holder, lock_run

HOLDER = """
import sys
from pathlib import Path
from skillopt_cli.store.lock import lock_holder, lock_run

with lock_run(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_refused_until_the_first_ends(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    with pytest.raises(RunLocked) as caught, lock_run(tmp_path):
        pass
    assert str(holder.pid) in caught.value.message
    assert str(tmp_path) in caught.value.message
    assert caught.value.exit_code == 2
    holder.communicate("\n", timeout=600)
    with lock_run(tmp_path):
        pass


def test_kill_9_releases_the_lock(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.communicate(timeout=600)
    with lock_run(tmp_path):
        assert (tmp_path / "run.lock").read_text("ascii") == f"{os.getpid()}\n"


def test_one_process_cannot_hold_it_twice(tmp_path: Path) -> None:
    with lock_run(tmp_path):
        with pytest.raises(RunLocked, match=str(os.getpid())), lock_run(tmp_path):
            pass
        assert (tmp_path / "run.lock").read_text("ascii") == f"{os.getpid()}\n"


def test_an_error_inside_releases_it(tmp_path: Path) -> None:
    with pytest.raises(KeyError), lock_run(tmp_path):
        raise KeyError
    with lock_run(tmp_path):
        pass


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_a_lock_file_that_was_removed_does_not_let_a_second_process_in(
    tmp_path: Path, holder: subprocess.Popen[str], change: str
) -> None:
    (tmp_path / "run.lock").unlink()
    if change == "replaced":
        (tmp_path / "run.lock").touch()
    assert lock_holder(tmp_path) == "unknown"
    with pytest.raises(RunLocked, match="is in use by process unknown"), lock_run(tmp_path):
        pass
    holder.communicate("\n", timeout=600)
    assert lock_holder(tmp_path) is None
    with lock_run(tmp_path):
        assert lock_holder(tmp_path) == str(os.getpid())
