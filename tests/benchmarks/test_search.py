"""Search: the index, the service, what is kept, and the tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from skillopt_cli.benchmarks.kit.tools import ToolLoop
from skillopt_cli.benchmarks.sealqa.benchmark import SealQAOptions
from skillopt_cli.benchmarks.search.cache import AnswerCache, CachedSearch
from skillopt_cli.benchmarks.search.index import PASSAGE, Document, DocumentIndex, passages
from skillopt_cli.benchmarks.search.pages import LONGEST_PAGE, PageFault, PageReader
from skillopt_cli.benchmarks.search.provider import Hit, hits_of
from skillopt_cli.benchmarks.search.service import CustomSearch, ServiceSettings, open_service
from skillopt_cli.benchmarks.search.tools import search_offer
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendUnusable,
    ConfigError,
    NetworkFailed,
    RequestRefused,
    ServerFailed,
)

SERVICE = "https://search.example/v1"
DOCUMENTS = [
    Document("Herring", "The herring market opens in May.", "https://a.example", "2019"),
    Document("Lamps", "Lamps are lit at dusk.\nA lamp lighter was paid by the lamp."),
    Document("Rare", "common common common quokka"),
    Document("Common", "common words only, common as they are"),
]


async def found(query: str, limit: int = 10, documents: Sequence[Document] = DOCUMENTS):
    index = DocumentIndex(lambda: documents)
    try:
        return [hit.title for hit in await index.search(query, limit)]
    finally:
        index.close()


async def test_the_index_finds_by_any_word_and_ranks_rare_ones_first() -> None:
    assert await found("common quokka") == ["Rare", "Common"]
    assert await found("Lighting a LAMP") == ["Lamps"]
    assert await found("common quokka", 1) == ["Rare"]


@pytest.mark.parametrize("query", ["", "?!", '"', "zzz"])
async def test_nothing_found_is_an_answer(query: str) -> None:
    assert await found(query) == []


@pytest.mark.parametrize(
    "query", ['"lamps', "lamps AND", "lamps*", "NEAR(lamps", "title:lamps", "a-b lamps^"]
)
async def test_a_query_is_words_and_no_syntax(query: str) -> None:
    assert await found(query) == ["Lamps"]


async def test_a_hit_shows_the_best_passage_and_its_source() -> None:
    text = "\n".join(["filler line without anything"] * 60 + ["the quokka sleeps"] + ["more"] * 60)
    index = DocumentIndex(lambda: [Document("T", text, "https://t.example", "1999")])
    (hit,) = await index.search("quokka", 5)
    assert "quokka sleeps" in hit.snippet
    assert len(hit.snippet) <= PASSAGE + 40
    assert (hit.url, hit.date) == ("https://t.example", "1999")
    index.close()


def test_passages_hold_the_whole_text() -> None:
    text = "\n".join(f"line {n} " + "x" * (n * 7 % 300) for n in range(200)) + "y" * 3000
    cut = list(passages(text))
    assert "".join(cut).replace("\n", "") == text.replace("\n", "")
    assert all(len(passage) <= PASSAGE + 1 for passage in cut)
    assert list(passages(" \n ")) == []


class Service:
    """A stand-in for the service: answers in order, and keeps what it was sent."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self.answers, self.asked = list(answers), list[httpx2.Request]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def search(self, url: str = SERVICE, token: str = "Bearer t") -> CustomSearch:
        settings = ServiceSettings(url, SecretStr(token) if token else None, "brave", pause=0)
        return CustomSearch(settings, httpx2.MockTransport(self))


def hits(*titles: str) -> httpx2.Response:
    return httpx2.Response(200, json={"results": [{"title": title} for title in titles]})


async def test_the_service_is_asked_as_published() -> None:
    service = Service(hits("a", "b", "c"))
    assert await service.search().search("who", 2) == [Hit("a"), Hit("b")]
    (request,) = service.asked
    assert request.method == "POST"
    assert request.headers["authorization"] == "Bearer t"
    body = json.loads(request.content)
    assert body == {"query": "who", "max_num_results": 2, "provider": "brave"}


async def test_a_service_without_a_token_gets_none() -> None:
    service = Service(hits())
    assert await service.search(token="").search("who", 2) == []
    assert "authorization" not in service.asked[0].headers


async def test_passing_failures_are_tried_again() -> None:
    answers = [httpx2.Response(code) for code in (408, 429, 503)]
    service = Service(*answers, httpx2.ConnectError("down"), hits("a"))
    assert await service.search().search("who", 2) == [Hit("a")]
    assert len(service.asked) == 5


