"""The real command line in this process: what it printed where, and how it ended."""

from __future__ import annotations

import atexit
import json
import shutil
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from typer.testing import CliRunner

from skillopt_cli.cli.app import app

TINY = ("--preset", "tiny")
PUBLISHED = tuple(
    text
    for setting in (
        "gradient.failure_only=false",
        "optimizer.learning_rate=4",
        "optimizer.lr_scheduler=cosine",
        "optimizer.merge=model",
        "optimizer.verify=off",
        "optimizer.reflect_rounds=1",
        "optimizer.rejected_memory=step",
        "optimizer.rerun_solved=1",
        "optimizer.use_slow_update=true",
        "optimizer.use_meta_skill=true",
        "evaluation.gate_policy=strict",
    )
    for text in ("--set", setting)
)
"""The published method, without the preset `paper`, which also sets how guidance is judged."""
"""4 steps in 2 epochs on the simulated model."""
SMALLEST = (
    *TINY,
    *("--epochs", "1", "--batch-size", "4", "--set", "train.train_size=4"),
    *("--set", "evaluation.sel_env_num=4", "--set", "evaluation.test_env_num=3"),
)
"""One step."""


CITIES = ("Oslo", "Paris", "Rome", "Lima")
"""The labels of `labelled_run`."""
_WHOLE = tuple(
    text
    for setting in (
        "model.backend=simulated",
        "train.train_size=0",
        "evaluation.sel_env_num=0",
        "evaluation.test_env_num=0",
    )
    for text in ("--set", setting)
)


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> str:
        return next(line for line in self.err.splitlines() if line.startswith("error: "))

    @property
    def hint(self) -> str:
        return next((line for line in self.err.splitlines() if line.startswith("hint: ")), "")


def skillopt(*arguments: object, **variables: str) -> Ended:
    """Run a command; `variables` are added to the environment for its length."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], env=variables)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)


def refused(code: int, *arguments: object, **variables: str) -> Ended:
    """Run a command that must fail as a user's mistake does: one sentence, a hint, no more."""
    ended = skillopt(*arguments, **variables)
    assert ended.code == code, (ended.code, ended.err)
    assert ended.out == ""
    assert "Traceback" not in ended.err
    assert sum(line.startswith("error: ") for line in ended.err.splitlines()) == 1
    assert not ended.error.endswith(".")
    assert ended.hint and not ended.hint.endswith(".")
    sentence = ended.error.removeprefix("error: ")
    assert ended.err.count(sentence) == 1, "the display said it too"
    assert sum("hint: " in line for line in ended.err.splitlines()) == 1
    return ended


def rows(ended: Ended) -> dict[str, dict[str, Any]]:
    """The output of `config show --json`, by key."""
    assert ended.code == 0, ended.err
    return {row["key"]: row for row in ended.json}


def train(*arguments: object, run_id: str = "a", **variables: str) -> Path:
    """Train on the bundled sample; the run folder."""
    ended = skillopt("train", "searchqa", *arguments, "--run-id", run_id, **variables)
    assert ended.code == 0, ended.err
    return Path("outputs", "searchqa", run_id)


def finished_run(*arguments: object, run_id: str = "a") -> Path:
    """A copy of a run that is trained once per test process, for tests of what comes after it."""
    kept = _trained_once(tuple(map(str, arguments)), run_id)
    return shutil.copytree(kept, Path("outputs", "searchqa", run_id))


def unfinish(folder: Path) -> None:
    """Take the ending of a run out of its log, as a kill leaves it."""
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")


@cache
def _trained_once(arguments: tuple[str, ...], run_id: str) -> Path:
    folder = Path(mkdtemp(prefix="finished-run-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with chdir(folder):
        return train(*arguments, run_id=run_id).resolve()


def labelled_run(folder: Path, labels: Sequence[str] = CITIES) -> Path:
    """A finished training in a folder, on 60 tasks whose answers are labels; some texts mislead."""
    rows = []
    for i in range(60):
        right, other = labels[i % len(labels)], labels[(i * 7 + 1) % len(labels)]
        past = "" if i % 3 else f"Box {i} was made in {other}. "
        context = f"{past}Box {i} stands in {right}."
        kind = "still" if i % 3 else "moved"
        asked = {"question": f"Where is box {i}?", "context": context}
        rows.append({"id": f"t{i}", **asked, "answer": right, "kind": kind})
    with chdir(folder):
        Path("places.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        given = ("--epochs", "2", "--seed", "3", "--run-id", "p")
        ended = skillopt("train", "places.jsonl", *TINY, *_WHOLE, *given)
        assert ended.code == 0, ended.err
    return folder / "outputs/folder/p"


def events(folder: Path, *kinds: str) -> list[dict[str, Any]]:
    """The facts of a run, or those of some kinds; a line that is being written is left out."""
    log = folder / "events.jsonl"
    lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
    found = [json.loads(line)["event"] for line in lines]
    return [event for event in found if not kinds or event["kind"] in kinds]


def calls(folder: Path) -> int:
    """Model calls a run paid for, the first check of each role not counted."""
    return sum(event["stage"] != "preflight" for event in events(folder, "call_made"))


def outcome(folder: Path) -> dict[str, Any]:
    """What a training came to: equal for runs that decided alike."""
    history = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    timed = ("timing", "tokens", "wall_time_s")
    return {
        "best": (folder / "best_skill.md").read_bytes(),
        "skills": {p.name: p.read_bytes() for p in sorted((folder / "skills").iterdir())},
        "history": [{k: v for k, v in step.items() if k not in timed} for step in history],
    }
