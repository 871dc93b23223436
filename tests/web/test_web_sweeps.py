"""The pages of sweeps: their list, and settings and scores of one, as `sweep.json` has them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from appearance import WIDTHS, faults_of
from command_line import SMALLEST, skillopt
from dom import parsed, text_of
from test_web_pages import agrees, charts, numbers
from web_rig import Tab, client, served

from skillopt_cli.web.sweep_chart import parallel_chart

GRID = """
benchmark: searchqa
grid:
  optimizer.learning_rate: [2, 8]
  optimizer.verify: [off, edits]
seeds: [1]
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An outputs folder with a sweep of four runs."""
    folder = tmp_path_factory.mktemp("swept")
    with chdir(folder):
        Path("rates.yaml").write_text(GRID, encoding="utf-8")
        ended = skillopt("sweep", "rates.yaml", *SMALLEST[:2], "--epochs", "1", "--display", "none")
        assert ended.code == 0, ended.err
    yield folder / "outputs"


def document(outputs: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((outputs / "sweeps/rates/sweep.json").read_text())
    return found


def entry(found: Any, key: str) -> Any:
    """The entry that the key of a figure names; a setting's name holds dots."""
    first, _, rest = key.partition(".")
    if isinstance(found, list):
        found, (first, _, rest) = found[int(first)], rest.partition(".")
    if first == "settings":
        return found["settings"][rest]
    return entry(found[first], rest) if rest else found[first]


@pytest.mark.slow
def test_the_page_of_a_sweep_has_the_numbers_of_its_file(swept: Path) -> None:
    result = document(swept)
    with client(swept) as asking:
        assert "4 of 4" in text_of(parsed(asking.get("/sweeps").text))
        page = asking.get("/sweeps/rates").text
        links = {a.attrib["href"] for a in parsed(page).iter("a")}
        for run in (run for one in result["combinations"] for run in one["runs"]):
            assert f"/runs/searchqa/{run['run_id']}" in links
            assert asking.get(f"/runs/searchqa/{run['run_id']}").status_code == 200
    found = numbers(page)
    assert len(found) > 30
    for key, value, shown in found:
        expected = entry(result, key)
        assert value == ("" if expected is None else json.dumps(expected)), key
        assert agrees(shown, expected), (key, shown)
    assert result["notes"]
    assert all(text.replace("`", "") in text_of(parsed(page)) for text in result["notes"])
    (chart,) = charts(page)
    lines = {line["words"]: line["value"] for line in chart["series"][0]["data"]}
    for one in result["combinations"]:
        rate, verify = one["settings"].values()
        assert verify in ("off", "edits")
        selection, test = one["best_gate_score"], one["test"]["hard"]
        words = f"learning_rate {rate}, verify {verify}: selection {selection:.2f}"
        assert lines[f"{words}, test {test:.2f}"] == [
            str(rate),
            verify,
            round(selection, 6),
            round(test, 6),
        ]


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ((0.5, 0.5, 0.5), "all have the same selection score, 0.50"),
        (
            (0.5, 0.25, 0.1 + 0.4),
            "best by selection, with equal scores: rate 0: selection 0.50; rate 2: selection 0.50",
        ),
        ((0.5, 0.25, 0.75), "best by selection: rate 2: selection 0.75"),
    ],
)
def test_equal_combinations_of_a_sweep_are_called_equal(
    scores: tuple[float, ...], words: str
) -> None:
    chart = parallel_chart([
        {"settings": {"optimizer.rate": rate}, "best_gate_score": score, "test": None}
        for rate, score in enumerate(scores)
    ])
    assert chart is not None and chart.words == f"Parallel view of 3 combinations; {words}"


@pytest.mark.slow
def test_a_run_of_a_sweep_leads_back_to_it(swept: Path, tmp_path: Path) -> None:
    outputs = Path(shutil.copytree(swept, tmp_path / "outputs"))
    run = document(outputs)["combinations"][0]["runs"][0]["run_id"]
    with client(outputs) as asking:
        page = asking.get(f"/runs/searchqa/{run}/tasks").text
        assert '<a href="/sweeps/rates">' in page
        assert "Sweep rates" in text_of(parsed(page))
        # Its result may be gone, or never have been written.
        (outputs / "sweeps/rates/sweep.json").unlink()
        assert 'href="/sweeps/rates"' not in asking.get(f"/runs/searchqa/{run}").text