@pytest.mark.parametrize(
    ("answer", "error", "tries"),
    [
        (lambda: httpx2.Response(500), ServerFailed, 5),
        (lambda: httpx2.ReadTimeout("slow"), NetworkFailed, 5),
        (lambda: httpx2.Response(200, text="<html>"), ServerFailed, 5),
        (lambda: httpx2.Response(401), AuthFailed, 1),
        (lambda: httpx2.Response(403), AuthFailed, 1),
        (lambda: httpx2.Response(400), RequestRefused, 1),
        (lambda: httpx2.Response(302, headers={"location": "http://else"}), BackendUnusable, 1),
        (lambda: httpx2.Response(200, json={"answer": 3}), BackendUnusable, 1),
    ],
)
async def test_failures_are_told_apart(
    answer: Callable[[], Any], error: type[Exception], tries: int
) -> None:
    service = Service(*(answer() for _ in range(5)))
    with pytest.raises(error) as raised:
        await service.search().search("who", 2)
    assert len(service.asked) == tries
    assert "Bearer" not in str(raised.value)


@pytest.mark.parametrize("url", ["", "search.example", "ftp://search.example", "https://"])
def test_an_address_is_checked(url: str) -> None:
    with pytest.raises(ConfigError, match="not an address"):
        CustomSearch(ServiceSettings(url))


def test_a_token_is_never_sent_in_the_clear() -> None:
    token = SecretStr("t")
    with pytest.raises(ConfigError, match="plain http"):
        CustomSearch(ServiceSettings("http://search.example", token))
    with pytest.raises(ConfigError, match="plain http"):
        CustomSearch(ServiceSettings("http://127.0.0.1.example", token))
    CustomSearch(ServiceSettings("http://search.example"))
    CustomSearch(ServiceSettings("http://127.0.0.1:9/s", token))


def test_its_identity_holds_neither_token_nor_address() -> None:
    search = CustomSearch(ServiceSettings("https://u:secret@search.example", SecretStr("tok")))
    assert "secret" not in search.identity
    assert "tok" not in search.identity
    assert search.identity != CustomSearch(ServiceSettings("https://search.example")).identity


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ([{"title": "t", "url": "u", "snippet": "s"}], [Hit("t", "u", "s")]),
        ({"results": [{"name": "t", "link": "u", "description": "s"}]}, [Hit("t", "u", "s")]),
        ({"webPages": {"value": [{"name": "t", "url": "u"}]}}, [Hit("t", "u")]),
        ({"organic": [{"title": "t", "link": "u", "date": "2020"}]}, [Hit("t", "u", "", "2020")]),
        ({"data": {"results": [{"title": "t"}]}}, [Hit("t")]),
        ({"items": ["plain"]}, [Hit("", "", "plain")]),
        ({"results": [{"title": " t "}, {}, {"title": 3}, None, 7]}, [Hit("t")]),
        ({"results": []}, []),
        ({"results": "none"}, None),
        ({}, None),
        ("text", None),
        (None, None),
    ],
)
def test_results_are_read_in_the_usual_forms(answer: object, wanted: list[Hit] | None) -> None:
    assert hits_of(answer) == wanted


async def test_what_a_search_found_is_kept_over_runs(tmp_path: Path) -> None:
    shelf = tmp_path / "data" / "kept.sqlite"
    service = Service(hits("a"), hits("b"), hits("c"))
    first = CachedSearch(service.search(), AnswerCache(shelf))
    assert await first.search("who", 2) == [Hit("a")]
    assert await first.search("who", 3) == [Hit("b")]
    again = CachedSearch(service.search(), AnswerCache(shelf))
    assert await again.search("who", 2) == [Hit("a")]
    other = CachedSearch(service.search("https://other.example"), AnswerCache(shelf))
    assert await other.search("who", 2) == [Hit("c")]
    assert "Bearer" not in shelf.read_bytes().decode("latin-1")


async def test_a_token_that_comes_back_is_not_kept(tmp_path: Path) -> None:
    shelf = tmp_path / "kept.sqlite"
    service = Service(hits("I know opensesame", "and Bearer opensesame", "fine"))
    kept = CachedSearch(service.search(token="Bearer opensesame"), AnswerCache(shelf))
    found = [Hit("I know ***"), Hit("and Bearer ***"), Hit("fine")]
    assert await kept.search("who", 3) == found
    assert await kept.search("who", 3) == found
    assert b"opensesame" not in shelf.read_bytes()


async def test_a_failed_search_is_not_kept(tmp_path: Path) -> None:
    service = Service(httpx2.Response(400), hits("a"))
    kept = CachedSearch(service.search(), AnswerCache(tmp_path / "kept.sqlite"))
    with pytest.raises(RequestRefused):
        await kept.search("who", 2)
    assert await kept.search("who", 2) == [Hit("a")]


