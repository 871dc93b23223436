"""A run is begun again from its page: the form is filled in with its settings."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from dom import parsed, text_of
from facts import begun, opening
from start_form import fields, mark_of, send
from test_web_unfinished import ENDINGS, RUN, outputs_with
from web_rig import client

from skillopt_cli.compose.run_folder import dump_config
from skillopt_cli.compose.settings import settle
from skillopt_cli.config.environment import read_environment
from skillopt_cli.config.layers import flatten
from skillopt_cli.web.form import OWN_FILE, Given, as_typed

PLACED = {"_run_folder_", "env.out_root", "run.display", "env.data_root"}
"""What the page decides, and what differs from folder to folder."""


def form_of(asking: Any, page: str) -> str:
    """The address of the form that a page of a run leads to; "" where it leads to none."""
    links = parsed(asking.get(page).text).iter("a")
    found = {a.attrib["href"] for a in links if a.attrib["href"].startswith("/new?run=")}
    assert len(found) <= 1
    return next(iter(found), "")


@pytest.mark.parametrize("exists", [True, False])
def test_the_default_folder_of_data_is_taken_over_where_it_exists(
    trained: Path, tmp_path: Path, exists: bool
) -> None:
    root = Path(shutil.copytree(trained, tmp_path / "outputs"))
    config = root / "searchqa/a/config.yaml"
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    folder = tmp_path / "elsewhere" / "data"
    settings["env"]["data_root"] = str(folder)
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    if exists:
        folder.mkdir(parents=True)
    with client(root) as asking:
        held = fields(asking.get("/new?run=searchqa/a").text)
    assert held.get("set:env.data_root") == (str(folder) if exists else None)


@pytest.mark.parametrize(
    ("fixture", "run", "benchmark"),
    [
        ("trained", "searchqa/a", "searchqa"),
        ("trained", "searchqa/b", "searchqa"),
        ("labelled", "folder/p", OWN_FILE),
    ],
)
def test_the_form_of_a_run_trains_with_the_same_settings(
    request: pytest.FixtureRequest, fixture: str, run: str, benchmark: str
) -> None:
    root: Path = request.getfixturevalue(fixture)
    # The other fixture is the run itself.
    root = root if fixture == "trained" else root.parent.parent
    with client(root) as asking:
        for tab in ("", "/settings", "/steer"):
            address = form_of(asking, f"/runs/{run}{tab}")
        page = asking.get(address).text
        held = fields(page)
        assert send(asking, "plan", **held).status_code == 200
    assert f"Filled in with the settings of {run}." in text_of(parsed(page))
    assert held["benchmark"] == benchmark and "run_id" not in held
    if fixture == "trained":
        assert held["preset"] == "tiny"
        typed = {name for name in held if name.startswith("set:")}
        beyond = {"set:train.seed", "set:optimizer.learning_rate"} if run.endswith("b") else set()
        assert typed == beyond
    given = Given.of(held)
    resolved = settle(given.overrides(root), read_environment())
    made, stored = (
        dict(flatten(yaml.safe_load(text)))
        for text in (
            dump_config(resolved.config, root),
            (root / run / "config.yaml").read_text(encoding="utf-8"),
        )
    )
    assert {k: v for k, v in made.items() if k not in PLACED} == {
        k: v for k, v in stored.items() if k not in PLACED
    }
    # What an empty field means is not typed.
    assert len(given.settings) < len(stored) / 3
    assert not {"env.scorer", "env.answer_key"} & given.settings.keys()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_run_that_broke_off_is_begun_again_from_its_page(tmp_path: Path, ending: str) -> None:
    fact = ENDINGS[ending]
    with client(outputs_with(tmp_path, [*opening(), *([fact] if fact else [])])) as asking:
        page = parsed(asking.get(RUN).text)
        now = page.find(".//*[@id='part-now']")
        assert now is not None and "Start a new run with its settings" in text_of(now)
        answer = send(asking, "plan", **fields(asking.get(form_of(asking, RUN)).text))
        # Its settings name no model, as a form could not start it either.
        assert "no model endpoint is configured" in answer.text


def test_a_run_that_never_began_is_begun_again(trained: Path, tmp_path: Path) -> None:
    outputs = outputs_with(tmp_path, [])
    config = (trained / "searchqa/b/config.yaml").read_text(encoding="utf-8")
    (outputs / "searchqa/broken off/config.yaml").write_text(config, encoding="utf-8")
    with client(outputs) as asking:
        held = fields(asking.get(form_of(asking, RUN)).text)
        assert held["set:train.seed"] == "3"
        assert mark_of(send(asking, "plan", **held))


def test_an_evaluation_is_not_begun_from_the_form(tmp_path: Path) -> None:
    with client(outputs_with(tmp_path, [begun(total_steps=0)])) as asking:
        assert not form_of(asking, RUN)


@pytest.mark.parametrize("name", ["searchqa/nobody", "nobody", "../a", ""])
def test_there_must_be_such_a_run(trained: Path, name: str) -> None:
    with client(trained) as asking:
        assert asking.get("/new", params={"run": name}).status_code == (404 if name else 200)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("train.seed", 7, "7"),
        ("optimizer.prune", True, "true"),
        ("env.split_ratio", "2:1:7", "2:1:7"),
        ("model.target.name", "007", "007"),
        ("optimizer.verify", "off", "off"),
        ("model.simulated.latency_ms", 1500.0, "1500"),
        ("model.simulated.latency_ms", 0.5, "0.5"),
        ("run.trackers", ["a", "b"], '["a", "b"]'),
        # A benchmark's own setting is read as YAML.
        ("env.own", "12", '"12"'),
        ("env.own", "true", '"true"'),
        ("env.own", "words: of a text", "words: of a text"),
        ("env.own", 0.5, "0.5"),
    ],
)
def test_a_value_is_typed_as_it_is_read(key: str, value: object, text: str) -> None:
    assert as_typed(key, value) == text
