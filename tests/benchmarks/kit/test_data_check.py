import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from task_files import qa, write_splits

from skillopt_cli.benchmarks import folder, searchqa
from skillopt_cli.benchmarks.kit.data_check import check_data, task_warnings
from skillopt_cli.benchmarks.kit.missing_groups import missing_kinds
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.benchmarks.kit.reference_checks import Finding
from skillopt_cli.core.task import Task
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import BenchmarkRequest


def parts(records: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    third = len(records) // 3
    return [list(records[:third]), list(records[third : 2 * third]), list(records[2 * third :])]


async def findings(
    tmp_path: Path, records: Sequence[dict[str, Any]], **options: Any
) -> list[Finding]:
    spec = folder.SPEC if options else searchqa.SPEC
    split_dir = write_splits(tmp_path, *parts(records))
    benchmark = spec.open(BenchmarkRequest(split_dir=split_dir, options=options))
    return await check_data(benchmark, LocalExecutor(tmp_path))


def choice(n: int, right: int, options: Sequence[str] = ()) -> dict[str, Any]:
    choices = list(options) or [f"option {n} {letter}" for letter in "wxyz"]
    return {"question": f"Which one is {n}?", "choices": choices, "answer": choices[right]}


async def test_good_data_has_nothing_to_say(tmp_path: Path) -> None:
    records = [qa(f"t{n}", kind=("year", "place")[n % 2]) for n in range(60)]
    assert await findings(tmp_path, records) == []


async def test_an_answer_the_scorer_gives_away_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Record, "refuse_empty", lambda *_: None)
    records = [qa(f"t{n}", kind=str(n % 2)) for n in range(60)]
    records[4]["answers"] = ["The"]
    (found,) = await findings(tmp_path, records)
    assert found.level == "error"
    assert found.what == "an empty answer scores above 0 on 1 of 60 tasks: t4"


async def test_a_reference_that_fails_its_scorer_is_an_error(tmp_path: Path) -> None:
    records = [qa(f"t{n}", kind=str(n % 2)) for n in range(60)]
    records[5]["answers"] = ["see <answer>x</answer>"]
    (found,) = await findings(tmp_path, records)
    assert found.level == "error"
    assert "does not score 1.0 on 1 of 60 tasks: t5" in found.what


async def test_repeats_within_and_across_splits(tmp_path: Path) -> None:
    records = [qa(f"t{n}", kind=str(n % 2)) for n in range(60)]
    records[1] |= {key: records[0][key] for key in ("question", "context")}
    records[59] |= {key: records[2][key] for key in ("question", "context")}
    across, within = await findings(tmp_path, records)
    assert (across.level, within.level) == ("error", "warning")
    assert across.what.endswith("t2 = t59")
    assert within.what.endswith("t0 = t1")


async def test_a_common_answer_is_a_warning_and_a_constant_one_an_error(tmp_path: Path) -> None:
    records = [qa(f"t{n}", "yes" if n % 3 else f"no {n}", kind=str(n % 2)) for n in range(60)]
    (common,) = await findings(tmp_path, records)
    assert common.level == "warning"
    assert common.what == 'always answering "yes" scores 0.67'
    for record in records:
        record["answers"] = ["Yes"]
    (constant,) = await findings(tmp_path, records)
    assert (constant.level, constant.what) == ("error", 'always answering "yes" scores 1.00')


