"""The model server of the worlds.

Each run has a base URL of its own, `/WORLD/SEED/LABEL/v1`, which names the world, the seed and a
label; the calls it has made are counted below `/WORLD/SEED/LABEL/counts`. The model `target`
answers tasks, the model `optimizer` everything that an optimizer asks.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

from local_server import Answer

from simulation.optimizer import answer, rewrite
from simulation.requests import OptimizerRequest
from simulation.world import LARGE, WORLDS, World
from skillopt_cli.core.task import ChatReply, ChatRequest, Usage
from skillopt_cli.testing.model_dialects import DIALECTS

CHAT = DIALECTS[0]
"""OpenAI's Chat Completions."""
_CHARS_PER_TOKEN = 4
_FENCED = re.compile(r"^```\n(.*?)\n?^```$", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"^# Example \d+$", re.MULTILINE)
WRONG = "Wrong."
"""How the feedback on a failed example begins."""


@cache
def world_of(name: str, seed: int) -> World:
    """The world of a base URL.

    Raises:
        KeyError: no world has this name.
    """
    return World(LARGE if name == LARGE.name else WORLDS[name], seed)


def reply_to(world: World, model: str, request: ChatRequest) -> tuple[str, str]:
    """What a call is counted as, and the text of its reply."""
    system = "\n".join(m.content for m in request.messages if m.role == "system")
    user = "\n".join(m.content for m in request.messages if m.role != "system")
    if request.schema is not None:
        document = answer(world, OptimizerRequest.of(request))
        return f"optimizer {request.schema_name}", json.dumps(document)
    if model == "optimizer" and _EXAMPLE.search(user):
        return "optimizer reflection", _reflect(world, user)
    item = world.read(user)
    if model != "target" or item is None:
        return "other", "ok"
    return f"target {item.id.split('-')[0]}", _attempt(world, system, item)


def _attempt(world: World, system: str, item: object) -> str:
    right = world.answers(system, item)
    text = world.value(item) if right else f"{world.value(item)[::-1]}?"
    return f"<answer>{text}</answer>" if "<answer>" in system else text


def _reflect(world: World, user: str) -> str:
    """A whole new instruction, as GEPA's own prompt asks for it."""
    skill = _FENCED.search(user)
    examples = _EXAMPLE.split(user)[1:]
    failing = [world.read(example) for example in examples if WRONG in example]
    text = rewrite(world, user, skill[1] if skill else "", [item for item in failing if item])
    return f"```\n{text}```"


SLOW = 8
"""Times that a slow call takes as long as others."""


@dataclass(frozen=True)
class Disturbance:
    """What goes wrong in a service.

    Attributes:
        refused, failed: shares of calls that are answered with 429 and 500, at random, at once.
        slow: share of calls that take eight times as long, at random.
        outage: prefix of the kind of call that begins an outage of 503s; empty for none.
        after: number of calls of this kind before it.
        seconds: how long it lasts.
    """

    refused: float = 0.0
    failed: float = 0.0
    slow: float = 0.0
    outage: str = ""
    after: int = 0
    seconds: float = 60.0


class WorldService:
    """Answers the calls of runs, and counts them.

    Args:
        latency: seconds of a call.
    """

    def __init__(self, latency: float, disturbance: Disturbance | None = None) -> None:
        self._latency = latency
        self._disturbance = disturbance or Disturbance()
        self._counts: dict[str, Counter[str]] = {}
        self._dice = random.Random(1)
        self._out_until = 0.0
        self._kind, self._stages, self._slow_stage = "", 0, 0

    async def answer(self, path: str, body: bytes) -> Answer:
        """Answer a chat, or tell the counts of a run."""
        _, world, seed, label, what = path.split("/", 4)
        counts = self._counts.setdefault(f"{world}/{seed}/{label}", Counter())
        if what == "counts":
            return Answer(counts)
        asked = json.loads(body)
        chat = CHAT.read(asked)
        kind, text = reply_to(world_of(world, int(seed)), asked["model"], chat)
        latency = self._latency * (SLOW if self._dice.random() < self._disturbance.slow else 1)
        self._stages += kind != self._kind
        self._kind = kind
        if latency > self._latency and self._slow_stage != self._stages:
            self._slow_stage = self._stages
            counts["stages with a slow call"] += 1
        fault = self._fault(kind, counts)
        if not fault:
            await asyncio.sleep(latency)
            fault = 503 if asyncio.get_running_loop().time() < self._out_until else 0
        counts[f"{fault} {kind}" if fault else kind] += 1
        if fault:
            return Answer({"error": {"message": "disturbed"}}, fault)
        prompt, completion = _tokens(sum(len(m.content) for m in chat.messages)), _tokens(len(text))
        counts.update({"prompt_tokens": prompt, "completion_tokens": completion})
        return Answer(CHAT.write(asked["model"], ChatReply(text, Usage(1, prompt, completion))))

    def _fault(self, kind: str, counts: Counter[str]) -> int:
        """The status of a call that is not answered; 0 for the others."""
        planned, now = self._disturbance, asyncio.get_running_loop().time()
        if planned.outage and kind.startswith(planned.outage) and not self._out_until:
            counts["asked before the outage"] += 1
            if counts["asked before the outage"] > planned.after:
                self._out_until = now + planned.seconds
        if now < self._out_until:
            return 503
        drawn = self._dice.random()
        if drawn < planned.refused:
            return 429
        return 500 if drawn < planned.refused + planned.failed else 0


def _tokens(characters: int) -> int:
    return -(-characters // _CHARS_PER_TOKEN)
