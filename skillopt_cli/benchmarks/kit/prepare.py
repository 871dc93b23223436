"""Preparation of data: splits drawn or named by an id manifest, written completely or not at all.

The layout is the published one: train|val|test/items.json and split_manifest.json.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from skillopt_cli.benchmarks.kit.ratio import hash_order, parse_ratio, ratio_counts
from skillopt_cli.benchmarks.kit.records import LeftOut, Record, read_records
from skillopt_cli.benchmarks.kit.splits import MANIFEST, split_files
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS, Split, Task

FOLDER: Mapping[Split, str] = {"train": "train", "selection": "val", "test": "test"}
SEED = 42
RATIO = "2:1:7"


Item = TypeVar("Item")


def single(found: Mapping[str, Sequence[Item]]) -> list[str]:
    """The ids of exactly one record each; only these can be drawn."""
    return [key for key, items in found.items() if len(items) == 1]


def origin(dataset: str, manifest: Path | None) -> dict[str, Any]:
    """The origin of the splits, as every split_manifest.json has it."""
    return {
        "source_dataset": dataset,
        "source_manifest_dir": str(manifest) if manifest else None,
        "split_seed": None if manifest else SEED,
    }


@dataclass(frozen=True, slots=True)
class Source:
    """A data set, and how its records become the tasks of a benchmark.

    Attributes:
        dataset: name on the hub, or a local folder of the same layout.
        records: reads the data set; called once the id manifest has been read.
        read: a record as a task; raises `LeftOut` for one that a run does without.
        identify: the id of a record of an id manifest.
        counts: tasks of each split to draw; None cuts all of them by `RATIO`.
        about: more for split_manifest.json; called once all records have been read.
        fetch: brings the files that the chosen tasks need, before any of them is written.
    """

    dataset: str
    records: Callable[[], Iterable[Record]]
    read: Callable[[Record], Task]
    identify: Callable[[Record], str] = Record.identifier
    counts: Mapping[Split, int] | None = None
    about: Callable[[], Mapping[str, Any]] = dict
    fetch: Callable[[Sequence[Task]], None] = lambda chosen: None


def prepare_splits(
    folder: Path,
    manifest: Path | None,
    source: Source,
    document: Callable[[Task], Mapping[str, Any]],
) -> Mapping[Split, int]:
    """Fill `folder` with train|val|test/items.json; its split_manifest.json is written last.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records name the items of each split;
            None draws or cuts them with seed 42.
        document: the record to write for a task; may write its pictures, too.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: a package is not installed, the hub fails, or ids, fields or files do not fit.
    """
    wanted = read_manifest(manifest, source.identify) if manifest else None
    found: dict[str, list[Task]] = {}
    left_out: Counter[str] = Counter()
    for record in source.records():
        try:
            task = source.read(record)
        except LeftOut as reason:
            left_out[reason.why] += 1
        else:
            found.setdefault(task.id, []).append(task)
    keys = single(found)
    ids = wanted or (draw(keys, source.counts) if source.counts else draw_by_ratio(keys))
    about = {
        **origin(source.dataset, manifest),
        **source.about(),
        "left_out": dict(left_out),
    }
    picked = pick(ids, found, source.dataset)
    (folder / MANIFEST).unlink(missing_ok=True)  # until the files are whole, the data is not
    source.fetch([task for part in picked.values() for task in part])
    items = {split: map(document, part) for split, part in picked.items()}
    return write_splits(folder, items, about)


def read_manifest(
    manifest: Path, identify: Callable[[Record], str] = Record.identifier
) -> dict[Split, list[str]]:
    """The ids an id manifest names, by split.

    Args:
        manifest: a folder of train|val|test/items.json.
        identify: the id of a record of it.

    Raises:
        DataError: a file is unusable, names nothing, or an id occurs twice.
    """
    ids: dict[Split, list[str]] = {}
    first: dict[str, str] = {}
    for split, path in split_files(manifest).items():
        ids[split] = []
        for record in read_records(path):
            key = identify(record)
            if key in first:
                raise record.fault(f"the id `{key}` occurs already in {first[key]}")
            first[key] = record.place
            ids[split].append(key)
        if not ids[split]:
            raise DataError(f"{path} names no ids")
    return ids


def draw(keys: Iterable[str], counts: Mapping[Split, int]) -> dict[Split, list[str]]:
    """A selection that depends on the seed and the keys only.

    Raises:
        DataError: there are fewer keys than wanted.
    """
    order = hash_order(list(keys), SEED, str)
    total = sum(counts.values())
    if len(order) < total:
        raise DataError(f"the data set has {len(order)} usable records, {total} are wanted")
    drawn: dict[Split, list[str]] = {}
    for split in SPLITS:
        drawn[split], order = order[: counts[split]], order[counts[split] :]
    return drawn


def draw_by_ratio(keys: Sequence[str]) -> dict[Split, list[str]]:
    """All keys, cut by `RATIO`, in a way that depends on the seed and the keys only.

    Raises:
        DataError: there are fewer than three.
    """
    if len(keys) < len(SPLITS):
        raise DataError(f"the data set has {len(keys)} usable records, too few for three splits")
    counts = ratio_counts(len(keys), parse_ratio(RATIO))
    return draw(keys, dict(zip(SPLITS, counts, strict=True)))


def pick(
    ids: Mapping[Split, Sequence[str]], found: Mapping[str, Sequence[Item]], dataset: str
) -> dict[Split, list[Item]]:
    """The wanted records by split, in the order of the ids.

    Args:
        found: records by id; one that occurs several times cannot be picked.

    Raises:
        DataError: a wanted id is absent, or names more than one record.
    """
    wanted = [key for split in SPLITS for key in ids[split]]
    absent = [key for key in wanted if not found.get(key)]
    repeated = [key for key in wanted if len(found.get(key, ())) > 1]
    for keys, what in ((absent, "lacks"), (repeated, "holds more than once")):
        if keys:
            shown = ", ".join(f"`{key}`" for key in keys[:3]) + (", ..." if len(keys) > 3 else "")
            raise DataError(
                f"`{dataset}` {what} {len(keys)} of the {len(wanted)} wanted ids: {shown}",
                "check that the manifest belongs to this data set",
            )
    return {split: [found[key][0] for key in ids[split]] for split in SPLITS}


def write_splits(
    folder: Path, items: Mapping[Split, Iterable[Mapping[str, Any]]], about: Mapping[str, Any]
) -> Mapping[Split, int]:
    """Fill `folder` with the splits; its split_manifest.json is written last.

    What an earlier preparation left is replaced. Items are streamed.

    Args:
        about: where they came from; counts are added.

    Returns:
        The number of tasks of each split.
    """
    (folder / MANIFEST).unlink(missing_ok=True)
    counts = {
        split: _write_items(folder / FOLDER[split] / "items.json", items[split]) for split in SPLITS
    }
    document = {**about, "counts": {FOLDER[split]: counts[split] for split in SPLITS}}
    _replace(folder / MANIFEST, [json.dumps(document, indent=2), "\n"])
    return counts


def _write_items(path: Path, items: Iterable[Mapping[str, Any]]) -> int:
    count = 0

    def pieces() -> Iterable[str]:
        nonlocal count
        for item in items:
            yield (",\n" if count else "[\n") + json.dumps(item, ensure_ascii=False)
            count += 1
        yield "\n]\n"

    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, pieces())
    return count


def _replace(path: Path, pieces: Iterable[str]) -> None:
    """Write a file so that it is either whole or not there."""
    draft = path.with_suffix(".part")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
