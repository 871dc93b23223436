"""Search providers and their hits, in all the forms that results come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_LISTS = ("results", "search_results", "items", "data", "organic", "organic_results", "webPages")
_INNER = ("value", "results", "items")
_TITLES = ("title", "name", "heading")
_URLS = ("url", "link", "href", "source_url", "displayLink")
_SNIPPETS = ("snippet", "description", "content", "text", "body", "summary")
_DATES = ("date", "published", "published_date", "publishedDate", "age")


@dataclass(frozen=True, slots=True)
class Hit:
    """A result; what is not known is empty.

    Attributes:
        snippet: the text of the place, as far as the search shows it.
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


def hits_of(answer: Any) -> list[Hit] | None:
    """The results in a search's answer, under whatever of the usual names; None without a list."""
    found = _listed(answer)
    if found is None:
        return None
    hits = [_hit(entry) for entry in found]
    return [hit for hit in hits if hit.title or hit.url or hit.snippet]


def _listed(answer: Any) -> list[Any] | None:
    if isinstance(answer, list):
        return answer
    if not isinstance(answer, Mapping):
        return None
    for key in _LISTS:
        value = answer.get(key)
        if isinstance(value, Mapping):
            value = next((value[k] for k in _INNER if isinstance(value.get(k), list)), None)
        if isinstance(value, list):
            return value
    return None


def _hit(entry: Any) -> Hit:
    if isinstance(entry, str):
        return Hit("", "", entry.strip())
    if not isinstance(entry, Mapping):
        return Hit("")
    title, url, snippet, date = (
        _first(entry, keys) for keys in (_TITLES, _URLS, _SNIPPETS, _DATES)
    )
    return Hit(title, url, snippet, date)


def _first(entry: Mapping[str, Any], keys: Sequence[str]) -> str:
    values = (entry.get(key) for key in keys)
    return next((v.strip() for v in values if isinstance(v, str) and v.strip()), "")