class Echo:
    """Finds one hit that repeats the query."""

    identity = "echo"

    async def search(self, query: str, limit: int) -> Sequence[Hit]:
        return [Hit(query, f"https://{len(query)}.example")] if query != "nothing" else []


@pytest.mark.parametrize(
    ("queries", "text"),
    [
        (["one"], "Results for: one\n\n[1] one\nhttps://3.example"),
        ("one", "Results for: one\n\n[1] one\nhttps://3.example"),
        (["nothing"], "Results for: nothing\n\n(nothing found)"),
        (["one", " one "], "Results for: one\n\n[1] one\nhttps://3.example"),
        (["nothing", "a", "b"], "(1 more queries were not used)"),
        ([" "], "(the queries are empty)"),
    ],
)
async def test_the_tool_takes_one_or_several_queries(queries: object, text: str) -> None:
    seen: list[Hit] = []
    box = ToolLoop([search_offer(Echo(), results=3, queries=2, seen=seen.extend)])
    result = await box.use(ToolCall("c", "search", json.dumps({"queries": queries})))
    assert result.text.endswith(text)
    assert not result.failed
    assert {hit.title for hit in seen} <= {"one", "a"}


@pytest.mark.parametrize("arguments", ["{}", '{"queries": []}', '{"queries": [3]}'])
async def test_queries_that_are_none_are_told(arguments: str) -> None:
    box = ToolLoop([search_offer(Echo(), results=3, queries=2)])
    assert (await box.use(ToolCall("c", "search", arguments))).failed


def test_a_token_that_is_named_must_be_there(tmp_path: Path) -> None:
    options = SealQAOptions(search_mode="custom_search", search_api_url=SERVICE)
    with pytest.raises(ConfigError, match="SEALQA_SEARCH_AUTH"):
        open_service(options, tmp_path, {})
    assert open_service(options, tmp_path, {"SEALQA_SEARCH_AUTH": "t"}) is not None
    bare = options.model_copy(update={"search_auth_env": ""})
    assert open_service(bare, tmp_path, {}) is not None
    assert open_service(options.model_copy(update={"search_api_url": ""}), tmp_path, {}) is None


def reader(tmp_path: Path, service: Service, inside: bool = True) -> PageReader:
    return PageReader(
        AnswerCache(tmp_path / "s.sqlite"), 5.0, inside, httpx2.MockTransport(service)
    )


def page(text: str, kind: str = "text/html; charset=utf-8", code: int = 200) -> httpx2.Response:
    return httpx2.Response(code, content=text.encode(), headers={"content-type": kind})


async def test_a_page_is_read_as_bounded_text_once(tmp_path: Path) -> None:
    service = Service(page("<script>x</script><p>caf\u00e9</p>" + "<p>word</p>" * 9000))
    pages = reader(tmp_path, service)
    text = await pages.read("https://a.example/p")
    assert text.startswith("caf\u00e9\n")
    assert len(text) == LONGEST_PAGE
    assert await pages.read("https://a.example/p") == text
    assert len(service.asked) == 1


async def test_a_redirect_is_followed_a_few_times(tmp_path: Path) -> None:
    moved = httpx2.Response(301, headers={"location": "/new"})
    service = Service(moved, page("<p>here</p>"))
    assert await reader(tmp_path, service).read("https://a.example/old") == "here"
    assert str(service.asked[1].url) == "https://a.example/new"
    with pytest.raises(PageFault, match="redirects too often"):
        await reader(tmp_path, Service(*[moved] * 5)).read("https://a.example/round")


@pytest.mark.parametrize(
    ("answer", "why", "asked"),
    [
        (lambda: page("no", code=404), "answered 404", 1),
        (lambda: page("%PDF", "application/pdf"), "application/pdf", 1),
        (lambda: page("<p> </p>"), "no text", 1),
        (lambda: page("no", code=503), "answered 503", 2),
        (lambda: httpx2.ConnectError("down"), "ConnectError", 2),
    ],
)
async def test_why_a_page_cannot_be_read_is_kept_where_it_lasts(
    tmp_path: Path, answer: Callable[[], Any], why: str, asked: int
) -> None:
    service = Service(answer(), answer())
    for _ in range(2):
        with pytest.raises(PageFault, match=why):
            await reader(tmp_path, service).read("https://a.example")
    assert len(service.asked) == asked


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:80/",
        "http://[::1]/",
        "http://10.0.0.1/",
        "file:///etc/passwd",
        "ftp://a",
        "https://",
        "http://a:port/",
        "x",
    ],
)
async def test_nothing_of_this_network_is_read(tmp_path: Path, url: str) -> None:
    service = Service()
    with pytest.raises(PageFault):
        await reader(tmp_path, service, inside=False).read(url)
    assert service.asked == []
