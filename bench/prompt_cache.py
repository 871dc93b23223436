"""How many prompt tokens of a training services have cached: `python bench/prompt_cache.py`.

A loopback server answers both APIs like the simulated model and remembers prompts. Like OpenAI's,
it reads back what a prompt has in common with an answered one, from 1,024 tokens on, in steps of
128. Like Anthropic's, it stores a prompt up to each of its marks, if that is 1,024 tokens or more.
No entry expires. Each row is a training of its own, with a seed skill of that many tokens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parent))

from local_server import Answer, serving

from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.compose.build import open_session
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.core.ledger import Spent, ledger_of
from skillopt_cli.engine.session import train_session
from skillopt_cli.store.codec import load_fact
from skillopt_cli.testing import write_splits
from skillopt_cli.testing.model_dialects import DIALECTS

LATENCY_MS, WORKERS = 50, 8
SKILL_TOKENS = (500, 2000, 6000)
SMALLEST, STEP, LOOK_BACK = 1024, 128, 20
READ_PRICE, WRITE_PRICE = 0.1, 1.25
"""In prices of a token that is neither read from a cache nor written into one."""
CHARS_PER_TOKEN = 4
SEED_SKILL = "# Question answering\n\nAnswer the question using the context.\n"

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Counts:
    """Tokens of a prompt."""

    prompt: int
    read: int = 0
    written: int = 0


class PromptCache(Protocol):
    """What a service remembers of the prompts it was sent."""

    def count(self, body: Body) -> Counts:
        """Count a request that has come."""

    def store(self, body: Body) -> None:
        """Remember a request that is answered."""


class StepCache:
    """Remembers whole prompts, like OpenAI's services."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def count(self, body: Body) -> Counts:
        """Count the steps from the start that are known."""
        text, read = _prompt(body), 0
        for end, key in _steps(text):
            if key not in self._known:
                break
            read = end
        return Counts(_tokens(text), read)

    def store(self, body: Body) -> None:
        """Remember every step of a prompt."""
        self._known.update(key for _, key in _steps(_prompt(body)))


class MarkCache:
    """Remembers prompts up to their marks, like Anthropic's service."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def count(self, body: Body) -> Counts:
        """Count up to the last known place at a mark or few blocks before one, then to the mark."""
        places = list(_places(body))
        ends = [n for n, place in enumerate(places) if place.marked]
        near = [n for end in ends for n in range(max(0, end - LOOK_BACK + 1), end + 1)]
        read = max((places[n].tokens for n in near if places[n].key in self._known), default=0)
        stored = max((places[n].tokens for n in ends if places[n].tokens >= SMALLEST), default=0)
        return Counts(places[-1].tokens, read, max(0, stored - read))

    def store(self, body: Body) -> None:
        """Remember each marked place that is far enough from the start."""
        places = (place for place in _places(body) if place.marked and place.tokens >= SMALLEST)
        self._known.update(place.key for place in places)


@dataclass(frozen=True)
class Place:
    """The end of a block: what is before it, in tokens and as a key."""

    tokens: int
    key: int
    marked: bool


def _places(body: Body) -> Iterator[Place]:
    system = body.get("system", "")
    blocks = [{"text": system}] if isinstance(system, str) else list(system)
    blocks += [block for turn in body["messages"] for block in turn["content"]]
    text = json.dumps(body.get("tools", []))
    for block in blocks:
        text += block["text"]
        yield Place(_tokens(text), hash(text), "cache_control" in block)


def _prompt(body: Body) -> str:
    return "".join(f"<{message['role']}>{message['content']}" for message in body["messages"])


def _steps(text: str) -> Iterator[tuple[int, int]]:
    for end in range(SMALLEST, _tokens(text) + 1, STEP):
        yield end, hash(text[: end * CHARS_PER_TOKEN])


def _tokens(text: str) -> int:
    return len(text) // CHARS_PER_TOKEN


def openai_usage(counts: Counts) -> dict[str, Any]:
    """The usage of a chat completion."""
    return {
        "prompt_tokens": counts.prompt,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": counts.read},
    }


def anthropic_usage(counts: Counts) -> dict[str, Any]:
    """The usage of a message."""
    return {
        "input_tokens": counts.prompt - counts.read - counts.written,
        "cache_read_input_tokens": counts.read,
        "cache_creation_input_tokens": counts.written,
        "output_tokens": 1,
    }


SERVICES = {
    "openai_compatible": ("/chat/completions", StepCache, openai_usage),
    "claude_chat": ("/messages", MarkCache, anthropic_usage),
}


class CachingService:
    """The simulated model behind one of the APIs, with its cache."""

    def __init__(self, backend: str) -> None:
        path, cache_of, self._usage_of = SERVICES[backend]
        self._dialect = next(d for d in DIALECTS if d.path == path)
        self._model = Simulated(SimulatedConfig(latency_ms=LATENCY_MS))
        self._cache: PromptCache = cache_of()

    async def answer(self, path: str, body: bytes) -> Answer:
        """Answer a call."""
        asked = json.loads(body)
        counts = self._cache.count(asked)
        reply = await self._model.chat(self._dialect.read(asked))
        self._cache.store(asked)
        document = self._dialect.write(asked["model"], reply)
        return Answer({**document, "usage": self._usage_of(counts)})


@dataclass(frozen=True)
class Row:
    """One training: what each role spent, and what was written into the cache for it."""

    backend: str
    skill: int
    spent: Mapping[str, Spent]
    written: Mapping[str, int]

    def cached(self, role: str) -> float:
        """The share of a role's prompt tokens that came from the cache."""
        spent = self.spent[role]
        return (spent.cached_tokens or 0) / (spent.prompt_tokens or 1)

    def price(self, role: str) -> float:
        """The price of a role's prompts, that without a cache being 1."""
        written = self.written[role] / (self.spent[role].prompt_tokens or 1)
        return 1 - (1 - READ_PRICE) * self.cached(role) + (WRITE_PRICE - 1) * written


