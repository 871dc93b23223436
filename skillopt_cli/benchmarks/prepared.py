"""Prepared data: splits drawn or named by an id manifest, written so that they are whole or absent.

The layout is the published one: train|val|test/items.json and split_manifest.json.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from skillopt_cli.benchmarks.ratio import hash_order, parse_ratio, ratio_counts
from skillopt_cli.benchmarks.records import LeftOut, Record, read_records
from skillopt_cli.benchmarks.splits import MANIFEST, split_files
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS, Split

FOLDER: Mapping[Split, str] = {"train": "train", "selection": "val", "test": "test"}
SEED = 42
RATIO = "2:1:7"


class Identified(Protocol):
    """An item of a data set."""

    @property
    def id(self) -> str:
        """What a manifest names it by."""
        ...


Item = TypeVar("Item")
Known = TypeVar("Known", bound=Identified)


@dataclass(frozen=True, slots=True)
class Gathered(Generic[Known]):
    """What a data set holds.

    Attributes:
        items: by id; one may stand for several.
        left_out: how many records are not usable, by reason.
    """

    items: dict[str, list[Known]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)


def gather(records: Iterable[Record], read: Callable[[Record], Known]) -> Gathered[Known]:
    """The items of the records.

    Args:
        read: the item of a record; raises `LeftOut` for one that a run does without.
    """
    found: Gathered[Known] = Gathered()
    for record in records:
        try:
            item = read(record)
        except LeftOut as reason:
            found.left_out[reason.why] += 1
        else:
            found.items.setdefault(item.id, []).append(item)
    return found


def single(found: Mapping[str, Sequence[Item]]) -> list[str]:
    """The ids that stand for one record each, which alone can be drawn."""
    return [key for key, items in found.items() if len(items) == 1]


def origin(dataset: str, manifest: Path | None) -> dict[str, Any]:
    """What every split_manifest.json tells of where its splits came from."""
    return {
        "source_dataset": dataset,
        "source_manifest_dir": str(manifest) if manifest else None,
        "split_seed": None if manifest else SEED,
    }


def read_manifest(
    manifest: Path, identify: Callable[[Record], str] = Record.identifier
) -> dict[Split, list[str]]:
    """The ids an id manifest names, by split.

    Args:
        manifest: a folder of train|val|test/items.json.
        identify: the id of a record of it.

    Raises:
        DataError: a file is unusable, names nothing, or an id stands twice.
    """
    ids: dict[Split, list[str]] = {}
    first: dict[str, str] = {}
    for split, path in split_files(manifest).items():
        ids[split] = []
        for record in read_records(path):
            key = identify(record)
            if key in first:
                raise record.fault(f"the id `{key}` stands already in {first[key]}")
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


def draw_by_ratio(keys: Iterable[str], ratio: str = RATIO) -> dict[Split, list[str]]:
    """All keys, cut as `ratio` says, in a way that depends on the seed and the keys only.

    Raises:
        DataError: there are fewer than three.
    """
    known = list(keys)
    if len(known) < len(SPLITS):
        raise DataError(f"the data set has {len(known)} usable records, too few for three splits")
    counts = ratio_counts(len(known), parse_ratio(ratio))
    return draw(known, dict(zip(SPLITS, counts, strict=True)))


def pick(
    ids: Mapping[Split, Sequence[str]], found: Mapping[str, Sequence[Item]], dataset: str
) -> dict[Split, list[Item]]:
    """The wanted records by split, in the order of the ids.

    Args:
        found: records by id; one that occurs several times cannot be picked.

    Raises:
        DataError: a wanted id is absent, or stands for more than one record.
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
