"""The golden run: a whole run in two files, so that any change of behaviour is a readable diff.

Run with `UPDATE_SNAPSHOTS=1` to write them anew, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

from skillopt_cli.engine.session import train_session
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import Journal
from skillopt_cli.testing import Toy, ToyBenchmark, toy_session

GOLDEN = Path(__file__).parent / "golden"
UPDATE = bool(os.environ.get("UPDATE_SNAPSHOTS"))
FILES = ("events.jsonl", "best_skill.md")


async def carry_out(folder: Path) -> int:
    """Six train, five selection and three test tasks, in four steps of three."""
    settings = ("train.batch_size=3", "run.workers=2", "optimizer.learning_rate=3")
    benchmark = ToyBenchmark({"train": 6, "selection": 5, "test": 3}, seed=4)
    with Journal(folder / "journal.sqlite") as journal, FileStore(folder, journal) as store:
        return await train_session(toy_session(Toy(settings, benchmark=benchmark), store))


async def test_the_golden_run(tmp_path: Path) -> None:
    assert await carry_out(tmp_path) == 0
    for name in FILES:
        text = (tmp_path / name).read_text(encoding="utf-8")
        if UPDATE:
            GOLDEN.mkdir(exist_ok=True)
            (GOLDEN / name).write_text(text, encoding="utf-8")
        assert text == (GOLDEN / name).read_text(encoding="utf-8")


async def test_the_same_run_twice_leaves_the_same_bytes(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    trees = []
    for folder in folders:
        await carry_out(folder)
        found = sorted(path for path in folder.rglob("*") if path.is_file())
        trees.append({
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in found
            if "sqlite" not in path.name
        })
    assert trees[0] == trees[1]
    assert len(trees[0]) > 40
