"""Multiple choice: the option that the text speaks of, else a fixed guess.

A guess is as good as chance. Unless the skill holds the rules of the question's family, two options
are named, which is no answer: so a skill can bring the score from near nothing to chance.
"""

from __future__ import annotations

import re

from skillopt_cli.backends.simulated.reader import read_span, stems
from skillopt_cli.backends.simulated.sections import last_section
from skillopt_cli.backends.simulated.world import chance, family_of, harm, missing
from skillopt_cli.core.task import ChatReply, ChatRequest

_TITLES = ("options", "choices")
_OPTION = re.compile(r"^[ \t]*\(?([A-Z])[.):][ \t]+(\S.*)$", re.MULTILINE)
_FORMS = (("<answer>", "<answer>{}</answer>"), ("\\boxed", "\\boxed{{{}}}"))


class ChoicePlayer:
    """Plays what has at least two lettered lines under "Options" or "Choices", and no tools."""

    def plays(self, request: ChatRequest) -> bool:
        """Whether there are options to choose from."""
        return not request.tools and not request.schema and len(_options(_asked(request))) > 1

    def play(self, request: ChatRequest) -> ChatReply:
        """The letter of an option, or two of them, marked as the instructions ask."""
        user = _asked(request)
        told = "\n".join(m.content for m in request.messages if m.role == "system")
        question = last_section(user, "question") or user.strip()
        first, second = _ranked(question, last_section(user, "context"), _options(user))[:2]
        family = family_of(question)
        unsure = harm(family) in told or missing(family, told)
        return ChatReply(_form(told).format(f"{first} or {second}" if unsure else first))


def _asked(request: ChatRequest) -> str:
    return next((m.content for m in request.messages if m.role == "user"), "")


def _options(user: str) -> dict[str, str]:
    """The options by letter, from the first section that lists any."""
    found = (dict(_OPTION.findall(last_section(user, title))) for title in _TITLES)
    return next((options for options in found if options), {})


def _ranked(question: str, context: str, options: dict[str, str]) -> list[str]:
    """The letters, the most likely first: by words shared with what was read, else by a draw."""
    read = stems(read_span(question, context))
    return sorted(
        options,
        key=lambda letter: (-len(read & stems(options[letter])), chance(question, options[letter])),
    )


def _form(told: str) -> str:
    """How the answer is marked: as the last of the instructions that speak of it wants."""
    at = {form: told.rfind(mark) for mark, form in _FORMS}
    last = max(at, key=lambda form: at[form])
    return last if at[last] >= 0 else "{}"
