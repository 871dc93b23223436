"""What is asked of the target, what came back, and what it cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Split = Literal["train", "selection", "test"]
SPLITS: tuple[Split, ...] = ("train", "selection", "test")

Ending = Literal["answered", "gave_up", "broken"]

CUT_SHORT = "the answer was cut at max_completion_tokens before any text"
"""`Attempt.error` where a model gave up because it had used up its tokens, as reasoning may."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a benchmark.

    Attributes:
        id: unique within the benchmark; may hold any character.
        kind: task type for per-type tables, such as "person" or "year".
        data: the benchmark's own record, reference included. Never sent to a target as it is.
    """

    id: str
    kind: str
    data: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Hex SHA-256 of kind and data: two tasks with one digest ask the same thing."""
        content = json.dumps([self.kind, dict(self.data)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a brief, such as "Context" or "Question"."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Brief:
    """All that a target may know of a task: no reference, no scorer.

    Attributes:
        role: one line on who the target is and what it does.
        sections: the task itself, in reading order.
        answer_format: how a chat target marks its final answer; completions use the cue.
        answer_cue: what stands before the answer in a completion, such as "Answer".
        draw: which sample of the target's behaviour is wanted (0 when measuring).
        stage: what the attempt is for, for the ledger; never sent.
    """

    task_id: str
    role: str
    sections: tuple[Section, ...]
    answer_format: str = ""
    answer_cue: str = "Answer"
    draw: int = 0
    stage: str = "rollout"

    @property
    def prompt(self) -> str:
        """The task as Markdown, for chat targets."""
        return "\n\n".join(f"## {s.title}\n{s.text}" for s in self.sections)

    def drawn(self, draw: int, stage: str) -> Brief:
        """The same brief for another draw and purpose."""
        return replace(self, draw=draw, stage=stage)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls cost. Token counts are None when the service did not report them."""

    calls: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.completion_tokens, other.completion_tokens),
        )


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a target did with a brief.

    Attributes:
        ending: `answered`; `gave_up` (the target stopped without an answer: scored, as wrong);
            `broken` (we could not make the attempt: never scored).
        error: why it is broken, or gave up where that is known; one line.
    """

    answer: str
    messages: tuple[Message, ...] = ()
    usage: Usage = field(default_factory=Usage)
    ending: Ending = "answered"
    error: str = ""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a chat model.

    Attributes:
        stage: what the call is for (rollout, reflect, ...); not part of its identity.
        schema: JSON schema of the wanted answer, None for free text.
        schema_name: short name of that schema.
        draw: sample index; equal requests with different draws are different calls.
        turn: position in an episode, from 0.
    """

    messages: tuple[Message, ...]
    stage: str
    schema: Mapping[str, Any] | None = None
    schema_name: str = ""
    draw: int = 0
    turn: int = 0

    @property
    def identity(self) -> str:
        """Hex SHA-256 over everything that can alter the reply."""
        content = json.dumps(
            [
                [(m.role, m.content) for m in self.messages],
                self.schema_name,
                dict(self.schema) if self.schema is not None else None,
                self.draw,
                self.turn,
            ],
            sort_keys=True,
            ensure_ascii=False,
        )
        return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A model's answer. `finish` is "length" when the answer was cut at the token limit."""

    text: str
    usage: Usage = field(default_factory=lambda: Usage(calls=1))
    finish: str = "stop"
