"""How well the pace of calls fits a limit on requests: `python bench/rate_limit.py`.

A loopback server answers after 200 ms and admits, over HTTP, a third of what the workers could
send: a token bucket that holds one second's worth, and 429 with Retry-After beyond it. The calls go
through the real SDK and everything that a run puts around a backend.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from skillopt_cli.backends.budget import Budget, Past
from skillopt_cli.backends.doors import Doors
from skillopt_cli.backends.openai_compatible import SPEC
from skillopt_cli.backends.pacing import Pacer
from skillopt_cli.backends.stack import CallPolicy, Shared, stack
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.events import CallFailed, RunEvent
from skillopt_cli.core.task import ChatRequest, Message
from skillopt_cli.ports import RoleSettings

CALLS = 2400
LATENCY = 0.2
WORKERS = 48
PER_SECOND = WORKERS / LATENCY / 3
TARGET, TARGET_SHARE = 1.2, 0.03


class Bucket:
    """A token bucket that holds what comes in within one second."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held, self._at = PER_SECOND, clock()

    def wait(self) -> float:
        """Take a token; seconds until there is one where there is none."""
        now = self._clock()
        self._held = min(PER_SECOND, self._held + (now - self._at) * PER_SECOND)
        self._at = now
        if self._held < 1:
            return (1 - self._held) / PER_SECOND
        self._held -= 1
        return 0.0


def main() -> None:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    try:
        took, refused = asyncio.run(ask(f"http://127.0.0.1:{ours.recv()}/v1"))
    finally:
        server.kill()
    least = CALLS / PER_SECOND - 1 + LATENCY
    share = refused / (CALLS + refused)
    print(f"calls            {CALLS}, at most {60 * PER_SECOND:.0f} per minute")
    print(f"least possible   {least:.2f} s")
    print(f"took             {took:.2f} s, ratio {took / least:.3f}")
    print(f"answered 429     {refused}, {100 * share:.2f} %")
    print(f"target           ratio <= {TARGET}, below {100 * TARGET_SHARE:g} %")
    sys.exit(took / least > TARGET or share >= TARGET_SHARE)


async def ask(url: str) -> tuple[float, int]:
    """Make all calls; seconds taken, and calls answered with 429."""
    failures: list[RunEvent] = []

    def hear(event: RunEvent) -> None:
        if isinstance(event, CallFailed):
            failures.append(event)

    assert SPEC.open is not None
    backend = SPEC.open(RoleSettings(role="target", model="m", base_url=url))
    policy = CallPolicy("target", WORKERS, 60.0, RetryConfig())
    budget = Budget((), Past(), hear)
    shared = Shared(asyncio.Semaphore(WORKERS), Pacer(WORKERS), budget, Doors())
    chat = stack(backend, policy, shared)
    begun = time.monotonic()
    async with budget.within(), asyncio.TaskGroup() as group:
        for number in range(CALLS):
            request = ChatRequest((Message("user", f"call {number}"),), "rollout")
            group.create_task(chat.chat(request))
    return time.monotonic() - begun, len(failures)


def serve(port: Connection) -> None:
    """Answer until killed."""
    asyncio.run(_serve(port))


async def _serve(port: Connection) -> None:
    bucket = Bucket(asyncio.get_running_loop().time)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                fields = (line.partition(b":") for line in head.lower().splitlines())
                size = next(int(value) for name, _, value in fields if name == b"content-length")
                await reader.readexactly(size)
                wait = bucket.wait()
                if not wait:
                    await asyncio.sleep(LATENCY)
                writer.write(_answer(wait))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1024)
    port.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _answer(wait: float) -> bytes:
    if wait:
        status, body = f"429 Too Many Requests\r\nretry-after: {wait:.3f}", {"error": {}}
    else:
        message = {"role": "assistant", "content": "ok"}
        usage = {"prompt_tokens": 5, "completion_tokens": 1}
        choice = {"message": message, "finish_reason": "stop"}
        status, body = "200 OK", {"choices": [choice], "usage": usage}
    text = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(text)}"
    return head.encode() + b"\r\n\r\n" + text


if __name__ == "__main__":
    main()
