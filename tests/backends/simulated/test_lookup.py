"""The simulated target with file tools and a search: it finds, copies, and never calculates."""

from __future__ import annotations

import json

import pytest

from skillopt_cli.backends.simulated.solvers import solve as solved
from skillopt_cli.backends.simulated.world import FAMILIES, family_of, harm, needed
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, Tool

QUESTION = "What were the receipts from customs duties in March 1961?"
FILES = ("glob", "read", "grep")
TAGS = "End with <answer>...</answer>"
TABLE = """\
Table 1. Receipts by source

| Month | Income taxes | Customs duties |
|---|---|---|
| February 1961 | 1 | 2 |
| March 1961 | 3 | 4 |

Table 2. Expenditures

| Month | Works | Customs offices |
| --- | --- | --- |
| March 1961 | 5 | 6 |
"""


def taught(question: str) -> str:
    return "\n".join((*needed(family_of(question)), TAGS))


def solve(
    tools: tuple[str, ...], results: list[list[str]], told: str = "", question: str = QUESTION
) -> ChatReply:
    """The reply after turns whose calls came to these results."""
    messages = [
        Message("system", told or taught(question)),
        Message("user", f"## Question\n{question}"),
    ]
    offered = tuple(Tool(name, "", {}) for name in tools)
    for came in [*results, []]:
        request = ChatRequest(tuple(messages), "rollout", tools=offered)
        reply = solved(request)
        assert reply is not None
        if not came:
            return reply
        messages.append(Message("assistant", "", tool_calls=reply.tool_calls))
        for call, text in zip(reply.tool_calls, came, strict=True):
            messages.append(Message("tool", text, call_id=call.id))
    raise AssertionError


def calls(reply: ChatReply) -> list[tuple[str, dict[str, object]]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.tool_calls]


def test_it_lists_greps_reads_and_copies_the_cell() -> None:
    assert calls(solve(FILES, [])) == [("glob", {"pattern": "*"})]
    listed = ["docs/a.txt\ndocs/b.txt"]
    assert calls(solve(FILES, [listed])) == [
        ("grep", {"pattern": "March 1961", "path": "docs/a.txt"}),
        ("grep", {"pattern": "March 1961", "path": "docs/b.txt"}),
    ]
    grepped = ["(no line holds this text)", "26: | March 1961 | 3 | 4 |"]
    assert calls(solve(FILES, [listed, grepped])) == [
        ("read", {"path": "docs/b.txt", "start": 6, "limit": 200})
    ]
    reply = solve(FILES, [listed, grepped, [TABLE]])
    assert (reply.text, reply.tool_calls) == ("<answer>4</answer>", ())


def test_without_a_period_it_looks_for_the_longest_word() -> None:
    reply = solve(FILES, [["docs/a.txt"]], question="Who administered the harbour?")
    assert calls(reply) == [("grep", {"pattern": "administered", "path": "docs/a.txt"})]


def test_where_nothing_is_found_it_says_so() -> None:
    reply = solve(FILES, [["docs/a.txt"], ["(no line holds this text)"]], question="Who, zzz?")
    assert "cannot be told" in reply.text


def test_it_searches_reads_the_first_page_and_takes_a_span() -> None:
    question = "Who is the mayor of the town of Hovdal?"
    tools = ("search", "read_page")
    assert calls(solve(tools, [], question=question)) == [("search", {"queries": [question]})]
    hits = ["[1] Minutes\nhttps://m.example/1\nGreta Varga was sworn in as mayor of Hovdal."]
    assert calls(solve(tools, [hits], question=question)) == [
        ("read_page", {"url": "https://m.example/1"})
    ]
    page = ["Greta Varga was sworn in as mayor of Hovdal."]
    assert solve(tools, [hits, page], question=question).text == "<answer>Greta Varga</answer>"
    assert solve(("search",), [hits], question=question).tool_calls == ()


@pytest.mark.parametrize("number", range(FAMILIES))
def test_what_it_was_taught_decides_the_form(number: int) -> None:
    question = f"{QUESTION} ({number})"
    turns = [["docs/a.txt"], ["1: x"], [TABLE]]
    bare = "<answer>4</answer>"
    assert solve(FILES, turns, question=question).text == bare
    untaught = solve(FILES, turns, TAGS, question).text
    assert (untaught == bare) == (not needed(family_of(question)))
    harmed = harm(family_of(question)) + taught(question)
    assert solve(FILES, turns, harmed, question).text != bare


def test_other_tools_are_not_its_own() -> None:
    messages = (Message("system", TAGS), Message("user", f"## Question\n{QUESTION}"))
    tools = tuple(Tool(name, "", {}) for name in ("read", "write"))
    assert solved(ChatRequest(messages, "rollout", tools=tools)) is None
    assert solved(ChatRequest(messages, "rollout")) is None
