"""What a SealQA task can be answered from, and the tools that reach it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from skillopt_cli.benchmarks.kit.tools import Offer, ToolFault
from skillopt_cli.benchmarks.search.index import Document
from skillopt_cli.benchmarks.search.pages import LONGEST_PAGE, PageFault, PageReader
from skillopt_cli.benchmarks.search.provider import Hit, hits_text

LONGEST_RESULTS = 24_000
_CUT = "\n[the results are cut here]"


def results_text(data: Mapping[str, Any]) -> str:
    """The results that come with a task, as a model reads them."""
    text = data["told"] or hits_text([Hit(**hit) for hit in data["results"]])
    return text if len(text) <= LONGEST_RESULTS else text[:LONGEST_RESULTS] + _CUT


def documents_of(data: Mapping[str, Any]) -> list[Document]:
    """What the index of a task holds: its documents, and results that are none of them."""
    documents = [Document(**document) for document in data["documents"]]
    known = {document.url for document in documents if document.url}
    for hit in data["results"]:
        if not hit["url"] or hit["url"] not in known:
            documents.append(Document(hit["title"], hit["snippet"], hit["url"], hit["date"]))
    documents += [Document("", part) for part in data["told"].split("\n\n") if part.strip()]
    return documents


class _Page(BaseModel):
    url: str = Field(description="An address that the task or a search has named.")


class Pages:
    """The tool `read_page`: whole documents of a task, and pages of the network where allowed.

    Only addresses that the task or a search has named are read.
    """

    def __init__(self, data: Mapping[str, Any], reader: PageReader | None) -> None:
        self._own = {d["url"]: d["text"] for d in data["documents"] if d["url"]}
        named = (*data["urls"], *(hit["url"] for hit in data["results"]), *self._own)
        self._named = {url for url in named if url}
        self._reader = reader

    def seen(self, hits: Sequence[Hit]) -> None:
        """Take in what a search has named."""
        self._named |= {hit.url for hit in hits if hit.url}

    def offers(self) -> list[Offer[Any]]:
        """The tool, where there is anything it could read."""
        if not self._own and self._reader is None:
            return []
        return [Offer("read_page", "Read a page as text.", _Page, self._read)]

    async def _read(self, asked: _Page) -> str:
        url = asked.url.strip()
        if url in self._own:
            return str(self._own[url])[:LONGEST_PAGE]
        if url not in self._named:
            raise ToolFault(f"Neither the task nor a search has named {url}.")
        if self._reader is None:
            raise ToolFault(f"{url} is not at hand.")
        try:
            return await self._reader.read(url)
        except PageFault as fault:
            raise ToolFault(f"{url} cannot be read: {fault}.") from fault
