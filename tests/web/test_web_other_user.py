"""Another user of the machine, a real one, gets nothing from the page and learns no token."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from web_rig import TOKEN, WebUi, addresses_of, token_in, webui

from skillopt_cli.web.app import application
from skillopt_cli.web.security import Access
from skillopt_cli.web.token import VARIABLE

NOBODY = 65534
LOOKING = """
import encodings.idna, http.client, json, os, pathlib, sys, urllib.parse
asked = json.load(sys.stdin)
os.setgroups([]); os.setgid(asked["uid"]); os.setuid(asked["uid"])
host = urllib.parse.urlsplit(asked["address"]).netloc
answers = []
for method, path, headers, body in asked["requests"]:
    client = http.client.HTTPConnection(host, timeout=600)
    client.request(method, path, body, headers)
    answer = client.getresponse()
    # A stream has no end: its beginning shows that it is one.
    answers.append([answer.status, answer.read(4096).decode()])
    client.close()
def read(path):
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError as error:
        return type(error).__name__
listed = {}
for folder in asked["folders"]:
    try:
        listed[folder] = os.listdir(folder)
    except OSError as error:
        listed[folder] = type(error).__name__
print(json.dumps({
    "uid": os.getuid(),
    "answers": answers,
    "listed": listed,
    "files": {name: read(pathlib.Path(name)) for name in asked["files"]},
    "processes": [read(path) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")],
}))
"""
"""Starts as this user, since others may not read this Python, and gives its rights up."""


@pytest.fixture
def state() -> Iterator[Path]:
    """A folder below which only the page's own modes keep others out."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def owned(trained: Path, state: Path, *flags: str, **variables: str) -> Iterator[WebUi]:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with webui(trained, *flags, XDG_STATE_HOME=str(state), **variables) as page:
        yield page


def as_nobody(page: WebUi, requests: list[tuple[str, str]], **more: Any) -> dict[str, Any]:
    """What another user gets: every answer, files, folders, and the command lines of processes."""
    origin = {"Origin": page.address, "Content-Type": "application/x-www-form-urlencoded"}
    form = "do=start&benchmark=searchqa&set%3Amodel.target.backend=command&form_token="
    asked: dict[str, Any] = {
        "uid": NOBODY,
        "address": page.address,
        "requests": [(m, path, origin, form if m == "POST" else None) for m, path in requests],
        "folders": [],
        "files": [],
        **more,
    }
    ended = subprocess.run(
        [sys.executable, "-c", LOOKING],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    assert found["uid"] == NOBODY
    return found


def test_another_user_gets_no_page_no_form_no_stream_and_no_token(
    trained: Path, state: Path
) -> None:
    requests = addresses_of(application(trained, Access(TOKEN)))
    assert {("GET", "/live"), ("GET", "/runs/searchqa/a/live"), ("POST", "/new")} <= {*requests}
    with owned(trained, state) as page:
        (login,) = (state / "skillopt").iterdir()
        token = token_in(login)
        looking = {
            "folders": [str(login.parent)],
            "files": [str(login), f"/proc/{page.process.pid}/environ"],
        }
        found = as_nobody(page, requests, **looking)
        assert {status for status, _ in found["answers"]} == {401}
        shown = "".join(text for _, text in found["answers"])
        assert "searchqa" not in shown and "form_token" not in shown
        assert {*found["listed"].values(), *found["files"].values()} == {"PermissionError"}
        assert not any(token in line for line in found["processes"])
        # Other programs of the machine may say `code=` of something else.
        pages = [line for line in found["processes"] if "webui" in line]
        assert pages and not any("code=" in line for line in pages)
        # Its own mode protects the file too, not only that of its folder.
        login.parent.chmod(0o755)
        found = as_nobody(page, [], **looking)
        assert found["listed"] == {str(login.parent): [login.name]}
        assert found["files"][str(login)] == "PermissionError"


def test_a_token_of_ones_own_is_in_no_process_list(trained: Path, state: Path) -> None:
    file = state / "token"
    file.write_text("from-a-private-file")
    file.chmod(0o600)
    for flags, variables in ((("--token-file", str(file)), {}), ((), {VARIABLE: TOKEN})):
        with owned(trained, state, *flags, **variables) as page:
            found = as_nobody(page, [("GET", "/")], files=[str(file)])
        assert found["answers"][0][0] == 401
        assert found["files"] == {str(file): "PermissionError"}
        listed = "".join(found["processes"])
        assert TOKEN not in listed and "from-a-private-file" not in listed
