"""One tiny call per role of a configuration, parsed by the code that parses a run's answers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from string import Template
from typing import get_args
from urllib.parse import urlsplit

from skillopt_cli.backends.middleware.budget import Budget, PastUse
from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.backends.rate_limiter.provider_limits import ProviderLimits
from skillopt_cli.backends.rate_limiter.stop_gate import StopGate
from skillopt_cli.benchmarks.kit.answers import extract_answer, tagged_or_all
from skillopt_cli.benchmarks.kit.judges import Verdict, ask, read_verdict
from skillopt_cli.benchmarks.searchqa.prompts import PROMPTS
from skillopt_cli.compose.benchmark import open_benchmark, splits_in_use
from skillopt_cli.compose.endpoints import backend_name, effective, own_settings, roles_of
from skillopt_cli.compose.executors import passing_executor
from skillopt_cli.compose.prompts import shipped_prompts
from skillopt_cli.compose.roles import ModelContext, agent_of, open_models, role_settings, role_spec
from skillopt_cli.compose.secrets import known_secrets
from skillopt_cli.compose.seed_skill import seed_skill
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.compose.trust import require_consent
from skillopt_cli.config import RunConfig
from skillopt_cli.config.model_section import RoleConfig
from skillopt_cli.core.errors import (
    BackendError,
    RequestRefused,
    SkillOptError,
    TransientError,
)
from skillopt_cli.core.events import Role
from skillopt_cli.core.formatting import count
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Brief, ChatReply, ChatRequest, Message, Section, Usage
from skillopt_cli.engine.preflight import check_attempts, expects_files
from skillopt_cli.plugins import SIMULATED
from skillopt_cli.ports import AgentBackend, BackendSpec, ChatBackend, Executor, lifetime
from skillopt_cli.stages.answer_parsing import UnusableAnswer, read_answer
from skillopt_cli.stages.answer_schemas import FailureAnalysis
from skillopt_cli.store.memory import MemoryStore

BENCHMARK = "searchqa"
"""Whose form of answer the target is asked for, and what is taken where none is named."""

BRIEF = Brief(
    "probe",
    PROMPTS.role,
    (
        Section("Context", "The capital of France is the city of Paris."),
        Section("Question", "Which city is the capital of France?"),
    ),
    PROMPTS.answer_format,
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
class ProbeResult:
    """The result of one call to a role.

    Attributes:
        backend, model, address: what was called; the address holds no credentials, "" where the
            backend has one of its own.
        seconds: from the request to the reply, None without one.
        finish: why the reply ends there; of a program, how its attempt ended.
        read: the answer as parsed; "" when it cannot be parsed.
        note: what is unusual about a parsed answer.
        error, kind, hint: the fault; empty when there is none.
        code: the exit code of a run that this would end; 0 for none.
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


async def probe(overrides: Overrides, environment: Mapping[str, str]) -> list[ProbeResult]:
    """Ask each role; one that cannot be asked does not keep the other from being asked.

    Raises:
        ConfigError: the configuration holds for no role.
        NotTrusted: a file asks for something to which the user does not agree.
    """
    resolved = settle(replace(overrides, roles=()), environment)
    config = resolved.config
    named = overrides if config.env.name else replace(overrides, benchmark=BENCHMARK)
    roles = roles_of(config)
    require_consent(replace(overrides, roles=roles), resolved, environment)
    return [await _probe_role(named, environment, config, role) for role in roles]


class _LastReply(Wrapper):
    """Keeps the reply or the error of the last call."""

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
    overrides: Overrides, environment: Mapping[str, str], draft: RunConfig, role: Role
) -> ProbeResult:
    backend = backend_name(draft, role)
    known = ProbeResult(role, backend)
    try:
        config = settle(replace(overrides, roles=(role,)), environment).config
        spec = role_spec(config, role)
        address = "" if spec.free else public_address(address_of(config, role))
        known = replace(known, address=address, model=own_settings(config, role).name or "")
        if spec.open is None:
            return replace(known, note="it needs no model")
        return await _ask(known, spec, config, environment)
    except SkillOptError as error:
        return _failed(known, error)


async def _ask(
    known: ProbeResult, spec: BackendSpec, config: RunConfig, environment: Mapping[str, str]
) -> ProbeResult:
    role = known.role
    budget = Budget((), PastUse(), lambda event: None)
    limits = ProviderLimits(config.run.max_concurrency, 0.0, budget, StopGate())
    async with AsyncExitStack() as stack:
        executor = stack.enter_context(passing_executor(config, environment, spec, role))
        secrets = known_secrets(environment, config)
        wiring = ModelContext(
            environment, secrets, secrets.hide, limits, MemoryStore(), budget, {role: executor}
        )
        models = open_models(_alone(config, role), wiring, dict.fromkeys(("target", role)))
        chat = models.live[role]
        known = replace(known, model=chat.name)
        await stack.enter_async_context(lifetime(chat))
        if models.trial is not None:
            return await _try_program(known, models.trial, config, executor)
        heard = _LastReply(models.checks[role])
        if role == "optimizer":
            return await _ask_optimizer(known, heard)
        if role == "judge":
            return await _ask_judge(known, heard)
        settings = role_settings(config, role, environment)
        return await _ask_target(known, heard, agent_of(spec, heard, settings), executor)