async def test_a_fixed_position_is_an_error_and_a_frequent_one_a_warning(tmp_path: Path) -> None:
    fixed = [choice(n, 2) for n in range(60)]
    found = await findings(tmp_path / "fixed", fixed, scorer="choice")
    assert found[0].level == "error"
    assert found[0].what == "option C is right in 60 of 60 tasks, where 15 would be chance"
    often = [choice(n, 2 if n % 2 else n // 2 % 4) for n in range(60)]
    found = await findings(tmp_path / "often", often, scorer="choice")
    assert found[0].level == "warning"
    assert found[0].what.startswith("option C is right in ")


async def test_even_positions_are_fine(tmp_path: Path) -> None:
    records = [choice(n, n % 4) for n in range(60)]
    found = await findings(tmp_path, records, scorer="choice")
    assert [f.level for f in found] == ["info"]


async def test_an_option_text_that_is_always_right_is_an_error(tmp_path: Path) -> None:
    records = []
    for n in range(60):
        options = [f"{n} x", f"{n} y", f"{n} z"]
        options.insert(n % 4, "None of these")
        records.append(choice(n, n % 4, options))
    found = await findings(tmp_path, records, scorer="choice")
    assert any(
        f.level == "error" and 'the option "none of these" is right in 60 of 60' in f.what
        for f in found
    )


async def test_small_splits_are_told_what_they_can_resolve(tmp_path: Path) -> None:
    records = [qa(f"t{n}", kind=str(n % 2)) for n in range(30)]
    selection, test = await findings(tmp_path, records)
    assert selection.what == (
        "the selection split has 10 tasks: scores move in steps of 0.10, "
        "and differences below 0.50 can be chance"
    )
    assert test.what.startswith("the test split has 10 tasks")
    (tmp_path / "tiny").mkdir()
    tiny, _ = await findings(tmp_path / "tiny", records[:9])
    assert tiny.what.endswith("any difference may be chance")


async def test_missing_kinds_are_mentioned(tmp_path: Path) -> None:
    (found,) = await findings(tmp_path, [qa(f"t{n}") for n in range(60)])
    assert (found.level, found.what) == ("info", "all tasks are of kind `qa`")


async def test_a_kind_that_a_split_lacks_is_named_with_the_setting(tmp_path: Path) -> None:
    def kind(n: int) -> str:
        return "place" if n >= 40 else ("year", "name")[n % 2]

    records = [qa(f"t{n}", kind=kind(n)) for n in range(60)]
    found = {finding.what: finding.hint for finding in await findings(tmp_path, records)}
    moved = "move tasks with it there from another split, or add some"
    assert found == {
        "the train split has no task with the kind `place`": moved,
        "the selection split has no task with the kind `place`": moved,
        "the test split has no task with the kinds `year`, `name`": moved,
    }


async def test_the_start_of_a_training_names_kinds_that_selection_or_test_lack(
    tmp_path: Path,
) -> None:
    records = [
        {
            "id": f"t{n}",
            "question": f"Q {n}?",
            "answer": f"a{n}",
            "kind": "rare" if n < 3 else "usual",
        }
        for n in range(60)
    ]
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")

    def warnings(ratio: str) -> list[str]:
        request = BenchmarkRequest(
            data_path=path, split_ratio=ratio, split_seed=1, options={"scorer": "exact"}
        )
        benchmark = folder.SPEC.open(request)
        return [line for line in task_warnings(benchmark) if "kind" in line]

    hint = 'cut the file with env.split_ratio="8:1:1 by kind"'
    assert warnings("8:1:1") == [
        f"the {split} split has no task with the kind `rare`: {hint}"
        for split in ("selection", "test")
    ]
    assert warnings("1:1:1 by kind") == []


@pytest.mark.parametrize(("scorer", "found"), [("f1", True), ("exact", False)])
async def test_inputs_that_the_scorer_takes_for_their_answers_are_a_warning(
    tmp_path: Path, scorer: str, *, found: bool
) -> None:
    tasks = [(f"Red{n};Blue{n};Green{n}", f"red{n},blue{n},green{n}") for n in range(60)]
    # The input of the last one is its answer.
    tasks[-1] = ("red,blue", "red,blue")
    records = [
        {"id": f"t{n}", "kind": str(n % 2), "context": text, "question": "Tidy it.", "answer": made}
        for n, (text, made) in enumerate(tasks)
    ]
    said = [
        one for one in await findings(tmp_path, records, scorer=scorer) if "own text" in one.what
    ]
    benchmark = folder.SPEC.open(BenchmarkRequest(split_dir=tmp_path, options={"scorer": scorer}))
    begun = [line for line in task_warnings(benchmark) if "own text" in line]
    if found:
        (one,) = said
        assert one.level == "warning" and "in 59 tasks" in one.what and "t0" in one.what
        assert one.hint == "`--scorer exact` compares case and punctuation too"
        assert begun == [f"{one.what}; {one.hint}"]
    else:
        assert (said, begun) == ([], [])


def test_rare_kinds_are_no_groups_that_a_split_lacks() -> None:
    train = [Task(f"t{n}", f"k{n}", {}) for n in range(9)]
    test = [Task(f"x{n}", "k0", {}) for n in range(3)]
    assert missing_kinds({"train": train, "selection": test, "test": test}) == {}


async def test_only_a_sample_is_scored(tmp_path: Path) -> None:
    split_dir = write_splits(tmp_path, *parts([qa(f"t{n}") for n in range(90)]))
    benchmark = searchqa.SPEC.open(BenchmarkRequest(split_dir=split_dir))
    asked: set[str] = set()
    original = benchmark.score

    async def counted(task: Any, attempt: Any) -> Any:
        asked.add(task.id)
        return await original(task, attempt)

    benchmark.score = counted  # type: ignore[method-assign]
    await check_data(benchmark, LocalExecutor(tmp_path), at_most=30)
    assert len(asked) == 30


async def test_a_pattern_shared_by_many_tasks_is_a_warning(tmp_path: Path) -> None:
    records = [
        {"prompt": f"When was {n}?", "answer": f"19{n}", "kind": str(n % 2)} for n in range(10, 70)
    ]
    (found,) = await findings(tmp_path, records, scorer="regex", pattern=r"^\d{4}$")
    assert found.level == "warning"
    assert found.what.startswith("one pattern decides 60 of 60 tasks: any answer of that form")
    own = [record | {"pattern": f"^{record['answer']}$"} for record in records]
    assert await findings(tmp_path, own, scorer="regex") == []


async def test_one_task_is_not_called_tasks(tmp_path: Path) -> None:
    told = " ".join(f.what for f in await findings(tmp_path, [qa(f"t{n}") for n in range(3)]))
    assert "has 1 task: " in told
    assert "1 tasks" not in told