def unfinished(outputs: Path, **changes: object) -> None:
    """A sweep of two runs that was interrupted in its first."""
    runs = [
        {"run_id": f"rates-0000000{n}", "folder": f"outputs/searchqa/{folder}", "seed": None,
         "status": status}
        for n, folder, status in ((1, "begun", "interrupted"), (2, "none", "not_started"))
    ]  # fmt: skip
    combinations = [
        {"place": None, "settings": {"optimizer.learning_rate": 2 * n},
         "baseline_gate_score": None, "best_gate_score": None, "test": None,
         "against_first": None, "runs": [run]}
        for n, run in enumerate(runs, 1)
    ]  # fmt: skip
    found = {
        "name": "rates", "interrupted": True, "finished": False, "exit_code": 130,
        "incomparable": None, "combinations": combinations,
        "command": "skillopt sweep rates.yaml --preset tiny", "working_folder": "/my work",
    }  # fmt: skip
    for folder in ("sweeps/rates", "searchqa/begun"):
        (outputs / folder).mkdir(parents=True, exist_ok=True)
    (outputs / "searchqa/begun/config.yaml").write_text("env:\n  name: searchqa\n")
    (outputs / "sweeps/rates/sweep.json").write_text(json.dumps(found | changes))


def test_the_page_of_an_unfinished_sweep_shows_how_to_go_on(tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    unfinished(outputs)
    with client(outputs) as asking:
        page = parsed(asking.get("/sweeps/rates").text)
        links = [a.attrib["href"] for a in page.iter("a")]
        assert [link for link in links if link.startswith("/runs/")] == ["/runs/searchqa/begun"]
        assert all(asking.get(link).status_code == 200 for link in links if link[0] == "/")
        shown = text_of(page)
        assert "run (not started)" in shown and "unknown" not in shown
        (command,) = (text_of(one) for one in page.iter("code") if one.get("class") == "command")
        assert command == "cd '/my work' && skillopt sweep rates.yaml --preset tiny"
        # The same command would end at once; a finished sweep has nothing to go on with.
        for changes in ({"exit_code": 5}, {"finished": True}, {"command": None}):
            unfinished(outputs, **changes)
            assert "skillopt sweep" not in asking.get("/sweeps/rates").text


def test_a_sweep_has_what_its_report_has(tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    notes = ["All differences are within noise: none is best.", "spent: 3 calls"]
    unfinished(outputs, notes=notes)
    path = outputs / "sweeps/rates/sweep.json"
    found = json.loads(path.read_text())
    tested, other = found["combinations"]
    tested["test"] = {"hard": 0.225, "low": 0.1, "high": 0.4, "n": 9, "by_seed": [0.2, 0.25]}
    against = {"difference": -0.1, "won": 1, "lost": 3, "n": 9, "chance": 0.0625}
    other["test"] = tested["test"] | {"hard": 0.22499999999999998, "by_seed": [0.2]}
    other["against_first"] = against | {"verdict": "within_noise"}
    path.write_text(json.dumps(found))
    with client(outputs) as asking:
        page = text_of(parsed(asking.get("/sweeps/rates").text))
        assert all(text in page for text in notes)
        assert "0.23 seeds 0.20 to 0.25" in page and page.count("seeds 0.") == 1
        assert "within noise: -0.10 (won 1, lost 3, p = 0.062)" in page
        assert "0.22 " not in page
        path.write_text(json.dumps(found | {"notes": 1}))
        assert "is damaged" in asking.get("/sweeps/rates").text


@pytest.mark.slow
def test_sweeps_are_for_everybody(tab: Callable[..., Tab], swept: Path) -> None:
    with served(swept) as address:
        opened = tab(address)
        for path in ("/sweeps", "/sweeps/rates"):
            opened.open(path)
            assert faults_of(opened.page) == [], path
        opened.page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        table = opened.page.get_by_role("group", name="Combinations")
        assert table.evaluate("(one) => one.scrollWidth <= one.clientWidth")
        opened.page.locator("score-chart text", has_text="learning_rate").wait_for()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"combinations": 1}', '{"combinations": [{"runs": 1}]}', "[" * 50_000],
)
def test_a_damaged_sweep_is_told(tmp_path: Path, text: str) -> None:
    home = tmp_path / "outputs/sweeps/torn"
    home.mkdir(parents=True)
    (home / "sweep.json").write_text(text, encoding="utf-8")
    with client(tmp_path / "outputs") as asking:
        assert "is damaged" in asking.get("/sweeps").text
        answer = asking.get("/sweeps/torn")
        assert answer.status_code == 422 and "is damaged" in answer.text


def test_no_sweep_and_no_link_out_of_the_folder(tmp_path: Path) -> None:
    outputs, secret = tmp_path / "outputs", tmp_path / "secret"
    secret.mkdir()
    (secret / "sweep.json").write_text('{"combinations": []}')
    with client(outputs) as asking:
        assert "There are no sweeps" in asking.get("/sweeps").text
        (outputs / "sweeps").mkdir(parents=True)
        (outputs / "sweeps/out").symlink_to(secret)
        for name in ("out", "none", ".hidden"):
            assert asking.get(f"/sweeps/{name}").status_code == 404, name
        assert asking.get("/sweeps").status_code == 200
