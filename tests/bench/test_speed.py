"""The benches of speed: the server they share, the results file, and the page made from it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
RUN = {"case": "undisturbed", "wall": 50.0, "calls": 1000, "faults": 0, "cpu": 4.0, "memory": 90}
OUT = {**RUN, "case": "outage", "wall": 112.0, "faults": 40, "allowed": 115.0, "same": True}


@pytest.fixture
def bench() -> Iterator[SimpleNamespace]:
    """The modules, as the scripts import them."""
    with pytest.MonkeyPatch.context() as patch:
        for folder in ("docs", "bench"):
            patch.syspath_prepend(str(ROOT / folder))
        import local_server
        import results
        import speed_page
        from simulation import server

        yield SimpleNamespace(
            local_server=local_server, page=speed_page, results=results, worlds=server
        )


def test_a_bench_takes_the_place_of_its_earlier_results(
    bench: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "speed.json"
    monkeypatch.setattr(bench.results, "RESULTS", path)
    bench.results.keep("scale", [{"tasks": 1}])
    bench.results.keep("limits", [{"service": "a"}, {"service": "b"}])
    bench.results.keep("scale", [{"tasks": 2}])
    kept = {"limits": [{"service": "a"}, {"service": "b"}], "scale": [{"tasks": 2}]}
    assert json.loads(path.read_text(encoding="utf-8")) == kept


def test_the_page_states_median_spread_and_number(bench: SimpleNamespace) -> None:
    runs = [{**OUT, "wall": wall, "same": wall < 115} for wall in (110.0, 112.0, 120.0)]
    page = bench.page.speed_page({"trainings": [RUN, *runs]})
    assert "| undisturbed | 1 | 50.0 | - | - | 0 | 4.0 ms | 90 MB |" in page
    assert "| outage | 3 | 112.0 (110.0 - 120.0) | 115.0 (115.0 - 115.0) | 2 of 3 | 40 |" in page
    assert "No runs are recorded yet." in page


@pytest.mark.parametrize(
    ("disturbance", "status"), [({}, 200), ({"refused": 1.0}, 429), ({"outage": "other"}, 503)]
)
def test_a_world_is_served_with_its_disturbances(
    bench: SimpleNamespace, disturbance: dict[str, object], status: int
) -> None:
    planned = bench.worlds.Disturbance(**disturbance)
    with bench.local_server.serving(bench.worlds.WorldService, 0.0, planned) as address:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        body = json.dumps({"model": "target", "messages": [{"role": "user", "content": "hi"}]})
        path = f"{address}/base/1/run"
        try:
            answered = direct.open(f"{path}/v1/chat/completions", body.encode()).status
        except urllib.error.HTTPError as error:
            answered = error.code
            error.close()
        with direct.open(f"{path}/counts") as response:
            counts = json.load(response)
    assert answered == status
    assert counts["other" if status == 200 else f"{status} other"] == 1


@pytest.mark.slow
def test_attempts_over_ray_are_all_scored_and_measured(bench: SimpleNamespace) -> None:
    """Without any bound on time or memory, which are those of the machine."""
    pytest.importorskip("ray")
    import ray_scale

    record = ray_scale.attempts_of_a_stub(24, 4, 0.1)
    assert record["attempts"] == 24
    assert 0 < record["ratio"] < 1
    page = bench.page.speed_page({"ray_scale": [record]})
    assert "| 24 | a program of 0.1 s, Ray | 4 |" in page
