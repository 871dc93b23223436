"""A completion model as an agent: it continues a text of skill and task."""

from __future__ import annotations

from skillopt_cli.core.errors import RequestRefused, TransientError
from skillopt_cli.core.skill import SkillDocument, taught_text
from skillopt_cli.core.task import Attempt, Brief, ChatRequest, Ending, Message, Usage
from skillopt_cli.ports import ChatBackend, Executor

RENDERING = "completion/1"
"""Changes whenever the same brief and skill would be worded differently."""


class CompletionAgent:
    """An `AgentBackend` for models that continue a text with the likeliest tokens.

    Role and answer format of a brief are omitted: they address a chat model, and a small model
    repeats them.
    """

    def __init__(self, chat: ChatBackend) -> None:
        self.name = chat.name
        self.fingerprint = f"{RENDERING} {chat.fingerprint}"
        self.offers = chat.offers
        self._chat = chat

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        """Attempt a brief; the completion, stripped, is the answer.

        An empty completion is the model's own failure (`gave_up`), a failed call ours (`broken`).

        Raises:
            FatalBackendError: no attempt can succeed.
        """
        taught = taught_text(skill).rstrip()
        task = Message("user", completion_text(brief))
        asked = (Message("system", taught), task) if taught.strip() else (task,)
        # All draws of a greedy model are equal, so they share one journal entry.
        request = ChatRequest(asked, stage=brief.stage, draw=0)
        try:
            reply = await self._chat.chat(request)
        except (TransientError, RequestRefused) as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            down = isinstance(error, TransientError)
            return Attempt("", asked, Usage(), "broken", reason, service_failed=down)
        answer = reply.text.strip()
        ending: Ending = "answered" if answer else "gave_up"
        return Attempt(answer, (*asked, Message("assistant", reply.text)), reply.usage, ending)


def completion_text(brief: Brief, answer: str = "") -> str:
    """Return a task as a text to continue: a line per section, then the cue.

    Args:
        answer: makes it a worked example.
    """
    lines = [f"{section.title}: {section.text}" for section in brief.sections]
    return "\n".join([*lines, f"{brief.answer_cue}: {answer}".rstrip()])
