"""A run of GEPA in a world: `python gepa_run.py URL SEED BUDGET MINIBATCH`, beside its `tasks`.

Needs the package `gepa`. The adapter speaks plain HTTP. Writes the best text to `best.md`, and how
often a call waited for another to `waits.txt`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gepa
import httpx2
from gepa.core.adapter import EvaluationBatch

WORKERS = 24
COMPONENT = "skill"

Record = dict[str, str]
Messages = list[dict[str, str]]


class Models:
    """Both models of a world's server. Counts the waits: calls made together are one."""

    total_cost = 0.0

    def __init__(self, url: str) -> None:
        self.waits = 0
        self._client = httpx2.Client(base_url=url, timeout=120)
        self._pool = ThreadPoolExecutor(WORKERS)

    def ask(self, model: str, chats: Sequence[Messages]) -> list[str]:
        """The replies to several chats, which are sent together."""
        self.waits += 1
        return list(self._pool.map(lambda messages: self._chat(model, messages), chats))

    def __call__(self, prompt: str) -> str:
        """GEPA's interface of a reflection model."""
        return self.ask("optimizer", [[{"role": "user", "content": prompt}]])[0]

    def _chat(self, model: str, messages: Messages) -> str:
        body = {"model": model, "messages": messages}
        reply = self._client.post("/v1/chat/completions", json=body).raise_for_status()
        text: str = reply.json()["choices"][0]["message"]["content"]
        return text


class Adapter:
    """GEPA's interface of a program: attempts tasks, and describes the attempts."""

    propose_new_texts = None

    def __init__(self, models: Models) -> None:
        self._models = models

    def evaluate(
        self, batch: list[Record], candidate: dict[str, str], capture_traces: bool = False
    ) -> EvaluationBatch[Record, str]:
        """Attempt tasks with a candidate."""
        chats = [_brief(candidate[COMPONENT], task) for task in batch]
        return _attempts(batch, self._models.ask("target", chats))

    def make_reflective_dataset(
        self,
        candidate: dict[str, str],
        eval_batch: EvaluationBatch[Record, str],
        components_to_update: list[str],
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The attempts, as the reflection reads them."""
        return {COMPONENT: eval_batch.trajectories or []}


def _brief(text: str, task: Record) -> Messages:
    question = {"role": "user", "content": task["question"]}
    return [{"role": "system", "content": text}, question]


def _attempts(tasks: Sequence[Record], answers: list[str]) -> EvaluationBatch[Record, str]:
    scores = [float(answer == task["answer"]) for answer, task in zip(answers, tasks, strict=True)]
    described = [
        {
            "Inputs": task["question"],
            "Generated Outputs": answer,
            "Feedback": "Right." if score else f"Wrong. The value is {task['answer']}.",
        }
        for task, answer, score in zip(tasks, answers, scores, strict=True)
    ]
    return EvaluationBatch(answers, scores, described)


def main(url: str, seed: int, budget: int, minibatch: int) -> None:
    """Optimize, and write the result beside the tasks."""
    tasks = Path("tasks")
    train, selection = (
        json.loads((tasks / split / "items.json").read_text(encoding="utf-8"))
        for split in ("train", "selection")
    )
    models = Models(url)
    result = gepa.optimize(
        seed_candidate={COMPONENT: (tasks / "seed.md").read_text(encoding="utf-8")},
        trainset=train,
        valset=selection,
        adapter=Adapter(models),
        reflection_lm=models,
        max_metric_calls=budget,
        reflection_minibatch_size=minibatch,
        seed=seed,
    )
    best = result.best_candidate
    Path("best.md").write_text(best[COMPONENT], encoding="utf-8")
    Path("waits.txt").write_text(f"{models.waits}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
