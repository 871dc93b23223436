"""Killing a real run from outside, and reading from its files what it lost."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from typer.testing import CliRunner

from skillopt_cli.cli.app import app
from skillopt_cli.runlog.history import VOLATILE
from skillopt_cli.store.codec import load_fact
from skillopt_cli.testing import ModelServer, write_splits

PROGRAM = (sys.executable, "-c", "from skillopt_cli.cli.main import main; main()")
WORKERS = 4
EPOCHS, BATCH = 2, 4
STAGES = ("rollout", "reflect", "aggregate", "select", "update", "measure")
_STARTED, _FINISHED = '"kind":"stage_started"', '"kind":"stage_finished"'

Trigger = Callable[[str], bool]
"""Told every new line of the event log; whether the moment to kill has come."""


def seed_skill() -> str:
    """A long skill: the update of a short one ends too soon to be hit."""
    lines = [f"- Note {i}: texts of this kind are read from top to bottom." for i in range(900)]
    return "# Reading\n\nAnswer the question from the text.\n\n" + "\n".join(lines) + "\n"


@dataclass
class Life:
    """What one process did: how it ended, and which calls reached the server.

    Attributes:
        code: exit code, None when it was killed.
        stage: the stage it was in when it died, "" for between stages.
        calls: hashes of the request bodies, first checks left out.
        before, after: journaled calls at its begin and end.
    """

    code: int | None
    stage: str
    calls: list[str]
    before: set[str]
    after: set[str]

    @property
    def lost(self) -> int:
        """Calls that were paid for and not journaled."""
        return len(self.calls) - len(self.after - self.before)


@dataclass
class Patient:
    """A configured run, in a folder of its own, that can be started, killed and resumed."""

    home: Path
    server: ModelServer
    name: str
    extra: tuple[str, ...] = ()
    lives: list[Life] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.home / "outputs" / "searchqa" / self.name

    @property
    def events(self) -> Path:
        return self.folder / "events.jsonl"

    def live(
        self,
        trigger: Trigger = lambda line: False,
        delay: float = 0.0,
        besides: Callable[[], object] = lambda: None,
    ) -> Life:
        """Start or resume the run; kill it `delay` seconds after the trigger's moment.

        Args:
            besides: what to do at that moment as well.
        """
        before, heard = journaled(self.folder), len(self.server.requests())
        size = self.events.stat().st_size if self.events.exists() else 0
        process = subprocess.Popen(
            [*PROGRAM, *self.command()],
            cwd=self.home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            if await_moment(process, self.events, size, trigger):
                time.sleep(delay)
                os.kill(process.pid, signal.SIGKILL)
                besides()
            _, errors = process.communicate(timeout=600)
        finally:
            process.kill()
            process.wait()
        killed = process.returncode == -signal.SIGKILL
        assert killed or process.returncode == 0, errors.decode()
        return self._record(None if killed else 0, before, heard)

    def live_within_this_process(self) -> Life:
        """The whole run without a process of its own, which takes longer to start than to end."""
        heard = len(self.server.requests())
        done = CliRunner().invoke(app, self.command())
        assert done.exit_code == 0, done.output
        return self._record(0, set(), heard)

    def _record(self, code: int | None, before: set[str], heard: int) -> Life:
        fence = settle(self.server)
        others = {fence, first_check(self.server)}
        calls = [
            call for r in self.server.requests()[heard:] if (call := r["sha256"]) not in others
        ]
        stage = "" if code == 0 else stage_at_death(self.events)
        self.lives.append(Life(code, stage, calls, before, journaled(self.folder)))
        return self.lives[-1]

    def result(self) -> dict[str, object]:
        """All that must equal what an uninterrupted run leaves, byte for byte."""
        skills = {p.name: p.read_bytes() for p in sorted((self.folder / "skills").iterdir())}
        history = json.loads((self.folder / "history.json").read_text(encoding="utf-8"))
        records = [{k: v for k, v in r.items() if k not in VOLATILE} for r in history]
        tests = [
            sorted(fact.items())
            for fact in facts(self.events)
            if fact["kind"] in ("baseline_measured", "test_measured")
        ]
        return {
            "best": (self.folder / "best_skill.md").read_bytes(),
            "skills": skills,
            "history": json.dumps(records, indent=1).encode(),
            "measured": sorted({json.dumps(test) for test in tests}),
        }

    def command(self) -> list[str]:
        if (self.folder / "manifest.json").exists():
            return ["resume", str(self.folder), "--display", "none"]
        endpoint = ("target", "optimizer")
        return [
            "train", "searchqa", "--preset", "paper", "--run-id", self.name, "--display", "none",
            "--split-dir", "tasks", "--skill-init", "seed.md",
            "--epochs", str(EPOCHS), "--batch-size", str(BATCH), "--learning-rate", "3",
            *(text for role in endpoint for text in (f"--{role}-backend", "openai_compatible")),
            *(text for role in endpoint for text in (f"--{role}-model", "simulated")),
            "--set", f"model.base_url={self.server.url}",
            "--set", "gradient.minibatch_size=1", "--set", "gradient.merge_batch_size=2",
            "--set", f"run.workers={WORKERS}", "--set", f"gradient.analyst_workers={WORKERS}",
            *self.extra,
        ]  # fmt: skip


def prepare(home: Path) -> None:
    """Tasks and seed skill for a run of eight steps."""
    write_splits(home / "tasks", train=4 * BATCH, selection=6, test=2, seed=5)
    (home / "seed.md").write_text(seed_skill(), encoding="utf-8")


def await_moment(
    process: subprocess.Popen[bytes], events: Path, offset: int, trigger: Trigger
) -> bool:
    """Watch the growing log closely; False when the process ended by itself first."""
    rest = b""
    while not events.exists():
        if process.poll() is not None:
            return False
        time.sleep(0.001)
    with events.open("rb", buffering=0) as log:
        log.seek(offset)
        idle = 0
        while True:
            new = log.read(1 << 16) or b""
            *lines, rest = (rest + new).split(b"\n")
            if any(trigger(line.decode()) for line in lines):
                return True
            idle = 0 if new else idle + 1
            if idle % 64 == 63 and process.poll() is not None:
                return False
            time.sleep(0.0001)


def in_stage(stage: str, passed: int = 0) -> Trigger:
    """The moment the stage begins, after it began `passed` times."""
    left = iter(range(passed))

    def begins(line: str) -> bool:
        return _STARTED in line and f'"stage":"{stage}"' in line and next(left, None) is None

    return begins


def after_lines(n: int) -> Trigger:
    """The moment of the nth new fact."""
    left = iter(range(n - 1))
    return lambda line: next(left, None) is None


def stage_at_death(events: Path) -> str:
    """The stage that had begun and not ended, by the log alone."""
    stage = ""
    for fact in facts(events):
        if fact["kind"] in ("stage_started", "run_started"):
            stage = fact.get("stage", "")
        elif fact["kind"] == "stage_finished":
            stage = ""
    return stage


def facts(events: Path) -> Iterator[dict[str, Any]]:
    """The log's facts; a torn last line is left out."""
    for line in events.read_bytes().split(b"\n")[:-1] if events.exists() else ():
        assert load_fact(line)
        yield json.loads(line)["event"]


