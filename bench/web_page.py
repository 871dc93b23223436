"""How fast the web page answers, by processor time, and how much memory it takes, for a long run.

    python bench/web_page.py [STEPS TASKS]

A log of STEPS steps with TASKS train and as many selection tasks each (40 and 200) is written and
read; then each page is asked for ten times. It must answer within 100 ms, and the run take under
50 MB. A run of a million attempts has a snapshot; `bench/store_scale.py` asks for its pages.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import psutil
from starlette.testclient import TestClient

from skillopt_cli.core.edits import Edit, EditOutcome
from skillopt_cli.core.events import (
    BaselineMeasured,
    BatchScored,
    CallMade,
    CandidateMade,
    CheckpointSaved,
    EditsChosen,
    GateDecided,
    PatchesProposed,
    RolloutFinished,
    RunEvent,
    RunFinished,
    RunStarted,
    StageFinished,
    StageName,
    StageStarted,
    Stamped,
    StepStarted,
)
from skillopt_cli.core.gate import GateDecision
from skillopt_cli.core.task import Usage
from skillopt_cli.store.codec import dump_fact
from skillopt_cli.web.app import application
from skillopt_cli.web.security import Access
from skillopt_cli.web.server import COLLECT_EACH

RUN = "/runs/searchqa/long"
PLACES = (
    "",
    "/steps/4",
    "/tasks",
    "/tasks?split=train",
    "/tasks?q=answer&sort=-flips",
    "/attempts?task=selection-010",
    "/skills",
    "/epochs",
    "/spend",
    "/settings",
)
"""Pages of a run."""
ROUNDS = 10


def facts(steps: int, tasks: int) -> Iterator[RunEvent]:
    """A training that never gets better."""
    yield RunStarted("long", "searchqa", 0, steps, 4, "o", "t", "d", tasks, tasks, tasks, "hard")
    yield from _stage(0, "measure", tasks)
    yield BaselineMeasured(0.4, 0.4, 0.5, tasks, tasks)
    for step in range(1, steps + 1):
        yield StepStarted(step, 1 + 4 * (step - 1) // steps, step, 4, 3.5, 4, "cosine")
        yield from _stage(step, "rollout", tasks)
        yield BatchScored(step, 0.4, 0.5, tasks // 2, tasks, tasks)
        edits = tuple(
            Edit("append", content=f"Rule {step}.{n}: {'say less ' * 20}") for n in "abcd"
        )
        yield PatchesProposed(step, 8, 4, 4, 12)
        yield EditsChosen(step, edits, ())
        outcomes = tuple(EditOutcome(edit, "applied") for edit in edits)
        yield CandidateMade(step, f"{step:064d}", 900, outcomes)
        yield from _stage(step, "measure", tasks)
        decision = GateDecision("reject", "hard", 0.4, 0.41, 0.41, tasks, tasks)
        yield GateDecided(step, decision, 0.4, 0.5)
        yield CheckpointSaved(step, 0.41, 0.41, 0, 0, 500)
    yield RunFinished(steps, 0, 0.41, 0)


def _stage(step: int, stage: StageName, tasks: int) -> Iterator[RunEvent]:
    split = "train" if stage == "rollout" else "selection"
    yield StageStarted(step, stage, tasks, 8)
    for number in range(tasks):
        yield CallMade("target", stage, Usage(1, 100, 10), 0.001)
        hard = float((number + step) % 3 == 0)
        yield RolloutFinished(step, stage, f"{split}-{number:03d}", hard, 0.5, "answered", False)
    yield StageFinished(step, stage)


def written(root: Path, steps: int, tasks: int) -> None:
    """The folder of such a run."""
    folder = root / "searchqa" / "long"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("env:\n  name: searchqa\n", encoding="utf-8")
    splits = {"test": {f"test-{number:03d}": f"{number:064d}" for number in range(tasks)}}
    (folder / "manifest.json").write_text(json.dumps({"splits": splits}), encoding="utf-8")
    with (folder / "events.jsonl").open("w", encoding="utf-8") as log:
        for number, fact in enumerate(facts(steps, tasks), 1):
            log.write(dump_fact(Stamped(number, 1.7e9 + number / 10, fact)) + "\n")
    (folder / "skills").mkdir()
    (folder / "skills" / "step_0000.md").write_text("Say less.\n", encoding="utf-8")
    (folder / "best_skill.md").write_text("Say much less.\n", encoding="utf-8")
    for place in ("selection", *(f"steps/step_{step:04d}/rollout" for step in range(1, steps + 1))):
        split = "selection" if place == "selection" else "train"
        (folder / place).mkdir(parents=True)
        rows = (json.dumps(_row(f"{split}-{number:03d}")) for number in range(tasks))
        (folder / place / "results.jsonl").write_text("\n".join(rows), encoding="utf-8")


def _row(task: str) -> dict[str, object]:
    """A row of the results, with a question of some length."""
    question = f"## Context\n{'Much is known of it. ' * 60}\n\n## Question\nWhat is {task}?"
    return {
        "id": task,
        "task_type": "thing",
        "question": question,
        "expected": [f"the answer to {task}"],
        "predicted_answer": f"<answer>some answer to {task}</answer>",
    }


def measured(steps: int, tasks: int) -> dict[str, object]:
    """Milliseconds of each page, at first and then, seconds of the reading, megabytes it takes."""
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        written(root / "warm", 2, 4)
        written(root / "long", steps, tasks)
        # What any run takes, such as the modules, is no part of what this one does.
        asked(root / "warm", ("/", RUN, f"{RUN}/tasks", f"{RUN}/steps/1", f"{RUN}/spend"))
        before = process.memory_info().rss
        pages = ("/", *(f"{RUN}{place}" for place in PLACES))
        reading, first, later = asked(root / "long", pages)
        after = process.memory_info().rss
    mb = round((after - before) / 1e6, 1)
    return {"first_ms": first, "pages_ms": later, "reading_s": reading, "mb": mb}


def asked(root: Path, paths: Sequence[str]) -> tuple[float, dict[str, float], dict[str, float]]:
    """Seconds until a new server has read the runs, milliseconds of each page at first and then."""
    gc.set_threshold(COLLECT_EACH)
    app = application(root, Access(""), patience=3600)
    with TestClient(app, base_url="http://127.0.0.1:7860") as asking:
        began = time.process_time()
        asking.get("/")
        reading = time.process_time() - began
        first = {path: _median(asking, path, 1) for path in paths}
        return round(reading, 2), first, {path: _median(asking, path, ROUNDS) for path in paths}


def _median(asking: TestClient, path: str, rounds: int) -> float:
    took = []
    for _ in range(rounds):
        began = time.process_time()
        answer = asking.get(path)
        took.append(time.process_time() - began)
        assert answer.status_code == 200, path
    return round(1000 * median(took), 1)


if __name__ == "__main__":
    steps, tasks = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (40, 200)
    print(json.dumps(measured(steps, tasks), indent=2))
