"""What the models are asked in a whole run, by identity: a feature that is off changes nothing.

Run with `UPDATE_SNAPSHOTS=1` to write the file anew after a change that is meant to alter requests.
"""

from __future__ import annotations

import os
from pathlib import Path

from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.core.task import ChatReply, ChatRequest
from skillopt_cli.engine.session import train_session
from skillopt_cli.testing import Toy, ToyBenchmark, toy_session

GOLDEN = Path(__file__).parent / "golden" / "requests.txt"
UPDATE = bool(os.environ.get("UPDATE_SNAPSHOTS"))
SETTINGS = ("train.batch_size=6", "optimizer.learning_rate=3", "run.workers=1")


class Noting:
    """The simulated model, which notes the identity of whatever it is asked."""

    name = fingerprint = "noting"
    offers = frozenset({"json_schema"})

    def __init__(self) -> None:
        self.inner = Simulated(SimulatedConfig())
        self.asked: list[str] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        if request.stage != "preflight":
            self.asked.append(f"{request.stage} {request.schema_name or '-'} {request.identity}")
        return await self.inner.chat(request)


async def asked(*settings: str) -> list[str]:
    """Every request of a run of two epochs that accepts and rejects, without early rejection."""
    model = Noting()
    benchmark = ToyBenchmark({"train": 18, "selection": 10, "test": 4}, seed=4)
    given = (*SETTINGS, "evaluation.early_reject=false", *settings)
    toy = Toy(given, target=model, optimizer=model, benchmark=benchmark)
    assert await train_session(toy_session(toy)) == 0
    return sorted(model.asked)


async def test_the_requests_of_a_run_are_those_recorded() -> None:
    text = "\n".join(await asked()) + "\n"
    if UPDATE:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
