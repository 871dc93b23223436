import json
import tracemalloc
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from task_files import qa, write_json, write_lines, write_splits

from skillopt_cli.benchmarks.folder import FolderBenchmark
from skillopt_cli.benchmarks.kit.ratio import hash_order, parse_ratio, ratio_counts
from skillopt_cli.benchmarks.kit.splits import shown_path
from skillopt_cli.benchmarks.searchqa import SPEC
from skillopt_cli.compose.benchmark import splits_in_use
from skillopt_cli.config.layers import resolve
from skillopt_cli.core.errors import ConfigError, DataError, UsageError
from skillopt_cli.core.task import SPLITS, Split
from skillopt_cli.ports import Benchmark, BenchmarkRequest


def opened(**request: object) -> Benchmark:
    return SPEC.open(BenchmarkRequest(**request))  # type: ignore[arg-type]


def ids(benchmark: Benchmark, split: Split) -> list[str]:
    return [task.id for task in benchmark.tasks(split)]


def refusal(**request: object) -> DataError:
    with pytest.raises(DataError) as caught:
        opened(**request)
    return caught.value


def test_a_split_folder_is_read_in_file_order(tmp_path: Path) -> None:
    write_splits(tmp_path, [qa("b"), qa("a")], [qa("c")], [qa("d")])
    benchmark = opened(split_dir=tmp_path)
    assert [ids(benchmark, split) for split in SPLITS] == [["b", "a"], ["c"], ["d"]]
    assert benchmark.source == f"{tmp_path} (2 train / 1 selection / 1 test)"


def test_selection_may_be_called_so_and_files_may_be_lines(tmp_path: Path) -> None:
    for name in ("train", "selection", "test"):
        write_lines(tmp_path / name / "b.jsonl", [qa(name)])
    write_json(tmp_path / "train" / "c.json", [qa("second file")])
    benchmark = opened(split_dir=tmp_path)
    assert [ids(benchmark, split) for split in SPLITS] == [["train"], ["selection"], ["test"]]


def test_limit_keeps_the_first_of_each_split(tmp_path: Path) -> None:
    parts = [[qa(f"{name}{i}") for i in range(3)] for name in "abc"]
    benchmark = opened(split_dir=write_splits(tmp_path, *parts), limit=2)
    assert [ids(benchmark, split) for split in SPLITS] == [["a0", "a1"], ["b0", "b1"], ["c0", "c1"]]
    assert "2 train / 2 selection / 2 test" in benchmark.source


@pytest.mark.parametrize("missing", ["train", "val", "test"])
def test_a_missing_or_empty_split_is_refused(tmp_path: Path, missing: str) -> None:
    write_splits(tmp_path, [qa("a")], [qa("b")], [qa("c")])
    write_json(tmp_path / missing / "items.json", [])
    assert refusal(split_dir=tmp_path).message.endswith(f"{missing}/items.json holds no tasks")
    (tmp_path / missing / "items.json").unlink()
    assert "holds no task file" in refusal(split_dir=tmp_path).message
    (tmp_path / missing).rmdir()
    error = refusal(split_dir=tmp_path)
    assert missing in error.message
    assert "selection/ (or val/)" in error.hint


def test_two_selection_folders_and_no_folder_are_refused(tmp_path: Path) -> None:
    write_splits(tmp_path, [qa("a")], [qa("b")], [qa("c")])
    write_json(tmp_path / "selection" / "items.json", [qa("d")])
    assert refusal(split_dir=tmp_path).message.endswith("has both selection/ and val/")
    assert refusal(split_dir=tmp_path / "typo").message.endswith("typo does not exist")
    (tmp_path / "file").touch()
    assert refusal(split_dir=tmp_path / "file").message.endswith("file is no folder")


def test_an_unknown_split_is_refused_with_the_list() -> None:
    with pytest.raises(UsageError) as caught:
        opened(data_root=Path("nowhere")).tasks("valid_sen")  # type: ignore[arg-type]
    assert caught.value.exit_code == 2
    assert caught.value.hint == "the splits are train, selection, test"


