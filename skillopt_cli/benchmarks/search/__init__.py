"""Search for episodes: a small protocol, an index without a network, a service, and tools."""

from skillopt_cli.benchmarks.search.index import Document, DocumentIndex
from skillopt_cli.benchmarks.search.pages import PageReader
from skillopt_cli.benchmarks.search.provider import Hit, SearchProvider
from skillopt_cli.benchmarks.search.service import CustomSearch, ServiceSettings
from skillopt_cli.benchmarks.search.shelf import KeptSearch, Shelf
from skillopt_cli.benchmarks.search.tools import search_offer

__all__ = [
    "CustomSearch",
    "Document",
    "DocumentIndex",
    "Hit",
    "KeptSearch",
    "PageReader",
    "SearchProvider",
    "ServiceSettings",
    "Shelf",
    "search_offer",
]
