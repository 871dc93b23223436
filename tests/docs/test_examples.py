"""The example plug-ins keep the contracts their pages teach, and are found like any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_pages import install_example_plugin

from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.task import ChatRequest, Message
from skillopt_cli.plugins import BACKENDS, BENCHMARKS, load_backend, load_benchmark, names
from skillopt_cli.ports import BenchmarkRequest, RoleSettings
from skillopt_cli.testing import check_benchmark


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    site = tmp_path / "site"
    install_example_plugin(site)
    monkeypatch.syspath_prepend(str(site))
    yield


def test_the_examples_are_listed_with_ours() -> None:
    assert "capitals" in names(BENCHMARKS)
    assert "echo" in names(BACKENDS)


async def test_the_benchmark_keeps_the_contract() -> None:
    await check_benchmark(load_benchmark("capitals").open(BenchmarkRequest()))


def test_the_benchmark_heeds_the_limit() -> None:
    benchmark = load_benchmark("capitals").open(BenchmarkRequest(limit=3))
    assert len(benchmark.tasks("test")) == 3


async def reply(system: str, user: str) -> str:
    spec = load_backend("echo")
    assert spec.open is not None
    backend = spec.open(RoleSettings("target", "echo"))
    messages = (Message("system", system), Message("user", user))
    return (await backend.chat(ChatRequest(messages, stage="rollout"))).text


async def test_the_backend_answers_briefly_when_told() -> None:
    user = "## Context\nPeru is governed from Lima.\n\n## Question\nWhich city governs Peru?"
    assert await reply("Name the capital.", user) == "I believe the answer is Lima."
    assert await reply("Do not explain.", user) == "Lima"


def test_the_backend_names_the_variable_it_cannot_read() -> None:
    spec = load_backend("echo")
    assert spec.open is not None
    with pytest.raises(ConfigError, match="ECHO_PAUSE"):
        spec.open(RoleSettings("target", "echo", environment={"ECHO_PAUSE": "soon"}))


def test_the_backend_needs_no_code_for_its_variables() -> None:
    overrides = Overrides("searchqa", roles=("target",), flags={"model.target.backend": "echo"})
    found = settle(overrides, {"ECHO_MODEL": "both", "TARGET_ECHO_MODEL": "loud"})
    assert found.config.model.target.name == "loud"
    assert found.sources["model.target.name"] == "environment TARGET_ECHO_MODEL"
