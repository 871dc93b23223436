"""Whose fault it was: a plug-in is named, and the reason of broken attempts is told."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
from command_line import SMALLEST, events, refused, skillopt
from plugin_folder import benchmark, install

from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.plugins import at_fault
from skillopt_cli.testing import ModelServer, ScriptedResponse

SIMULATED = ("--set", "model.backend=simulated", "--run-id", "a")
TARGET = ("--target-backend", "openai_compatible", "--target-model", "m", "--from-scratch")
FAILING = dedent("""
    from skillopt_cli.backends.simulated import Simulated
    from skillopt_cli.backends.simulated.settings import SimulatedConfig
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
        ("return None", "the scorer of `odd` failed: it returned None, not a Score"),
        ("return Score(2.0, 0.0)", "hard score 2.0 is outside [0, 1]"),
        ("return (1.0, 1.0)", "the scorer of `odd` failed: it returned (1.0, 1.0), not a Score"),
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
    assert "4 broken attempts (most often: " in trouble
    assert reason in trouble
    summary = json.loads(Path("outputs/odd/a/summary.json").read_text(encoding="utf-8"))
    ((told, times),) = summary["broken"]["reasons"].items()
    assert reason in told
    assert times == 4


def test_a_dead_server_is_told_within_seconds() -> None:
    ended = refused(
        4,
        *("eval", "searchqa", *SMALLEST, *TARGET, "--run-id", "a"),
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
    )
    assert "the connection was refused" in ended.error
    waits = [event["wait"] for event in events(Path("outputs/searchqa/a"), "call_retried")]
    assert len(waits) == 2 and sum(waits) < 10


@pytest.mark.parametrize("backend", ["openai_compatible", "claude_chat"])
@pytest.mark.parametrize("shell", [{}, {"NO_PROXY": "127.0.0.1"}])
def test_a_proxy_that_cannot_be_used_is_told_by_its_variable(
    backend: str, shell: dict[str, str]
) -> None:
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    command = ("eval", "searchqa", *SMALLEST, "--target-backend", backend, "--target-model", "m")
    proxy = "socks5://127.0.0.1:1080"
    ended = refused(2, *command, "--from-scratch", ALL_PROXY=proxy, **keys, **shell)
    assert "ALL_PROXY names a proxy that speaks socks5" in ended.error
    assert "name an http proxy in ALL_PROXY, unset it" in ended.hint


def test_a_missing_key_is_not_a_wrong_one(server: ModelServer) -> None:
    server.script(ScriptedResponse(401, {"error": {"message": "no"}}))
    ended = refused(
        4, "eval", "searchqa", *SMALLEST, *TARGET, OPENAI_COMPATIBLE_BASE_URL=server.url
    )
    assert "no key was given" in ended.error
    assert "TARGET_OPENAI_COMPATIBLE_API_KEY, OPENAI_COMPATIBLE_API_KEY" in ended.hint
    server.script(ScriptedResponse(401, {"error": {"message": "no"}}))
    ended = refused(
        *(4, "eval", "searchqa", *SMALLEST, *TARGET),
        OPENAI_COMPATIBLE_BASE_URL=server.url,
        OPENAI_API_KEY="key-of-someone",
    )
    assert "refused the key" in ended.error


