"""The simulated chat backend, for every role."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from skillopt_cli.backends.simulated.faults import Faults
from skillopt_cli.backends.simulated.judge import is_judgement, verdict
from skillopt_cli.backends.simulated.optimizer import CONTRACTS, Asked, Leanings, propose
from skillopt_cli.backends.simulated.players import player_of
from skillopt_cli.backends.simulated.target import Habits, Reading, answer, read
from skillopt_cli.backends.simulated.world import VERSION, chance
from skillopt_cli.config.model_section import SimulatedConfig
from skillopt_cli.core.task import ChatReply, ChatRequest, Message, Usage
from skillopt_cli.ports import BackendSpec, RoleSettings

NAME = "simulated"
_CHARS_PER_TOKEN = 4
_LATER = ("lapse_rate", "right_rate", "harmful_rate", "forget_rate")
"""Named in a fingerprint only where they are not at their defaults: journals outlive new keys."""


class Simulated:
    """A `ChatBackend` that plays the role the request is for, and fails where it is told to.

    A request with the schema of an optimizer stage is answered by the optimizer; a case with a
    reference by the judge; other messages with sections by the target; anything else, such as a
    preflight, with a short word. What is in a picture is never known.
    """

    offers = frozenset({"images", "json_schema", "tools"})

    def __init__(self, config: SimulatedConfig, model: str = NAME) -> None:
        self.name = model
        self.fingerprint = json.dumps(
            {
                "backend": NAME,
                "model": model,
                "seed": config.seed,
                "noise": config.noise,
                "malformed_rate": config.malformed_rate,
                "world": VERSION,
                **{name: getattr(config, name) for name in _LATER if _is_set(config, name)},
            },
            sort_keys=True,
        )
        self._config = config
        self._habits = Habits(config.noise, config.lapse_rate, config.seed)
        self._leanings = Leanings(config.right_rate, config.harmful_rate, config.forget_rate)
        self._faults = Faults(config)
        # The same tasks come again under every skill; reading them once keeps timings honest.
        self._readings: dict[str, Reading] = {}

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request; see `ports.ChatBackend` for the errors."""
        if self._faults.hangs():
            await asyncio.Event().wait()
        if self._config.latency_ms:
            await asyncio.sleep(self._config.latency_ms / 1000)
        malformed = self._faults.befall(request)
        reply = self._reply(request)
        if malformed:
            reply = ChatReply(reply.text[: len(reply.text) * 2 // 3])
        prompt = sum(len(message.content) for message in request.messages)
        written = len(reply.text) + sum(len(call.arguments) for call in reply.tool_calls)
        return replace(reply, usage=Usage(1, _tokens(prompt), _tokens(written)))

    def _reply(self, request: ChatRequest) -> ChatReply:
        if _asks_optimizer(request):
            return ChatReply(self._optimize(request))
        system, user = _texts(request.messages)
        if is_judgement(user):
            return ChatReply(verdict(system, user))
        player = player_of(request)
        return player.play(request) if player else ChatReply(self._attempt(request))

    def _attempt(self, request: ChatRequest) -> str:
        system, user = _texts(request.messages)
        if not (user.startswith("## ") or "\n## " in user):
            return "ok"
        reading = self._readings.get(user)
        if reading is None:
            reading = self._readings[user] = read(user)
        self._faults.befall_task(reading.question)
        return answer(system, reading, self._habits)

    def _optimize(self, request: ChatRequest) -> str:
        """The proposal; asked again after a malformed one, the optimizer proposes the same."""
        system, user = _texts(request.messages)
        seed = chance(self._config.seed, request.draw, request.schema_name, user)
        noting = '"appendix_notes"' in system
        return propose(Asked(request.schema_name, user, seed, noting, self._leanings))


def _is_set(config: SimulatedConfig, name: str) -> bool:
    return bool(getattr(config, name) != SimulatedConfig.model_fields[name].default)


def _asks_optimizer(request: ChatRequest) -> bool:
    return request.schema_name in CONTRACTS


def _texts(messages: tuple[Message, ...]) -> tuple[str, str]:
    """The system text and the first user message: later ones only comment on answers."""
    system = "\n".join(m.content for m in messages if m.role == "system")
    user = next((m.content for m in messages if m.role == "user"), "")
    return system, user


def _tokens(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)


def open_simulated(role: RoleSettings) -> Simulated:
    """The simulated model of a role. `role.options` are the fields of `SimulatedConfig`."""
    return Simulated(SimulatedConfig.model_validate(dict(role.options)), role.model or NAME)


SPEC = BackendSpec(
    name=NAME,
    summary="A deterministic model without network, with faults on request",
    roles=frozenset(("optimizer", "target")),
    open=open_simulated,
    offers=Simulated.offers,
    free=True,
    requires="nothing",
)
