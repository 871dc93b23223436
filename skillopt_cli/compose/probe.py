"""One tiny call per role of a configuration, read by the code that reads a run's answers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from string import Template
from typing import get_args
from urllib.parse import urlsplit

from skillopt_cli.backends.budget import Budget, Past
from skillopt_cli.backends.doors import Doors
from skillopt_cli.backends.wrapper import Wrapper
from skillopt_cli.benchmarks.answers import extract_answer, tagged_or_all
from skillopt_cli.benchmarks.judging import Judgement, Verdict, ask, read_verdict
from skillopt_cli.benchmarks.searchqa.benchmark import ANSWER_FORMAT, ROLE
from skillopt_cli.compose.endpoints import backend_name, effective, own_settings, roles_of
from skillopt_cli.compose.housing import passing_executor
from skillopt_cli.compose.lanes import Lanes
from skillopt_cli.compose.prompts import shipped_prompts
from skillopt_cli.compose.roles import Wiring, agent_of, open_models, role_settings, role_spec
from skillopt_cli.compose.settings import Wishes, settle
from skillopt_cli.config import RunConfig
from skillopt_cli.config.model_section import RoleConfig
from skillopt_cli.core.errors import (
    BackendError,
    RequestRefused,
    SkillOptError,
    TransientError,
)
from skillopt_cli.core.events import Role
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Brief, ChatReply, ChatRequest, Message, Section, Usage
from skillopt_cli.core.words import count
from skillopt_cli.ports import AgentBackend, BackendSpec, ChatBackend, Executor
from skillopt_cli.stages.answers import UnusableAnswer, read_answer
from skillopt_cli.stages.contracts import FailureAnalysis
from skillopt_cli.store.memory import MemoryStore

BENCHMARK = "searchqa"
"""Whose form of answer the target is asked for, and what is taken where none is named."""
STAND_IN = "simulated"
"""Plays the role that is not asked, so that its own trouble stays its own."""

BRIEF = Brief(
    "probe",
    ROLE,
    (
        Section("Context", "The capital of France is the city of Paris."),
        Section("Question", "Which city is the capital of France?"),
    ),
    ANSWER_FORMAT,
    stage="probe",
)
MATERIAL = """## Current skill
# Question answering

Answer the question using the context.

## Trajectory 1: task `probe` (qa)
### Context
The capital of France is the city of Paris.
### Question
Which city is the capital of France?
### Answer
The text says that it is Paris, which lies on the Seine.
### Score
hard 0, soft 0.182
### Expected
Paris"""
_LATER = "ask again in a while; if it lasts, look at the service's own log or status"
_TAGS_MISSING = "it came without <answer> tags, so its last line counts"


@dataclass(frozen=True, slots=True)
class Probed:
    """What asking a role came to.

    Attributes:
        backend, model, address: who was asked; the address holds no credentials, "" where the
            backend has one of its own.
        seconds: from the request to the reply, None without one.
        read: what the program's parsers made of the answer; "" when they could not read it.
        note: what is odd about an answer that could be read.
        error, kind, hint: what is wrong; empty when nothing is.
        code: the exit code of a run that this would end; 0 when nothing is wrong.
    """

    role: Role
    backend: str
    model: str = ""
    address: str = ""
    seconds: float | None = None
    answer: str = ""
    finish: str = ""
    usage: Usage | None = None
    read: str = ""
    note: str = ""
    error: str = ""
    kind: str = ""
    hint: str = ""
    code: int = 0

    @property
    def failed(self) -> bool:
        """Whether a run could not use this role."""
        return bool(self.code)


async def probe(wishes: Wishes, environment: Mapping[str, str]) -> list[Probed]:
    """Ask each role; one that cannot be asked does not keep the other from being asked.

    Raises:
        ConfigError: the configuration holds for no role.
    """
    config = settle(replace(wishes, roles=()), environment).config
    named = wishes if config.env.name else replace(wishes, benchmark=BENCHMARK)
    roles = roles_of(config)
    return [await _probe_role(named, environment, config, role) for role in roles]


class _Listening(Wrapper):
    """Keeps what came of the last call."""

    def __init__(self, inner: ChatBackend) -> None:
        super().__init__(inner)
        self.reply: ChatReply | None = None
        self.error: SkillOptError | None = None
        self.seconds: float | None = None

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The inner reply, kept."""
        begun = time.monotonic()
        try:
            self.reply = await self._inner.chat(request)
        except (TransientError, RequestRefused) as error:
            self.error = error
            raise
        self.seconds = time.monotonic() - begun
        return self.reply


async def _probe_role(
    wishes: Wishes, environment: Mapping[str, str], draft: RunConfig, role: Role
) -> Probed:
    backend = backend_name(draft, role)
    known = Probed(role, backend)
    try:
        config = settle(replace(wishes, roles=(role,)), environment).config
        spec = role_spec(config, role)
        address = "" if spec.free else public_address(address_of(config, role))
        known = replace(known, address=address, model=own_settings(config, role).name or "")
        if spec.open is None:
            return replace(known, note="it needs no model")
        return await _ask(known, spec, config, environment)
    except SkillOptError as error:
        return _failed(known, error)