def measured(backend: str, skill: int) -> Row:
    """Train against a new server."""
    with TemporaryDirectory() as folder, serving(CachingService, backend) as address:
        return _trained(backend, skill, address, Path(folder))


def _trained(backend: str, skill: int, url: str, home: Path) -> Row:
    write_splits(home / "tasks", train=80, selection=40, test=60)
    (home / "run").mkdir()
    (home / "skill.md").write_text(seed_skill(skill))
    assignments = {
        "model.backend": backend,
        "model.base_url": url if backend == "claude_chat" else f"{url}/v1",
        "model.target.name": "sonnet-target",
        "model.optimizer.name": "sonnet-optimizer",
        "env.skill_init": str(home / "skill.md"),
        "train.num_epochs": 2,
        "train.batch_size": 20,
        "gradient.analyst_workers": WORKERS,
        "run.workers": WORKERS,
        "run.max_concurrency": WORKERS,
    }
    overrides = Overrides(
        "searchqa",
        flags={"env.split_dir": str(home / "tasks")},
        assignments=tuple(f"{key}={value}" for key, value in assignments.items()),
    )
    environment = {"ANTHROPIC_API_KEY": "no-key"}
    request = RunRequest(settle(overrides, environment).config, environment, [])
    with open_session(home / "run", request) as (session, _):
        asyncio.run(train_session(session))
    lines = (home / "run" / "events.jsonl").read_text().splitlines()
    ledger = ledger_of(map(load_fact, lines))
    written: Counter[str] = Counter()
    for event in (json.loads(line)["event"] for line in lines):
        if event["kind"] == "call_made":
            written[event["role"]] += event["usage"]["stored_tokens"] or 0
    return Row(backend, skill, {role: ledger.at_work(role) for role in ledger.roles}, written)


def seed_skill(tokens: int) -> str:
    """A skill of about so many tokens, no two of whose lines are equal."""
    lines = [f"- Rule {n}: weigh what passage {n % 7} says before it is used." for n in range(999)]
    return SEED_SKILL + "\n".join(lines)[: tokens * CHARS_PER_TOKEN].rpartition("\n")[0] + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skill", type=int, nargs="*", default=SKILL_TOKENS, metavar="TOKENS")
    parser.add_argument("--backend", choices=SERVICES, nargs="*", default=list(SERVICES))
    given = parser.parse_args()
    print("| backend | skill | role | calls | prompt tokens | cached | price of prompts |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for backend in given.backend:
        for skill in given.skill:
            row = measured(backend, skill)
            for role, spent in row.spent.items():
                print(
                    f"| {backend} | {skill:,} | {role} | {spent.calls} | {spent.prompt_tokens:,}"
                    f" | {100 * row.cached(role):.0f} % | {row.price(role):.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
