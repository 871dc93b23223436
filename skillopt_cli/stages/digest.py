"""What an agent did, step by step, short enough to be read by an optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from skillopt_cli.core.task import Message

BUDGET = 8_000
"""Characters of a digest."""
_STEP = 700
_FAILING = 2_000
_SEVERAL = 2
"""Characters of a step, and of the one that matters most."""


@dataclass(frozen=True, slots=True)
class Step:
    """A message or an action of the agent, with its result."""

    said: str
    result: str = ""
    failed: bool = False

    def shown(self, number: int, length: int) -> str:
        """The step in at most about `length` characters."""
        head = f"{number}. {clipped(self.said, length // 2)}"
        if not self.result.strip():
            return head
        mark = "failed" if self.failed else "gave"
        return f"{head}\n   {mark}: {clipped(self.result.strip(), length // 2)}"


def digest(messages: Sequence[Message], budget: int = BUDGET) -> str:
    """The steps of an attempt; empty for one with a single reply and no tool.

    The step that failed last is always there, else the last step; then the first and the last, then
    the others from the end on, as long as there is room. What is left out is marked.
    """
    steps = list(_steps(messages))
    replies = [message for message in messages if message.role == "assistant"]
    if len(replies) < _SEVERAL and not any(message.tool_calls for message in replies):
        return ""
    failing = next((i for i in reversed(range(len(steps))) if steps[i].failed), len(steps) - 1)
    chosen: dict[int, str] = {}
    room = budget
    for index in _by_weight(len(steps), failing):
        text = steps[index].shown(index + 1, _FAILING if index == failing else _STEP)
        if len(text) > room and chosen:
            break
        chosen[index] = text
        room -= len(text)
    return "\n".join(_with_gaps(chosen, len(steps)))


def clipped(text: str, length: int) -> str:
    """Beginning and end of a text that is longer than `length`; the end is the longer part."""
    if len(text) <= length:
        return text
    head, tail = length // 3, length - length // 3
    return f"{text[:head]} [{len(text) - length} characters left out] {text[-tail:]}"


def _by_weight(count: int, failing: int) -> Iterable[int]:
    # As keys, so that none comes twice.
    return dict.fromkeys((failing, count - 1, 0, *reversed(range(count))))


def _with_gaps(chosen: dict[int, str], count: int) -> Iterator[str]:
    following = 0
    for index in (*sorted(chosen), count):
        if missing := index - following:
            yield f"({missing} {'step' if missing == 1 else 'steps'} left out)"
        if index < count:
            yield chosen[index]
        following = index + 1


def _steps(messages: Sequence[Message]) -> Iterator[Step]:
    results = {message.call_id: message for message in messages if message.role == "tool"}
    for message, following in zip_longest(messages, messages[1:]):
        if message.role != "assistant":
            continue
        if message.content.strip():
            told = following.content if following and following.role == "user" else ""
            yield Step(f"said: {message.content.strip()}", told)
        for call in message.tool_calls:
            result = results.get(call.id)
            text, failed = (result.content, result.failed) if result else ("(nothing)", True)
            yield Step(f"{call.name}: {call.arguments}", text, failed)
