"""What servers of reasoning models have in common: thoughts before answers, and a temperature."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skillopt_cli.backends import chat_completions
from skillopt_cli.backends.chat_completions import Sampling
from skillopt_cli.backends.openai_compatible import sampling_of
from skillopt_cli.core.task import ChatReply
from skillopt_cli.ports import RoleSettings

TEMPERATURE = 0.7
"""What is sent when no temperature is set."""
_OPEN = re.compile(r"\s*<think>")
_CLOSE = "</think>"


def answer_only(text: str) -> str:
    """The text without a think block at its start, and without the white space after that.

    Some chat templates open the block themselves, so that only its end is in the text. A block that
    never ends, as when the answer was cut, leaves nothing. Any other text is returned as it is.
    """
    opened = _OPEN.match(text)
    thought, closed, answer = text.partition(_CLOSE)
    if closed and (opened or "<think>" not in thought):
        return answer.lstrip()
    return "" if opened else text


def read_reply(data: object, where: str) -> ChatReply:
    """The reply in a decoded 200 body, without what the model thought before its answer.

    The answer is what is scored. Thoughts that fill all of a cut text leave it empty.

    Raises:
        ServerFailed, RequestRefused: as `chat_completions.read_reply`.
    """
    reply = chat_completions.read_reply(data, where)
    return replace(reply, text=answer_only(reply.text))


def reasoning_sampling(role: RoleSettings, extra: Mapping[str, Any]) -> Sampling:
    """What a role asks of its model, with further fields of the body.

    Without a temperature `TEMPERATURE` is sent; none where `role.options` say server_default.
    """
    temperature = role.temperature
    if temperature is None and role.options.get("temperature") != "server_default":
        temperature = TEMPERATURE
    return replace(sampling_of(role), temperature=temperature, extra=extra)
