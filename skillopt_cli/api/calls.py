"""What every function of the API shares: settings from its arguments, and its event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from skillopt_cli.compose.execution import open_run
from skillopt_cli.compose.flags import check_named_once
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config.declarations import own_flags, own_task_flags
from skillopt_cli.config.layers import Layer, Strength, leaf_layer
from skillopt_cli.config.suggestions import suggestion
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.events import Stamped
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.engine.session import Session
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.ui.display import open_display

P = ParamSpec("P")
T = TypeVar("T")

Observer = Callable[[Stamped], None]


def overrides(
    benchmark: str | None,
    config: str | Path | None,
    preset: str,
    settings: Mapping[str, object] | None,
    flags: Mapping[str, object],
) -> Overrides:
    """The overrides that a call's arguments make; no display unless the call asks for one.

    Args:
        settings: by dotted key, such as `train.batch_size`.
        flags: by the name of the command's flag, such as `batch_size`.

    Raises:
        UsageError: there is no such flag.
        ConfigError: a setting has one value by its flag and another in `settings`.
    """
    given: dict[str, object] = {}
    keys = {flag: found.key for flag, found in own_flags().items()}
    keys |= {flag: found.declared.key for flag, found in own_task_flags().items()}
    keys = {flag.removeprefix("--").replace("-", "_"): key for flag, key in keys.items()}
    for name, value in flags.items():
        if name not in keys:
            raise UsageError(
                f"there is no argument `{name}`",
                suggestion(name, sorted(keys), "other settings go into `settings={key: value}`"),
            )
        given[keys[name]] = _written(value)
    others = {
        key: _written(value) for key, value in (settings or {}).items() if value not in (None, "")
    }
    check_named_once(
        (_layer(name, keys[name], value) for name, value in flags.items()),
        (_layer("settings", key, value) for key, value in others.items()),
    )
    return Overrides(
        benchmark=benchmark or "",
        preset=preset,
        config=Path(config) if config is not None else None,
        flags={"run.display": "none", **given, **others},
    )


def _layer(source: str, key: str, value: object) -> Layer:
    return leaf_layer(source, key, _written(value), Strength.FLAG)


def _written(value: object) -> object:
    """A value as a file would have it: settings hold paths as texts."""
    return str(value) if isinstance(value, Path) else value


async def execute(
    folder: Path,
    request: RunRequest,
    work: Callable[[Session], Awaitable[T]],
    on_event: Observer | None,
) -> T:
    """Open a session on `folder` and await `work`, with the display that the settings name."""
    own = [Subscriber("on_event", on_event)] if on_event is not None else []
    log, settings = RunLog(folder).read(), request.config.run
    with (
        open_display(
            log.view, settings.display, verbose=settings.verbose, schedule=request.schedule
        ) as shown,
        open_run(folder, replace(request, log=log).with_observers([*own, *shown])) as run,
    ):
        return await run.perform(work)


def blocking(call: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The call that waits for the result of an async one, under its name without `_async`.

    Inside a running event loop, such as a notebook's, which cannot be entered a second time, the
    work is done in a thread of its own. Ctrl-C ends the work in both.

    Raises:
        KeyboardInterrupt: of the call it makes, with how to take the run up as its text.
    """

    @wraps(call)
    def waiting(*args: P.args, **kwargs: P.kwargs) -> T:
        work = call(*args, **kwargs)
        run: Callable[[Coroutine[Any, Any, T]], T] = asyncio.run
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            run = _run_in_thread
        try:
            return run(work)
        except KeyboardInterrupt as stopped:
            # The cancellation that it stands for has the text.
            raise KeyboardInterrupt(*getattr(stopped.__context__, "args", ())) from None

    waiting.__name__ = waiting.__qualname__ = call.__name__.removesuffix("_async")
    return waiting


def _run_in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run the work in an event loop of a thread of its own, and wait for it.

    Raises:
        KeyboardInterrupt: the wait was interrupted; the work was cancelled, and has ended.
    """
    cancel: Future[Callable[[], object]] = Future()

    async def cancellable() -> T:
        task = asyncio.ensure_future(work)
        cancel.set_result(partial(asyncio.get_running_loop().call_soon_threadsafe, task.cancel))
        return await task

    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(asyncio.run, cancellable())
        try:
            return result.result()
        except KeyboardInterrupt:
            cancel.result()()
            try:
                return result.result()
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None
