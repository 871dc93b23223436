"""A key is found nowhere: not in the run folder, not in what is printed, however the run ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SMALLEST, Ended, skillopt
from plugin_folder import benchmark, install

from skillopt_cli.testing import ModelServer, ScriptedResponse

CANARY = "sk-canary-3f9a7c51d2e84b60"
OTHER = "plain canary 0123456789"
REMOTE = (
    *("--set", "model.backend=openai_compatible", "--set", "model.retry.base_seconds=0"),
    *("--optimizer-model", "m", "--target-model", "m"),
)


def nowhere(ended: Ended, *secrets: str) -> None:
    """Assert that no secret is in any output or file. `.env` itself is the user's."""
    texts = {"stdout": ended.out.encode(), "stderr": ended.err.encode()}
    texts |= {str(p): p.read_bytes() for p in Path("outputs").rglob("*") if p.is_file()}
    for name, data in texts.items():
        for secret in secrets or (CANARY,):
            assert secret.encode() not in data, name
        assert b"canary" not in data, name


@pytest.mark.parametrize("planted", ["environment", "file"])
def test_a_run_that_used_the_key_does_not_hold_it(server: ModelServer, planted: str) -> None:
    variables = {"OPENAI_API_KEY": CANARY, "UNRELATED_TOKEN": OTHER}
    if planted == "file":
        lines = "".join(f'export {name}="{value}"\n' for name, value in variables.items())
        Path(".env").write_text(lines, encoding="utf-8")
        variables = {}
    ended = skillopt(
        "train", "searchqa", *SMALLEST, *REMOTE, OPENAI_BASE_URL=server.url, **variables
    )
    assert ended.code == 0, ended.err
    assert {r["authorization"] for r in server.requests()} == {f"Bearer {CANARY}"}
    assert len([p for p in Path("outputs").rglob("*") if p.is_file()]) > 20
    nowhere(ended)


@pytest.mark.parametrize("flags", [(), ("--json",), ("--display", "rich")])
def test_a_server_that_echoes_the_key_is_not_believed(
    server: ModelServer, flags: tuple[str, ...]
) -> None:
    body = {"error": {"message": f"Incorrect API key provided: {CANARY}"}}
    server.script(ScriptedResponse(401, body))
    ended = skillopt(
        "train",
        "searchqa",
        *SMALLEST,
        *REMOTE,
        *flags,
        OPENAI_BASE_URL=server.url,
        OPENAI_API_KEY=CANARY,
    )
    assert ended.code == 4
    assert "Incorrect API key provided" in ended.err
    nowhere(ended)


def test_transient_errors_that_echo_the_key_are_recorded_without_it(server: ModelServer) -> None:
    server.script(*[ScriptedResponse(500, f"debug: Bearer {CANARY}")] * 2)
    ended = skillopt(
        "train",
        "searchqa",
        *SMALLEST,
        *REMOTE,
        OPENAI_BASE_URL=server.url,
        OPENAI_API_KEY=CANARY,
    )
    assert ended.code == 0, ended.err
    nowhere(ended)


MISTAKES = [
    ("--set", f"model.api_key={CANARY}"),
    ("--set", f"model.target.api_key={CANARY}"),
    ("--set", f"model.api_key_env={CANARY}"),
    ("--set", f"model.target.base_url=http://user:{CANARY}@127.0.0.1/v1"),
    ("--set", f"model.base_url=http://127.0.0.1/v1?key={CANARY}"),
    ("--set", CANARY),
    ("--set", "model.api_key", CANARY),
    ("--target-model", CANARY),
    ("--optimizer-backend", CANARY),
    ("--seed", CANARY),
    ("--lr-scheduler", CANARY),
    ("--preset", CANARY),
    ("--config", CANARY),
    (CANARY,),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=" ".join)
