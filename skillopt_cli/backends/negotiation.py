"""Optional parameters a model may not take: found out once, told once, never sent again."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

OPTIONAL = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "temperature",
    "reasoning_effort",
    "reasoning",
    "response_format",
    "text",
    "tool_choice",
    "store",
)
"""Fields of a body that may be left out; those of both of OpenAI's interfaces."""

EFFORT_WITH_TOOLS = "reasoning_effort with tools"
"""Learned where a model takes a reasoning effort, but not together with tools."""

# Message texts name a parameter by its path or by what it is for.
_SPELLINGS = {
    "response_format": r"response[_ ]format|json_schema",
    "text": r"text\.format|response[_ ]format|json_schema",
    "reasoning": r"reasoning(?:[._]effort)?",
}
_UNSUPPORTED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed"
    r"|forbidden|invalid|unavailable|deprecated|instead|must be",
    re.IGNORECASE,
)
_SIZE = re.compile(
    r"too (?:large|long|many|high)|at most|at least|exceed|maximum|minimum|less than|greater than",
    re.IGNORECASE,
)
_TOOLS = re.compile(r"(?<!\w)tools?(?!\w)", re.IGNORECASE)


class Negotiation:
    """What of the optional parameters a model does not take, as far as known.

    Attributes:
        refused: names from `OPTIONAL`, and `EFFORT_WITH_TOOLS`.
    """

    def __init__(
        self,
        refused: frozenset[str] = frozenset(),
        tell: Callable[[str], None] = lambda parameter: None,
    ) -> None:
        self.refused = refused
        self._tell = tell

    def learn(self, parameter: str) -> None:
        """Note a refusal. Calls in flight may all run into the same one: it is told once."""
        if parameter not in self.refused:
            self.refused |= {parameter}
            self._tell(parameter)


def refused_parameter(param: str, message: str, sent: Collection[str]) -> str | None:
    """Which optional parameter of a refused request (HTTP 400, 422) the server does not take.

    Args:
        param: the error's own `param` field, "" when it has none.
        message: the error's text.
        sent: top-level names of the request's body.

    Returns:
        A name from `OPTIONAL` that was sent, or `EFFORT_WITH_TOOLS`; None when the refusal is about
        something else, such as a value that is too large: leaving that out would silently ask for
        something else.
    """
    if _SIZE.search(message):
        return None
    found = _found(param, message, [name for name in OPTIONAL if name in sent])
    if found == "reasoning_effort" and "tools" in sent and _TOOLS.search(message):
        return EFFORT_WITH_TOOLS
    return found


def _found(param: str, message: str, candidates: Collection[str]) -> str | None:
    root = re.split(r"[.\[]", param)[0]
    if root in OPTIONAL:
        return root if root in candidates else None
    if not _UNSUPPORTED.search(message):
        return None
    for name in candidates:
        if re.search(rf"(?<!\w)(?:{_SPELLINGS.get(name, name)})(?!\w)", message):
            return name
    return None
