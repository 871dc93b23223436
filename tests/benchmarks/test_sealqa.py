"""SealQA: its records, briefs, tools and judge."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from task_files import write_json, write_lines, write_splits

from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.benchmarks.sealqa import SPEC, SealQA
from skillopt_cli.benchmarks.search.cache import AnswerCache
from skillopt_cli.benchmarks.search.pages import PageReader
from skillopt_cli.benchmarks.search.provider import Hit
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import ConfigError, DataError, NetworkFailed
from skillopt_cli.core.score import Private
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, ChatReply, Task
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import Benchmark, BenchmarkRequest, Interactive, Judged
from skillopt_cli.stages.attempts import Purpose, attempt
from skillopt_cli.stages.prompt_text import trajectory_text
from skillopt_cli.testing import ScriptedChat, Toy, check_benchmark, toy_run

SAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "samples"
RESULT = {"title": "Minutes", "url": "https://m.example", "snippet": "Holm was sworn in"}
PAGE = {"title": "Encyclo", "url": "https://e.example", "text": "The mayor is Niemi. He stays."}


def row(name: str, **more: Any) -> dict[str, Any]:
    return {
        "question_id": name,
        "question": f"Who is {name}?",
        "answer": f"Greta {name}",
        "topic": "politics",
        "urls": "",
        "search_results": [RESULT],
        "documents": [PAGE],
        "freshness": "fast-changing",
        "question_types": ["conflict"],
        "canary": "guid",
    } | more


def laid(folder: Path, first: dict[str, Any] | None = None, **options: Any) -> SealQA:
    write_splits(folder, [first or row("a")], [row("b")], [row("c")])
    opened = SPEC.open(BenchmarkRequest(split_dir=folder, data_root=folder / "d", options=options))
    assert isinstance(opened, SealQA)
    return opened


def first_task(benchmark: Benchmark) -> Task:
    return benchmark.tasks("train")[0]


@pytest.fixture
def sample(tmp_path: Path) -> Benchmark:
    return SPEC.open(BenchmarkRequest(data_root=tmp_path))


async def test_the_sample_keeps_the_contract(sample: Benchmark) -> None:
    assert isinstance(sample, Interactive)
    assert isinstance(sample, Judged)
    assert SPEC.judged
    assert sample.source == "bundled sample (24 train / 20 selection / 24 test)"
    await check_benchmark(sample)


@pytest.mark.parametrize("mode", ["given", "offline"])
async def test_the_sample_has_no_faults(tmp_path: Path, mode: str) -> None:
    request = BenchmarkRequest(data_root=tmp_path, options={"search_mode": mode})
    found = await check_data(SPEC.open(request), LocalExecutor(tmp_path), at_most=1000)
    assert [f for f in found if f.level != "info"] == []


async def test_a_search_finds_the_right_source_of_every_sample_task(sample: Benchmark) -> None:
    for task in sample.tasks("test"):
        async with sample.episode(task, LocalExecutor(Path())) as talk:  # type: ignore[attr-defined]
            text = await talk.must("search", queries=[task.data["question"]])
        assert task.data["answers"][0] in text


def test_the_script_writes_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SAMPLES))
    importlib.import_module("make_sealqa").make(tmp_path)
    assert SPEC.sample is not None
    assert contents(tmp_path) == contents(SPEC.sample)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_brief_holds_what_a_search_gave(tmp_path: Path) -> None:
    benchmark = laid(tmp_path, row("a", answer="the secret", urls="https://u.example"))
    brief = benchmark.brief(first_task(benchmark))
    assert brief.prompt == (
        "## Question\nWho is a?\n\n"
        "## Search results\n[1] Minutes\nhttps://m.example\nHolm was sworn in\n\n"
        "## Addresses\nhttps://u.example\n\n"
        "## Freshness\nfast-changing\n\n## Question types\nconflict"
    )
    assert [tool.name for tool in brief.tools] == ["search", "read_page"]
    assert brief.max_turns == 12
    assert "secret" not in repr(brief)
    assert "guid" not in repr(brief)


@pytest.mark.parametrize(
    ("results", "shown"),
    [
        ("as one text", "as one text"),
        ([RESULT], "[1] Minutes\nhttps://m.example\nHolm was sworn in"),
        (json.dumps([RESULT]), "[1] Minutes\nhttps://m.example\nHolm was sworn in"),
        (repr([RESULT]), "[1] Minutes\nhttps://m.example\nHolm was sworn in"),
        ({"organic": [{"title": "T", "link": "https://t"}]}, "[1] T\nhttps://t"),
        ("[1] a text that looks like a list", "[1] a text that looks like a list"),
        ([], None),
        ("", None),
        (None, None),
    ],
)
def test_results_come_in_several_forms(tmp_path: Path, results: object, shown: str | None) -> None:
    benchmark = laid(tmp_path, row("a", search_results=results))
    sections = {s.title: s.text for s in benchmark.brief(first_task(benchmark)).sections}
    assert sections.get("Search results") == shown


@pytest.mark.parametrize(
    ("urls", "listed"),
    [
        ("https://a, https://b", ["https://a", "https://b"]),
        ("https://a\r\nhttps://b", ["https://a", "https://b"]),
        ("['https://a', 'https://b']", ["https://a", "https://b"]),
        ('["https://a"]', ["https://a"]),
        (["https://a", "https://a"], ["https://a"]),
        ("https://a?x=1,2", ["https://a?x=1,2"]),
        (None, []),
    ],
)
def test_addresses_come_in_several_forms(tmp_path: Path, urls: object, listed: list[str]) -> None:
    assert first_task(laid(tmp_path, row("a", urls=urls))).data["urls"] == listed


def test_long_results_are_cut(tmp_path: Path) -> None:
    benchmark = laid(tmp_path, row("a", search_results="x" * 40_000))
    text = benchmark.brief(first_task(benchmark)).sections[1].text
    assert text == "x" * 24_000 + "\n[the results are cut here]"


def test_whole_documents_are_read_under_their_published_names(tmp_path: Path) -> None:
    docs = [{"title": "T", "text": "body", "url": None, "date": None}]
    record = {key: v for key, v in row("a").items() if key != "documents"}
    task = first_task(laid(tmp_path, record | {"12_docs": docs, "20_docs": []}))
    assert task.data["documents"] == [{"title": "T", "text": "body", "url": "", "date": ""}]


def test_an_id_does_not_depend_on_the_place(tmp_path: Path) -> None:
    bare = {"question": "Who?", "answer": "X"}
    first = first_task(laid(tmp_path / "one", bare))
    assert first.id == first_task(laid(tmp_path / "two", bare)).id
    assert first.id.startswith("sealqa-")
    assert first.kind == "question"
    assert first_task(laid(tmp_path / "three", row("a", topic="", id=3))).kind == "conflict"


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"question_id": "a"}, "names a question and does not hold it"),
        (row("a", question=""), "`question` is empty"),
        (row("a", answer=[]), "`answer` is an empty list"),
        (row("a", answer=None), "`answer` is missing"),
        (row("a", search_results=3), "neither a text nor a list"),
        (row("a", documents="three"), "`documents` is no list of documents"),
        (row("a", urls=[3]), "`urls` is no list of texts"),
    ],
)
def test_a_record_at_fault_is_named(tmp_path: Path, record: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        laid(tmp_path, record)


@pytest.mark.parametrize(
    ("options", "needs", "tools", "turns"),
    [
        ({}, {"tools"}, ["search", "read_page"], 12),
        ({"search_mode": "given"}, set(), [], 1),
        ({"max_tool_turns": 2}, {"tools"}, ["search", "read_page"], 2),
        ({"read_urls": True}, {"tools"}, ["search", "read_page"], 12),
    ],
)
def test_modes(
    tmp_path: Path, options: dict[str, Any], needs: set[str], tools: list[str], turns: int
) -> None:
    benchmark = laid(tmp_path, **options)
    brief = benchmark.brief(first_task(benchmark))
    assert benchmark.needs == needs
    assert [tool.name for tool in brief.tools] == tools
    assert brief.max_turns == turns
    assert ("no tools" in brief.answer_format) == (not tools)


def test_results_may_be_left_to_be_searched_for(tmp_path: Path) -> None:
    benchmark = laid(tmp_path, show_results=False)
    assert "sworn" not in benchmark.brief(first_task(benchmark)).prompt


def test_without_documents_there_is_no_page_to_read(tmp_path: Path) -> None:
    benchmark = laid(tmp_path, row("a", documents=[]))
    assert [tool.name for tool in benchmark.brief(first_task(benchmark)).tools] == ["search"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"search_mode": "custom_search"}, "no service is named"),
        ({"search_mode": "given", "read_urls": True}, "there are no tools"),
        ({"search_mode": "custom", "search_api_url": "https://s"}, "SEALQA_SEARCH_AUTH"),
        ({"search_mode": "web"}, r"env\.search_mode"),
        ({"read_url": True}, r"env\.read_url"),
    ],
)
def test_options_at_fault_are_named(
    tmp_path: Path, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        laid(tmp_path, **options)


def asking(name: str, **arguments: object) -> ChatReply:
    return ChatReply("", tool_calls=(ToolCall("c1", name, json.dumps(arguments)),))


async def play(
    benchmark: Benchmark, *replies: str | ChatReply | Exception, judge: Sequence[str] = ()
) -> Any:
    chat, court = ScriptedChat(list(replies)), ScriptedChat(list(judge))
    settings = ("model.retry.max_attempts=1", "evaluation.judge_twice=0")
    run = toy_run(Toy(settings, chat, judge=court, benchmark=benchmark))
    purpose = Purpose("rollout", "rollout")
    made = await attempt(run, SkillDocument("Weigh.\n"), first_task(benchmark), purpose)
    told = [m.content for m in chat.requests[-1].messages if m.role == "tool"]
    return made, told, court


async def test_sources_are_searched_and_read_and_the_judge_decides(tmp_path: Path) -> None:
    benchmark = laid(tmp_path)
    made, told, court = await play(
        benchmark,
        asking("search", queries=["mayor Niemi"]),
        asking("read_page", url="https://e.example"),
        asking("read_page", url="https://m.example"),
        asking("read_page", url="https://elsewhere.example"),
        "<answer>Mayor Greta</answer>",
        judge=["CORRECT"],
    )
    assert told[0].startswith("Results for: mayor Niemi\n\n[1] Encyclo\nhttps://e.example\n")
    assert told[1] == PAGE["text"]
    assert told[2] == "https://m.example is not at hand."
    assert told[3] == "Neither the task nor a search has named https://elsewhere.example."
    assert made.score.hard == 1.0
    assert made.score.private == Private("CORRECT")
    assert len(court.requests) == 1


async def test_what_the_judge_says_stays_private(tmp_path: Path) -> None:
    benchmark = laid(tmp_path)
    verdict = "It hedges.\nNOT_ATTEMPTED"
    made, _, _ = await play(benchmark, "<answer>nobody knows</answer>", judge=[verdict])
    assert made.score.hard == 0.0
    text = trajectory_text(benchmark, made, 1)
    assert "hedges" not in text
    assert "NOT_ATTEMPTED" not in text
    assert "it leaves the question open" in text


async def test_a_judge_without_verdict_breaks_the_attempt(tmp_path: Path) -> None:
    replies = ["<answer>Somebody</answer>"]
    made, _, court = await play(laid(tmp_path), *replies, judge=["Hm.", "Well."])
    assert made.score is None
    assert len(court.requests) == 2


async def test_an_equal_answer_needs_no_judge(tmp_path: Path) -> None:
    made, _, court = await play(laid(tmp_path), "<answer>greta a.</answer>")
    assert made.score.hard == 1.0
    assert court.requests == []


class Search:
    """Finds one page of the network, or fails."""

    identity = "stand-in"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    async def search(self, query: str, limit: int) -> Sequence[Hit]:
        if self.error is not None:
            raise self.error
        return [Hit("Found", "https://found.example")]


async def test_a_page_of_the_network_is_read_once_a_search_has_named_it(tmp_path: Path) -> None:
    def serve(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            200, text="<p>the minutes</p>", headers={"content-type": "text/html"}
        )

    pages = PageReader(AnswerCache(tmp_path / "s"), 5.0, True, httpx2.MockTransport(serve))
    benchmark = laid(tmp_path)
    benchmark.search, benchmark.reader = Search(), pages
    _, told, _ = await play(
        benchmark,
        asking("read_page", url="https://found.example"),
        asking("search", queries=["who"]),
        asking("read_page", url="https://found.example"),
        "<answer></answer>",
    )
    assert told[0].startswith("Neither")
    assert told[2] == "the minutes"


async def test_a_search_that_fails_breaks_the_attempt(tmp_path: Path) -> None:
    benchmark = laid(tmp_path)
    benchmark.search = Search(NetworkFailed("down"))
    made, _, _ = await play(benchmark, asking("search", queries=["who"]))
    assert made.score is None


async def test_giving_up_scores_nothing(tmp_path: Path) -> None:
    benchmark = laid(tmp_path)
    gave_up = Attempt("<answer>Greta a</answer>", ending="gave_up")
    assert (await benchmark.score(first_task(benchmark), gave_up)).hard == 0.0


# In a child: `datasets` reads the environment when it is imported, which takes seconds.
CHILD = """
import json, sys
from pathlib import Path
from skillopt_cli.benchmarks.sealqa.prepare import prepare
from skillopt_cli.core.errors import DataError