def journaled(folder: Path) -> set[str]:
    """Keys of the calls in the journal."""
    return set(journal_order(folder))


def journal_order(folder: Path) -> list[str]:
    """Keys of the calls in the journal, oldest first."""
    path = folder / "journal.sqlite"
    if not path.exists():
        return []
    db = sqlite3.connect(path)
    try:
        named = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'calls'").fetchone()
        rows = db.execute("SELECT key FROM calls ORDER BY rowid").fetchall() if named else []
    finally:
        db.close()
    return [key for (key,) in rows]


def settle(server: ModelServer) -> str:
    """Wait until the server has answered whatever was in flight; the hash of the call that did.

    The server takes calls in order and each takes as long, so its answer to a later one says that
    it is done with those before.
    """
    body = json.dumps({"model": "fence", "messages": [{"role": "user", "content": "fence"}]})
    request = urllib.request.Request(f"{server.url}/chat/completions", body.encode())
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=600) as answer:
        answer.read()
    fences = [r["sha256"] for r in server.requests() if r["model"] == "fence"]
    return str(fences[-1])


def first_check(server: ModelServer) -> str:
    """The hash of the one-line call with which every life begins, and so the very first one."""
    return next((str(r["sha256"]) for r in server.requests() if r["model"] != "fence"), "")


@dataclass(frozen=True)
class Reference:
    """What an uninterrupted run leaves, and which body each journal key stands for."""

    result: dict[str, object]
    bodies: dict[str, str]
    steps: int

    @classmethod
    def make(cls, home: Path, server: ModelServer, extra: tuple[str, ...] = ()) -> Reference:
        """Run twice: as it is, and one call after the other to learn which key is which body."""
        whole = Patient(home, server, "whole", extra)
        assert whole.live_within_this_process().lost == 0
        settings = (
            "run.workers=1",
            "gradient.analyst_workers=1",
            "evaluation.early_reject=false",
        )
        serial = tuple(text for setting in settings for text in ("--set", setting))
        one_by_one = Patient(home, server, "one-by-one", (*extra, *serial))
        life = one_by_one.live_within_this_process()
        keys = journal_order(one_by_one.folder)
        assert len(keys) == len(life.calls)
        bodies = dict(zip(keys, life.calls, strict=True))
        done = [f["done"] for f in facts(whole.events) if f["kind"] == "checkpoint_saved"]
        # Early rejection leaves calls out and changes none.
        assert journaled(whole.folder) <= set(bodies)
        return cls(whole.result(), bodies, done[-1])

    def check_calls(self, life: Life) -> None:
        """No call whose answer was journaled is repeated; what was lost was in flight."""
        assert life.after <= set(self.bodies)
        assert 0 <= life.lost <= (0 if life.code == 0 else WORKERS)
        allowed = Counter(self.bodies[key] for key in self.bodies if key not in life.before)
        assert not Counter(life.calls) - allowed


def moments(rng: Random, kills: int) -> Iterator[tuple[Trigger, float]]:
    """When to kill: in every stage in turn, and at any fact in between."""
    for n in range(kills):
        if n % 5 < 3:
            stage = STAGES[(n // 5 * 3 + n % 5) % len(STAGES)]
            slow = stage not in ("update",)
            yield in_stage(stage), rng.uniform(0, 0.004) if slow else 0.0
        else:
            yield after_lines(rng.randint(1, 60)), rng.uniform(0, 0.01)
