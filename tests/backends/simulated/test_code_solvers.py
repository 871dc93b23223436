"""The simulated target on workbooks and repositories: it sees the request and nothing else."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable

import pytest

from skillopt_cli.backends.simulated.solvers import solve
from skillopt_cli.backends.simulated.solvers.repositories import solve_repository
from skillopt_cli.backends.simulated.solvers.workbooks import solve_workbook
from skillopt_cli.backends.simulated.world import family_of, needed
from skillopt_cli.benchmarks.spreadsheetbench import SPEC as SHEETS
from skillopt_cli.benchmarks.swebench import SPEC as SWE
from skillopt_cli.core.task import SPLITS, Brief, ChatReply, ChatRequest, Message
from skillopt_cli.ports import BenchmarkRequest

ISSUE = "## Task\nIt is wrong.\n\nI think the line `a = 1` should be `a = 2`."


def request(brief: Brief, skill: str, *more: Message) -> ChatRequest:
    system = Message("system", f"{brief.role}\n{skill}\n{brief.answer_format}")
    said = (system, Message("user", brief.prompt), *more)
    return ChatRequest(said, stage="rollout", tools=brief.tools)


def taught(task: str) -> str:
    return "\n".join(needed(family_of(task)))


def asked(reply: ChatReply) -> tuple[str, dict[str, str]]:
    (call,) = reply.tool_calls
    return call.name, json.loads(call.arguments)


def solved(solver: Callable[[ChatRequest], ChatReply | None], request: ChatRequest) -> ChatReply:
    """The reply, which has to be that of this solver."""
    reply = solve(request)
    assert reply is not None
    assert reply == solver(request)
    return reply


@pytest.mark.parametrize("mode", ["multi", "react"])
def test_every_workbook_of_the_sample_gets_a_script(mode: str) -> None:
    pytest.importorskip("openpyxl")
    benchmark = SHEETS.open(BenchmarkRequest(options={"mode": mode}))
    plain = 0
    for split in SPLITS:
        for task in benchmark.tasks(split):
            brief = benchmark.brief(task)
            codes = []
            for skill in ("", taught(task.data["instruction"])):
                asking = request(brief, skill)
                if mode == "react":
                    looked = Message("tool", "['a']", call_id="1")
                    name, arguments = asked(solved(solve_workbook, request(brief, skill, looked)))
                    assert name == "write_file"
                    codes.append(arguments["content"])
                else:
                    codes.append(
                        solved(solve_workbook, asking).text.strip("`").removeprefix("python")
                    )
            for code in codes:
                ast.parse(code)
            assert "about" not in codes[1]
            plain += "about" in codes[0]
    assert 10 < plain < 32


def test_a_fault_is_looked_for_and_put_right() -> None:
    benchmark = SWE.open(BenchmarkRequest())
    tools = benchmark.brief(benchmark.tasks("train")[0]).tools

    def repaired(skill: str, *results: str) -> ChatReply:
        more = [Message("tool", text, call_id=str(n)) for n, text in enumerate(results)]
        said = (Message("system", skill), Message("user", ISSUE), *more)
        asking = ChatRequest(said, stage="rollout", tools=tools)
        return solved(solve_repository, asking)

    skill = taught(ISSUE.removeprefix("## Task\n"))
    name, arguments = asked(repaired(skill))
    assert (name, "'a = 1'" in arguments["command"]) == ("bash", True)
    found = "./x/y.py:3:    a = 1"
    assert asked(repaired(skill, found)) == (
        "edit_file",
        {"path": "x/y.py", "old": "    a = 1\n", "new": "    a = 2\n"},
    )
    assert not repaired(skill, found, "x/y.py is changed.").tool_calls
    assert not repaired(skill, "(no output)").tool_calls
    if skill:
        assert not repaired("", found).tool_calls
