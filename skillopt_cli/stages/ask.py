"""Ask: the only way to the optimizer. Render, call, parse into a type, at need ask once more."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from string import Template
from typing import Any, Generic, TypeVar

from skillopt_cli.core.errors import FatalBackendError, RequestRefused, TransientError
from skillopt_cli.core.events import Degraded
from skillopt_cli.core.task import ChatReply, ChatRequest, Message
from skillopt_cli.stages.answer_parsing import OnRepair, UnusableAnswer, read_answer
from skillopt_cli.stages.answer_schemas import Contract
from skillopt_cli.stages.run import Run

C = TypeVar("C", bound=Contract)


@dataclass(frozen=True, slots=True)
class Question(Generic[C]):
    """What is asked: a prompt by name, the text to read, the contract of the answer, and for whom.

    Attributes:
        prompt: name of the system prompt, also the name of the schema.
        user: the material.
        stage: for the ledger.
        budget: edits the answer may hold, None when it is not capped.
        additions: names of prompts that are added to the system prompt.
        shared: how many characters of the material, from its start, further questions with this
            prompt are expected to have as well; None where none is expected soon.
    """

    prompt: str
    user: str
    contract: type[C]
    stage: str
    budget: int | None = None
    additions: tuple[str, ...] = ()
    shared: int | None = None


@dataclass(frozen=True, slots=True)
class Unanswered:
    """There is no usable answer, and why."""

    reason: str


async def ask(run: Run, question: Question[C]) -> C | None:
    """The optimizer's answer, or None when it stayed unusable; see `ask_or_why`."""
    answer = await ask_or_why(run, question)
    return None if isinstance(answer, Unanswered) else answer


async def ask_or_why(run: Run, question: Question[C]) -> C | Unanswered:
    """The optimizer's answer, or why it stayed unusable, which a `Degraded` fact states as well.

    A malformed answer is asked for once more, with the fault; a `Degraded` fact states what was
    repaired instead. One cut at the token limit is a
    failed proposal like any other: a part of an answer is never used.

    Raises:
        FatalBackendError: no call to the optimizer can succeed.
    """
    if run.optimizer is None:
        raise FatalBackendError("this run has no optimizer model to ask")
    messages = _messages(run, question)
    fault = ""
    for turn in range(2):
        request = ChatRequest(
            messages=messages,
            stage=question.stage,
            schema=_schema(question.contract),
            schema_name=question.prompt,
            turn=turn,
            shared=question.shared,
        )
        key = request.key(run.optimizer.fingerprint)
        try:
            reply = await run.optimizer.chat(request)
        except (TransientError, RequestRefused) as error:
            run.unanswered[key] = run.number
            return _unanswered(run, question, f"no answer: {error.message}")
        repairs: list[str] = []
        try:
            answer = _read(reply, question, repairs.append)
        except UnusableAnswer as error:
            run.unanswered[key] = run.number
            fault = str(error)
            _keep_raw(run, question, reply, fault)
            messages = (*messages, *_complaint(reply, fault))
            continue
        if repairs:
            what = f"an answer was repaired: {'; '.join(dict.fromkeys(repairs))}"
            run.emit(Degraded(question.stage, what))
            _keep_raw(run, question, reply, what)
        return answer
    return _unanswered(run, question, f"unusable answer: {fault}")


def _unanswered(run: Run, question: Question[C], reason: str) -> Unanswered:
    run.emit(Degraded(question.stage, reason))
    return Unanswered(reason)


@cache
def _schema(contract: type[Contract]) -> Mapping[str, Any]:
    """Made once per contract: it takes longer than all else around a call."""
    return contract.model_json_schema()


def _read(reply: ChatReply, question: Question[C], repaired: OnRepair) -> C:
    if reply.finish == "length":
        raise UnusableAnswer("it was cut at the token limit")
    return read_answer(reply.text, question.contract, repaired)


def _messages(run: Run, question: Question[C]) -> tuple[Message, ...]:
    budget = "any number of" if question.budget is None else f"at most {question.budget}"
    names = (question.prompt, *question.additions)
    template = "\n".join(run.prompts[name] for name in names)
    system = Template(template).substitute(budget=budget)
    notes = f"\n\n## Your notes from earlier epochs\n{run.memory}" if run.memory else ""
    return Message("system", system), Message("user", question.user + notes)


def _complaint(reply: ChatReply, fault: str) -> tuple[Message, ...]:
    """The follow-up that quotes the fault. The bad answer is shown only as far as it is short."""
    return (
        Message("assistant", reply.text[:4000] or "(empty)"),
        Message(
            "user",
            f"That answer cannot be used: {fault}. Answer again with one complete JSON object that"
            " follows the schema, and nothing else.",
        ),
    )


def _keep_raw(run: Run, question: Question[C], reply: ChatReply, fault: str) -> None:
    mark = hashlib.sha256(reply.text.encode(errors="surrogatepass")).hexdigest()[:12]
    run.keep(f"parse_errors/{question.prompt}_{mark}.txt", f"{fault}\n\n{reply.text}\n")
