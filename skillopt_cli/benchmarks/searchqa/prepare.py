"""Download SearchQA: the records an id manifest names, or a seeded selection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_cli.benchmarks.kit.hub import load_hub
from skillopt_cli.benchmarks.kit.prepare import (
    SEED,
    draw,
    origin,
    pick,
    read_manifest,
    single,
    write_splits,
)
from skillopt_cli.benchmarks.kit.ratio import hash_order
from skillopt_cli.benchmarks.kit.squad import normalise
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Split

if TYPE_CHECKING:
    from datasets import Dataset

DATASET = "lucadiliello/searchqa"
FIELDS = ("key", "question", "context", "answers")
ITEM_FIELDS = ("id", "question", "context", "answers")
COUNTS: Mapping[Split, int] = {"train": 400, "selection": 200, "test": 1400}

Place = tuple[str, int]
"""A record's source split and row."""


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Write SearchQA's splits into `folder`; see `kit.prepare.prepare_splits`.

    Args:
        manifest: its records hold an `id` each; None draws 400, 200 and 1400 records with seed 42.
        dataset: name on the hub, or a local folder of the same layout.
    """
    wanted = read_manifest(manifest) if manifest else None
    sources = load_hub(dataset, FIELDS, benchmark="searchqa")
    at = _index(sources)
    ids = wanted or draw(_distinct(sources, at), COUNTS)
    places = pick(ids, at, dataset)
    about = {
        **origin(dataset, manifest),
        "item_fields": list(ITEM_FIELDS),
    }
    items = {split: (_item(sources, place) for place in part) for split, part in places.items()}
    return write_splits(folder, items, about)


def _index(sources: Mapping[str, Dataset]) -> dict[str, list[Place]]:
    """The places of each key, over all source splits."""
    at: dict[str, list[Place]] = {}
    for name, rows in sources.items():
        for row, key in enumerate(rows["key"]):
            at.setdefault(str(key), []).append((name, row))
    return at


def _distinct(sources: Mapping[str, Dataset], at: Mapping[str, list[Place]]) -> Iterator[str]:
    """Enough keys of one record each, no two with the same question.

    A record whose answer is an article alone is left out: the measures compare nothing of it.
    """
    asked: set[str] = set()
    for key in hash_order(single(at), SEED, str):
        if len(asked) == sum(COUNTS.values()):
            return
        name, row = at[key][0]
        record = sources[name][row]
        question = " ".join(str(record["question"]).casefold().split())
        compared = all(normalise(str(answer)) for answer in record["answers"] or ())
        if question not in asked and compared:
            asked.add(question)
            yield key


def _item(sources: Mapping[str, Dataset], place: Place) -> dict[str, Any]:
    name, row = place
    record = sources[name][row]
    answers = record["answers"]
    fit = {
        "question": isinstance(record["question"], str) and bool(record["question"].strip()),
        "context": isinstance(record["context"], str),
        "answers": isinstance(answers, list)
        and bool(answers)
        and all(isinstance(answer, str) and normalise(answer) for answer in answers),
    }
    for field, good in fit.items():
        if not good:
            raise DataError(f"the record `{record['key']}` has no usable `{field}`")
    return dict(zip(ITEM_FIELDS, (str(record["key"]), *(record[f] for f in fit)), strict=True))
