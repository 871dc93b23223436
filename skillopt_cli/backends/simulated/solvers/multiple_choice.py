"""Multiple choice: the option that the text supports, or else a fixed guess.

A guess scores at chance level. Unless the skill holds the rules of the question's family, the reply
names two options, which is wrong: so a skill can raise the score from near zero to chance level.
"""

from __future__ import annotations

import re

from skillopt_cli.backends.simulated.messages import last_section, system_text, user_text
from skillopt_cli.backends.simulated.target import read_span, stems
from skillopt_cli.backends.simulated.world import chance, untaught
from skillopt_cli.core.task import ChatReply, ChatRequest

_TITLES = ("options", "choices")
_OPTION = re.compile(r"^[ \t]*\(?([A-Z])[.):][ \t]+(\S.*)$", re.MULTILINE)
_TEMPLATES = (("<answer>", "<answer>{}</answer>"), ("\\boxed", "\\boxed{{{}}}"))


def solve_multiple_choice(request: ChatRequest) -> ChatReply | None:
    """Return the letter of an option, or two of them, marked as the instructions ask.

    None without two or more lettered lines under "Options" or "Choices", or with tools.
    """
    if request.tools or request.schema or len(_options(user_text(request))) < 2:
        return None
    user, system = user_text(request), system_text(request)
    question = last_section(user, "question") or user.strip()
    first, second = _ranked(question, last_section(user, "context"), _options(user))[:2]
    answer = f"{first} or {second}" if untaught(question, system) else first
    return ChatReply(_template(system).format(answer))


def _options(user: str) -> dict[str, str]:
    """Return the options by letter, from the first section that lists any."""
    found = (dict(_OPTION.findall(last_section(user, title))) for title in _TITLES)
    return next((options for options in found if options), {})


def _ranked(question: str, context: str, options: dict[str, str]) -> list[str]:
    """Return the letters by words shared with the span found in the context, then by a draw."""
    read = stems(read_span(question, context))
    return sorted(
        options,
        key=lambda letter: (-len(read & stems(options[letter])), chance(question, options[letter])),
    )


def _template(system: str) -> str:
    """Return the template of the answer that the instructions name last."""
    at = {template: system.rfind(mark) for mark, template in _TEMPLATES}
    last = max(at, key=lambda template: at[template])
    return last if at[last] >= 0 else "{}"