def _alone(config: RunConfig, role: Role) -> RunConfig:
    """The configuration with the simulated model in the other roles, whose trouble is theirs."""
    own = own_settings(config, role)
    # With this role's key, since the shared one may be missing.
    stand_in = RoleConfig(backend=SIMULATED, api_key_env=own.api_key_env)
    others = {other: stand_in for other in get_args(Role) if other != role}
    model = config.model.model_copy(update={**others, role: own})
    return config.model_copy(update={"model": model})


async def _ask_optimizer(known: ProbeResult, chat: _LastReply) -> ProbeResult:
    """Ask for an edit, in the words and by the contract of a run's analyst of failures."""
    system = Template(shipped_prompts()["analyst_error"]).substitute(budget="at most 1")
    request = ChatRequest(
        (Message("system", system), Message("user", MATERIAL)),
        stage="probe",
        schema=FailureAnalysis.model_json_schema(),
        schema_name="analyst_error",
    )
    reply = await chat.chat(request)
    heard = _answered(known, chat, reply)
    try:
        edits = read_answer(reply.text, FailureAnalysis).edits
    except UnusableAnswer as error:
        cut = "it was cut at max_completion_tokens" if reply.finish == "length" else str(error)
        return _unusable(
            heard,
            "UnusableAnswer",
            f"the optimizer's answer cannot be used: {cut}",
            "raise model.optimizer.max_completion_tokens"
            if reply.finish == "length"
            else "add `model.optimizer.name=NAME` of one that can answer in JSON",
        )
    ops = ", ".join(edit.op for edit in edits)
    return replace(heard, read=f"{count(len(edits), 'edit')}: {ops}" if edits else "no edit")


async def _ask_judge(known: ProbeResult, chat: _LastReply) -> ProbeResult:
    """Have a right answer judged, and read the verdict as a benchmark does."""
    verdicts: tuple[Verdict, ...] = ("correct", "incorrect")
    asked = ask(
        "You say whether an answer means the same as a reference.",
        "Which city is the capital of France?",
        "Paris",
        "It is Paris.",
        verdicts,
    )
    reply = await chat.chat(ChatRequest(asked, stage="probe"))
    heard = _answered(known, chat, reply)
    verdict = read_verdict(reply.text, verdicts)
    if verdict is None:
        return _unusable(
            heard,
            "UnusableAnswer",
            "the judge's verdict cannot be read",
            "choose another model with `model.judge.name=NAME`",
        )
    note = "" if verdict == "correct" else "a right answer was judged to be wrong"
    return replace(heard, read=verdict, note=note)


async def _try_program(
    known: ProbeResult, agent: AgentBackend, config: RunConfig, executor: Executor
) -> ProbeResult:
    """Have a program with its own model make the first attempt of a run, where a run makes one."""
    if not config.run.preflight:
        return replace(known, note="it was not run: `run.preflight` is false")
    benchmark = open_benchmark(config)
    if expects_files(benchmark.brief(splits_in_use(config, benchmark)["selection"][0])):
        return replace(known, note="it was not run: the tasks come with files, a probe without")
    begun = time.monotonic()
    seed = seed_skill(config.env, benchmark.seed_skill)
    attempt = await check_attempts(agent, seed, executor)
    return replace(
        known,
        seconds=time.monotonic() - begun,
        answer=attempt.answer,
        finish=attempt.ending,
        usage=attempt.usage,
        read=extract_answer(attempt.answer),
        note=attempt.error,
    )


async def _ask_target(
    known: ProbeResult, chat: _LastReply, agent: AgentBackend, executor: Executor
) -> ProbeResult:
    """Ask a question as a benchmark does, and take the answer out as its scorer does."""
    attempt = await agent.attempt(BRIEF, SkillDocument(""), executor)
    if chat.error is not None:
        return _failed(known, chat.error)
    if chat.reply is None:
        return _unusable(known, "Unanswered", "no answer came", attempt.error or _LATER)
    heard = _answered(known, chat, chat.reply)
    read = extract_answer(attempt.answer)
    if not read:
        return _unusable(
            heard,
            "Unanswered",
            f"the target gave no answer: {attempt.error or 'its text is empty'}",
            "try the program by hand, or add `model.target.name=NAME`"
            if attempt.ending == "broken"
            else "raise model.target.max_completion_tokens, or add `model.target.name=NAME`",
        )
    bare = tagged_or_all(attempt.answer) == attempt.answer.strip()
    asked_for_tags = any(PROMPTS.answer_format in message.content for message in attempt.messages)
    return replace(heard, read=read, note=_TAGS_MISSING if bare and asked_for_tags else "")


def _answered(known: ProbeResult, chat: _LastReply, reply: ChatReply) -> ProbeResult:
    return replace(
        known, seconds=chat.seconds, answer=reply.text, finish=reply.finish, usage=reply.usage
    )


def _failed(known: ProbeResult, error: SkillOptError) -> ProbeResult:
    return replace(
        known,
        error=error.message,
        kind=type(error).__name__,
        hint=error.hint or _LATER,
        code=error.exit_code,
    )


def _unusable(heard: ProbeResult, kind: str, error: str, hint: str) -> ProbeResult:
    """A role whose answer cannot be used."""
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
