"""Search as a tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import BaseModel, Field, field_validator

from skillopt_cli.benchmarks.kit.tools import Offer
from skillopt_cli.benchmarks.search.provider import Hit, SearchProvider, hits_text

LONGEST_QUERY = 400


class _Queries(BaseModel):
    queries: list[str] = Field(
        min_length=1, description="One or several queries, most useful first."
    )

    @field_validator("queries", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        # Models often give a single query without the list around it.
        return [value] if isinstance(value, str) else value


def search_offer(
    provider: SearchProvider,
    *,
    results: int,
    queries: int,
    seen: Callable[[Sequence[Hit]], None] = lambda hits: None,
) -> Offer[_Queries]:
    """The tool `search`.

    Args:
        results: hits per query.
        queries: how many of the given queries are used; equal ones count once.
        seen: receives all that was found.
    """

    async def run(asked: _Queries) -> str:
        wanted = _distinct(asked.queries)
        parts = []
        for query in wanted[:queries]:
            hits = await provider.search(query, results)
            seen(hits)
            parts.append(f"Results for: {query}\n\n{hits_text(hits) or '(nothing found)'}")
        if not parts:
            return "(the queries are empty)"
        left = len(wanted) - queries
        return "\n\n".join([
            *parts,
            *([f"({left} more queries were not used)"] if left > 0 else []),
        ])

    most = "one query" if queries == 1 else f"up to {queries} queries"
    return Offer("search", f"Search with {most}; gives titles and snippets.", _Queries, run)


def _distinct(queries: Sequence[str]) -> list[str]:
    shown = (" ".join(query.split())[:LONGEST_QUERY] for query in queries)
    return list(dict.fromkeys(query for query in shown if query))