# -- duplicates and leakage ---------------------------------------------------------------------


def test_one_id_in_two_splits_is_refused_with_both_places(tmp_path: Path) -> None:
    write_splits(tmp_path, [qa("x"), qa("a")], [qa("b")], [qa("a", question="Other?")])
    message = refusal(split_dir=tmp_path).message
    train, test = tmp_path / "train/items.json", tmp_path / "test/items.json"
    assert message == f"the id `a` occurs twice, in {train}, record 2 and in {test}, record 1"


def test_one_id_twice_in_a_file_is_refused_with_both_lines(tmp_path: Path) -> None:
    records = [qa("a"), qa("1"), qa("b"), qa("x", question="Other?") | {"id": 1}]
    path = write_lines(tmp_path / "tasks.jsonl", records)
    message = refusal(data_path=path).message
    assert message == f"the id `1` occurs twice, in {path}, line 2 and in {path}, line 4"


def test_ids_may_hold_any_character(tmp_path: Path) -> None:
    write_splits(tmp_path, [qa("a/b"), qa("a:b")], [qa("../../x")], [qa("ü \u2028")])
    benchmark = opened(split_dir=tmp_path)
    assert ids(benchmark, "train") == ["a/b", "a:b"]
    assert ids(benchmark, "selection") == ["../../x"]


@pytest.mark.parametrize("spelling", ["What is a?", "what  IS a? "])
def test_one_task_in_two_splits_is_leakage_whatever_its_id(tmp_path: Path, spelling: str) -> None:
    twin = qa("twin", "Thing a", question=spelling, context="fetched on another day")
    write_splits(tmp_path, [qa("b"), qa("a")], [qa("c")], [qa("d"), twin])
    error = refusal(split_dir=tmp_path)
    assert error.message.startswith("train and test share a task, in ")
    assert f"{tmp_path / 'train/items.json'}, record 2" in error.message
    assert f"{tmp_path / 'test/items.json'}, record 2" in error.message


def test_one_question_with_another_answer_is_not_leakage(tmp_path: Path) -> None:
    other = qa("other", "a different thing", question="What is a?")
    benchmark = opened(split_dir=write_splits(tmp_path, [qa("a")], [qa("c")], [other]))
    assert ids(benchmark, "test") == ["other"]


def test_a_cut_that_separates_twins_is_refused(tmp_path: Path) -> None:
    records = [qa(str(i), "same", question="Same?") for i in range(10)]
    path = write_json(tmp_path / "tasks.json", records)
    assert "share a task" in refusal(data_path=path).message


# -- ratio --------------------------------------------------------------------------------------


@given(st.integers(3, 400), st.tuples(*[st.integers(1, 9)] * 3))
def test_ratio_counts_add_up_and_leave_no_split_empty(n: int, weights: tuple[int, ...]) -> None:
    counts = ratio_counts(n, weights)
    assert sum(counts) == n
    assert min(counts) >= 1
    exact = [n * weight / sum(weights) for weight in weights]
    if min(exact) >= 1:
        assert all(abs(count - share) < 1 for count, share in zip(counts, exact, strict=True))


@pytest.mark.parametrize(
    ("n", "counts"),
    [
        (0, (0, 0, 0)),
        (1, (0, 0, 1)),
        (2, (0, 0, 2)),
        (3, (1, 1, 1)),
        (4, (1, 1, 2)),
        (5, (1, 1, 3)),
        (10, (2, 1, 7)),
        (177, (35, 18, 124)),
    ],
)
def test_ratio_counts_of_2_1_7(n: int, counts: tuple[int, ...]) -> None:
    assert ratio_counts(n, (2, 1, 7)) == counts


@given(
    st.sets(st.text(st.characters(codec="utf-8"), max_size=6), max_size=30),
    st.integers(0, 9),
    st.randoms(),
)
def test_hash_order_ignores_the_order_given(names: set[str], seed: int, rng: Random) -> None:
    one = sorted(names)
    other = list(one)
    rng.shuffle(other)
    assert hash_order(one, seed, str) == hash_order(other, seed, str)


