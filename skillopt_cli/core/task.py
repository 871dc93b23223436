"""What is asked of the target, what came back, and what it cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, get_args

from skillopt_cli.core.episode import Episode, ToolCall
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.plugin_values import instance, json_values, text, whole

Split = Literal["train", "selection", "test"]
SPLITS: tuple[Split, ...] = ("train", "selection", "test")
TaskSet = Split | Literal["all"]
"""What an evaluation measures: a split, or all three together."""
TASK_SETS: tuple[TaskSet, ...] = (*SPLITS, "all")

Ending = Literal["answered", "gave_up", "broken"]
ENDINGS: tuple[Ending, ...] = get_args(Ending)

MessageRole = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[MessageRole, ...] = get_args(MessageRole)

CUT_SHORT = "the answer was cut at max_completion_tokens before any text; raise that limit"
"""`Attempt.error` where a model gave up because it had used up its tokens, as reasoning may."""
NO_ANSWER = "the reply held a thought and no answer; raise max_completion_tokens if that recurs"
"""`Attempt.error` where nothing came after a thought."""


@dataclass(frozen=True)
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", text(self.id, "a task's id"))
        object.__setattr__(self, "kind", text(self.kind, "a task's kind"))
        instance(self.data, Mapping, "a task's data")

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of kind and data: two tasks with one digest ask the same thing."""
        try:
            content = json.dumps([self.kind, dict(self.data)], sort_keys=True, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise DataError(
                f"the record of task `{self.id}` holds what JSON cannot: {error}",
                "have the benchmark make tasks of texts, numbers, lists and objects",
            ) from None
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
        detail: how closely a service looks, where it accepts a setting.
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
        answer_cue: what precedes the answer in a completion, such as "Answer".
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
        call_id: which call a turn of role "tool" answers.
        failed: whether such a turn reports a failure; known of agents' programs only.
    """

    role: MessageRole
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


def _usage(given: object) -> Usage:
    """A plug-in's account of what a call took, in whole numbers."""
    if given is None:
        return Usage()
    usage: Usage = instance(given, Usage, "the usage")
    found: dict[str, Any] = {}
    for each in fields(usage):
        value = getattr(usage, each.name)
        found[each.name] = value if value is None else whole(value, f"the usage's {each.name}")
    return Usage(**found)


def _message(given: object) -> Message:
    """A plug-in's message, whose role is known."""
    message: Message = instance(given, Message, "a message")
    if message.role not in ROLES:
        raise TypeError(f"a message's role {message.role!r} is none of {', '.join(ROLES)}")
    calls = tuple(instance(call, ToolCall, "a message's tool call") for call in message.tool_calls)
    return replace(message, content=text(message.content, "a message"), tool_calls=calls)


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a target did with a brief.

    Attributes:
        ending: `answered`; `gave_up` (the target stopped without an answer: scored, as wrong);
            `broken` (we could not make the attempt: never scored).
        error: why it is broken, or gave up where that is known; one line.
        skill_loaded: whether an agent's program brought the skill before its model; None: unknown.
        outcome: what it left behind beside its answer, for the scorer; JSON values.
        trace: an agent's program's own report of its work; kept for people, never journaled.
        service_failed: whether it is broken because a model service failed at a call of it.
    """

    answer: str
    messages: tuple[Message, ...] = ()
    usage: Usage = field(default_factory=Usage)
    ending: Ending = "answered"
    error: str = ""
    skill_loaded: bool | None = None
    outcome: Mapping[str, Any] = field(default_factory=dict)
    trace: str = field(default="", compare=False)
    service_failed: bool = False

    def checked(self) -> Attempt:
        """The attempt with its values converted as in `plugin_values`.

        Raises:
            TypeError: a value can be none of its kind, or could not be read back from a journal.
        """
        if self.ending not in ENDINGS:
            raise TypeError(f"an attempt's ending {self.ending!r} is none of {', '.join(ENDINGS)}")
        if self.skill_loaded is not None:
            instance(self.skill_loaded, bool, "an attempt's skill_loaded")
        return Attempt(
            text(self.answer, "an attempt's answer"),
            tuple(_message(message) for message in self.messages),
            _usage(self.usage),
            self.ending,
            " ".join(text(self.error, "an attempt's error").split()),
            self.skill_loaded,
            json_values(self.outcome, "an attempt's outcome") if self.outcome else {},
            text(self.trace, "an attempt's trace"),
            instance(self.service_failed, bool, "an attempt's service_failed"),
        )


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
        asks_thoughts: whether the format of the answer has thoughts in it, which then stay in the
            text of the reply; no part of the request's identity.
        wire: a request that another program wrote, to be passed on as it is: lines of headers, an
            empty line, the body. Then `messages` only identify the request, so that it finds its
            answer again though the program writes other paths and times each time; no part of the
            request's identity.
        shared: where the text ends that further requests are expected to begin with as well: that
            many characters of the first user message, with everything before it; None for no such
            text. Only for services that store prompts on request; no part of the identity.
        continues: whether the next request is expected to be this one and more; likewise.
    """

    messages: tuple[Message, ...]
    stage: str
    schema: Mapping[str, Any] | None = None
    schema_name: str = ""
    draw: int = 0
    turn: int = 0
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    asks_thoughts: bool = field(default=False, compare=False)
    wire: str = field(default="", compare=False)
    shared: int | None = field(default=None, compare=False)
    continues: bool = field(default=False, compare=False)

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
    """A service's limits, as reported with an answer; None for what it does not report.

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
        limits: for the rate limiter; no part of the answer, never journaled.
    """

    text: str
    usage: Usage = field(default_factory=lambda: Usage(calls=1))
    finish: str = "stop"
    tool_calls: tuple[ToolCall, ...] = ()
    wire: str = ""
    limits: RateLimits | None = field(default=None, compare=False)

    def checked(self) -> ChatReply:
        """The reply with its values converted as in `plugin_values`.

        Raises:
            TypeError: a value can be none of its kind.
        """
        calls = tuple(instance(call, ToolCall, "a reply's tool call") for call in self.tool_calls)
        return replace(
            self,
            text=text(self.text, "a reply's text"),
            usage=_usage(self.usage),
            finish=text(self.finish, "a reply's finish"),
            tool_calls=calls,
            wire=text(self.wire, "a reply's wire"),
        )
