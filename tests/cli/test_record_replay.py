"""A recorded run is replayed without any model: the same texts and scores, or an error."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from command_line import SMALLEST, TINY, Ended, events, outcome, refused, skillopt, train
from plugin_folder import benchmark, install

from skillopt_cli import UsageError, resume
from skillopt_cli.runlog.run_log import read_view
from skillopt_cli.runlog.text.unfinished import can_resume
from skillopt_cli.testing import ModelServer, ScriptedResponse

CANARY = "sk-canary-3f9a7c51d2e84b60"
OTHER = "plain canary 0123456789"
RUN = Path("outputs/searchqa")
FILE = Path("calls.jsonl")
REMOTE = (
    *("--set", "model.backend=openai_compatible", "--set", "model.retry.base_seconds=0"),
    *("--optimizer-model", "m", "--target-model", "m"),
)
FAULTS = (
    *("--set", "model.retry.base_seconds=0", "--set", "model.retry.max_attempts=2"),
    *("--set", "model.simulated.server_error_rate=0.05"),
    *("--set", "model.simulated.permanent_failure_rate=0.08"),
    *("--set", "model.simulated.malformed_rate=0.3", "--set", "evaluation.min_coverage=0.5"),
)
EVERYTHING = (
    *("--set", "optimizer.use_slow_update=true", "--set", "optimizer.use_meta_skill=true"),
    *("--set", "optimizer.slow_update_gate_with_selection=true"),
    *("--set", "optimizer.use_skill_aware_reflection=true"),
    *("--set", "model.simulated.lapse_rate=0.4", "--set", "evaluation.eval_no_skill=true"),
)
REWRITE = ("--set", "optimizer.skill_update_mode=rewrite_from_suggestions")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **named: Any) -> Any:
        raise AssertionError(f"the network was asked: {arguments}")

    bind = socket.socket.bind

    def within_the_folder(self: socket.socket, address: Any) -> None:
        # Where the run listens for `skillopt ctl` is no network.
        return bind(self, address) if self.family == socket.AF_UNIX else refuse(self, address)

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket.socket, "bind", within_the_folder)
    for name in ("create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)


def scores(folder: Path) -> dict[str, Any]:
    """What the summary says of scores and tests; spend and times differ in a replay."""
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    kept = ("hard", "soft", "mixed", "score", "scored", "_n", "verdict", "status", "exit_code")
    return {key: value for key, value in summary.items() if key.endswith(kept)}


def attempts(folder: Path) -> dict[tuple[Any, ...], set[tuple[Any, ...]]]:
    """How attempts ended, by what they were for. Those that came too late to count are left out."""
    found: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
    for event in events(folder, "rollout_finished"):
        if event["stage"] != "measure":
            made = found.setdefault((event["step"], event["stage"], event["label"]), set())
            made.add((event["task"], event["hard"], event["soft"], event["ending"], event["error"]))
    return found


def same(first: Path, second: Path) -> None:
    assert outcome(first) == outcome(second)
    assert scores(first) == scores(second)
    assert attempts(first) == attempts(second)
    assert not events(second, "call_made", "preflight_passed", "call_retried")


def lines(path: Path = FILE) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rewrite(documents: list[dict[str, Any]]) -> None:
    documents[-1]["end"]["calls"] = len(documents) - 2
    FILE.write_text("".join(json.dumps(d) + "\n" for d in documents), encoding="utf-8")


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(TINY, id="tiny"),
        pytest.param((*TINY, *EVERYTHING), id="everything"),
        pytest.param((*TINY, *REWRITE), id="rewrite", marks=pytest.mark.slow),
        pytest.param((*TINY, *FAULTS), id="faults"),
        pytest.param((*TINY, "--seed", "7"), id="seed", marks=pytest.mark.slow),
    ],
)
def test_a_replay_equals_the_recorded_run(flags: tuple[str, ...], no_network: None) -> None:
    recorded = train(*flags, "--record", FILE)
    same(recorded, train(*flags, "--replay", FILE, run_id="b"))


def test_faults_did_break_attempts_in_the_recorded_run() -> None:
    broken = [e for e in events(train(*TINY, *FAULTS), "rollout_finished") if e["error"]]
    assert broken


def test_a_replay_needs_no_key_no_address_and_no_network(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": CANARY}
    recorded = train(*SMALLEST, *REMOTE, "--record", FILE, **variables)
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, None)
    same(recorded, train(*SMALLEST, *REMOTE, "--replay", FILE, run_id="b"))
    # Nor where the configuration of the recorded run names a variable for the key.
    named = ("--set", "model.api_key_env=NOT_SET")
    same(recorded, train(*SMALLEST, *REMOTE, *named, "--replay", FILE, run_id="c"))


def test_a_replay_loads_no_sdk(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    train(*SMALLEST, *REMOTE, "--record", FILE, OPENAI_BASE_URL=server.url)
    argv = ["train", "searchqa", *SMALLEST, *REMOTE, "--replay", str(FILE), "--display", "none"]
    program = dedent(f"""
        import sys
        from skillopt_cli.cli.main import main
        try:
            sys.argv = ["skillopt", *{argv!r}]
            main()
        finally:
            print(sorted({{"openai", "anthropic", "httpx"}} & set(sys.modules)))
    """)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


COMPLETIONS = dedent("""
    from pathlib import Path
    from skillopt_cli.backends.completion_agent import CompletionAgent
    from skillopt_cli.core.task import ChatReply, Usage
    from skillopt_cli.ports import BackendSpec

    class Echo:
        name = fingerprint = "echo/1"
        offers = frozenset()

        async def __aenter__(self):
            Path("opened").write_text("x")
            return self

        async def __aexit__(self, *_):
            pass

        async def chat(self, request):
            text = request.messages[-1].content
            words = text.split("Question:")[-1].split()
            taught = len(request.messages[0].content) if len(request.messages) > 1 else 0
            return ChatReply(" " + words[(len(text) + taught) % len(words)], Usage(1, 3, 1))

    def open_echo(role):
        Path("opened").write_text("x")
        return Echo()

    SPEC = BackendSpec(
        "echo", "repeats words", frozenset(["target"]), open=open_echo,
        agent=lambda chat, role: CompletionAgent(chat),
    )
