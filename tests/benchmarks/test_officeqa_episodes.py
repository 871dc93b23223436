"""OfficeQA played: tools, searches, and what happens when they fail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from officeqa_rig import first_task, laid

from skillopt_cli.benchmarks.officeqa import OfficeQA
from skillopt_cli.benchmarks.search.provider import Hit
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import AuthFailed, DataError, NetworkFailed
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, ChatReply
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import Benchmark
from skillopt_cli.stages.attempts import Purpose, attempt
from skillopt_cli.stages.prompt_text import trajectory_text
from skillopt_cli.testing import ScriptedChat, Toy, toy_run


def asking(name: str, **arguments: object) -> ChatReply:
    return ChatReply("", tool_calls=(ToolCall("c1", name, json.dumps(arguments)),))


async def play(benchmark: Benchmark, *replies: str | ChatReply | Exception) -> Any:
    chat = ScriptedChat(list(replies))
    run = toy_run(Toy(("model.retry.max_attempts=1",), chat, benchmark=benchmark))
    task = first_task(benchmark)
    return await attempt(run, SkillDocument("Look.\n"), task, Purpose("rollout", "rollout")), chat


async def test_figures_are_looked_up_in_turns(tmp_path: Path) -> None:
    benchmark = laid(tmp_path)
    made, chat = await play(
        benchmark,
        asking("grep", pattern="BETA", path="docs/a.txt"),
        asking("read", path="../secret"),
        "<answer>1,201</answer>",
    )
    assert made.score.hard == 1.0
    told = [m.content for m in chat.requests[-1].messages if m.role == "tool"]
    assert told[0] == "2: beta 1,201"
    assert told[1].startswith("There is no document")
    text = trajectory_text(benchmark, made, 1)
    assert 'grep: {"pattern": "BETA", "path": "docs/a.txt"}' in text
    assert str(tmp_path) not in text


async def test_a_reply_without_call_or_answer_ends_it_wrong(tmp_path: Path) -> None:
    made, _ = await play(laid(tmp_path), "I should look.")
    assert made.score.hard == 0.0
    assert made.score.feedback == 'expected "1,201", got "I should look."'


async def test_turns_that_run_out_are_told(tmp_path: Path) -> None:
    calls = [asking("glob", pattern="*")] * 2
    made, _ = await play(laid(tmp_path, max_tool_turns=2), *calls)
    assert made.score.hard == 0.0
    assert made.score.feedback == "it used up its 2 turns"


class Search:
    """Finds what it is told to, or fails."""

    identity = "stand-in"

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.asked = error, list[str]()

    async def search(self, query: str, limit: int) -> Sequence[Hit]:
        self.asked.append(query)
        if self.error is not None:
            raise self.error
        return [Hit("Found", "https://f.example", "the figure is 1,201")]


def searching(folder: Path, search: Search) -> OfficeQA:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skillopt_cli.benchmarks.officeqa.benchmark.open_service", lambda *_: search)
        return laid(folder, search_mode="custom_search")


async def test_any_provider_can_search(tmp_path: Path) -> None:
    search = Search()
    benchmark = searching(tmp_path, search)
    made, chat = await play(
        benchmark, asking("search", queries=["figure", "alpha"]), "<answer>1,201</answer>"
    )
    assert made.score.hard == 1.0
    assert search.asked == ["figure", "alpha"]
    assert "the figure is 1,201" in chat.requests[-1].messages[-1].content
    assert benchmark.version.endswith("-stand-in")


async def test_the_index_searches_the_tasks_documents(tmp_path: Path) -> None:
    benchmark = laid(tmp_path, search_mode="custom_search")
    _, chat = await play(benchmark, asking("search", queries=["beta"]), "<answer>1</answer>")
    told = chat.requests[-1].messages[-1].content
    assert told == "Results for: beta\n\n[1] docs/a.txt\nalpha\nbeta 1,201\n"


async def test_a_search_that_fails_breaks_the_attempt_and_a_refused_token_the_run(
    tmp_path: Path,
) -> None:
    call = asking("search", queries=["figure"])
    made, _ = await play(searching(tmp_path, Search(NetworkFailed("down"))), call)
    assert made.score is None
    assert "its surroundings failed" in made.attempt.error
    with pytest.raises(AuthFailed):
        await play(searching(tmp_path, Search(AuthFailed("no"))), call)


async def test_a_document_that_is_gone_is_no_fault_of_the_target(tmp_path: Path) -> None:
    benchmark = laid(tmp_path)
    (tmp_path / "docs" / "a.txt").unlink()
    made, _ = await play(benchmark, asking("read", path="docs/a.txt"))
    assert made.score is None


async def test_the_proof_reads_every_document(tmp_path: Path) -> None:
    benchmark = laid(tmp_path)
    executor = LocalExecutor(tmp_path)
    made = await benchmark.prove(first_task(benchmark), executor)
    assert (await benchmark.score(first_task(benchmark), made)).hard == 1.0
    (tmp_path / "docs" / "a.txt").unlink()
    with pytest.raises(DataError):
        await benchmark.prove(first_task(benchmark), executor)


async def test_giving_up_scores_nothing(tmp_path: Path) -> None:
    benchmark = laid(tmp_path)
    gave_up = Attempt("<answer>1,201</answer>", ending="gave_up", error="it stopped")
    assert (await benchmark.score(first_task(benchmark), gave_up)).feedback == "it stopped"