for source, folder, manifest in json.load(sys.stdin):
    try:
        counts = prepare(
            Path(folder), Path(manifest) if manifest else None, dataset=source, config=None
        )
        outcome = dict(counts)
    except DataError as error:
        outcome = error.message
    print("OUTCOME " + json.dumps(outcome))
"""


def test_the_full_data_is_cut_or_taken_by_ids(tmp_path: Path) -> None:
    if importlib.util.find_spec("datasets") is None:
        pytest.skip("the extra [data] is not installed")
    hub = tmp_path / "hub"
    rows = [row(f"q{n}", urls=["https://u"]) for n in range(10)]
    write_lines(
        hub / "test.jsonl", [{k: v for k, v in r.items() if k != "question_id"} for r in rows]
    )
    named = tmp_path / "named"
    write_lines(named / "test.jsonl", rows)
    ids = [[{"question_id": f"q{n}"} for n in part] for part in ((3, 1), (7,), (5,))]
    manifest = write_splits(tmp_path / "ids", *ids)
    write_json(tmp_path / "bad" / "split_manifest.json", {})
    write_lines(tmp_path / "bad" / "test.jsonl", [{"question": "q"}])
    cases = [
        (str(hub), str(tmp_path / "cut"), None),
        (str(named), str(tmp_path / "picked"), str(manifest)),
        (str(hub), str(tmp_path / "lacking"), str(manifest)),
        (str(tmp_path / "bad"), str(tmp_path / "unfit"), None),
    ]
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(cases),
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("OUTCOME ")]
    cut, picked, lacking, unfit = (json.loads(line.split(" ", 1)[1]) for line in lines)
    assert cut == {"train": 2, "selection": 1, "test": 7}
    assert picked == {"train": 2, "selection": 1, "test": 1}
    assert "lacks 4 of the 4 wanted ids" in lacking
    assert "has no field `answer`" in unfit
    opened = SPEC.open(BenchmarkRequest(split_dir=tmp_path / "picked"))
    assert [task.id for task in opened.tasks("train")] == ["q3", "q1"]
    assert first_task(opened).data["documents"][0]["text"] == PAGE["text"]