def test_a_shuffled_file_gives_the_same_splits(tmp_path: Path) -> None:
    records = [qa(f"t{i}") for i in range(50)]
    first = opened(data_path=write_lines(tmp_path / "a.jsonl", records))
    Random(1).shuffle(records)
    second = opened(data_path=write_json(tmp_path / "b.json", records))
    for split in SPLITS:
        assert ids(first, split) == ids(second, split)
    assert first.source.endswith("cut 2:1:7, seed 42 (10 train / 5 selection / 35 test)")


def test_seed_and_ratio_change_the_splits_and_seed_zero_counts(tmp_path: Path) -> None:
    path = write_json(tmp_path / "t.json", [qa(f"t{i}") for i in range(30)])
    by_seed = {seed: ids(opened(data_path=path, split_seed=seed), "train") for seed in (0, 1, 42)}
    assert len({tuple(part) for part in by_seed.values()}) == 3
    assert len(opened(data_path=path, split_ratio="1:1:1").tasks("train")) == 10


@pytest.mark.parametrize("n", [1, 2])
def test_tasks_too_few_to_cut_are_read_and_no_training_is_possible(tmp_path: Path, n: int) -> None:
    path = write_json(tmp_path / "t.json", [qa(f"t{i}") for i in range(n)])
    benchmark = opened(data_path=path)
    assert sum(len(benchmark.tasks(split)) for split in SPLITS) == n
    config = resolve([]).config
    assert splits_in_use(config, benchmark, "all")
    with pytest.raises(
        DataError, match=r"the \w+ split of benchmark `searchqa` is empty"
    ) as caught:
        splits_in_use(config, benchmark)
    assert caught.value.exit_code == 3
    assert "3 tasks or more" in caught.value.hint


@pytest.mark.parametrize("n", [3, 4, 5])
def test_few_tasks_still_fill_every_split(tmp_path: Path, n: int) -> None:
    path = write_json(tmp_path / "t.json", [qa(f"t{i}") for i in range(n)])
    benchmark = opened(data_path=path)
    sizes = [len(benchmark.tasks(split)) for split in SPLITS]
    assert min(sizes) >= 1
    assert sum(sizes) == n


@pytest.mark.parametrize("ratio", ["2:1", "2:1:0", "a:b:c", "2:1:7:1", "", "-1:1:1", "1.5:1:1"])
def test_a_malformed_ratio_is_refused(ratio: str) -> None:
    with pytest.raises(ConfigError, match="three positive whole numbers"):
        parse_ratio(ratio)


# -- which source -------------------------------------------------------------------------------


def test_the_first_source_given_is_used(tmp_path: Path) -> None:
    root = tmp_path / "data"
    assert opened(data_root=root).source.startswith("bundled sample (")
    write_splits(root / "searchqa", [qa("p")], [qa("q")], [qa("r")])
    write_json(root / "searchqa" / "split_manifest.json", {})
    assert ids(opened(data_root=root), "train") == ["p"]
    path = write_json(tmp_path / "t.json", [qa(f"t{i}") for i in range(3)])
    assert opened(data_root=root, data_path=path).source.startswith("t.json cut ")
    own = write_splits(tmp_path / "own", [qa("a")], [qa("b")], [qa("c")])
    assert ids(opened(data_root=root, data_path=path, split_dir=own), "train") == ["a"]


