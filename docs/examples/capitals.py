"""A complete benchmark in one file: name the capital of a country, given a sentence about it."""

from collections.abc import Sequence

from skillopt_cli import (
    Attempt,
    Benchmark,
    BenchmarkRequest,
    BenchmarkSpec,
    Brief,
    Score,
    Section,
    Split,
    Task,
)

CAPITALS: dict[Split, str] = {
    "train": "France Paris, Japan Tokyo, Kenya Nairobi, Peru Lima, Norway Oslo, Egypt Cairo, "
    "Cuba Havana, Iran Tehran, Italy Rome, Nepal Kathmandu, Ghana Accra, Austria Vienna",
    "selection": "Spain Madrid, Chile Santiago, Sweden Stockholm, Iraq Baghdad, Poland Warsaw, "
    "Laos Vientiane, Portugal Lisbon, Senegal Dakar, Greece Athens, Hungary Budapest",
    "test": "Finland Helsinki, Uganda Kampala, Ireland Dublin, Jordan Amman, Latvia Riga, "
    "Mali Bamako, Denmark Copenhagen, Ecuador Quito, Oman Muscat, Bulgaria Sofia",
}


class Capitals:
    name = "capitals"
    version = "1"  # raise it whenever a brief or a score could change for the same task
    source = "thirty-two countries"
    seed_skill = "# Capitals\n\nName the capital.\n"
    needs: frozenset[str] = frozenset()

    def __init__(self, limit: int = 0) -> None:
        self.limit = limit

    def tasks(self, split: Split) -> Sequence[Task]:
        pairs = [pair.split() for pair in CAPITALS[split].split(", ")][: self.limit or None]
        return [Task(f"{split}-{c}", "capital", {"country": c, "capital": k}) for c, k in pairs]

    def brief(self, task: Task) -> Brief:
        """A sentence and a question. The capital is in the sentence, the reference is not sent."""
        country, capital = task.data["country"], task.data["capital"]
        sections = (
            Section("Context", f"{country} is governed from {capital}."),
            Section("Question", f"Which city is the capital of {country}?"),
        )
        return Brief(task.id, "You answer questions about countries.", sections)

    async def score(self, task: Task, attempt: Attempt) -> Score:
        """Right or wrong. A wrong answer is a low score with feedback, never an exception."""
        capital = task.data["capital"]
        right = attempt.ending == "answered" and attempt.answer.strip() == capital
        feedback = "" if right else f"expected {capital!r} alone, got {attempt.answer[:100]!r}"
        return Score(float(right), float(right), feedback, expected=(capital,))


def open_capitals(request: BenchmarkRequest) -> Benchmark:
    """Make the benchmark. Raise `DataError` here if task files are missing or malformed."""
    return Capitals(request.limit)


SPEC = BenchmarkSpec("capitals", "name the capital of a country (exact match)", open_capitals)
