"""Batches: every item once, in order; the calls of a merge tree are those a tree makes."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.plan import cut, merging_calls


@given(st.lists(st.integers()), st.integers(1, 9))
def test_a_cut_keeps_every_item_in_order(items: list[int], size: int) -> None:
    groups = cut(items, size)
    assert [item for group in groups for item in group] == items
    assert all(len(group) == size for group in groups[:-1])
    assert all(0 < len(group) <= size for group in groups)


@given(st.integers(0, 200), st.integers(2, 9))
def test_a_merge_tree_is_counted_as_it_grows(patches: int, size: int) -> None:
    calls, level = 0, [0] * patches
    while len(level) > 1:
        groups = cut(level, size)
        calls += sum(1 for group in groups if len(group) > 1)
        level = [0] * len(groups)
    assert merging_calls(patches, size) == calls


def test_one_patch_needs_no_merge() -> None:
    assert [merging_calls(n, 8) for n in (0, 1, 2, 8, 9, 17, 64, 65)] == [0, 0, 1, 1, 2, 3, 9, 10]
