"""Splits of the published games, which `alfworld-download` brings: by an id manifest or drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skillopt_cli.benchmarks.alfworld.tasks import DOWNLOAD, FOLDER, Games, kind_of
from skillopt_cli.benchmarks.kit.prepare import SEED, read_manifest, write_splits
from skillopt_cli.benchmarks.kit.ratio import hash_order
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS, Split
from skillopt_cli.safe_files import read_regular

COUNTS: Mapping[Split, int] = {"train": 39, "selection": 18, "test": 134}
SOURCES: Mapping[Split, str] = {
    "train": "train",
    "selection": "valid_seen",
    "test": "valid_unseen",
}
RELEASE = "json_2.1.1"
GAME = "game.tw-pddl"
_UNPLAYABLE = ("movable", "Sliced")
"""Kinds of tasks that the text engine does not support."""


def prepare(folder: Path, manifest: Path | None = None) -> Mapping[Split, int]:
    """Fill `folder` with train|val|test/items.json; its split_manifest.json is written last.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records hold an `id` and a `gamefile`;
            None draws 39, 18 and 134 games with seed 42, from the release's own three parts.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: the games are not there, or too few, or a manifest does not fit.
    """
    games = Games(FOLDER)
    root = games.folder
    if not (root / RELEASE).is_dir():
        raise DataError(f"{root} holds no {RELEASE}", DOWNLOAD)
    named = _named(games, manifest) if manifest else {s: _drawn(root, s) for s in SPLITS}
    about = {
        "source_dataset": RELEASE,
        "source_manifest_dir": str(manifest) if manifest else None,
        "split_seed": None if manifest else SEED,
    }
    return write_splits(folder, named, about)


def _named(games: Games, manifest: Path) -> dict[Split, list[dict[str, Any]]]:
    """The manifest's games, each of which must be there."""
    names: dict[str, str] = {}

    def identify(record: Record) -> str:
        key, names[key] = record.identifier(), record.text("gamefile")
        return key

    ids = read_manifest(manifest, identify)
    absent = [name for name in names.values() if not games.path(name).is_file()]
    if absent:
        raise DataError(
            f"{games.folder} lacks {len(absent)} of the {len(names)} wanted games,"
            f" such as {absent[0]}",
            DOWNLOAD,
        )
    return {split: [_item(key, names[key]) for key in ids[split]] for split in SPLITS}


def _drawn(root: Path, split: Split) -> list[dict[str, Any]]:
    names = sorted(_playable(root, SOURCES[split]))
    if len(names) < COUNTS[split]:
        raise DataError(
            f"{root / RELEASE / SOURCES[split]} holds {len(names)} playable games,"
            f" {COUNTS[split]} are wanted",
            DOWNLOAD,
        )
    chosen = hash_order(names, SEED, str)[: COUNTS[split]]
    return [_item(f"{SOURCES[split]}:{i:04d}", name) for i, name in enumerate(chosen)]


def _playable(root: Path, part: str) -> Iterator[str]:
    """Names of the games that are known to be solvable, relative to the root."""
    for path in (root / RELEASE / part).glob(f"*/*/{GAME}"):
        name = path.relative_to(root).as_posix()
        if any(word in name for word in _UNPLAYABLE):
            continue
        try:
            solvable = json.loads(read_regular(path)).get("solvable")
        except (OSError, ValueError) as error:
            raise DataError(f"{path} is no game file: {error}", DOWNLOAD) from None
        if solvable:
            yield name


def _item(key: str, name: str) -> dict[str, Any]:
    return {"id": key, "gamefile": name, "task_type": kind_of(name)}
