"""Tasks about an invented world, which the simulated target can solve, and a benchmark of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from skillopt_cli.core.score import Score
from skillopt_cli.core.task import Attempt, Brief, Section, Split, Task

Item = dict[str, Any]

_ONSETS: tuple[str, ...] = (*"bdfghklmnprstvwz", "br", "dr", "fl", "gr", "kl", "pr", "st", "tr")
_VOWELS: tuple[str, ...] = (*"aeiou", "au", "ei", "ia")
_CODAS: tuple[str, ...] = (*"lmnrtx", "ld", "nd", "rk", "rn", "sk", "th")
_KINDS = ("Academy", "Bridge", "Garden", "Harbour", "Library", "Mill", "Museum", "Tower")
_THINGS = (
    "blue glass",
    "copper bells",
    "painted maps",
    "river pearls",
    "silver clocks",
    "smoked cheese",
    "stone lions",
    "wooden flutes",
)

_TEMPLATES = {
    "person": (
        ("Who founded {subject}?", "{subject} was founded by {answer}."),
        ("Who designed {subject}?", "{answer} designed {subject} free of charge."),
    ),
    "year": (
        ("When was {subject} opened?", "{subject} was opened in {answer}."),
        ("In which year was {subject} rebuilt?", "In {answer} {subject} was rebuilt after a fire."),
    ),
    "place": (
        ("Where does {subject} stand?", "{subject} stands in {answer}."),
        ("Which town owns {subject}?", "{subject} is owned by the town of {answer}."),
    ),
    "number": (
        ("How many people does {subject} employ?", "{subject} employs {answer} people."),
        (
            "How many visitors does {subject} receive?",
            "{subject} receives {answer} visitors a day.",
        ),
    ),
    "thing": (
        ("What is {subject} known for?", "{subject} is known for its {answer}."),
        ("What does {subject} sell?", "{subject} sells {answer}."),
    ),
}
_ASKING = frozenset(
    word for forms in _TEMPLATES.values() for ask, _ in forms for word in ask.strip("?").split()
)
_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_ROLE = "You answer questions about short texts."
_FORMAT = "End with the answer between tags, for example <answer>Lyon</answer>."


def make_items(n: int, seed: int, prefix: str = "task") -> list[Item]:
    """Generate `n` items of SearchQA's format: id, kind, question, context and answers.

    Subjects are invented and unique within the list, so every question is too. A pure function of
    its arguments.
    """
    rng = Random(seed)
    subjects: set[str] = set()
    items: list[Item] = []
    while len(items) < n:
        subject = f"{_name(rng, 3)} {rng.choice(_KINDS)}"
        if subject not in subjects:
            subjects.add(subject)
            items.append(_item(f"{prefix}-{len(items) + 1:04d}", subject, rng))
    return items


def write_splits(
    folder: Path, train: int, selection: int, test: int, seed: int = 0
) -> dict[str, list[Item]]:
    """Write train, val and test/items.json below `folder`; no subject occurs in two of them."""
    items = make_items(train + selection + test, seed)
    cuts = {
        "train": items[:train],
        "val": items[train : train + selection],
        "test": items[train + selection :],
    }
    for name, part in cuts.items():
        path = folder / name / "items.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(part, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
    return cuts


def _item(identity: str, subject: str, rng: Random) -> Item:
    """One question about a subject, with a sentence about each of its facts as context."""
    asked = rng.choice(sorted(_TEMPLATES))
    question, answer, sentences = "", "", []
    for kind in sorted(_TEMPLATES):
        ask, tell = rng.choice(_TEMPLATES[kind])
        value = _VALUES[kind](rng)
        sentences.append(tell.format(subject=subject, answer=value))
        if kind == asked:
            question, answer = ask.format(subject=subject), value
    rng.shuffle(sentences)
    return {
        "id": identity,
        "kind": asked,
        "question": question,
        "context": " ".join(sentences),
        "answers": [answer],
    }


def _name(rng: Random, syllables: int) -> str:
    """A name that is not a word of a question, since a reader could confuse them."""
    parts = (rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables - 1))
    name = "".join(parts) + rng.choice(_CODAS)
    return _name(rng, syllables) if name in _ASKING else name.capitalize()


_VALUES: dict[str, Callable[[Random], str]] = {
    "person": lambda rng: f"{_name(rng, 2)} {_name(rng, 3)}",
    "year": lambda rng: str(rng.randint(1500, 1990)),
    "place": lambda rng: _name(rng, 3) + "stad",
    "number": lambda rng: str(rng.randint(12, 980)),
    "thing": lambda rng: rng.choice(_THINGS),
}


class ToyBenchmark:
    """A `Benchmark` with generated tasks: the same sizes and seed give the same tasks.

    The hard score requires the exact reference; the soft one is the number of common words over the
    larger number of words of answer and reference.
    """

    name = "toy"
    version = "1"
    source = "invented tasks"
    seed_skill = "# Reading\n\nAnswer the question from the text.\n"
    needs: frozenset[str] = frozenset()

    def __init__(self, sizes: Mapping[Split, int], seed: int = 0) -> None:
        items = iter(make_items(sum(sizes.values()), seed))
        self._tasks: dict[Split, tuple[Task, ...]] = {
            split: tuple(map(_task, islice(items, size))) for split, size in sizes.items()
        }

    def tasks(self, split: Split) -> Sequence[Task]:
        """The tasks of a split."""
        return self._tasks[split]

    def brief(self, task: Task) -> Brief:
        """Text and question."""
        sections = (
            Section("Context", task.data["context"]),
            Section("Question", task.data["question"]),
        )
        return Brief(task.id, _ROLE, sections, _FORMAT)

    def expected(self, task: Task) -> tuple[str, ...]:
        """The reference."""
        return (task.data["answers"][0],)

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """Score the last tagged answer, else the whole text."""
        found = _TAGGED.findall(attempt.answer)
        answer = (found[-1] if found else attempt.answer).strip()
        reference: str = task.data["answers"][0]
        if attempt.ending == "gave_up" or not answer:
            return Score(0.0, 0.0, "no answer was given", (reference,))
        if answer == reference:
            return Score(1.0, 1.0, "", (reference,))
        a, b = set(answer.lower().split()), set(reference.lower().split())
        soft = len(a & b) / max(len(a), len(b))
        return Score(0.0, soft, f"the answer was {answer!r}, not {reference!r}", (reference,))


def _task(item: Mapping[str, object]) -> Task:
    data = {name: item[name] for name in ("question", "context", "answers")}
    return Task(str(item["id"]), str(item["kind"]), data)
