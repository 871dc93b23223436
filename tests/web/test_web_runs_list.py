"""The list of runs: search, filters and order, and the notes and tags that a person gives a run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from dom import parsed, text_of
from starlette.testclient import TestClient
from web_rig import HOME, Tab, client, served, until
from web_rig import text_of as page_text

from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.events import RunPaused
from skillopt_cli.store.lock import lock_run
from skillopt_cli.web.run_notes import NOTES, RunNotes, read_notes

RUN = "/runs/searchqa/a"
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def outputs(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "outputs"))


@pytest.fixture
def web(outputs: Path) -> Iterator[TestClient]:
    with client(outputs, origin=HOME) as asking:
        yield asking


def saved(web: TestClient, run: str = RUN, **fields: str) -> int:
    """Send the form of a run's notes as its page has it; the status of the answer."""
    found = parsed(web.get(run).text).iter("input")
    token = next(e.get("value", "") for e in found if e.get("name") == "form_token")
    return web.post(f"{run}/notes", data={"form_token": token, **fields}).status_code


def listed(web: TestClient, query: str = "") -> list[str]:
    """The runs of the list, in its order."""
    page = parsed(web.get(f"/{query}").text)
    return [one.attrib["value"] for one in page.iter("input") if one.get("name") == "run"]


def test_runs_are_searched_filtered_and_sorted(web: TestClient, outputs: Path) -> None:
    shutil.copytree(outputs / "searchqa", outputs / "folder")
    log = outputs / "folder/b/events.jsonl"
    log.write_text(log.read_text().replace('"target":"simulated"', '"target":"other model"'))
    four = {"searchqa/a", "searchqa/b", "folder/a", "folder/b"}
    assert set(listed(web)) == four
    assert set(listed(web, "?benchmark=folder")) == {"folder/a", "folder/b"}
    assert listed(web, "?model=other model") == ["folder/b"]
    assert listed(web, "?q=OTHER+folder") == ["folder/b"]
    assert listed(web, "?status=failed") == []
    assert listed(web, "?sort=run") == sorted(four)
    assert listed(web, "?sort=-run") == sorted(four, reverse=True)
    summaries = {run: json.loads((outputs / run / "summary.json").read_text()) for run in four}
    for key, entry in (("test", "test_hard"), ("selection", "best_selection_hard")):
        found = [summaries[run][entry] for run in listed(web, f"?sort=-{key}")]
        assert found == sorted(found, reverse=True)
    none = web.get("/?q=nothing&sort=run").text
    assert "0 of 4 runs Clear filters" in text_of(parsed(none))
    assert '<a href="/?sort=run">Clear filters</a>' in none
    assert '<a href="/">Clear filters</a>' in web.get("/?benchmark=folder").text
    assert "Clear filters" not in web.get("/?sort=run").text


def test_a_paused_run_has_a_status_of_its_own(web: TestClient, outputs: Path) -> None:
    folder = outputs / "searchqa/a"
    log = folder / "events.jsonl"
    *before, last = log.read_text().splitlines(keepends=True)
    pause = json.loads(last) | {"event": asdict(RunPaused(1, "edits"))}
    log.write_text("".join([*before, json.dumps(pause) + "\n"]))
    with lock_run(folder):
        page = parsed(web.get("/").text)
        states = {text_of(one) for one in page.iter("span") if "state" in one.get("class", "")}
        assert states == {"paused with its edits chosen", "finished"}
        assert "paused" in [one.get("value") for one in page.iter("option")]
        assert listed(web, "?status=paused") == ["searchqa/a"]
        assert listed(web, "?status=running") == []
        assert listed(web, "?sort=status") == ["searchqa/b", "searchqa/a"]
    assert listed(web, "?status=paused") == []
    assert listed(web, "?status=interrupted") == ["searchqa/a"]


def test_a_run_of_a_sweep_names_it_and_leads_to_its_page(web: TestClient, outputs: Path) -> None:
    runs = outputs / "searchqa"
    (runs / "a").rename(runs / "rates-86b91008-seed2")
    (runs / "b").rename(runs / "gone-86b91008")
    result = outputs / "sweeps/rates/sweep.json"
    result.parent.mkdir(parents=True)
    result.write_text("{}", encoding="utf-8")
    heads = [e for e in parsed(web.get("/").text).iter("th") if e.get("role") == "rowheader"]
    links = {
        (text_of(link), link.get("href"))
        for head in heads
        for small in head.iter("small")
        for link in small.iter("a")
        if small.get("class") == "quiet"
    }
    assert len(heads) == 2
    # The result of the other sweep was never written.
    assert links == {("sweep rates", "/sweeps/rates")}


