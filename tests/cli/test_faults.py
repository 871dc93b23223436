"""Whose fault it was: a plug-in is named, and the reason of broken attempts is told."""

from __future__ import annotations

import json
import time
from pathlib import Path
from textwrap import dedent

import pytest
from command_line import SMALLEST, events, refused
from plugin_folder import benchmark, install

from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.plugins import at_fault
from skillopt_cli.testing.model_server import Scripted, model_server

SIMULATED = ("--set", "model.backend=simulated", "--run-id", "a")
TARGET = ("--target-backend", "openai_compatible", "--target-model", "m", "--from-scratch")
FAILING = dedent("""
    from skillopt_cli.backends.simulated import Simulated
    from skillopt_cli.config.model_section import SimulatedConfig
    from skillopt_cli.ports import BackendSpec

    class Failing(Simulated):
        def __init__(self, role):
            super().__init__(SimulatedConfig())

        async def chat(self, request):
            raise ZeroDivisionError("a fault of the plug-in")

    SPEC = BackendSpec("failing", "fails", frozenset(["target"]), Failing)
""")


def test_a_backend_that_fails_is_named(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path_factory.mktemp("site")
    install(site, monkeypatch, {"failing": FAILING}, {"backend": {"failing": "failing:SPEC"}})
    ended = refused(
        1, "train", "searchqa", *SMALLEST, "--target-backend", "failing", "--run-id", "a"
    )
    assert ended.error == (
        "error: the backend plug-in `failing` failed: ZeroDivisionError: a fault of the plug-in"
    )
    crash = Path("outputs/searchqa/a/crash.txt")
    assert str(crash) in ended.hint
    assert "failing.py" in crash.read_text(encoding="utf-8")


def test_a_fault_of_ours_names_no_plugin() -> None:
    with pytest.raises(TypeError) as caught:
        SkillDocument(7).regions  # type: ignore[arg-type]  # noqa: B018
    assert at_fault(caught.value) is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return None", "scorer failed: it returned None, not a Score"),
        ("return Score(2.0, 0.0)", "hard score 2.0 is outside [0, 1]"),
        ("return (1.0, 1.0)", "scorer failed: it returned (1.0, 1.0), not a Score"),
    ],
)
def test_a_score_that_is_none_breaks_the_attempt_and_its_reason_is_told(
    body: str,
    reason: str,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = tmp_path_factory.mktemp("site")
    module = f"odd_{abs(hash(body))}"
    points = {"benchmark": {"odd": f"{module}:SPEC"}}
    install(site, monkeypatch, {module: benchmark("odd", score=body)}, points)
    ended = refused(6, "train", "odd", *SIMULATED)
    assert ", most often: " in ended.error
    assert reason in ended.error
    (trouble,) = (line for line in ended.err.splitlines() if line.startswith("Trouble: "))
    assert "4 broken attempts; broken most often: " in trouble
    assert reason in trouble
    summary = json.loads(Path("outputs/odd/a/summary.json").read_text(encoding="utf-8"))
    ((told, times),) = summary["broken"]["reasons"].items()
    assert reason in told
    assert times == 4


def test_a_dead_server_is_told_within_seconds() -> None:
    began = time.monotonic()
    ended = refused(
        4,
        *("eval", "searchqa", *SMALLEST, *TARGET, "--run-id", "a"),
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
    )
    assert time.monotonic() - began < 10
    assert "the connection was refused" in ended.error
    assert len(events(Path("outputs/searchqa/a"), "call_retried")) == 2


def test_a_missing_key_is_not_a_wrong_one(tmp_path: Path) -> None:
    with model_server(tmp_path / "requests.jsonl") as server:
        server.script(Scripted(401, {"error": {"message": "no"}}))
        ended = refused(
            4, "eval", "searchqa", *SMALLEST, *TARGET, OPENAI_COMPATIBLE_BASE_URL=server.url
        )
        assert "no key was given" in ended.error
        assert "TARGET_OPENAI_COMPATIBLE_API_KEY, OPENAI_COMPATIBLE_API_KEY" in ended.hint
        server.script(Scripted(401, {"error": {"message": "no"}}))
        ended = refused(
            *(4, "eval", "searchqa", *SMALLEST, *TARGET),
            OPENAI_COMPATIBLE_BASE_URL=server.url,
            OPENAI_API_KEY="key-of-someone",
        )
        assert "refused the key" in ended.error
