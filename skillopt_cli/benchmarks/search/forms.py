"""The forms that results of a search come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillopt_cli.benchmarks.search.provider import Hit

_LISTS = ("results", "search_results", "items", "data", "organic", "organic_results", "webPages")
_INNER = ("value", "results", "items")
_TITLES = ("title", "name", "heading")
_URLS = ("url", "link", "href", "source_url", "displayLink")
_SNIPPETS = ("snippet", "description", "content", "text", "body", "summary")
_DATES = ("date", "published", "published_date", "publishedDate", "age")


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
