"""The simulated chat backend, for every role."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from skillopt_cli.backends.simulated.faults import Faults
from skillopt_cli.backends.simulated.messages import system_text, user_text
from skillopt_cli.backends.simulated.optimizer import CONTRACTS, OptimizerRequest
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.backends.simulated.solvers import solve
from skillopt_cli.backends.simulated.target import (
    Reading,
    answer,
    is_judgement,
    read,
    verdict,
)
from skillopt_cli.backends.simulated.world import VERSION, chance
from skillopt_cli.core.task import ChatReply, ChatRequest, Usage
from skillopt_cli.ports import BackendSpec, RoleSettings, Speed

NAME = "simulated"
_SECONDS = 0.01
"""Of a call, for computing and recording it, one after the other."""
_CHARS_PER_TOKEN = 4
_LATER = ("lapse_rate", "flaky_rate", "right_rate", "harmful_rate", "forget_rate")
"""In a fingerprint only if they are not at their defaults, so that older journals stay valid."""


class Simulated:
    """A `ChatBackend` for every role, with configurable faults.

    The optimizer answers requests with the schema of an optimizer stage, the judge those with a
    reference answer, the target other messages with sections. Anything else, such as a preflight,
    gets a short word. Pictures are never read.
    """

    offers = frozenset({"images", "json_schema", "tools"})

    def __init__(self, config: SimulatedConfig, model: str = NAME) -> None:
        self.name = model
        fields = SimulatedConfig.model_fields
        self.fingerprint = json.dumps(
            {
                "backend": NAME,
                "model": model,
                "seed": config.seed,
                "noise": config.noise,
                "malformed_rate": config.malformed_rate,
                "world": VERSION,
                **{n: v for n in _LATER if (v := getattr(config, n)) != fields[n].default},
            },
            sort_keys=True,
        )
        self._config = config
        self._faults = Faults(config)
        # The same tasks recur under every skill; reading them once keeps timings realistic.
        self._readings: dict[str, Reading] = {}

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request; see `ports.ChatBackend` for the errors."""
        if self._faults.hangs():
            await asyncio.Event().wait()
        if self._config.latency_ms:
            await asyncio.sleep(self._config.latency_ms / 1000)
        malformed = self._faults.apply(request)
        reply = self._reply(request)
        if malformed:
            reply = ChatReply(reply.text[: len(reply.text) * 2 // 3])
        prompt = sum(len(message.content) for message in request.messages)
        written = len(reply.text) + sum(len(call.arguments) for call in reply.tool_calls)
        return replace(reply, usage=Usage(1, _tokens(prompt), _tokens(written)))

    def _reply(self, request: ChatRequest) -> ChatReply:
        if request.schema_name in CONTRACTS:
            return ChatReply(self._optimize(request))
        user = user_text(request)
        if is_judgement(user):
            return ChatReply(verdict(system_text(request), user))
        return solve(request) or ChatReply(self._attempt(request))

    def _attempt(self, request: ChatRequest) -> str:
        user = user_text(request)
        if not (user.startswith("## ") or "\n## " in user):
            return "ok"
        reading = self._readings.get(user)
        if reading is None:
            reading = self._readings[user] = read(user)
        self._faults.apply_to_task(reading.question)
        return answer(system_text(request), reading, self._config, request.draw)

    def _optimize(self, request: ChatRequest) -> str:
        """Return the proposal; after a malformed one, a repeated request gets the same again."""
        user = user_text(request)
        seed = chance(self._config.seed, request.draw, request.schema_name, user)
        noting = '"appendix_notes"' in system_text(request)
        asked = OptimizerRequest(request.schema_name, user, seed, self._config, noting)
        return json.dumps(CONTRACTS[request.schema_name](asked))


def _tokens(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)


def open_simulated(role: RoleSettings) -> Simulated:
    """Return the simulated model of a role. `role.options` are the fields of `SimulatedConfig`."""
    return Simulated(SimulatedConfig.model_validate(dict(role.options)), role.model or NAME)


def simulated_speed(role: RoleSettings) -> Speed:
    """How fast the simulated model of a role answers."""
    waits = SimulatedConfig.model_validate(dict(role.options)).latency_ms / 1000
    return Speed(waits + _SECONDS) if waits else Speed(_SECONDS, at_once=1)


SPEC = BackendSpec(
    name=NAME,
    summary="A deterministic model without network, with faults on request",
    options=SimulatedConfig,
    roles=frozenset(("optimizer", "target")),
    open=open_simulated,
    offers=Simulated.offers,
    free=True,
    speed=simulated_speed,
    requires="nothing",
)
