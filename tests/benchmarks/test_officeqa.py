"""OfficeQA: its records, documents and briefs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from officeqa_rig import PARSED, first_task, laid, row
from task_files import write_json, write_splits

from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.benchmarks.officeqa import SPEC, OfficeQA
from skillopt_cli.benchmarks.officeqa.tasks import page_of
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import Benchmark, BenchmarkRequest, Interactive
from skillopt_cli.testing import check_benchmark

SAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "samples"


@pytest.fixture
def sample(tmp_path: Path) -> Benchmark:
    return SPEC.open(BenchmarkRequest(data_root=tmp_path))


async def test_the_sample_keeps_the_contract(sample: Benchmark) -> None:
    assert isinstance(sample, Interactive)
    assert sample.source.startswith("bundled sample (24 train / 20 selection / 24 test)")
    await check_benchmark(sample)


@pytest.mark.parametrize("mode", ["offline", "custom_search"])
async def test_the_sample_has_no_faults(tmp_path: Path, mode: str) -> None:
    request = BenchmarkRequest(data_root=tmp_path, options={"search_mode": mode})
    found = await check_data(SPEC.open(request), LocalExecutor(tmp_path), at_most=1000)
    assert [f for f in found if f.level != "info"] == []


def test_the_script_writes_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SAMPLES))
    importlib.import_module("make_officeqa").make(tmp_path)
    assert SPEC.sample is not None
    assert contents(tmp_path) == contents(SPEC.sample)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_brief_tells_the_question_and_where_to_look(tmp_path: Path) -> None:
    hints = ["https://example.org/a?page=3"]
    benchmark = laid(tmp_path, row("a", ground_truth="secret", source_docs=hints))
    brief = benchmark.brief(first_task(benchmark))
    assert [section.title for section in brief.sections] == [
        "Question",
        "Documents",
        "Source hints",
    ]
    assert brief.sections[1].text == "docs/a.txt"
    assert [tool.name for tool in brief.tools] == ["glob", "read", "grep"]
    assert brief.max_turns == 24
    assert "24 replies" in brief.answer_format
    assert [(file.name, Path(file.path).name) for file in brief.files] == [("docs/a.txt", "a.txt")]
    assert "secret" not in repr(brief)
    assert benchmark.needs == {"tools|workspace"}


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["a.txt"], ["docs/a.txt"]),
        ('["a.txt", "b.txt"]', ["docs/a.txt", "docs/b.txt"]),
        ("a.txt\r\nb.txt\r\n", ["docs/a.txt", "docs/b.txt"]),
        ("a.txt, b.txt", ["docs/a.txt", "docs/b.txt"]),
        ("a.txt,b.txt", ["docs/a.txt", "docs/b.txt"]),
        ("a.txt", ["docs/a.txt"]),
        ("parsed/transformed/b.txt", ["docs/b.txt"]),
        (["a.txt", "a.txt"], ["docs/a.txt"]),
        ([], ["docs/a.txt", "docs/b.txt"]),
        ("", ["docs/a.txt", "docs/b.txt"]),
        (None, ["docs/a.txt", "docs/b.txt"]),
    ],
)
def test_documents_are_named_in_every_published_way(
    tmp_path: Path, files: object, names: list[str]
) -> None:
    task = first_task(laid(tmp_path, row("a", source_files=files)))
    assert list(task.data["documents"]) == names


def test_hints_keep_their_commas(tmp_path: Path) -> None:
    hints = "https://x.org/a,b?page=1, https://x.org/c\nhttps://x.org/d"
    task = first_task(laid(tmp_path, row("a", source_docs=hints)))
    assert task.data["hints"] == ["https://x.org/a,b?page=1", "https://x.org/c", "https://x.org/d"]


@pytest.mark.parametrize(
    ("record", "kind", "answer"),
    [
        ({"category": "easy", "ground_truth": "7"}, "easy", "7"),
        ({"difficulty": "hard", "answer": " 7 "}, "hard", "7"),
        ({"kind": "mine", "answer": 7}, "mine", "7"),
        ({"answer": ["7"]}, "question", "7"),
    ],
)
def test_fields_have_two_names(
    tmp_path: Path, record: dict[str, Any], kind: str, answer: str
) -> None:
    task = first_task(laid(tmp_path, {"id": 4, "question": "q?", **record}))
    assert (task.id, task.kind, task.data["answer"]) == ("4", kind, answer)


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"uid": "a", "category": "easy"}, "names a question and does not hold it"),
        (row("a", question=" "), "`question` is empty"),
        (row("a", ground_truth=["1", "2"]), "holds 2 answers"),
        (row("a", ground_truth=None), "`answer` is missing"),
        (row("a", source_files="[1"), "begins like a list"),
        (row("a", source_files=[3]), "no list of names"),
        (row("a", source_files=["c.txt"]), "its document `c.txt` is in no folder"),
        (row("a", uid=""), "`uid` is empty"),
        (row("a", ground_truth="million dollars"), "nothing of the reference `million dollars`"),
        (row("a", ground_truth="$"), "nothing of the reference"),
    ],
)
def test_a_record_at_fault_is_named(tmp_path: Path, record: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        laid(tmp_path, record)


def test_a_csv_file_is_cut(tmp_path: Path) -> None:
    text = "uid,question,answer,difficulty,source_files,source_docs\r\n" + "".join(
        f'U{n},What is {n}?,"1,{n}00",easy,a.txt,"https://x.org/1\r\nhttps://x.org/2"\r\n'
        for n in range(1, 10)
    )
    (tmp_path / "officeqa_full.csv").write_text(text, encoding="utf-8", newline="")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("a", encoding="utf-8")
    opened = SPEC.open(BenchmarkRequest(data_path=tmp_path, data_root=tmp_path / "d"))
    tasks = [task for split in ("train", "selection", "test") for task in opened.tasks(split)]  # type: ignore[arg-type]
    assert {task.data["answer"] for task in tasks} == {f"1,{n}00" for n in range(1, 10)}
    assert tasks[0].data["hints"] == ["https://x.org/1", "https://x.org/2"]


def test_documents_may_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        write_json(tmp_path / name / "transformed" / f"{name}.txt", name)
    one, two = ({"source_files": [f"{name}.txt"]} for name in ("one", "two"))
    split = write_splits(tmp_path / "s", [row("a", **one)], [row("b", **two)], [row("c", **two)])
    request = BenchmarkRequest(
        split_dir=split, options={"data_dirs": f"{tmp_path / 'one'}, {tmp_path / 'two'}"}
    )
    assert list(first_task(SPEC.open(request)).data["documents"]) == ["docs/one.txt"]
    bare = BenchmarkRequest(split_dir=split, data_root=tmp_path / "d")
    with pytest.raises(DataError, match="no folder of documents"):
        SPEC.open(bare)
    monkeypatch.setenv("OFFICEQA_DOCS_DIR", str(tmp_path / "no"))
    with pytest.raises(ConfigError, match="OFFICEQA_DOCS_DIR names"):
        SPEC.open(bare)
    missing = BenchmarkRequest(split_dir=split, options={"data_dirs": [str(tmp_path / "no")]})
    with pytest.raises(ConfigError, match=r"env\.data_dirs"):
        SPEC.open(missing)


def test_a_folder_with_the_answers_in_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds the task file .*items\.json"):
        laid(tmp_path, data_dirs=str(tmp_path))
    with pytest.raises(ConfigError, match="where the answers stand"):
        laid(tmp_path, data_dirs=str(tmp_path / "test"))


def test_the_variable_names_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_json(tmp_path / "one" / "a.txt", "x")
    monkeypatch.setenv("OFFICEQA_DOCS_DIR", str(tmp_path / "one"))
    split = write_splits(tmp_path / "s", [row("a")], [row("bb")], [row("ccc")])
    opened = SPEC.open(BenchmarkRequest(split_dir=split, data_root=tmp_path / "d"))
    assert list(first_task(opened).data["documents"]) == ["docs/a.txt"]


def test_what_a_document_says_is_part_of_the_task(tmp_path: Path) -> None:
    before = first_task(laid(tmp_path)).digest
    assert first_task(laid(tmp_path)).digest == before
    (tmp_path / "docs" / "a.txt").write_text("other", encoding="utf-8")
    opened = SPEC.open(BenchmarkRequest(split_dir=tmp_path, data_root=tmp_path / "d"))
    assert first_task(opened).digest != before


def with_pages(folder: Path, parsed: object = PARSED, **options: Any) -> OfficeQA:
    (folder / "docs").mkdir(parents=True)
    write_json(folder / "docs" / "jsons" / "a.json", parsed)
    return laid(folder, row("a", source_docs=["https://x.org/?page=3"]), **options)


def test_pages_of_the_answer_are_shown_and_that_is_told(tmp_path: Path) -> None:
    benchmark = with_pages(tmp_path)
    shown = {s.title: s.text for s in benchmark.brief(first_task(benchmark)).sections}
    assert shown["Parsed pages"] == "### a.txt, page 3\nTitle\n\n| x | 1 |\n| --- | --- |"
    assert "pages of the answer shown" in benchmark.source
    without = with_pages(tmp_path / "other", oracle_pages=False)
    titles = [s.title for s in without.brief(first_task(without)).sections]
    assert "Parsed pages" not in titles
    assert "no pages shown" in without.source
    assert without.version != benchmark.version


def test_a_page_is_cut(tmp_path: Path) -> None:
    long = {"document": {"elements": [{"content": "x" * 30_000, "bbox": [{"page_id": 3}]}]}}
    benchmark = with_pages(tmp_path, long)
    (text,) = [
        s.text for s in benchmark.brief(first_task(benchmark)).sections if s.title == "Parsed pages"
    ]
    assert text.count("x") == 24_000 + "### a.txt, page 3".count("x")
    assert text.endswith("[the page is cut here]")


@pytest.mark.parametrize("parsed", [[], {"document": 3}, {"document": {"elements": 3}}])
def test_a_parsed_document_that_is_none_is_named(tmp_path: Path, parsed: object) -> None:
    benchmark = with_pages(tmp_path, parsed)
    with pytest.raises(DataError, match=r"a\.json is no parsed document"):
        benchmark.brief(first_task(benchmark))


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("https://x.org/a?page=12", 12),
        ("https://x.org/a?x=1&pagenum=7#top", 7),
        ("https://x.org/a?page_id=0", 0),
        ("https://x.org/a?page=", None),
        ("https://x.org/a?page=ii", None),
        ("https://x.org/a", None),
        ("http://[", None),
        ("", None),
    ],
)
def test_the_page_of_an_address(address: str, page: int | None) -> None:
    assert page_of(address) == page


@pytest.mark.parametrize(
    ("options", "needs", "tools", "turns", "files"),
    [
        ({}, {"tools|workspace"}, ["glob", "read", "grep"], 24, 1),
        ({"max_tool_turns": 3}, {"tools|workspace"}, ["glob", "read", "grep"], 3, 1),
        ({"use_local_tools": False}, set(), [], 1, 0),
        ({"search_mode": "custom_search"}, {"tools"}, ["search"], 24, 0),
        ({"search_mode": "custom"}, {"tools"}, ["search"], 24, 0),
    ],
)
def test_modes(
    tmp_path: Path,
    options: dict[str, Any],
    needs: set[str],
    tools: list[str],
    turns: int,
    files: int,
) -> None:
    benchmark = laid(tmp_path, **options)
    brief = benchmark.brief(first_task(benchmark))
    assert benchmark.needs == needs
    assert [tool.name for tool in brief.tools] == tools
    assert (brief.max_turns, len(brief.files)) == (turns, files)


def test_each_way_of_asking_has_a_version_of_its_own(tmp_path: Path) -> None:
    ways: list[dict[str, Any]] = [
        {},
        {"scoring": "numeric"},
        {"scoring": "numeric", "tolerance": "1%"},
        {"answer_tag": "first"},
        {"oracle_pages": False},
        {"use_local_tools": False},
        {"search_mode": "custom_search"},
        {"search_mode": "custom_search", "max_queries_per_turn": 1},
        {"max_tool_turns": 12},
    ]
    versions = {laid(tmp_path, **way).version for way in ways}
    assert len(versions) == len(ways)
    for same in ({"search_timeout_seconds": 3}, {"search_api_url": "https://s.example"}):
        assert laid(tmp_path, **same).version == laid(tmp_path).version


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"search_mode": "azure_search"}, "no backend offers a service's own web search"),
        ({"search_mode": "azure"}, "no backend offers"),
        ({"search_mode": "bing"}, r"env\.search_mode"),
        ({"tolerance": "much"}, r"env\.tolerance"),
        ({"max_tool_turns": 0}, r"env\.max_tool_turns"),
        ({"search_url": "x"}, r"env\.search_url"),
        (
            {"search_mode": "custom_search", "search_api_url": "https://s.example"},
            "OFFICEQA_CUSTOM_SEARCH_AUTH",
        ),
    ],
)
def test_options_at_fault_are_named(
    tmp_path: Path, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        laid(tmp_path, **options)


def test_a_token_needs_a_safe_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFICEQA_CUSTOM_SEARCH_AUTH", "tok-123")
    options = {"search_mode": "custom_search", "search_api_url": "http://s.example"}
    with pytest.raises(ConfigError, match="plain http") as raised:
        laid(tmp_path, **options)
    assert "tok-123" not in str(raised.value)
    opened = laid(tmp_path, **options | {"search_api_url": "https://s.example"})
    assert "tok-123" not in opened.version