def test_an_unfinished_preparation_is_refused_not_skipped(tmp_path: Path) -> None:
    write_splits(tmp_path / "searchqa", [qa("p")], [qa("q")], [qa("r")])
    error = refusal(data_root=tmp_path)
    assert error.message == f"{tmp_path / 'searchqa'} is incomplete: it has no split_manifest.json"
    assert "data prepare searchqa" in error.hint


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_loading_needs_about_twice_the_file(tmp_path: Path, suffix: str) -> None:
    n = 4000
    records = [qa(f"t{i:05}", context="x" * 390) for i in range(n)]
    write = write_json if suffix == "json" else write_lines
    path = write(tmp_path / f"t.{suffix}", records)
    del records
    size = path.stat().st_size
    assert 480 < size / n < 520
    opened(data_root=tmp_path)
    tracemalloc.start()
    try:
        benchmark = opened(data_path=path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(len(benchmark.tasks(split)) for split in SPLITS) == n
    assert peak < 2.25 * size
    assert json.dumps(benchmark.tasks("train")[0].data["question"])


@pytest.mark.parametrize("rare", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", [0, 42])
def test_a_ratio_by_label_gives_each_split_its_share(tmp_path: Path, rare: int, seed: int) -> None:
    labels = ["yes"] * 20 + ["No"] * 8 + ["no."] * 2 + ["rare"] * rare
    path = write_lines(
        tmp_path / "t.jsonl",
        [{"id": f"q{n}", "question": f"Is {n}?", "answer": a} for n, a in enumerate(labels)],
    )
    request = BenchmarkRequest(data_path=path, split_ratio="2:1:2 by label", split_seed=seed)
    benchmark = FolderBenchmark.open(request)
    assert "cut 2:1:2 by label, seed" in benchmark.source
    for split, share in (("train", 0.4), ("selection", 0.2), ("test", 0.4)):
        held = Counter(benchmark.label(task) for task in benchmark.tasks(split))
        assert abs(held["yes"] - 20 * share) <= 1
        assert abs(held["no"] - 10 * share) <= 1
        assert abs(held["rare"] - rare * share) <= 1


@pytest.mark.parametrize("seed", [0, 42])
def test_a_ratio_by_kind_gives_each_split_its_share(tmp_path: Path, seed: int) -> None:
    kinds = ["plain"] * 20 + ["comma"] * 8 + ["rare"] * 2
    path = write_lines(
        tmp_path / "t.jsonl",
        [{"question": f"Is {n}?", "kind": k, "answer": f"a {n}"} for n, k in enumerate(kinds)],
    )
    request = BenchmarkRequest(data_path=path, split_ratio="2:1:2 by kind", split_seed=seed)
    benchmark = FolderBenchmark.open(request)
    assert "cut 2:1:2 by kind, seed" in benchmark.source
    for split, share in (("train", 0.4), ("selection", 0.2), ("test", 0.4)):
        held = Counter(task.kind for task in benchmark.tasks(split))
        assert all(abs(held[kind] - kinds.count(kind) * share) <= 1 for kind in kinds)


def test_a_plain_ratio_cuts_as_before(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "t.jsonl",
        [{"id": f"q{n}", "question": f"Is {n}?", "answer": "yn"[n % 2]} for n in range(12)],
    )
    benchmark = FolderBenchmark.open(BenchmarkRequest(data_path=path, split_ratio="1:1:2"))
    assert [" ".join(ids(benchmark, split)) for split in SPLITS] == [
        "q3 q11 q5",
        "q8 q10 q6",
        "q1 q0 q9 q7 q4 q2",
    ]


def test_the_place_of_the_tasks_is_shown_without_detours(tmp_path: Path, monkeypatch) -> None:
    here = tmp_path / "here"
    (here / "data").mkdir(parents=True)
    (here / "configs").mkdir()
    monkeypatch.chdir(here)
    for named in ("data", "./configs/../data", here / "data", here / "configs" / ".." / "data"):
        assert shown_path(Path(named)) == "data"
    assert shown_path(Path("configs/../../there")) == "../there"
    assert shown_path(tmp_path / "x" / ".." / "there") == str(tmp_path / "there")
    assert shown_path(Path("x/..")) == "."
    assert shown_path(here) == str(here)


def test_a_detour_through_a_link_stays(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "here" / "link").symlink_to(tmp_path / "far" / "deep")
    monkeypatch.chdir(tmp_path / "here")
    assert shown_path(Path("link/../data")) == "link/../data"
