"""Whatever the umask, a run folder and all in it are for its owner, or for the owner's group."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import SMALLEST, TINY, events, skillopt, train

from skillopt_cli.plugins import load_tracker

GRID = """
benchmark: searchqa
preset: tiny
fixed: {train.num_epochs: 1, train.train_size: 4, evaluation.sel_env_num: 4}
grid: {optimizer.learning_rate: [2, 4]}
"""
MODES = {"owner": (0o700, 0o600), "group": (0o750, 0o640)}


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def wrong(folder: Path, shared_with: str, *, sockets: bool = False) -> list[str]:
    """What in a folder, itself included, has other permissions than it should."""
    inner, file = MODES[shared_with]
    found = []
    for path in (folder, *sorted(folder.rglob("*"))):
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        wanted = inner if stat.S_ISDIR(status.st_mode) else file
        if stat.S_ISSOCK(status.st_mode):
            wanted, sockets = 0o600, False
        if not stat.S_ISLNK(status.st_mode) and mode != wanted:
            found.append(f"{path}: {mode:o}")
    assert not sockets, "there is no socket"
    return found


CASES = [(0, "owner"), (0o077, "group"), (0o022, "owner")]


@pytest.mark.parametrize(("mask", "shared_with"), CASES)
def test_a_run_is_private_or_its_groups_whatever_the_umask(mask: int, shared_with: str) -> None:
    flags = (*SMALLEST, "--set", f"run.shared_with={shared_with}", "--set", "run.cache_dir=cache")
    with umask(mask):
        folder = train(*flags, "--record", "tapes/tape.jsonl", "--tracker", "otel")
        assert skillopt("gate-report", folder, "--out", folder / "report.html").code == 0
        assert skillopt("resume", folder).code == 0
    assert wrong(Path("outputs"), shared_with) == []
    assert wrong(Path("cache"), shared_with) == []
    assert stat.S_IMODE(Path("tapes/tape.jsonl").stat().st_mode) == MODES[shared_with][1]


def test_what_others_could_read_is_closed_by_a_resume_and_opened_by_the_setting() -> None:
    with umask(0o022):
        capped = skillopt("train", "searchqa", *SMALLEST, "--max-calls", "3", "--run-id", "a")
        assert capped.code == 5, capped.err
        folder = Path("outputs/searchqa/a")
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        assert skillopt("resume", folder, "--max-calls", "6").code == 5
    assert wrong(folder, "owner") == []
    more = ("--max-calls", "99", "--set", "run.shared_with=group")
    assert skillopt("resume", folder, *more).code == 0
    assert wrong(folder, "group") == []


def test_a_group_that_cannot_get_to_the_folder_is_told_of() -> None:
    with umask(0o077):
        Path("outputs").mkdir()
        folder = train(*SMALLEST, "--set", "run.shared_with=group")
    (told,) = [e for e in events(folder, "degraded") if e["where"] == "run.shared_with"]
    assert "your group cannot enter " in told["reason"]


@pytest.mark.slow
@pytest.mark.parametrize(("mask", "shared_with"), CASES[:2])
def test_every_command_keeps_to_it_and_so_do_trackers_sockets_and_workspaces(
    mask: int, shared_with: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir(0o700)
    monkeypatch.setenv("TMPDIR", str(temporary))
    Path("grid.yaml").write_text(GRID, encoding="utf-8")
    shared = ("--set", f"run.shared_with={shared_with}")
    heavy = [n for n in ("mlflow", "wandb", "tensorboard") if not load_tracker(n).missing()]
    flags = [word for name in heavy for word in ("--tracker", name)]
    with umask(mask):
        train_and_look(temporary, shared_with, *shared, *flags)
        for arguments in (
            ("resume", "a"),
            ("eval", "--skill", "outputs/searchqa/a/best_skill.md"),
            ("eval", "--skill", "a", "--arms", "none,best", "--run-id", "arms"),
            ("gate-report", "a", "--out", "outputs/searchqa/a/report.html"),
            ("sweep", "grid.yaml", *shared),
            ("sweep", "grid.yaml", *shared, "--jobs", "2", "--set", "train.seed=2"),
        ):
            ended = command(*arguments)
            assert ended.returncode == 0, (arguments, ended.stderr)
    assert wrong(Path("outputs"), shared_with) == []


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "skillopt_cli", *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def train_and_look(temporary: Path, shared_with: str, *flags: str) -> None:
    """Train, and look once at the folders of the run while it works."""
    argv = [sys.executable, "-m", "skillopt_cli", "train", "searchqa", *TINY, *flags]
    slow = ["--set", "model.simulated.latency_ms=200", "--run-id", "a"]
    running = subprocess.Popen([*argv, *slow], stdout=subprocess.DEVNULL)
    folder = Path("outputs/searchqa/a")
    while running.poll() is None and not events(folder, "rollout_finished"):
        time.sleep(0.01)
    assert running.poll() is None
    assert wrong(folder, shared_with, sockets=True) == []
    opened = [inner for inner in temporary.iterdir() if inner.is_dir()]
    assert opened
    assert [f for f in opened if stat.S_IMODE(f.stat().st_mode) != 0o700] == []
    assert running.wait() == 0
