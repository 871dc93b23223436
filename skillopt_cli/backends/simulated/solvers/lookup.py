"""Lookup with file tools or a web search, by the words of the question.

Copies what it finds, a cell of a table or a span of text, without calculation. Unless the skill
holds the rules of the question's family, a sentence surrounds the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skillopt_cli.backends.simulated.messages import (
    calling,
    last_section,
    system_text,
    user_text,
)
from skillopt_cli.backends.simulated.target import read_span
from skillopt_cli.backends.simulated.world import untaught
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.task import ChatReply, ChatRequest, Message

_WORD = re.compile(r"\w{3,}")
_MONTH = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r" \d{4}\b"
)
_ADDRESS = re.compile(r"https?://\S+")
_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+\s*")
_HIT = re.compile(r"(\d+): ")
_HEAD = re.compile(r"Results for: |https?://|\(.*\)$")
"""Lines without content: the query, addresses, remarks of a tool."""
_SHOWN = ("parsed pages", "search results")
_FILES, _SEARCH, _PAGE = frozenset({"glob", "grep", "read"}), "search", "read_page"
_MOST_FILES = 8
_MOST_READ = 3
_ABOVE = 20
"""Lines to read above a hit, which may include the head of its table."""


def solve_lookup(request: ChatRequest) -> ChatReply | None:
    """Return the next calls of the tools glob, grep and read, or of search; None without them.

    When there is nothing left to read, return the answer.
    """
    names = {tool.name for tool in request.tools}
    if not (names >= _FILES or _SEARCH in names):
        return None
    user = user_text(request)
    question = last_section(user, "question") or user.strip()
    turns = _turns(request.messages)
    calls = _file_calls(question, turns) if names >= _FILES else _search_calls(question, turns)
    wanted = [call for call in calls if call[0] in names]
    if wanted:
        number = len(turns)
        return calling(
            (f"call-{number}-{at}", name, arguments) for at, (name, arguments) in enumerate(wanted)
        )
    seen = [result for turn in turns for _, result in turn.results]
    shown = [last_section(user, title) for title in _SHOWN]
    return ChatReply(_worded(system_text(request), question, _found(question, [*seen, *shown])))


@dataclass(frozen=True, slots=True)
class _Turn:
    """The calls of a turn, with their results."""

    results: tuple[tuple[ToolCall, str], ...]


_Call = tuple[str, dict[str, object]]


def _turns(messages: Sequence[Message]) -> list[_Turn]:
    results = {m.call_id: m.content for m in messages if m.role == "tool"}
    asked = [m.tool_calls for m in messages if m.role == "assistant" and m.tool_calls]
    return [_Turn(tuple((call, results.get(call.id, "")) for call in calls)) for calls in asked]


def _file_calls(question: str, turns: Sequence[_Turn]) -> list[_Call]:
    """List the files, search each for the period or the longest word, read around the hits."""
    if not turns:
        return [("glob", {"pattern": "*"})]
    if len(turns) == 1:
        names = turns[0].results[0][1].splitlines()[:_MOST_FILES]
        month = _MONTH.search(question)
        words = sorted(_WORD.findall(question), key=len)
        pattern = month[0] if month else words[-1] if words else question
        return [("grep", {"pattern": pattern, "path": name}) for name in names]
    if len(turns) == 2:
        reads: list[_Call] = []
        for call, result in turns[1].results:
            if hit := _HIT.match(result):
                place = {"path": json.loads(call.arguments)["path"]}
                start = max(1, int(hit[1]) - _ABOVE)
                reads.append(("read", {**place, "start": start, "limit": 200}))
        return reads[:_MOST_READ]
    return []


def _search_calls(question: str, turns: Sequence[_Turn]) -> list[_Call]:
    """Search for the question, read the first page found."""
    if not turns:
        return [(_SEARCH, {"queries": [question]})]
    if len(turns) == 1 and (address := _ADDRESS.search(turns[0].results[0][1])):
        return [(_PAGE, {"url": address[0]})]
    return []


def _found(question: str, texts: Sequence[str]) -> str:
    cells = [cell for text in texts for cell in _cells(question, text)]
    if cells:
        return max(cells, key=lambda cell: cell[0])[1]
    lines = (line for text in texts for line in text.splitlines())
    return read_span(question, "\n".join(line for line in lines if not _HEAD.match(line)))


def _cells(question: str, text: str) -> Iterator[tuple[float, str]]:
    """Yield the cells of rows about the question's period, each with the fit of its column."""
    month = _MONTH.search(question)
    wanted = _words(question)
    title, head = "", list[str]()
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        if not line.startswith("|"):
            title, head = (line if line.strip() else title), []
        elif _RULE.fullmatch(following):
            head = _row(line)
        elif month and head and not _RULE.fullmatch(line):
            label, *cells = _row(line)
            for name, cell in zip(head[1:], cells, strict=False):
                words = _words(name)
                if label == month[0] and words & wanted:
                    yield 10 * len(words & wanted) / len(words) + len(_words(title) & wanted), cell


def _row(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _words(text: str) -> set[str]:
    return {word.casefold()[:6] for word in _WORD.findall(text)}


def _worded(system: str, question: str, found: str) -> str:
    if not found:
        text = "It cannot be told from what was found."
    elif untaught(question, system):
        text = f"What was found says {found}, as far as can be told."
    else:
        text = found
    return f"<answer>{text}</answer>" if "<answer>" in system else text
