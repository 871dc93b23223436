"""The form of a new run as a browser sends it, and what its page shows."""

from __future__ import annotations

import re
from typing import Any

from dom import parsed, text_of
from starlette.testclient import TestClient
from web_rig import HOME

TINY = {"benchmark": "searchqa", "preset": "tiny"}


def sign_of(asking: TestClient) -> str:
    page = parsed(asking.get("/new").text)
    return next(e.get("value", "") for e in page.iter("input") if e.get("name") == "form_token")


def send(asking: TestClient, wish: str, **values: str) -> Any:
    body = {"form_token": sign_of(asking), "do": wish, **values}
    return asking.post("/new", data=body, headers={"origin": HOME}, follow_redirects=False)


def mark_of(answer: Any) -> str:
    found = re.search(r'name="planned" value="(\w+)"', answer.text)
    assert found, answer.text
    return found[1]


def fields(text: str) -> dict[str, str]:
    """What the form holds, by name; nothing for what is empty."""
    page = parsed(text)
    held = {e.get("name", ""): e.get("value", "") for e in page.iter("input")}
    for select in page.iter("select"):
        chosen = [o for o in select.iter("option") if o.get("selected") is not None]
        held[select.get("name", "")] = chosen[0].get("value", "") if chosen else ""
    return {name: value for name, value in held.items() if value}


def mistakes(text: str) -> dict[str, str]:
    """The errors beside each field, in the order of the page; "" has those above the form."""
    page = parsed(text)
    above = [text_of(e) for e in page.iter() if e.get("role") == "alert"]
    beside = {
        str(e.get("id")).removesuffix("-error"): text_of(e)
        for e in page.iter("div")
        if str(e.get("id")).endswith("-error")
    }
    return {"": " ".join(above)} | beside
