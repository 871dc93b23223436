"""Known spend: the ledger against the server's own count, over a whole run with faults."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import cycle
from pathlib import Path

import pytest

from skillopt_cli.compose.build import open_session
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.core.events import CallFailed, Role, StageStarted, Stamped
from skillopt_cli.core.ledger import ledger_of
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import train_session
from skillopt_cli.testing import EventLog, ModelServer, ScriptedResponse, run_model_server

MODELS: dict[Role, str] = {"optimizer": "m1", "target": "m2"}


def empty(prompt: int, completion: int) -> ScriptedResponse:
    """An answer of no use, with a bill."""
    message = {"role": "assistant", "content": ""}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    }
    return ScriptedResponse(200, body)


FAULTS = (
    empty(101, 0),
    ScriptedResponse(503, {"error": {"message": "down"}}),
    ScriptedResponse(200, "<html>not json</html>"),
    ScriptedResponse(200, {"half": "an answer"}, action="drop"),
    ScriptedResponse(429, {"error": {"message": "slow down"}}, {"retry-after": "0"}),
    ScriptedResponse(action="hang"),
    empty(57, 3),
)
"""What goes wrong as a stage begins, one after the other; beside the faults by chance."""


class Saboteur:
    """Lets the server fail whenever a stage begins."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self._faults = cycle(FAULTS)

    def __call__(self, fact: Stamped) -> None:
        if isinstance(fact.event, StageStarted):
            self._server.script(next(self._faults))


def order(server: ModelServer, log: EventLog) -> RunRequest:
    flags = {f"model.{role}.name": name for role, name in MODELS.items()}
    settings = (
        "model.backend=openai_compatible",
        f"model.base_url={server.url}",
        "model.timeout=10",
        "model.retry.base_seconds=0",
        "model.retry.max_attempts=8",
        "run.workers=4",
    )
    overrides = Overrides("searchqa", "tiny", flags=flags, assignments=settings)
    config = settle(overrides, {}).config
    observers = [Subscriber("log", log), Subscriber("saboteur", Saboteur(server))]
    return RunRequest(config, {}, observers)


@pytest.mark.slow
def test_the_ledger_equals_the_servers_count(tmp_path: Path) -> None:
    log = EventLog()
    faults = {"rate_limit_rate": 0.05, "server_error_rate": 0.05, "malformed_rate": 0.2}
    with run_model_server(tmp_path / "requests.jsonl", bodies=False, **faults) as server:
        (tmp_path / "run").mkdir()
        with open_session(tmp_path / "run", order(server, log)) as (session, _):
            assert asyncio.run(train_session(session)) == 0
        asked = server.requests()
    ledger = ledger_of(log.facts)
    # The server writes down a call before it answers: none is missing on either side.
    for role, model in MODELS.items():
        mine = [entry for entry in asked if entry["model"] == model]
        billed = [entry for entry in mine if entry["prompt_tokens"] is not None]
        spent = ledger.by_role(role)
        assert spent.calls == len(billed)
        assert spent.prompt_tokens == sum(entry["prompt_tokens"] for entry in billed)
        assert spent.completion_tokens == sum(entry["completion_tokens"] for entry in billed)
        made = sum(f.role == role for f in log.of(CallFailed))
        unusable = sum(f.role == role and f.usage is not None for f in log.of(CallFailed))
        assert spent.calls + made - unusable == len(mine)
        assert spent.silent == 0
    kinds = Counter(fact.error for fact in log.of(CallFailed))
    assert set(kinds) >= {"ServerFailed", "NetworkFailed", "RateLimited", "CallTimedOut"}
    assert {fact.usage for fact in log.of(CallFailed)} >= {None}
    assert {f.usage.prompt_tokens for f in log.of(CallFailed) if f.usage} == {101, 57}