async def _ask(
    known: Probed, spec: BackendSpec, config: RunConfig, environment: Mapping[str, str]
) -> Probed:
    role = known.role
    budget = Budget((), Past(), lambda event: None)
    lanes = Lanes(config.run.max_concurrency, budget, Doors())
    async with AsyncExitStack() as stack:
        executor = stack.enter_context(passing_executor(config, environment, spec, role))
        wiring = Wiring(environment, lanes, MemoryStore(), budget, {role: executor})
        models = open_models(_alone(config, role), wiring, dict.fromkeys(("target", role)))
        chat = models.live[role]
        known = replace(known, model=chat.name)
        if isinstance(chat, AbstractAsyncContextManager):
            await stack.enter_async_context(chat)
        heard = _Listening(models.checks[role])
        if role == "optimizer":
            return await _ask_optimizer(known, heard)
        if role == "judge":
            return await _ask_judge(known, heard)
        settings = role_settings(config, role, environment)
        return await _ask_target(known, heard, agent_of(spec, heard, settings), executor)


def _alone(config: RunConfig, role: Role) -> RunConfig:
    """The configuration with the simulated model in the other roles."""
    own = own_settings(config, role)
    # With this role's key, since the shared one may be missing.
    stand_in = RoleConfig(backend=STAND_IN, api_key_env=own.api_key_env)
    others = {other: stand_in for other in get_args(Role) if other != role}
    model = config.model.model_copy(update={**others, role: own})
    return config.model_copy(update={"model": model})


async def _ask_optimizer(known: Probed, chat: _Listening) -> Probed:
    """Ask for an edit, in the words and by the contract of a run's analyst of failures."""
    system = Template(shipped_prompts()["analyst_error"]).substitute(budget="at most 1")
    request = ChatRequest(
        (Message("system", system), Message("user", MATERIAL)),
        stage="probe",
        schema=FailureAnalysis.model_json_schema(),
        schema_name="analyst_error",
    )
    reply = await chat.chat(request)
    heard = _heard(known, chat, reply)
    try:
        edits = read_answer(reply.text, FailureAnalysis).edits
    except UnusableAnswer as error:
        cut = "it was cut at max_completion_tokens" if reply.finish == "length" else str(error)
        return _useless(
            heard,
            "UnusableAnswer",
            f"the optimizer's answer cannot be used: {cut}",
            "raise model.optimizer.max_completion_tokens"
            if reply.finish == "length"
            else "add `model.optimizer.name=NAME` of one that can answer in JSON",
        )
    ops = ", ".join(edit.op for edit in edits)
    return replace(heard, read=f"{count(len(edits), 'edit')}: {ops}" if edits else "no edit")


async def _ask_judge(known: Probed, chat: _Listening) -> Probed:
    """Have a right answer judged, and read the verdict as a benchmark does."""
    verdicts: tuple[Verdict, ...] = ("correct", "incorrect")
    case = Judgement("Which city is the capital of France?", "Paris", "It is Paris.")
    asked = ask("You say whether an answer means the same as a reference.", case, verdicts)
    reply = await chat.chat(ChatRequest(asked, stage="probe"))
    heard = _heard(known, chat, reply)
    verdict = read_verdict(reply.text, verdicts)
    if verdict is None:
        return _useless(
            heard,
            "UnusableAnswer",
            "the judge's verdict cannot be read",
            "choose another model with `model.judge.name=NAME`",
        )
    note = "" if verdict == "correct" else "a right answer was judged to be wrong"
    return replace(heard, read=verdict, note=note)


async def _ask_target(
    known: Probed, chat: _Listening, agent: AgentBackend, executor: Executor
) -> Probed:
    """Ask a question as a benchmark does, and take the answer out as its scorer does."""
    attempt = await agent.attempt(BRIEF, SkillDocument(""), executor)
    if chat.error is not None:
        return _failed(known, chat.error)
    if chat.reply is None:
        return _useless(known, "Unanswered", "no answer came", attempt.error or _LATER)
    heard = _heard(known, chat, chat.reply)
    read = extract_answer(attempt.answer)
    if not read:
        return _useless(
            heard,
            "Unanswered",
            f"the target gave no answer: {attempt.error or 'its text is empty'}",
            "raise model.target.max_completion_tokens, or add `model.target.name=NAME`",
        )
    bare = tagged_or_all(attempt.answer) == attempt.answer.strip()
    asked_for_tags = any(ANSWER_FORMAT in message.content for message in attempt.messages)
    return replace(heard, read=read, note=_TAGS_MISSING if bare and asked_for_tags else "")


def _heard(known: Probed, chat: _Listening, reply: ChatReply) -> Probed:
    return replace(
        known, seconds=chat.seconds, answer=reply.text, finish=reply.finish, usage=reply.usage
    )


def _failed(known: Probed, error: SkillOptError) -> Probed:
    return replace(
        known,
        error=error.message,
        kind=type(error).__name__,
        hint=error.hint or _LATER,
        code=error.exit_code,
    )


def _useless(heard: Probed, kind: str, error: str, hint: str) -> Probed:
    """A role that was asked, and whose answer cannot be used."""
    return replace(heard, error=error, kind=kind, hint=hint, code=BackendError.exit_code)


def address_of(config: RunConfig, role: Role) -> str:
    """The configured base URL of a role; "" where its backend knows its own."""
    return str(effective(config, role, "base_url") or "")


def public_address(url: str) -> str:
    """An address without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    if not parts.hostname:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}{parts.path}"