""")


def test_a_completion_model_and_the_rules_optimizer_are_replayed_and_nothing_is_opened(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path_factory.mktemp("site")
    install(site, monkeypatch, {"echo_b": COMPLETIONS}, {"backend": {"echo": "echo_b:SPEC"}})
    flags = (*TINY, "--target-backend", "echo", "--optimizer-backend", "rules")
    recorded = train(*flags, "--record", FILE)
    assert set(lines()[0]["roles"]) == {"optimizer", "target"}
    assert {line["role"] for line in lines()[1:-1]} == {"target"}
    Path("opened").unlink()
    same(recorded, train(*flags, "--replay", FILE, run_id="b"))
    assert not Path("opened").exists()


def test_an_evaluation_is_replayed_from_its_own_or_a_training_recording(no_network: None) -> None:
    folder = train(*TINY, "--record", FILE)
    first = skillopt("eval", "--skill", folder, "--split", "test", "--record", "e.jsonl", "--json")
    assert first.code == 0, first.err
    assert set(lines(Path("e.jsonl"))[0]["roles"]) == {"target"}
    for source in (FILE, "e.jsonl"):
        again = skillopt("eval", "--skill", folder, "--replay", source, "--json")
        assert again.code == 0, again.err
        assert again.json == first.json
    # Of a skill that lies in no run, the recording names the benchmark.
    best = Path("alone.md")
    best.write_bytes((folder / "best_skill.md").read_bytes())
    alone = skillopt("eval", "--skill", best, *TINY, "--replay", "e.jsonl", "--json")
    assert alone.code == 0, alone.err
    assert alone.json["hard"] == first.json["hard"]
    ended = refused(2, "train", "searchqa", *TINY, "--replay", "e.jsonl")
    assert ended.error == "error: e.jsonl holds no calls of the optimizer"


def test_rollouts_are_scored_anew(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = 'return Score(1.0, 1.0) if Path("generous").exists() else Score(0.0, 0.0)'
    source = "from pathlib import Path\n" + benchmark("sums", score=score)
    site = tmp_path_factory.mktemp("site")
    points = {"benchmark": {"sums": "generous_sums:SPEC"}}
    install(site, monkeypatch, {"generous_sums": source}, points)
    flags = ("--set", "model.backend=simulated", "--from-scratch", "--split", "test", "--json")
    first = skillopt("eval", "sums", *flags, "--record", FILE)
    assert first.json["hard"] == 0.0
    Path("generous").touch()
    assert skillopt("eval", "sums", *flags, "--replay", FILE).json["hard"] == 1.0


@pytest.mark.parametrize("role", ["target", "optimizer"])
def test_a_call_that_is_not_recorded_ends_the_run(role: str, no_network: None) -> None:
    train(*SMALLEST, "--record", FILE)
    recorded = lines()
    gone = next(line for line in recorded if line.get("role") == role)
    recorded.remove(gone)
    rewrite(recorded)
    ended = refused(4, "train", "searchqa", *SMALLEST, "--replay", FILE, "--run-id", "b")
    assert ended.error == (
        f"error: the {role} was asked something in stage `{gone['stage']}` that {FILE} does not"
        " hold"
    )
    assert ended.hint == (
        "hint: a prompt, the skill, the data or a setting changed since: record it again"
    )
    (failed,) = events(RUN / "b", "run_failed")
    assert (failed["error"], failed["exit_code"]) == ("NotRecorded", 4)


def test_settings_that_changed_are_named_with_both_values() -> None:
    train(*SMALLEST, "--record", FILE)
    replay = ("train", "searchqa", *SMALLEST, "--replay", FILE)
    ended = refused(4, *replay, "--epochs", "3")
    assert ended.error.endswith(
        f"{FILE} does not hold, and settings changed since: train.num_epochs: 1 -> 3"
    )
    assert ended.hint == "hint: give the settings their recorded values, or record it again"
    many = ("--epochs", "3", "--batch-size", "2", "--seed", "9", "--set", "train.train_size=0")
    named = refused(4, *replay, *many).error.partition("settings changed since: ")[2]
    assert named == (
        "train.batch_size: 4 -> 2; train.num_epochs: 1 -> 3; train.seed: 42 -> 9 and 1 more"
    )
    # What asks for nothing else is replayed, and so is a recording that holds no settings.
    train(*SMALLEST, "--replay", FILE, "--set", "evaluation.min_coverage=0.8", run_id="b")
    first, *others = lines()
    del first["settings"]
    rewrite([first, *others])
    assert refused(4, *replay, "--epochs", "3").error.endswith(f"{FILE} does not hold")


def test_another_prompt_is_told_by_role_and_stage() -> None:
    train(*SMALLEST, "--record", FILE)
    skill = Path("mine.md")
    skill.write_text("# Other\n\nAnswer briefly.\n", encoding="utf-8")
    other = ("--skill-init", skill, "--replay", FILE, "--run-id", "b")
    assert (
        "the target was asked something in stage"
        in refused(4, "train", "searchqa", *SMALLEST, *other).error
    )


@pytest.mark.parametrize(
    ("flag", "reason"),
    [
        (("--target-model", "n"), "name 'simulated' of the target, not 'n'"),
        (("--set", "model.simulated.noise=0.5"), "simulated.noise 0.0 of the optimizer, not 0.5"),
        (("--set", "model.target.temperature=1"), "temperature None of the target, not 1.0"),
    ],
)
def test_a_recording_of_another_model_is_refused(flag: tuple[str, str], reason: str) -> None:
    train(*SMALLEST, "--record", FILE)
    ended = refused(2, "train", "searchqa", *SMALLEST, *flag, "--replay", FILE, "--run-id", "b")
    assert ended.error == f"error: {FILE} was recorded with {reason}"
    assert not (RUN / "b").exists()


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_replay_does_not_look_into_a_shared_cache(no_network: None) -> None:
    shared = ("--set", "run.cache_dir=cache")
    train(*SMALLEST, *shared, "--record", FILE)
    rewrite([line for line in lines() if line.get("stage") != "reflect"])
    before = contents(Path("cache"))
    refused(4, "train", "searchqa", *SMALLEST, *shared, "--replay", FILE)
    assert contents(Path("cache")) == before


def test_what_a_shared_cache_knew_is_recorded_all_the_same() -> None:
    shared = ("--set", "run.cache_dir=cache")
    train(*TINY, *shared)
    recorded = train(*TINY, *shared, "--record", FILE, run_id="b")
    assert not [e for e in events(recorded, "call_made") if e["stage"] != "preflight"]
    same(recorded, train(*TINY, "--replay", FILE, run_id="c"))


def test_recordings_of_equal_runs_are_equal() -> None:
    train(*TINY, "--record", "a.jsonl", "--workers", "1")
    train(*TINY, "--record", "b.jsonl", "--workers", "1", run_id="b")
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()


def nowhere(*paths: Path) -> None:
    for path in paths:
        text = path.read_bytes()
        assert b"canary" not in text, path


def test_no_key_is_in_a_recording_though_a_model_says_it(server: ModelServer) -> None:
    body = {
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": f"{CANARY}, {OTHER}"},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    server.script(*[ScriptedResponse(200, body)] * 5)
    variables = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": CANARY, "MY_TOKEN": OTHER}
    recorded = train(*SMALLEST, *REMOTE, "--record", FILE, **variables)
    nowhere(FILE)
    same(recorded, train(*SMALLEST, *REMOTE, "--replay", FILE, run_id="b"))


def test_no_key_is_in_the_recording_of_a_failure(server: ModelServer) -> None:
    body = {"error": {"message": f"no: {CANARY} {OTHER}", "code": "context_length_exceeded"}}
    ok = {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}
    server.script(*[ScriptedResponse(200, ok)] * 2, *[ScriptedResponse(400, body)] * 2)
    variables = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": CANARY, "MY_TOKEN": OTHER}
    flags = (*SMALLEST, *REMOTE, "--set", "evaluation.min_coverage=0.1")
    recorded = train(*flags, "--record", FILE, **variables)
    failed = [line for line in lines()[1:-1] if line.get("failures")]
    assert len(failed) == 2
    nowhere(FILE)
    same(recorded, train(*flags, "--replay", FILE, run_id="b"))


@pytest.mark.slow
def test_a_run_that_a_dead_model_ends_is_recorded_and_resume_carries_on(
    server: ModelServer,
) -> None:
    ok = {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}
    denied = ScriptedResponse(401, {"error": {"message": "no"}})
    server.script(*[ScriptedResponse(200, ok)] * 8, denied)
    variables = {"OPENAI_BASE_URL": server.url}
    arguments = ("train", "searchqa", *TINY, *REMOTE, "--run-id", "a", "--record", FILE)
    assert skillopt(*arguments, "--workers", "1", **variables).code == 4
    first = lines()
    assert first[-1]["end"]["ended_early"] == "AuthFailed"
    replayed = refused(4, "train", "searchqa", *TINY, *REMOTE, "--replay", FILE)
    assert replayed.hint.startswith("hint: the recorded run ended early (AuthFailed), or ")
    ended = skillopt("resume", "a", "--record", FILE, **variables)
    assert ended.code == 0, ended.err
    assert len(lines()) > len(first)
    assert lines()[-1]["end"]["ended_early"] == ""
    assert {line["role"] for line in lines()[1:-1]} == {"target", "optimizer"}
    same(RUN / "a", train(*TINY, *REMOTE, "--replay", FILE, run_id="b"))


def test_a_run_without_a_call_leaves_no_recording() -> None:
    ended = skillopt(
        "train", "searchqa", *SMALLEST, "--set", "model.simulated.auth_failure=true",
        "--record", FILE,
    )  # fmt: skip
    assert ended.code == 4
    assert list(Path().glob("*calls*")) == []


def test_an_indecisive_run_is_recorded_and_replayed_as_one() -> None:
    flags = (*SMALLEST, *FAULTS, "--set", "model.simulated.permanent_failure_rate=0.9")
    flags = (*flags, "--set", "evaluation.min_coverage=0.9")
    assert skillopt("train", "searchqa", *flags, "--record", FILE, "--run-id", "a").code == 6
    assert refused(6, "train", "searchqa", *flags, "--replay", FILE, "--run-id", "b")
    assert attempts(RUN / "a") == attempts(RUN / "b")


def test_a_finished_run_is_recorded_from_its_journal() -> None:
    folder = train(*TINY)
    ended = skillopt("resume", folder, "--record", FILE)
    assert ended.code == 0
    assert f"{FILE} is written from its journal" in ended.err
    same(folder, train(*TINY, "--replay", FILE, run_id="b"))


def test_a_finished_run_is_recorded_without_its_key(server: ModelServer) -> None:
    key = {"OPENAI_API_KEY": CANARY}
    remote = (*REMOTE, "--set", f"model.base_url={server.url}")
    folder = train(*SMALLEST, *remote, **key)
    asked = len(server.requests())
    ended = skillopt("resume", folder, "--record", FILE)
    assert ended.code == 0, ended.err
    assert f"{FILE} is written from its journal" in ended.err
    assert len(server.requests()) == asked
    again = skillopt("resume", folder, "--record", "keyed.jsonl", **key)
    assert again.code == 0, again.err
    assert FILE.read_bytes() == Path("keyed.jsonl").read_bytes()
    same(folder, train(*SMALLEST, *remote, "--replay", FILE, run_id="b"))


def test_a_finished_evaluation_is_recorded_without_its_key(server: ModelServer) -> None:
    key = {"OPENAI_API_KEY": CANARY}
    remote = ("--set", "model.backend=openai_compatible", "--target-model", "m",
              "--set", f"model.base_url={server.url}", *SMALLEST)  # fmt: skip
    ended = skillopt("eval", "searchqa", *remote, "--arms", "none,seed", "--run-id", "e", **key)
    assert ended.code == 0, ended.err
    asked = len(server.requests())
    recorded = skillopt("resume", "e", "--record", FILE)
    assert recorded.code == 0, recorded.err
    assert recorded.out == ended.out and len(server.requests()) == asked
    replayed = ("--arms", "none,seed", "--run-id", "f", "--replay", FILE)
    assert skillopt("eval", "searchqa", *remote, *replayed).code == 0


def test_a_past_with_a_shared_cache_is_not_recorded() -> None:
    folder = train(*SMALLEST, "--set", "run.cache_dir=cache")
    ended = refused(2, "resume", folder, "--record", FILE)
    assert "is not known" in ended.error
    assert not FILE.exists()


@pytest.mark.slow
def test_an_interrupted_run_is_recorded() -> None:
    argv = [str(Path(sys.executable).with_name("skillopt")), "train", "searchqa", *TINY]
    argv += ["--set", "model.simulated.latency_ms=500", "--workers", "2", "--run-id", "a"]
    process = subprocess.Popen(
        [*argv, "--record", str(FILE)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    while len(events(RUN / "a", "rollout_finished")) < 4:
        assert process.poll() is None, "it ended before it could be interrupted"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=600)
    assert process.returncode == 130
    assert lines()[-1]["end"]["ended_early"] == "Interrupted"
    ended = skillopt("resume", "a", "--record", FILE, "--set", "model.simulated.latency_ms=0",
                     "--allow-drift")  # fmt: skip
    assert ended.code == 0, ended.err
    same(RUN / "a", train(*TINY, "--replay", FILE, run_id="b"))


def test_a_replay_is_never_continued_with_calls_of_models(no_network: None) -> None:
    train(*SMALLEST, "--record", FILE)
    recorded = lines()
    rewrite([line for line in recorded if line.get("stage") != "reflect"])
    ended = skillopt("train", "searchqa", *SMALLEST, "--replay", FILE, "--run-id", "b")
    assert ended.code == 4 and "resume" not in ended.err
    assert not events(RUN / "b", "run_failed")[0]["resumable"]
    words = f"{RUN / 'b'} is a replay of {FILE}, which is not continued with calls of models"
    for more in ((), ("--allow-drift",), ("--record", "other.jsonl")):
        refusal = refused(2, "resume", "b", *more)
        assert refusal.error == f"error: {words}"
        assert f"`skillopt resume {RUN / 'b'} --replay FILE`" in refusal.hint
    with pytest.raises(UsageError, match="is a replay of"):
        resume("b")
    assert not events(RUN / "b", "call_made")
    # It stays one, whoever took it up.
    refused(4, "resume", "b", "--replay", FILE)
    refused(2, "resume", "b")
    rewrite(recorded)
    assert skillopt("resume", "b", "--replay", FILE).code == 0
    assert "finished: nothing to do" in skillopt("resume", "b").err


def test_the_path_of_a_recording_is_read_as_other_paths_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home, elsewhere = Path("home").absolute(), Path("elsewhere").absolute()
    home.mkdir()
    elsewhere.mkdir()
    monkeypatch.setenv("HOME", str(home))
    train(*SMALLEST, "--record", "~/calls.jsonl")
    assert (home / "calls.jsonl").is_file() and not Path("~").exists()
    train(*SMALLEST, "--replay", "~/calls.jsonl", run_id="b")
    (home / "calls.jsonl").rename(FILE)
    run = train(*SMALLEST, "--replay", FILE, run_id="c").absolute()
    log = run / "events.jsonl"
    facts = log.read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join(facts[:-1]), encoding="utf-8")
    recording = FILE.absolute()
    monkeypatch.chdir(elsewhere)
    assert f"is a replay of {recording}, which" in refused(2, "resume", run).error


def test_a_replay_that_died_is_not_offered_to_be_continued() -> None:
    train(*SMALLEST, "--record", FILE)
    folder = train(*SMALLEST, "--replay", FILE, run_id="b")
    log = folder / "events.jsonl"
    facts = log.read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join(facts[:-1]), encoding="utf-8")
    view = read_view(folder)
    assert view.deserted and not can_resume(view)
    refused(2, "resume", "b")
    found = skillopt("doctor").out
    assert f"{folder} was left without an ending" in found and "resume" not in found


def test_a_target_that_no_recording_can_hold_is_refused_before_any_call() -> None:
    agent = ("--target-backend", "command", "--set", 'model.command.argv=["touch", "asked"]')
    flags = (*SMALLEST, *agent, "--optimizer-backend", "rules", "--run-id", "b")
    for asked in (("train", "searchqa"), ("eval", "searchqa", "--from-scratch")):
        ended = refused(2, *asked, *flags, "--record", FILE)
        assert ended.error == (
            "error: backend `command` cannot be replayed: its program brings its own model"
        )
        assert ended.hint == "hint: leave --record out, or take another target backend"
    assert not (RUN / "b").exists() and not FILE.exists()


def test_a_replay_states_the_settings_that_differ_from_the_recorded_ones() -> None:
    train(*SMALLEST, "--record", FILE)
    flags = ("--set", "evaluation.min_coverage=0.8", "--set", "run.workers=3", "--display", "plain")
    ended = skillopt("train", "searchqa", *SMALLEST, *flags, "--replay", FILE, "--run-id", "b")
    assert ended.code == 0, ended.err
    (notice,) = [e for e in events(RUN / "b", "degraded") if e["where"] == "replay"]
    assert notice["reason"] == (
        f"settings differ from those of {FILE}: evaluation.min_coverage: 0.9 -> 0.8"
    )
    assert notice["reason"] in ended.err
    again = train(*SMALLEST, "--replay", FILE, run_id="c")
    assert not [e for e in events(again, "degraded") if e["where"] == "replay"]


def test_a_resumed_replay_goes_on_from_the_recording(no_network: None) -> None:
    whole = train(*TINY, "--record", FILE)
    recorded = lines()
    halved = [line for line in recorded if line.get("stage") != "slow_update"]
    rewrite(halved)
    refused(4, "train", "searchqa", *TINY, "--replay", FILE, "--run-id", "b")
    rewrite(recorded)
    ended = skillopt("resume", "b", "--replay", FILE)
    assert ended.code == 0, ended.err
    assert outcome(whole) == outcome(RUN / "b")


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("--record", "x", "--replay", "y"), 2, "--record and --replay exclude each other"),
        (("--record", "there.jsonl"), 2, "the recording there.jsonl exists already"),
        (("--record", "."), 2, ". is a folder"),
        (("--record", "there.jsonl/x"), 3, "the recording there.jsonl/x cannot be written: "),
        (("--replay", "gone.jsonl"), 3, "the recording gone.jsonl cannot be read: "),
        (("--replay", "there.jsonl"), 3, "there.jsonl, line 1: this is no recording of skillopt"),
    ],
)
def test_mistakes_are_told_before_anything_is_made(
    arguments: tuple[str, ...], code: int, error: str
) -> None:
    Path("there.jsonl").write_text("mine\n", encoding="utf-8")
    ended: Ended = refused(code, "train", "searchqa", *TINY, *arguments)
    assert ended.error.startswith(f"error: {error}")
    assert not Path("outputs").exists()
    assert Path("there.jsonl").read_text(encoding="utf-8") == "mine\n"


def test_a_run_that_a_cap_ends_is_recorded_and_a_replay_knows_no_cap(no_network: None) -> None:
    capped = ("--set", "run.max_calls=30")
    ended = skillopt("train", "searchqa", *TINY, *capped, "--record", FILE, "--run-id", "a")
    assert ended.code == 5, ended.err
    assert lines()[-1]["end"]["ended_early"] == "BudgetExhausted"
    again = refused(4, "train", "searchqa", *TINY, *capped, "--replay", FILE)
    assert "the recorded run ended early (BudgetExhausted)" in again.hint
    ended = skillopt("resume", "a", "--record", FILE, "--set", "run.max_calls=1000")
    assert ended.code == 0, ended.err
    same(RUN / "a", train(*TINY, *capped, "--replay", FILE, run_id="b"))
