"""What is asked of the target, what came back, and what it cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from skillopt_cli.core.episode import Episode, ToolCall

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
class Image:
    """A picture by reference: journals and prompts of the optimizer never hold its bytes.

    Attributes:
        path: where its bytes are read when it is sent.
        media_type: such as "image/png".
        digest: hex SHA-256 of the bytes, which is what identifies it.
        detail: how closely a service shall look, where it can be told.
    """

    path: str
    media_type: str
    digest: str
    detail: Literal["auto", "low", "high"] = "auto"


@dataclass(frozen=True, slots=True)
class Tool:
    """A function a model may ask for; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A file or folder that belongs to a task, copied to where an agent's program works.

    Attributes:
        path: where it is read.
        name: its place relative to the agent's working folder, such as "input.xlsx".
        digest: hex SHA-256 that identifies what it holds.
    """

    path: str
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Brief:
    """All that a target may know of a task: no reference, no scorer.

    Attributes:
        role: one line on who the target is and what it does.
        sections: the task itself, in reading order.
        answer_format: how a chat target marks its final answer; completions use the cue.
        answer_cue: what stands before the answer in a completion, such as "Answer".
        images: shown to targets that offer "images"; see `Message`.
        tools: functions a target that offers "tools" may call.
        max_turns: replies at most, from 1.
        files: for targets that offer "workspace": agents' programs.
        answer_file: the file there that holds the answer, where the reply itself does not.
        episode: what tools do and replies lead to; None where the first reply is the answer.
        draw: which sample of the target's behaviour is wanted (0 when measuring).
        stage: what the attempt is for, for the ledger; never sent.
    """

    task_id: str
    role: str
    sections: tuple[Section, ...]
    answer_format: str = ""
    answer_cue: str = "Answer"
    images: tuple[Image, ...] = ()
    tools: tuple[Tool, ...] = ()
    max_turns: int = 1
    files: tuple[TaskFile, ...] = ()
    answer_file: str = ""
    draw: int = 0
    stage: str = "rollout"
    episode: Episode | None = field(default=None, compare=False, repr=False)

    @property
    def prompt(self) -> str:
        """The task as Markdown, for chat targets."""
        return "\n\n".join(f"## {s.title}\n{s.text}" for s in self.sections)

    def drawn(self, draw: int, stage: str) -> Brief:
        """The same brief for another draw and purpose."""
        return replace(self, draw=draw, stage=stage)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        images: pictures of a user's turn. The n-th one follows the mark `[image n]` in the text,
            or the whole text where that has no such mark.
        tool_calls: what an assistant's turn asks for.
        call_id: which wish a turn of role "tool" answers.
        failed: whether such a turn tells of a failure; known of agents' programs only.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    images: tuple[Image, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls cost. Token counts are None when the service did not report them.

    Attributes:
        prompt_tokens: all tokens read, the cached ones included.
        completion_tokens: all tokens written, those of reasoning included.
        cached_tokens: the part of `prompt_tokens` that came from the service's cache.
        reasoning_tokens: the part of `completion_tokens` that is not part of the answer.
        stored_tokens: the part of `prompt_tokens` that was written into that cache, for which some
            services charge more.
    """

    calls: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    stored_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.completion_tokens, other.completion_tokens),
            _sum(self.cached_tokens, other.cached_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
            _sum(self.stored_tokens, other.stored_tokens),
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
        skill_loaded: whether an agent's program brought the skill before its model; None where that
            cannot be known, or there was no skill.
        outcome: what it left behind beside its answer, for the scorer; JSON values.
        trace: what an agent's program told of its work, as it told it; kept beside the attempt for
            people, never journaled.
    """

    answer: str
    messages: tuple[Message, ...] = ()
    usage: Usage = field(default_factory=Usage)
    ending: Ending = "answered"
    error: str = ""
    skill_loaded: bool | None = None
    outcome: Mapping[str, Any] = field(default_factory=dict)
    trace: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a chat model.

    Attributes:
        stage: what the call is for (rollout, reflect, ...); not part of its identity.
        schema: JSON schema of the wanted answer, None for free text.
        schema_name: short name of that schema.
        draw: sample index; equal requests with different draws are different calls.
        turn: position in an episode, from 0.
        tools: functions the model may ask for.
        tool_choice: "auto", "required", "none", or the name of the one tool to use.
        wire: a request that another program wrote, to be passed on as it is: lines of headers, an
            empty line, the body. Then `messages` only say which request it is, so that it finds its
            answer again though the program writes other paths and times each time; no part of the
            request's identity.
    """

    messages: tuple[Message, ...]
    stage: str
    schema: Mapping[str, Any] | None = None
    schema_name: str = ""
    draw: int = 0
    turn: int = 0
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    wire: str = field(default="", compare=False)

    @property
    def identity(self) -> str:
        """Hex SHA-256 over everything that can alter the reply."""
        content = json.dumps(
            [
                [_identity(message) for message in self.messages],
                self.schema_name,
                dict(self.schema) if self.schema is not None else None,
                self.draw,
                self.turn,
                *([[asdict(tool) for tool in self.tools], self.tool_choice] if self.tools else ()),
            ],
            sort_keys=True,
            ensure_ascii=False,
        )
        return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()

    def key(self, fingerprint: str) -> str:
        """Hex SHA-256 of who is asked and what: the call's name in a journal."""
        return hashlib.sha256(f"{fingerprint}\n{self.identity}".encode()).hexdigest()


def _identity(message: Message) -> tuple[object, ...]:
    """What of a message can alter the reply; a picture counts by its bytes, not by its place."""
    more = (
        [(image.digest, image.detail) for image in message.images],
        [(call.id, call.name, call.arguments) for call in message.tool_calls],
        message.call_id,
    )
    return (message.role, message.content, *(more if any(more) else ()))


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What a service says with an answer about its own limits; None for what it does not say.

    Attributes:
        requests, tokens: how many are allowed per window of the service's choice.
        requests_left, tokens_left: how many are left of the present window.
        requests_reset, tokens_reset: seconds until the window is full again.
    """

    requests: float | None = None
    requests_left: float | None = None
    requests_reset: float | None = None
    tokens: float | None = None
    tokens_left: float | None = None
    tokens_reset: float | None = None


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A model's answer.

    Attributes:
        finish: "length" when the answer was cut at the token limit, "tool_calls" when the model
            waits for tools, else "stop" or what the service calls it.
        wire: the whole body, JSON or server-sent events, of the answer to a request that had one.
        limits: news for whoever paces the calls; no part of the answer, never journaled.
    """

    text: str
    usage: Usage = field(default_factory=lambda: Usage(calls=1))
    finish: str = "stop"
    tool_calls: tuple[ToolCall, ...] = ()
    wire: str = ""
    limits: RateLimits | None = field(default=None, compare=False)
