"""A service that is out for a while in the middle of a training changes no decision."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.compose.build import open_session
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.core.events import OUTAGE, CallFailed, PaceChanged, StageStarted, Stamped
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import train_session
from skillopt_cli.runlog.history import VOLATILE
from skillopt_cli.testing import write_splits
from skillopt_cli.testing.model_dialects import DIALECTS

CHAT = DIALECTS[0]
PROBES = 2
"""Failed calls after the outage is noticed, before the service is back."""
SETTINGS = (
    "model.backend=openai_compatible",
    "model.target.name=simulated",
    "model.optimizer.name=simulated",
    "model.timeout=1",
    "model.retry.base_seconds=0.1",
    "train.num_epochs=1",
    "train.batch_size=6",
    "run.workers=4",
)
Kind = Literal["503", "refused", "hanging"]


@dataclass
class Outage:
    """When the service goes down, and how; it is back once calls wait for it.

    Attributes:
        stage: it goes down with the second call after this stage began.
        told: reasons why the pace changed.
    """

    stage: str = ""
    kind: Kind = "503"
    asked: int = -1
    failed: int = -1
    down: bool = False
    told: list[str] = field(default_factory=list)
    back: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, fact: Stamped) -> None:
        """Follow the run."""
        event = fact.event
        if isinstance(event, StageStarted) and event.stage == self.stage and event.step == 1:
            self.asked = max(0, self.asked)
        elif isinstance(event, PaceChanged):
            self.told.append(event.reason)
            self.failed = 0 if event.reason.startswith(OUTAGE) else self.failed
        elif isinstance(event, CallFailed) and self.failed >= 0:
            self.failed += 1
            if self.failed == PROBES:
                self.down = False
                self.back.set()


class Service:
    """The simulated model over HTTP, with an outage."""

    def __init__(self, outage: Outage) -> None:
        self._outage = outage
        self._model = Simulated(SimulatedConfig(latency_ms=10))
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def listen(self) -> None:
        """Take connections, on the same port as before."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Take no connection, and break those that are open."""
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()

    async def reopen(self) -> None:
        """Take connections again when the outage is over."""
        await self._outage.back.wait()
        await self.listen()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                    size = int(head.partition("content-length:")[2].split("\r\n")[0])
                    await self._answer(json.loads(await reader.readexactly(size)), writer)
        finally:
            self._open.discard(writer)
            writer.close()

    async def _answer(self, body: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        out = self._outage
        if out.asked >= 0:
            out.asked += 1
            if out.asked == 2:
                out.down = True
                if out.kind == "refused":
                    await self.close()
        if out.down and out.kind == "hanging":
            await out.back.wait()
            raise ConnectionError
        if out.down:
            status, document = "503 Out", {"error": {"message": "out"}}
        else:
            reply = await self._model.chat(CHAT.read(body))
            status, document = "200 OK", CHAT.write(body["model"], reply)
        text = json.dumps(document).encode()
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
        writer.write(head.encode() + f"content-length: {len(text)}\r\n\r\n".encode() + text)
        await writer.drain()


async def trained(folder: Path, outage: Outage) -> dict[str, Any]:
    """What a training decided, and its texts."""
    write_splits(folder / "tasks", train=12, selection=8, test=4)
    (folder / "run").mkdir()
    service = Service(outage)
    await service.listen()
    given = (*SETTINGS, f"model.base_url=http://127.0.0.1:{service.port}/v1")
    overrides = Overrides(
        "searchqa", flags={"env.split_dir": str(folder / "tasks")}, assignments=given
    )
    config = settle(overrides, {}).config
    request = RunRequest(config, {}, [Subscriber("outage", outage.hear)])
    waiting = asyncio.create_task(service.reopen()) if outage.kind == "refused" else None
    with open_session(folder / "run", request) as (session, _):
        await train_session(session)
    if waiting is not None and outage.stage:
        await waiting
    elif waiting is not None:
        waiting.cancel()
    await service.close()
    history = json.loads((folder / "run" / "history.json").read_text())
    return {
        "history": [{k: v for k, v in step.items() if k not in VOLATILE} for step in history],
        "best": (folder / "run" / "best_skill.md").read_text(),
        "skills": [path.read_text() for path in sorted((folder / "run" / "skills").glob("*.md"))],
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["503", "refused", "hanging"])
@pytest.mark.parametrize("stage", ["rollout", "reflect", "measure"])
async def test_an_outage_changes_no_decision_and_no_text(
    tmp_path: Path, stage: str, kind: Kind
) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "out").mkdir()
    plain = await trained(tmp_path / "plain", Outage())
    outage = Outage(stage, kind)
    assert await trained(tmp_path / "out", outage) == plain
    assert len(plain["history"]) == 2
    assert outage.told[0].startswith(OUTAGE)
    assert any(reason.startswith("the service answers again") for reason in outage.told)
