"""Download SWE-bench Lite: instances that an id manifest names, or all of them, by repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt_cli.benchmarks.kit.hub import load_hub
from skillopt_cli.benchmarks.kit.prepare import SEED, origin, pick, read_manifest, write_splits
from skillopt_cli.benchmarks.kit.ratio import hash_order
from skillopt_cli.benchmarks.swebench.tasks import instance_id
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import Split

if TYPE_CHECKING:
    from datasets import Dataset

DATASET = "princeton-nlp/SWE-bench_Lite"
SOURCE = "test"
"""The data set's split that is used; its small `dev` is of other repositories."""
FIELDS = (
    "instance_id",
    "repo",
    "base_commit",
    "problem_statement",
    "patch",
    "test_patch",
    "FAIL_TO_PASS",
    "PASS_TO_PASS",
    "version",
)
COUNTS: Mapping[Split, int] = {"train": 60, "selection": 33, "test": 207}
_WEIGHTS = (2, 1, 7)


def prepare(
    folder: Path, manifest: Path | None = None, *, dataset: str = DATASET
) -> Mapping[Split, int]:
    """Fill `folder` with train|val|test/items.json; its split_manifest.json is written last.

    Args:
        folder: made if need be; what an earlier preparation left is replaced.
        manifest: a folder of train|val|test/items.json whose records hold an `instance_id` each;
            None splits every repository's instances 2:1:7, with seed 42.
        dataset: name on the hub, or a local folder of the same layout.

    Returns:
        The number of tasks of each split.

    Raises:
        DataError: `datasets` is not installed, the hub fails, or ids or fields do not fit.
    """
    wanted = read_manifest(manifest, instance_id) if manifest else None
    sources = load_hub(dataset, FIELDS, benchmark="swebench")
    rows = sources.get(SOURCE)
    if rows is None:
        raise DataError(f"`{dataset}` has no split `{SOURCE}`")
    at: dict[str, list[int]] = {}
    for row, key in enumerate(rows["instance_id"]):
        at.setdefault(str(key), []).append(row)
    ids = wanted or stratified(dict(zip(rows["instance_id"], rows["repo"], strict=True)))
    about = {
        **origin(dataset, manifest),
        "split_ratio": None if manifest else ":".join(map(str, _WEIGHTS)),
        "item_fields": list(FIELDS),
    }
    places = pick(ids, at, dataset)
    items = {split: (_item(rows, row) for row in part) for split, part in places.items()}
    return write_splits(folder, items, about)


def stratified(repos: Mapping[str, str]) -> dict[Split, list[str]]:
    """Instances by split, each repository's cut 2:1:7.

    From three instances on a repository has one at least in every split; of two, one is for
    training; a single one is for the test.

    Args:
        repos: the repository of each instance.
    """
    by_repo: dict[str, list[str]] = {}
    for key, repo in repos.items():
        by_repo.setdefault(repo, []).append(key)
    drawn: dict[Split, list[str]] = {"train": [], "selection": [], "test": []}
    for repo in sorted(by_repo):
        order = hash_order(by_repo[repo], SEED, str)
        train, selection = _shares(len(order))
        drawn["train"] += order[:train]
        drawn["selection"] += order[train : train + selection]
        drawn["test"] += order[train + selection :]
    return {split: hash_order(keys, SEED + 1, str) for split, keys in drawn.items()}


def _shares(count: int) -> tuple[int, int]:
    if count <= 2:
        return count - 1, 0
    train, selection, _ = (max(1, round(count * weight / sum(_WEIGHTS))) for weight in _WEIGHTS)
    return train, min(selection, count - 1 - train)


def _item(rows: Dataset, row: int) -> dict[str, Any]:
    record: Mapping[str, Any] = rows[row]
    for field in FIELDS[:6]:
        if not isinstance(record[field], str) or not record[field].strip():
            raise DataError(f"the record `{record['instance_id']}` has no usable `{field}`")
    return {field: _plain(record[field]) for field in FIELDS}


def _plain(value: str | Sequence[str] | None) -> str | list[str]:
    return value if isinstance(value, str) else list(value or ())
