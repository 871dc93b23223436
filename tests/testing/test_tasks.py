"""Invented tasks: unique, reproducible, and readable by the simulated target."""

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from skillopt_cli.backends.simulated.target import read_span
from skillopt_cli.testing import make_items, write_splits


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 150))
@example(335, 135)  # whose first draw of a name is "Stand"
def test_every_item_can_be_read_by_the_simulated_target(seed, n):
    items = make_items(n, seed)
    assert len(items) == n
    for item in items:
        assert read_span(item["question"], item["context"]) == item["answers"][0], item


def test_items_are_reproducible_and_unique():
    items = make_items(300, seed=1)
    assert items == make_items(300, seed=1)
    assert items != make_items(300, seed=2)
    assert items[:50] == make_items(50, seed=1)
    assert len({i["question"] for i in items}) == len({i["id"] for i in items}) == 300
    assert {i["kind"] for i in items} == {"person", "place", "year", "number", "thing"}
    assert all(item["answers"][0] in item["context"] for item in items)


def test_splits_are_written_as_folders_and_share_nothing(tmp_path):
    cuts = write_splits(tmp_path, 20, 10, 15, seed=3)
    read = {
        name: json.loads((tmp_path / name / "items.json").read_text(encoding="utf-8"))
        for name in ("train", "val", "test")
    }
    assert read == cuts
    assert [len(read[name]) for name in ("train", "val", "test")] == [20, 10, 15]
    items = [item for part in read.values() for item in part]
    assert len({i["id"] for i in items}) == len({i["question"] for i in items}) == 45
