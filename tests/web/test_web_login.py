"""Logging in with a real browser: by the printed link, by the login file, and by the form."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from web_rig import CHROMIUM, TOKEN, token_in, webui

from skillopt_cli.web.token import VARIABLE

pytestmark = pytest.mark.slow


@pytest.fixture
def profile(tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """Starts a browser that keeps what it sees below `profile`, as one that people use does."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as started:

        @contextmanager
        def opened() -> Iterator[Any]:
            options = {"executable_path": CHROMIUM, "args": ["--no-sandbox"]}
            context = started.chromium.launch_persistent_context(tmp_path / "profile", **options)
            context.set_default_timeout(300_000)
            yield context.new_page()
            context.close()

        yield opened


def kept(tmp_path: Path, text: str) -> list[str]:
    """The files of the profile that hold a text."""
    files = [path for path in (tmp_path / "profile").rglob("*") if path.is_file()]
    assert any(path.name == "History" for path in files)
    return [path.name for path in files if text.encode() in path.read_bytes()]


def requests_of(page: Any) -> list[Any]:
    seen: list[Any] = []
    page.on("request", lambda request: seen.append(request))
    return seen


def at_home(page: Any, address: str) -> None:
    page.wait_for_url(f"{address}/")
    page.get_by_role("heading", level=1, name="Runs").wait_for()
    page.get_by_text("searchqa/b").first.wait_for()
    assert page.evaluate("document.cookie") == ""


def test_the_printed_link_is_worth_nothing_once_it_was_used(
    trained: Path, profile: Callable[[], Any], tmp_path: Path
) -> None:
    root = Path(shutil.copytree(trained, tmp_path / "outputs"))
    with webui(root) as server:
        code = server.link.partition("code=")[2]
        with profile() as page:
            seen = requests_of(page)
            page.goto(server.link)
            at_home(page, server.address)
            page.get_by_role("link", name="searchqa/a").click()
            page.get_by_role("heading", level=1).wait_for()
            headers = [request.all_headers() for request in seen]
            assert len(headers) > 3 and not any(code in h.get("referer", "") for h in headers)
            # The way back leads to no address with the code.
            page.go_back()
            page.wait_for_url(f"{server.address}/")
            assert page.evaluate("history.length") == 3
            page.context.clear_cookies()
            page.goto(server.link)
            page.get_by_role("heading", name="This page needs its token").wait_for()
        # Browsers keep every address they were given: this is why a link works once.
        assert "History" in kept(tmp_path, code)
        (login,) = (tmp_path / ".local/state/skillopt").iterdir()
        assert kept(tmp_path, token_in(login)) == []


def scriptless(login: Path) -> Path:
    """The login file as it is where scripts are off."""
    plain = login.parents[3] / "plain.html"
    plain.write_text(re.sub("<script>.*</script>", "", login.read_text(encoding="utf-8")))
    return plain


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_the_login_file_opens_the_page_and_leaves_no_trace(
    trained: Path, profile: Callable[[], Any], tmp_path: Path, script: bool
) -> None:
    root = Path(shutil.copytree(trained, tmp_path / "outputs"))
    with webui(root, **{VARIABLE: TOKEN}) as server:
        (login,) = (tmp_path / ".local/state/skillopt").iterdir()
        for _ in range(2):
            with profile() as page:
                seen = requests_of(page)
                page.goto((login if script else scriptless(login)).as_uri())
                if not script:
                    page.get_by_role("button", name="Open the page").click()
                at_home(page, server.address)
                assert all(TOKEN not in request.url for request in seen)
                assert all(TOKEN not in r.all_headers().get("referer", "") for r in seen)
                page.context.clear_cookies()
        said = "".join(server.end())
    assert kept(tmp_path, TOKEN) == [] and TOKEN not in said


def test_the_token_can_be_typed(trained: Path, profile: Callable[[], Any], tmp_path: Path) -> None:
    root = Path(shutil.copytree(trained, tmp_path / "outputs"))
    with webui(root, **{VARIABLE: TOKEN}) as server:
        with profile() as page:
            page.goto(f"{server.address}/runs/searchqa/a")
            for typed in ("not-the-token-of-it", TOKEN):
                page.get_by_label("Token").fill(typed)
                page.get_by_role("button", name="Open").click()
            at_home(page, server.address)
        assert kept(tmp_path, TOKEN) == []
