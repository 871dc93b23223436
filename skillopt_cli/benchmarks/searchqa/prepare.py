"""Download SearchQA: the records an id manifest names, or a seeded selection."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_cli.benchmarks.ratio import hash_order
from skillopt_cli.benchmarks.records import read_records
from skillopt_cli.benchmarks.splits import MANIFEST, split_files
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS, Split

if TYPE_CHECKING:
    from datasets import Dataset

DATASET = "lucadiliello/searchqa"
FIELDS = ("key", "question", "context", "answers")
ITEM_FIELDS = ("id", "question", "context", "answers")
COUNTS: Mapping[Split, int] = {"train": 400, "selection": 200, "test": 1400}
FOLDER: Mapping[Split, str] = {"train": "train", "selection": "val", "test": "test"}
SEED = 42


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Fill `folder` with train|val|test/items.json; its split_manifest.json is written last.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records hold an `id` each; None draws
            400, 200 and 1400 records with seed 42.
        dataset: name on the hub, or a local folder of the same layout.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: `datasets` is not installed, the hub fails, or ids or fields do not fit.
    """
    wanted = _read_manifest(manifest) if manifest else None
    sources = _load(dataset)
    at = _index(sources)
    ids = wanted or _draw(sources, at)
    _refuse_unfit(ids, at, dataset)
    (folder / MANIFEST).unlink(missing_ok=True)
    for split in SPLITS:
        items = (_item(sources, at[key][0]) for key in ids[split])
        _write_items(folder / FOLDER[split] / "items.json", items)
    counts = {split: len(ids[split]) for split in SPLITS}
    about = {
        "source_dataset": dataset,
        "source_manifest_dir": str(manifest) if manifest else None,
        "split_seed": None if manifest else SEED,
        "counts": {FOLDER[split]: counts[split] for split in SPLITS},
        "item_fields": list(ITEM_FIELDS),
    }
    _replace(folder / MANIFEST, [json.dumps(about, indent=2), "\n"])
    return counts


Place = tuple[str, int]
"""A record's source split and row."""


def _read_manifest(manifest: Path) -> dict[Split, list[str]]:
    ids: dict[Split, list[str]] = {}
    first: dict[str, str] = {}
    for split, path in split_files(manifest).items():
        ids[split] = []
        for record in read_records(path):
            key = record.identifier()
            if key in first:
                raise record.fault(f"the id `{key}` stands already in {first[key]}")
            first[key] = record.place
            ids[split].append(key)
        if not ids[split]:
            raise DataError(f"{path} names no ids")
    return ids


def _load(dataset: str) -> Mapping[str, Dataset]:
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise DataError(
            "preparing searchqa needs the package `datasets`", "pip install 'skillopt-cli[data]'"
        ) from error
    try:
        loaded: Mapping[str, Dataset] = load_dataset(dataset)
    except Exception as error:
        # The hub client raises errors of several libraries; whichever it is, there are no records.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"cannot load the data set `{dataset}`: {reason}",
            "check the connection, HF_ENDPOINT and HF_HUB_OFFLINE, then try again; "
            "the bundled sample needs no download",
        ) from error
    for name, rows in loaded.items():
        missing = [field for field in FIELDS if field not in rows.column_names]
        if missing:
            raise DataError(f"split `{name}` of `{dataset}` has no field `{missing[0]}`")
    return loaded


def _index(sources: Mapping[str, Dataset]) -> dict[str, list[Place]]:
    """Where each key stands, over all source splits."""
    at: dict[str, list[Place]] = {}
    for name, rows in sources.items():
        for row, key in enumerate(rows["key"]):
            at.setdefault(str(key), []).append((name, row))
    return at


def _draw(sources: Mapping[str, Dataset], at: Mapping[str, list[Place]]) -> dict[Split, list[str]]:
    """A selection that depends on the seed and the keys only, and repeats no question."""
    keys = [key for key, places in at.items() if len(places) == 1]
    total = sum(COUNTS.values())
    chosen: list[str] = []
    asked: set[str] = set()
    for key in hash_order(keys, SEED, str):
        if len(chosen) == total:
            break
        name, row = at[key][0]
        question = " ".join(str(sources[name][row]["question"]).casefold().split())
        if question not in asked:
            asked.add(question)
            chosen.append(key)
    if len(chosen) < total:
        raise DataError(
            f"the data set has {len(chosen)} distinct questions, fewer than the {total} wanted"
        )
    drawn: dict[Split, list[str]] = {}
    for split in SPLITS:
        drawn[split], chosen = chosen[: COUNTS[split]], chosen[COUNTS[split] :]
    return drawn


def _refuse_unfit(
    ids: Mapping[Split, Sequence[str]], at: Mapping[str, Sequence[Place]], dataset: str
) -> None:
    found = Counter({key: len(at.get(key, ())) for split in SPLITS for key in ids[split]})
    absent = [key for key, times in found.items() if times == 0]
    repeated = [key for key, times in found.items() if times > 1]
    for keys, what in ((absent, "lacks"), (repeated, "holds more than once")):
        if keys:
            shown = ", ".join(f"`{key}`" for key in keys[:3]) + (", ..." if len(keys) > 3 else "")
            raise DataError(
                f"`{dataset}` {what} {len(keys)} of the {len(found)} wanted ids: {shown}",
                "check that the manifest belongs to this data set",
            )


def _item(sources: Mapping[str, Dataset], place: Place) -> dict[str, Any]:
    name, row = place
    record = sources[name][row]
    answers = record["answers"]
    fit = {
        "question": isinstance(record["question"], str) and bool(record["question"].strip()),
        "context": isinstance(record["context"], str),
        "answers": isinstance(answers, list)
        and bool(answers)
        and all(isinstance(answer, str) and answer.strip() for answer in answers),
    }
    for field, good in fit.items():
        if not good:
            raise DataError(f"the record `{record['key']}` has no usable `{field}`")
    return dict(zip(ITEM_FIELDS, (str(record["key"]), *(record[f] for f in fit)), strict=True))


def _write_items(path: Path, items: Iterable[Mapping[str, Any]]) -> None:
    def pieces() -> Iterable[str]:
        for number, item in enumerate(items):
            yield ("[\n" if number == 0 else ",\n") + json.dumps(item, ensure_ascii=False)
        yield "\n]\n"

    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, pieces())


def _replace(path: Path, pieces: Iterable[str]) -> None:
    """Write a file so that it is either whole or not there."""
    draft = path.with_suffix(".part")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
