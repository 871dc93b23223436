"""Who is let in, and what of a run folder is read and shown."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import pytest
from dom import parsed
from starlette.testclient import TestClient
from web_rig import HOME, TOKEN, addresses_of, client

from skillopt_cli.core.formatting import safe_name
from skillopt_cli.web.app import application
from skillopt_cli.web.context import ECHARTS
from skillopt_cli.web.security import Access

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"
RUN = "/runs/searchqa/a"
PATHS = (
    "",
    "/steps/1",
    "/tasks",
    "/tasks?split=train",
    "/skills",
    "/skills?a=0&b=candidate-1",
    "/epochs",
    "/spend",
    "/settings",
    "/steer",
)
BEYOND = Access(TOKEN, "0.0.0.0")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7860", "127.0.0.1.evil.example", ""]
)
def test_a_foreign_host_is_refused(trained: Path, host: str) -> None:
    with client(trained) as asking:
        answer = asking.get("/", headers={"host": host})
        assert answer.status_code == 421
        assert "searchqa" not in answer.text


@pytest.mark.parametrize(
    "host", ["127.0.0.1:7860", "localhost:7860", "localhost:8080", "[::1]:7860"]
)
def test_this_machine_is_known_by_all_its_names(trained: Path, host: str) -> None:
    with client(trained) as asking:
        assert asking.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:9999", "file://", "http://localhost:7860"],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_is_refused(trained: Path, origin: str, method: str) -> None:
    with client(trained) as asking:
        answer = asking.request(method, "/", headers={"origin": origin})
        assert answer.status_code == 403


def test_what_alters_something_must_say_where_it_comes_from(trained: Path) -> None:
    with client(trained) as asking:
        assert asking.post("/new").status_code == 403
        assert asking.post("/", headers={"origin": HOME}).status_code == 405


WRONG = (
    {},
    {"authorization": "Bearer "},
    {"authorization": f"Bearer {TOKEN}x"},
    {"authorization": f"Bearer {TOKEN[:-1]}"},
    {"authorization": f"Basic {TOKEN}"},
    {"cookie": f"skillopt_7860={TOKEN}"},
    {"cookie": "skillopt_7860="},
    {"cookie": f"skillopt_7861={Access(TOKEN).pass_value}"},
    {"cookie": f"skillopt_7860={Access('').pass_value}"},
)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_no_address_answers_without_the_token(trained: Path, host: str) -> None:
    access = Access(TOKEN, host)
    found = addresses_of(application(trained, access))
    assert {("GET", "/live"), ("POST", "/new"), ("GET", "/assets/app.js")} <= {*found}
    with client(trained, access, origin=HOME) as asking:
        for method, path in [*found, ("GET", "/nowhere"), ("OPTIONS", "/"), ("PUT", "/new")]:
            for wrong in WRONG:
                answer = asking.request(method, path, headers=wrong)
                assert answer.status_code == 401, (method, path, wrong)
                assert "searchqa" not in answer.text and "form_token" not in answer.text
        for method, path in found:
            sent = {"authorization": f"Bearer {TOKEN}"}
            # Streams have no end.
            if not path.endswith("/live"):
                assert asking.request(method, path, headers=sent).status_code != 401, path


def test_a_link_opens_one_browser(trained: Path) -> None:
    access, opened = Access(TOKEN), list[str]()
    app = application(trained, access, lambda: opened.append(access.link.value))
    with TestClient(app, base_url=HOME) as asking:
        first = access.link.value
        for wrong in ("", first[:-1], f"{first}x", TOKEN, access.pass_value):
            assert asking.get("/", params={"code": wrong}).status_code == 401
        assert asking.get("/new", params={"code": first}).status_code == 401
        assert asking.head("/", params={"code": first}).status_code == 401
        assert opened == []
        answer = asking.get("/", params={"code": first})
        assert answer.status_code == 200
        # What leads on is at our own address, and says to nobody where it came from.
        assert answer.headers["refresh"] == "0; url=/"
        assert answer.headers["referrer-policy"] == "no-referrer"
        # Without one it names, a browser asks for an icon that is not there.
        (icon,) = re.findall(r'<link rel="icon" href="([^"]+)"', answer.text)
        assert asking.get(icon).status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie
        assert TOKEN not in cookie and first not in cookie
        assert asking.get("/").status_code == 200
        assert opened == [access.link.value] != [first]
        asking.cookies.clear()
        assert asking.get("/", params={"code": first}).status_code == 401
        assert asking.get("/", params={"code": opened[0]}).status_code == 200


@pytest.mark.parametrize("origin", [None, "null", HOME, "http://evil.example"])
def test_the_token_is_taken_from_a_form(trained: Path, origin: str | None) -> None:
    sent = {"origin": origin} if origin else {}
    with client(trained, Access(TOKEN), **sent) as asking:
        for wrong in ({}, {"token": ""}, {"token": "x" * 300_000}, {"code": TOKEN}):
            answer = asking.post("/", data=wrong)
            assert answer.status_code == 401
        assert asking.post("/", params={"token": TOKEN}).status_code == 401
        assert asking.post("/new").status_code == 401
        answer = asking.post("/", data={"token": TOKEN})
        assert (answer.status_code, answer.headers["refresh"]) == (200, "0; url=/")
        assert asking.get("/", headers={"origin": HOME}).status_code == 200


def test_the_token_is_asked_for_by_a_form(trained: Path) -> None:
    with client(trained, Access(TOKEN)) as asking:
        page = parsed(asking.get("/").text)
    form = page.find(".//form")
    field = page.find(".//input")
    assert form is not None and field is not None
    assert (form.get("action"), form.get("method")) == ("/", "post")
    assert (field.get("name"), field.get("type")) == ("token", "password")


def test_without_a_token_no_code_and_no_empty_token_counts(trained: Path) -> None:
    open_to_all = Access("")
    with client(trained, open_to_all, origin=HOME) as asking:
        assert asking.get("/").status_code == 200
        answer = asking.get("/", params={"code": open_to_all.link.value})
        assert "set-cookie" not in answer.headers
        assert asking.post("/", data={"token": ""}).status_code == 405


@pytest.mark.parametrize("host", ["192.0.2.7:7860", "[2001:db8::1]:7860", "localhost:7860"])
def test_beyond_this_machine_addresses_in_digits_are_known(trained: Path, host: str) -> None:
    with client(trained, BEYOND) as asking:
        sent = {"host": host, "authorization": f"Bearer {TOKEN}"}
        assert asking.get("/", headers=sent).status_code == 200
        assert asking.get("/", headers={**sent, "host": "evil.example"}).status_code == 421


def test_every_answer_forbids_scripts_of_others(trained: Path) -> None:
    with client(trained) as asking:
        for path in ("/", RUN, "/nowhere", "/assets/app.js", "/assets/../x"):
            headers = asking.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "path",
    [
        "/runs/../secret",
        "/runs/searchqa/..",
        "/runs/%2e%2e/%2e%2e",
        "/runs/..%2f..%2f/etc",
        "/runs/searchqa/%2e%2e%2f%2e%2e%2fsecret",
        "/runs/searchqa/a%00b",
        "/runs/.hidden/a",
        "/assets/..%2fapp.py",
        "/assets/%2e%2e%2f%2e%2e%2fapp.py",
        f"{RUN}/attempts?task=x&in=../../secret",
        f"{RUN}/attempts?task=../../../config&in=selection",
        f"{RUN}/attempts?task=x&in=/etc",
        f"{RUN}/attempts?task=x&in=steps/../../..",
        f"{RUN}/skills?a=../../secret&b=best",
        f"{RUN}/skills?a=candidate-../../1&b=best",
        f"{RUN}/steps/../../../../secret",
        f"{RUN}/steps/999",
        "/compare?run=../..&run=searchqa/a",
        "/compare?run=searchqa/../secret&run=searchqa/a",
    ],
)
def test_no_path_leads_out(trained: Path, tmp_path: Path, path: str) -> None:
    root = tmp_path / "place/outputs"
    shutil.copytree(trained, root)
    secret = tmp_path / "place/secret"
    secret.mkdir()
    for name in ("config.yaml", "x.json"):
        (secret / name).write_text("TOPSECRET")
    with client(root) as asking:
        answer = asking.get(path)
        assert answer.status_code in (404, 422), path
        assert "TOPSECRET" not in answer.text


def test_no_link_leads_out(trained: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(trained / "searchqa/a", outside)
    root = tmp_path / "outputs"
    shutil.copytree(trained, root)
    run = root / "searchqa/a"
    (root / "searchqa/linked").symlink_to(outside)
    (root / "elsewhere").symlink_to(tmp_path)
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"conversation": [], "answer": "TOPSECRET"}))
    attempt = run / "selection/val-001.json"
    attempt.unlink()
    attempt.symlink_to(secret)
    with client(root) as asking:
        listed = asking.get("/").text
        assert "searchqa/a" in listed
        assert "linked" not in listed and "elsewhere" not in listed
        assert asking.get("/runs/searchqa/linked").status_code == 404
        answer = asking.get(f"{RUN}/attempts?task=val-001&in=selection")
        assert answer.status_code == 404
        assert "TOPSECRET" not in answer.text


@pytest.mark.parametrize(
    "inner",
    ["events.jsonl", "skills/step_0001.md", "steps/step_0001/candidate_skill.md", "best_skill.md"],
)
def test_no_link_in_a_run_is_followed(trained: Path, tmp_path: Path, inner: str) -> None:
    root = tmp_path / "outputs"
    shutil.copytree(trained, root)
    secret = tmp_path / "secret"
    secret.write_text("TOPSECRET")
    place = root / "searchqa/a" / inner
    place.unlink()
    place.symlink_to(secret)
    with client(root) as asking:
        for path in PATHS:
            answer = asking.get(f"{RUN}{path}")
            # What lies deeper matters only to the pages that read it.
            if "/" not in inner or "skills" in path:
                assert answer.status_code == 404, path
            assert "TOPSECRET" not in answer.text


class Tags(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str | None] = []
        self.handlers: list[str] = []
        self.pictures: list[str] = []
        self.styled: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "script":
            self.scripts.append(found.get("src"))
        if tag in ("img", "iframe", "object", "embed"):
            self.pictures.append(tag)
        self.handlers += [name for name in found if name.startswith("on")]
        self.styled += [tag] if "style" in found or tag == "style" else []
        self.addresses += [
            v or "" for k, v in attrs if k in ("href", "src", "action", "formaction")
        ]


def test_what_a_run_holds_is_text(trained: Path, tmp_path: Path) -> None:
    root = tmp_path / "outputs"
    shutil.copytree(trained, root)
    run = root / "searchqa/a"
    hostile = json.dumps(SCRIPT)[1:-1]
    log = (run / "events.jsonl").read_text()
    log = log.replace('"val-001"', f'"{hostile}"').replace("simulated", hostile)
    log = log.replace("Leave out", f"{hostile} Leave out")
    (run / "events.jsonl").write_text(log)
    for path in [*run.glob("skills/*.md"), run / "best_skill.md", *run.glob("steps/*/*.md")]:
        path.write_text(f"{SCRIPT}\n{path.read_text()}{SCRIPT}")
    (run / "config.yaml").write_text((run / "config.yaml").read_text() + f"x: '{SCRIPT}'\n")
    attempt = json.loads((run / "selection/val-001.json").read_text())
    attempt["conversation"].append({"role": SCRIPT, "content": SCRIPT})
    attempt |= {"answer": SCRIPT, "feedback": SCRIPT, "error": SCRIPT, "task_type": SCRIPT}
    (run / f"selection/{safe_name(SCRIPT)}.json").write_text(json.dumps(attempt))
    Path(run).rename(root / "searchqa" / "<b>a&'x\"")
    with client(root) as asking:
        page = asking.get("/").text
        tags = Tags()
        tags.feed(page)
        (home,) = [a for a in tags.addresses if a.startswith("/runs/") and "%3Cb%3E" in a]
        shown = 0
        task = urlencode({"task": SCRIPT})
        for path in ("", *PATHS, f"/attempts?{task}", f"/attempts?{task}&in=selection"):
            answer = asking.get(f"{home}{path}")
            assert answer.status_code == 200, (path, answer.text)
            tags = Tags()
            tags.feed(answer.text)
            assert tags.scripts[0] == "/assets/app.js"
            assert tags.scripts[1:] in ([], [f"/assets/{ECHARTS}", "/assets/charts.js"])
            assert (tags.handlers, tags.pictures, tags.styled) == ([], [], [])
            assert all(a.startswith(("/", "#")) and not a.startswith("//") for a in tags.addresses)
            shown += answer.text.count("&lt;script&gt;")
        assert shown > 20, "the hostile texts were meant to be on the pages"
