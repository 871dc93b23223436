"""Search, filters and order of a table, which are part of the page's address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

T = TypeVar("T")
Key = Callable[[T], object]
ROWS = 100
"""Rows of a table on one page."""


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """Some rows of a long table, and the addresses of those before and after them.

    Attributes:
        first: number of the first row among all, from 1; 0 where there are none.
        before, after: empty at either end.
    """

    rows: Sequence[T]
    first: int
    total: int
    before: str
    after: str

    @property
    def last(self) -> int:
        """Number of the last row among all; 0 where there are none."""
        return self.first + len(self.rows) - 1 if self.rows else 0


def part_of(
    rows: Sequence[T], path: str, query: QueryParams, name: str = "page", size: int = ROWS
) -> Part[T]:
    """The rows that an address asks for; those of the nearest page where it asks for none.

    Args:
        query: of the address; `name` is its parameter that counts pages, from 1.
        size: rows of a page.
    """
    pages = max(1, -(-len(rows) // size))
    asked = query.get(name, "")
    number = min(max(int(asked), 1), pages) if asked.isdecimal() and len(asked) < 10 else 1

    def address(page: int) -> str:
        if not 1 <= page <= pages:
            return ""
        others = [(key, value) for key, value in query.multi_items() if key != name and value]
        return f"{path}?{urlencode([*others, (name, page)], errors='surrogatepass')}"

    first = (number - 1) * size
    shown = rows[first : first + size]
    return Part(shown, first + bool(shown), len(rows), address(number - 1), address(number + 1))


@dataclass(frozen=True, slots=True)
class Listing:
    """What a table is asked for.

    Attributes:
        path: of the page.
        search: words that a row must contain, in any order; case is ignored.
        sort: key of the column to sort by, after `-` where the largest comes first; empty for the
            order of the rows.
        filters: value by name of those that are set.
        fixed: other parameters of the page that every address keeps.
    """

    path: str
    search: str = ""
    sort: str = ""
    filters: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        path: str,
        query: QueryParams,
        names: Iterable[str],
        fixed: Mapping[str, str] | None = None,
    ) -> Listing:
        """The listing that an address asks for; `names` are those of the filters."""
        filters = {name: value for name in names if (value := query.get(name, ""))}
        return cls(path, query.get("q", "").strip(), query.get("sort", ""), filters, fixed or {})

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of its address."""
        found = {**self.fixed, "q": self.search, **self.filters, "sort": self.sort}
        return {name: value for name, value in found.items() if value}

    @property
    def narrowed(self) -> bool:
        """Whether a search or a filter leaves rows out."""
        return bool(self.search or self.filters)

    @property
    def cleared(self) -> str:
        """The address with all rows, in the same order."""
        return replace(self, search="", filters={})._address(self.sort)

    def sorted_by(self, key: str) -> str:
        """The address with the rows sorted by a column; by the same one again in reverse."""
        sort = f"-{key}" if self.sort == key else key
        return self._address(sort)

    def direction(self, key: str) -> str:
        """The value of `aria-sort` of a column."""
        if self.sort.removeprefix("-") != key:
            return "none"
        return "descending" if self.sort.startswith("-") else "ascending"

    @property
    def address(self) -> str:
        """The address of the page with the same rows."""
        return self._address(self.sort)

    def _address(self, sort: str) -> str:
        query = urlencode(replace(self, sort=sort).parameters, errors="surrogatepass")
        return f"{self.path}?{query}" if query else self.path

    def chosen(
        self,
        rows: Iterable[T],
        text: Callable[[T], str],
        filters: Mapping[str, Callable[[T], Sequence[str]]],
        keys: Mapping[str, Key[T]],
    ) -> list[T]:
        """The rows that are asked for, in order.

        Args:
            text: of a row, for the search.
            filters: the values of a row, by name of the filter.
            keys: what to sort by; unknown values (None) are always last.
        """
        words = self.search.casefold().split()
        found = [
            row
            for row in rows
            if all(value in filters[name](row) for name, value in self.filters.items())
            and (not words or _contains(text(row).casefold(), words))
        ]
        key = keys.get(self.sort.removeprefix("-"))
        if key is None:
            return found
        known = [row for row in found if key(row) is not None]
        known.sort(key=key, reverse=self.sort.startswith("-"))  # type: ignore[arg-type]
        return [*known, *(row for row in found if key(row) is None)]


def _contains(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)