@pytest.mark.parametrize("known", [True, False], ids=["exported", "typed only"])
def test_a_key_typed_in_the_wrong_place_is_refused_and_not_echoed(
    mistake: tuple[str, ...], known: bool
) -> None:
    benchmark = () if mistake == (CANARY,) else ("searchqa",)
    variables = {"OPENAI_API_KEY": CANARY} if known else {}
    ended = skillopt("train", *benchmark, *SMALLEST, *mistake, **variables)
    assert ended.code == 2, ended.err
    nowhere(ended)
    assert not Path("outputs").exists()


def test_a_key_in_a_file_is_refused_and_not_echoed() -> None:
    for text in (
        f"model: {{api_key: {CANARY}}}\n",
        f"api_key: {CANARY}\n",
        f"model: {{target: {{base_url: 'http://u:{CANARY}@h/v1'}}}}\n",
        f"model:\n  api_key: {CANARY}\n bad\n",
    ):
        Path("my.yaml").write_text(text, encoding="utf-8")
        ended = skillopt("train", "searchqa", "--config", "my.yaml", *SMALLEST)
        assert ended.code == 2
        nowhere(ended)


@pytest.mark.parametrize("place", ["open", "score"])
def test_a_plug_in_that_fails_with_the_key_in_its_message(
    place: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = f"raise RuntimeError('cannot log in with {OTHER} or {CANARY}')"
    source = (
        benchmark("leaky", opening=fault) if place == "open" else benchmark("leaky", score=fault)
    )
    module = f"leaky_{place}"
    install(
        tmp_path_factory.mktemp("site"),
        monkeypatch,
        {module: source},
        {"benchmark": {"leaky": f"{module}:SPEC"}},
    )
    ended = skillopt(
        "train",
        "leaky",
        "--set",
        "model.backend=simulated",
        "--run-id",
        "a",
        OPENAI_API_KEY=CANARY,
        LEAKY_PASSWORD=OTHER,
    )
    folder = Path("outputs/leaky/a")
    assert ended.code == (1 if place == "open" else 6)
    if place == "open":
        crash = (folder / "crash.txt").read_text(encoding="utf-8")
        assert "RuntimeError: cannot log in with *** or ***" in crash
    else:
        assert "cannot log in with" in (folder / "events.jsonl").read_text(encoding="utf-8")
    nowhere(ended)


def test_a_backend_that_fails_with_the_key_in_its_message(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
from skillopt_cli.core.errors import AuthFailed
from skillopt_cli.ports import BackendSpec

class Leaky:
    name = fingerprint = "leaky"
    offers = frozenset()

    def __init__(self, role):
        self.key = role.api_key.get_secret_value()

    async def chat(self, request):
        raise AuthFailed(f"the key {self.key} is wrong", f"do not use {self.key}")

SPEC = BackendSpec(name="leaky", summary="x", roles=frozenset({"target"}), open=Leaky)
"""
    install(
        tmp_path_factory.mktemp("site"),
        monkeypatch,
        {"leaky_backend": source},
        {"backend": {"leaky": "leaky_backend:SPEC"}},
    )
    ended = skillopt(
        "train",
        "searchqa",
        *SMALLEST,
        "--target-backend",
        "leaky",
        "--set",
        "model.target.api_key_env=MINE",
        MINE=OTHER,
    )
    assert ended.code == 4
    assert "the key *** is wrong" in ended.error
    nowhere(ended, OTHER)


def test_a_process_of_its_own_prints_no_key_either() -> None:
    variables = {**os.environ, "OPENAI_API_KEY": CANARY, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    argv = [
        str(Path(sys.executable).with_name("skillopt")),
        "train",
        "searchqa",
        *SMALLEST,
        *REMOTE,
    ]
    argv += ["--set", "model.retry.max_attempts=1"]
    done = subprocess.run(argv, env=variables, capture_output=True, text=True, check=False)
    ended = Ended(done.returncode, done.stdout, done.stderr)
    assert ended.code == 4
    assert "could not be reached" in ended.error
    nowhere(ended)
