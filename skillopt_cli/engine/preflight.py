"""The first check: one tiny call, question or attempt per role, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from skillopt_cli.core.errors import (
    BackendUnusable,
    RequestRefused,
    SkillOptError,
    TransientError,
)
from skillopt_cli.core.events import Role
from skillopt_cli.core.ledger import PREFLIGHT
from skillopt_cli.core.score import Score
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, ChatRequest, Message, Section, Task
from skillopt_cli.ports import AgentBackend, ChatBackend, Executor, Judged
from skillopt_cli.stages.judging import Case, verdict

GREETING = Message("user", "Reply with the single word: ok")
ERRAND = Brief(
    PREFLIGHT,
    "You answer questions.",
    (Section("Question", "Which city is the capital of France?"),),
    "Answer with the name of the city alone.",
    stage=PREFLIGHT,
)
GUESS = Attempt("\\boxed{it cannot be said}")
"""An answer that equals no reference, whether a benchmark looks for a box or for a last line."""
_LOOKED_AT = 20
PRINTED = "preflight.trace.jsonl"
"""What the program printed, beside its errors, where it gave no answer."""


async def check_answers(chat: ChatBackend, role: Role) -> None:
    """Have a model say anything at all.

    Raises:
        FatalBackendError: the model cannot be used; retries of transient failures are included.
    """
    try:
        await chat.chat(ChatRequest((GREETING,), stage=PREFLIGHT))
    except (TransientError, RequestRefused) as error:
        raise _unusable(role, error) from error


async def check_judges(chat: ChatBackend, benchmark: Judged, tasks: Sequence[Task]) -> None:
    """Have a judge give a verdict, and read it as the benchmark does in a run.

    Raises:
        FatalBackendError: the model cannot be used, or gives no verdict in two calls.
    """
    case = _first_case(benchmark, tasks)
    if case is None:
        await check_answers(chat, "judge")
        return
    try:
        await verdict(chat, benchmark, case)
    except (TransientError, RequestRefused) as error:
        raise _unusable("judge", error) from error


_BY_HAND = "run the program by hand in an empty folder, with a question on its standard input, and "
_FILED = "with the skill where `model.command.skill_file` puts it"
_UNFILED = "without a skill file"
_ISOLATED = (
    "the program ran isolated, without network and with no file of yours but those its command"
    " names: `run.readable=/FOLDER` lets it read more, `run.executor=local` runs it as by hand"
)
_LEFT_OUT = "leave this question out with `run.preflight=false` if it is only this one"
"""What to do where a question is refused that no task is like."""


async def check_attempts(
    agent: AgentBackend,
    seed: SkillDocument,
    executor: Executor,
    keep: Callable[[str, str], None] | None = None,
) -> Attempt:
    """Have a program attempt a one-line task with the seed skill, as it will attempt others.

    Args:
        keep: writes a file of the run folder, given its name and text: what a program printed that
            gives no answer; None where there is no such folder.

    Returns:
        The attempt, which is not broken.

    Raises:
        FatalBackendError: it gives no answer.
    """
    made = await agent.attempt(ERRAND, seed, executor)
    if made.ending == "broken":
        filed = bool(seed.text.strip())
        without = "" if filed else " without a skill, for which no file is laid out"
        by_hand = _BY_HAND + (_FILED if filed else _UNFILED)
        printed = ""
        if keep is not None and made.trace:
            keep(PRINTED, made.trace)
            printed = f"{PRINTED} in the run folder has what it printed; "
        raise BackendUnusable(
            f"the target {agent.name} fails at a one-line task{without}: {made.error}",
            f"{printed}{_ISOLATED if executor.isolates else by_hand}; {_LEFT_OUT} that fails",
        )
    return made


def expects_files(brief: Brief) -> bool:
    """Whether a program made for such tasks may rightly fail at one that is text alone."""
    return bool(brief.files or brief.images or brief.answer_file)


def _first_case(benchmark: Judged, tasks: Sequence[Task]) -> Case | None:
    """What the judge would be asked of a wrong answer; None where the benchmark needs no judge."""
    for task in tasks[:_LOOKED_AT]:
        try:
            asked = benchmark.ask_judge(task, GUESS)
        # A plug-in's may look for more than there is in an attempt that nobody made. That says
        # nothing about the judge.
        except Exception:
            return None
        if not isinstance(asked, Score):
            return Case(task, GUESS, asked, PREFLIGHT)
    return None


def _unusable(role: Role, error: SkillOptError) -> BackendUnusable:
    if isinstance(error, RequestRefused):
        hint = "; ".join(filter(None, (error.hint, f"{_LEFT_OUT} that is refused")))
        return BackendUnusable(
            f"the {role} model refuses a one-line request: {error.message}", hint
        )
    said = "gives no verdict" if role == "judge" else "does not answer"
    return BackendUnusable(f"the {role} model {said}: {error.message}", error.hint)
