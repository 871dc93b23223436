"""The simulated target: right when the skill in its system message says how."""

from __future__ import annotations

import re
from dataclasses import dataclass

from skillopt_cli.backends.simulated.reader import read_span
from skillopt_cli.backends.simulated.sections import last_section
from skillopt_cli.backends.simulated.world import (
    appendix,
    chance,
    family_of,
    harm,
    missing,
)

_TEXT_THEN_QUESTION = re.compile(r"(.*[.!?\n])\s*([^.!?\n]+\?)\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the target makes of a user message, whatever the skill says.

    Attributes:
        question: the text of the last "Question" section, else the whole message.
        span: what it finds in the "Context" section, else in what stands before the last sentence
            of the question; "" for nothing.
    """

    question: str
    family: int
    span: str


def read(user: str) -> Reading:
    """Read a user message."""
    question = last_section(user, "question") or user.strip()
    context, asked = last_section(user, "context"), question
    if not context and (parts := _TEXT_THEN_QUESTION.match(question)):
        context, asked = parts.groups()
    return Reading(question, family_of(question), read_span(asked, context))


@dataclass(frozen=True, slots=True)
class Habits:
    """How a target falls short of its skill.

    Attributes:
        noise: share of questions that are answered wrong whatever the skill says.
        lapse_rate: share of questions where a rule is heeded only if the appendix states it.
    """

    noise: float = 0.0
    lapse_rate: float = 0.0
    seed: int = 0

    def show(self, habit: str, rate: float, question: str) -> bool:
        """Whether a question falls into the share."""
        return rate > 0 and chance(self.seed, habit, question) < rate


def answer(system: str, reading: Reading, habits: Habits) -> str:
    """The target's reply. It knows the request and nothing else."""
    span, question = reading.span, reading.question
    lapsing = habits.show("lapse", habits.lapse_rate, question)
    heeded = appendix(system) if lapsing else system
    if not span or habits.show("noise", habits.noise, question):
        text = "It cannot be told from the text."
    elif harm(reading.family) in system:
        text = f"{span}, or something close to it, as the text suggests"
    elif missing(reading.family, heeded):
        text = f"The text says that the answer to this question is {span}."
    else:
        text = span
    return f"<answer>{text}</answer>" if "<answer>" in system else text