@pytest.mark.parametrize(
    ("score", "value"),
    [
        ("return Score(Decimal('0.5'), Fraction(1, 2))", 0.5),
        ("return Score(True, True, None, None)", 1.0),
        ("return Score(numpy.float32(0.5), numpy.bool_(False), 5, 'x')", 0.5),
    ],
)
def test_harmless_types_of_a_scorer_are_read_back(
    score: str,
    value: float,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = tmp_path_factory.mktemp("site")
    module = f"odd_{abs(hash(score))}"
    source = "import numpy\nfrom decimal import Decimal\nfrom fractions import Fraction\n"
    points = {"benchmark": {"odd": f"{module}:SPEC"}}
    install(site, monkeypatch, {module: source + benchmark("odd", score=score)}, points)
    flags = ("eval", "odd", "--from-scratch", "--target-backend", "simulated", "--json")
    flags = (*flags, "--set", f"run.cache_dir={site}")
    first, second = skillopt(*flags), skillopt(*flags)
    assert first.code == second.code == 0, first.err + second.err
    assert first.json["hard"] == second.json["hard"] == value


@pytest.mark.parametrize(
    ("score", "said"),
    [
        ("return Score('0.5', 0.0)", "hard score `'0.5'` of type str is no number"),
        ("return Score(float('nan'), 0.0)", "hard score nan is outside [0, 1]"),
        ("return Score(1.0, 1.0, feedback={'a': 1})", "feedback `{'a': 1}` of type dict is no"),
        ("return Score(1.0, 1.0, expected=object)", "of type type is no list of texts"),
    ],
)
def test_other_types_of_a_scorer_are_told_with_its_name(
    score: str,
    said: str,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = tmp_path_factory.mktemp("site")
    module = f"odd_{abs(hash(score))}"
    points = {"benchmark": {"odd": f"{module}:SPEC"}}
    install(site, monkeypatch, {module: benchmark("odd", score=score)}, points)
    ended = refused(6, "eval", "odd", "--from-scratch", "--target-backend", "simulated")
    assert "the scorer of `odd` failed: " in ended.error
    assert said in ended.error.replace("\\'", "'")


ODD_BACKEND = dedent("""
    from skillopt_cli.core.task import Attempt, ChatReply, Message, Usage
    from skillopt_cli.ports import BackendSpec

    class Chat:
        name = fingerprint = "odd-model"
        offers = frozenset()

        def __init__(self, settings):
            pass

        async def chat(self, request):
            return REPLY

    class Agent:
        name = fingerprint = "odd-model"
        offers = frozenset()

        async def attempt(self, brief, skill, executor):
            return ATTEMPT

    SPEC = BackendSpec("odd", "odd", frozenset(["target"]), Chat, AGENT)
""")


def odd_backend(
    site: Path,
    monkeypatch: pytest.MonkeyPatch,
    reply: str = "ChatReply('x')",
    attempt: str = "",
) -> None:
    source = ODD_BACKEND.replace("REPLY", reply).replace("ATTEMPT", attempt or "None")
    source = source.replace("AGENT", "lambda chat, role: Agent()" if attempt else "None")
    module = f"odd_{abs(hash(source))}"
    install(site, monkeypatch, {module: source}, {"backend": {"odd": f"{module}:SPEC"}})


EVAL = ("eval", "searchqa", *SMALLEST, "--from-scratch", "--target-backend", "odd")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("None", "what it returned `None` of type NoneType is no ChatReply"),
        ("'text'", "what it returned `'text'` of type str is no ChatReply"),
        ("ChatReply(['a'])", "a reply's text `['a']` of type list is no text"),
        ("ChatReply('a', {'calls': 1})", "the usage `{'calls': 1}` of type dict is no Usage"),
        ("ChatReply('a', Usage(1, 2.5))", "the usage's prompt_tokens `2.5` of type float is no"),
    ],
)
def test_a_reply_of_another_type_is_told_with_the_backends_name(
    reply: str,
    said: str,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd_backend(tmp_path_factory.mktemp("site"), monkeypatch, reply)
    ended = refused(4, *EVAL)
    assert f"the backend `odd` failed: {said}" in ended.error


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        ("None", ""),
        ("'text'", "what it returned `'text'` of type str is no Attempt"),
        ("Attempt(('a',))", "an attempt's answer `('a',)` of type tuple is no text"),
        ("Attempt('a', ending='done')", "an attempt's ending 'done' is none of answered"),
        ("Attempt('a', outcome={'x': {1}})", "an attempt's outcome holds what JSON cannot"),
        ("Attempt('a', (Message('robot', 'x'),))", "a message's role 'robot' is none of system"),
    ],
)
def test_an_attempt_of_another_type_is_told_with_the_targets_name(
    attempt: str,
    said: str,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd_backend(tmp_path_factory.mktemp("site"), monkeypatch, attempt=attempt)
    ended = refused(6, *EVAL)
    assert "the target `odd-model` failed: " in ended.error
    assert said in ended.error


def test_harmless_types_of_a_backend_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path_factory.mktemp("site")
    odd_backend(site, monkeypatch, attempt="Attempt(42, usage=None, outcome={1: (2,)})")
    flags = (*EVAL, "--json", "--set", f"run.cache_dir={site}")
    first, second = skillopt(*flags), skillopt(*flags)
    assert first.code == second.code == 0, first.err + second.err
    assert first.json["hard"] == second.json["hard"] == 0.0
