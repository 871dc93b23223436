"""A complete chat backend in one file: a target that answers with words it was just given."""

from __future__ import annotations

import asyncio
import re

from skillopt_cli import BackendSpec, ChatReply, ChatRequest, ConfigError, RoleSettings, Usage

CALLS_FOR_BREVITY = ("nothing but", "Leave out", "Do not")


class Echo:
    """Says back the last name in the message; briefly only where its instructions ask for it."""

    offers: frozenset[str] = frozenset()  # of "images", "tools", "json_schema", "usage"

    def __init__(self, model: str, pause: float) -> None:
        self.name = model
        # Everything that can alter a reply: it is part of the key under which replies are kept.
        self.fingerprint = f"echo/1 {model}"
        self._pause = pause

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request. Never block: other calls are in flight."""
        await asyncio.sleep(self._pause)
        system = " ".join(m.content for m in request.messages if m.role == "system")
        asked = next(m.content for m in reversed(request.messages) if m.role == "user")
        names = re.findall(r"[A-Z]\w+", asked.split("## Question")[0])
        name = names[-1] if names else "nothing"
        brief = any(words in system for words in CALLS_FOR_BREVITY)
        text = name if brief else f"I believe the answer is {name}."
        if "<answer>" in system:
            text = f"<answer>{text}</answer>"
        return ChatReply(text, Usage(calls=1))


def open_echo(role: RoleSettings) -> Echo:
    """Make the backend of a role from its settings. Nothing is called yet."""
    pause = role.environment.get("ECHO_PAUSE", "0")
    try:
        return Echo(role.model, float(pause))
    except ValueError:
        raise ConfigError(f"ECHO_PAUSE is `{pause}`, not a number of seconds") from None


SPEC = BackendSpec(
    name="echo",
    summary="Says back words of the question",
    roles=frozenset(("target",)),
    open=open_echo,
    requires="nothing",
    variables={"name": ("{ROLE}_ECHO_MODEL", "ECHO_MODEL")},
    offers=Echo.offers,
    free=True,
)