def test_a_run_has_a_note_and_tags(web: TestClient, outputs: Path) -> None:
    assert saved(web, note=f"First line.\r\n{SCRIPT}", tags="Baseline, rate:2 baseline") == 200
    kept = json.loads((outputs / "searchqa/a" / NOTES).read_text(encoding="utf-8"))
    assert kept == {
        "schema": 1,
        "note": f"First line.\n{SCRIPT}",
        "tags": ["baseline", "rate:2"],
    }
    page = web.get(RUN).text
    assert "Tags, separated by spaces or commas" in page
    assert "<script>alert" not in page
    assert [text_of(one) for one in parsed(page).iter("p") if one.get("class") == "note"] == [
        "First line.",
        SCRIPT,
    ]
    assert listed(web, "?tag=baseline") == ["searchqa/a"]
    assert listed(web, "?tag=Baseline") == ["searchqa/a"]
    assert listed(web, "?q=first+line") == ["searchqa/a"]
    assert listed(web, "?tag=other") == []
    # An empty form removes the file.
    assert saved(web, note="", tags="") == 200
    assert not (outputs / "searchqa/a" / NOTES).exists()
    assert listed(web, "?tag=baseline") == []


@pytest.mark.parametrize(
    ("note", "tags", "said"),
    [
        ("x" * 2001, "", "the note has 2,001 characters"),
        ("", "a" * 41, "is not a plain word"),
        ("", "<b>", "is not a plain word"),
        ("", " ".join(f"t{n}" for n in range(13)), "13 tags were given"),
    ],
)
def test_notes_that_are_refused_stay_in_the_form(
    web: TestClient, outputs: Path, note: str, tags: str, said: str
) -> None:
    with pytest.raises(UsageError):
        RunNotes.typed(note, tags)
    assert saved(web, note=note, tags=tags) == 422
    token = next(
        e.get("value", "")
        for e in parsed(web.get(RUN).text).iter("input")
        if e.get("name") == "form_token"
    )
    answer = web.post(f"{RUN}/notes", data={"form_token": token, "note": note, "tags": tags})
    assert said in answer.text
    (focused,) = (e for e in parsed(answer.text).iter() if "autofocus" in e.attrib)
    assert text_of(focused).startswith("Not saved: ") and focused.get("role") == "alert"
    (field,) = (one for one in parsed(answer.text).iter("textarea"))
    assert (field.text or "") == note
    assert not (outputs / "searchqa/a" / NOTES).exists()


def test_notes_are_written_for_a_form_of_this_server_only(outputs: Path) -> None:
    with client(outputs, origin=HOME) as web:
        for token in ("", "wrong"):
            answer = web.post(f"{RUN}/notes", data={"form_token": token, "note": "x", "tags": ""})
            assert answer.status_code == 422
        assert web.get(f"{RUN}/notes").status_code == 405
        assert web.post("/runs/searchqa/none/notes", data={}).status_code == 404
    with client(outputs, origin="http://elsewhere.example") as web:
        assert web.post(f"{RUN}/notes", data={"note": "x"}).status_code == 403
    assert not (outputs / "searchqa/a" / NOTES).exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"note": 1}', '{"tags": 1}', "[" * 50_000])
def test_damaged_notes_are_none(web: TestClient, outputs: Path, text: str) -> None:
    (outputs / "searchqa/a" / NOTES).write_text(text, encoding="utf-8")
    assert read_notes(outputs / "searchqa/a") == RunNotes()
    assert web.get(RUN).status_code == web.get("/").status_code == 200


def test_notes_behind_a_link_are_neither_read_nor_written(
    web: TestClient, outputs: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"note": "secret", "tags": []}')
    (outputs / "searchqa/a" / NOTES).symlink_to(secret)
    assert read_notes(outputs / "searchqa/a") == RunNotes()
    assert web.get(RUN).status_code == 404, "a run folder with a link is not shown"
    assert "secret" not in web.get("/").text


@pytest.mark.slow
def test_the_error_of_refused_tags_is_seen_at_once(tab: Callable[..., Tab], outputs: Path) -> None:
    with served(outputs) as address:
        opened = tab(address, viewport={"width": 1000, "height": 700})
        page = opened.page
        opened.open(RUN)
        page.locator("#edit-notes summary").click()
        page.get_by_role("textbox", name="Tags").fill("bad; Paper")
        page.get_by_role("button", name="Save").click()
        error = page.get_by_role("alert").filter(has_text="Not saved: the tag")
        error.wait_for()
        assert page.evaluate("document.activeElement.id") == "notes-error"
        page.wait_for_function(
            "() => { const at = document.activeElement.getBoundingClientRect();"
            " return at.top >= 0 && at.bottom <= innerHeight; }"
        )
        assert page.get_by_role("textbox", name="Tags").input_value() == "bad; Paper"
        opened.faults.clear()  # the status 422 of the answer


@pytest.mark.slow
def test_ticks_stay_while_the_list_is_searched(tab: Callable[..., Tab], trained: Path) -> None:
    with served(trained) as address:
        until(lambda: page_text(address).count("state finished") == 2)
        opened = tab(address, viewport={"width": 800, "height": 900})
        page = opened.page
        opened.open("/")
        page.get_by_label("Compare searchqa/a").check()
        page.get_by_role("searchbox", name="Search").fill("searchqa")
        page.get_by_role("columnheader", name="Run").get_by_role("link").click()
        page.locator("th[aria-sort=ascending]", has_text="Run").wait_for()
        assert page.get_by_label("Compare searchqa/a").is_checked()
        page.get_by_label("Compare searchqa/b").check()
        page.get_by_role("button", name="Compare the ticked runs").click()
        page.wait_for_url("**/compare?**")
