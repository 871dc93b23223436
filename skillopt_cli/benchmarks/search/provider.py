"""What a search is to an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Hit:
    """A result; what is not known is empty.

    Attributes:
        snippet: what the place says, as far as the search shows it.
        date: as the source writes it.
    """

    title: str
    url: str = ""
    snippet: str = ""
    date: str = ""


class SearchProvider(Protocol):
    """Finds places for a query, best first.

    Attributes:
        identity: everything about it that can alter what it finds, without secrets.
    """

    identity: str

    async def search(self, query: str, limit: int) -> Sequence[Hit]:
        """At most `limit` hits; none is an answer, too.

        Raises:
            BackendError: the search could not be made. That is never the target's fault.
        """
        ...


def hits_text(hits: Sequence[Hit]) -> str:
    """Hits as a model reads them."""
    return "\n\n".join(_hit_text(number, hit) for number, hit in enumerate(hits, 1))


def _hit_text(number: int, hit: Hit) -> str:
    head = f"[{number}] {hit.title or hit.url or '(no title)'}"
    about = [part for part in (hit.url, hit.date) if part]
    return "\n".join([head, *about, *([hit.snippet] if hit.snippet else [])])
