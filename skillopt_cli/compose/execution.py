"""Executes a session: listens for commands, closes trackers, keeps the traceback of a bug."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from skillopt_cli.compose.build import open_session
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.run_folder import unusable_path
from skillopt_cli.compose.secrets import known_secrets
from skillopt_cli.control.server import serve_commands
from skillopt_cli.core.errors import Interrupted, SkillOptError
from skillopt_cli.core.events import CONTROL, Degraded
from skillopt_cli.core.secrets import Secrets
from skillopt_cli.engine.controller import Controller
from skillopt_cli.engine.session import Session
from skillopt_cli.plugins import at_fault
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.schedule_file import write_schedule
from skillopt_cli.runlog.summary import summarise
from skillopt_cli.store.atomic_files import replace_text
from skillopt_cli.store.layout import CRASH, EVENTS

if TYPE_CHECKING:
    from skillopt_cli.compose.trackers import Tracking

T = TypeVar("T")


class OpenRun:
    """A session that is open on its run folder.

    Attributes:
        summary: the document of `summary.json` once the run is closed; empty for a run without
            facts.
    """

    def __init__(self, folder: Path, session: Session, controller: Controller) -> None:
        self.summary: dict[str, Any] = {}
        self._folder = folder
        self._session = session
        self._controller = controller
        self._task: asyncio.Future[Any] | None = None

    async def perform(self, work: Callable[[Session], Awaitable[T]]) -> T:
        """Await `work` of the session; meanwhile `skillopt ctl` can reach the run.

        Raises:
            Interrupted: a stop or `cancel` ended it.
        """
        task: asyncio.Future[T] = asyncio.ensure_future(work(self._session))
        self._task = task
        self._controller.ends_by(task.cancel)
        try:
            async with self._listening():
                return await task
        except asyncio.CancelledError:
            # It may have come before the work was awaited, which then is still going on.
            task.cancel()
            await asyncio.wait([task])
            caller = asyncio.current_task()
            if caller is not None and caller.cancelling():
                raise
            raise Interrupted("stopped by the user") from None

    def stop(self) -> None:
        """Let the calls in flight finish, then end the run."""
        self._controller.stop()

    def cancel(self) -> None:
        """End the run at once."""
        if self._task is not None:
            self._task.cancel()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        """Listen for commands; a run whose folder cannot hold a socket goes on without."""
        async with AsyncExitStack() as stack:
            try:
                server = serve_commands(self._folder, self._controller.carry_out)
                await stack.enter_async_context(server)
            except OSError as error:
                reason = f"`skillopt ctl` cannot reach this run: {error.strerror or error}"
                self._session.run.emit(Degraded(CONTROL, reason))
            yield


@contextmanager
def open_run(
    folder: Path, request: RunRequest, notify: Callable[[str], None] = lambda text: None
) -> Iterator[OpenRun]:
    """A session with its trackers, which get the summary however the block ends.

    Args:
        notify: receives what a person should know of the trackers at the end of the run.

    Raises:
        SkillOptError: as the block and `open_session` do, without any key in its message. A bug
            becomes one too: its traceback is kept in the run folder.
        CancelledError: the caller's task was cancelled; its text is how to take the run up.
    """
    secrets = known_secrets(request.environment, request.config)
    try:
        trackers = _tracking(folder, request)
        log = (request.log or RunLog(folder)).read()
        request = replace(request.with_observers(trackers.observers if trackers else ()), log=log)
        with open_session(folder, request) as (session, controller):
            if request.schedule is not None:
                write_schedule(folder, request.schedule)
            run = OpenRun(folder, session, controller)
            try:
                yield run
            finally:
                run.summary = summarise(log.view) if log.facts else {}
                if run.summary and trackers:
                    trackers.close(run.summary, session.run.emit, notify)
    except Interrupted as error:
        raise Interrupted(error.message, _restart_hint(folder, request)) from None
    # Of the task that awaits the run, as by Ctrl-C in Python: it stays one, and names the way on.
    except asyncio.CancelledError:
        hint = _restart_hint(folder, request)
        raise asyncio.CancelledError(f"stopped by the user: {hint}") from None
    except SkillOptError as error:
        error.message, error.hint = secrets.hide(error.message), secrets.hide(error.hint)
        raise
    # Whatever else is raised is our bug, or a plug-in's, except for a path that cannot be used.
    except Exception as error:
        if isinstance(error, OSError) and not (folder / EVENTS).exists():
            raise unusable_path(error) from None
        raise _crash(folder, secrets, error) from None


def _tracking(folder: Path, request: RunRequest) -> Tracking | None:
    """The trackers of a run, which are loaded only where it has any."""
    if not request.config.run.trackers:
        return None
    from skillopt_cli.compose.trackers import tracking

    return tracking(folder, request)


def _restart_hint(folder: Path, request: RunRequest) -> str:
    if not (request.training or request.resumable):
        return "run `skillopt eval` again"
    replay = f" --replay {request.replay}" if request.replay else ""
    return f"`skillopt resume {folder}{replay}` takes the run up again"


def _crash(folder: Path, secrets: Secrets, error: Exception) -> SkillOptError:
    """Keep the traceback of a bug in the run folder, without any key; the error that names it."""
    text = "".join(traceback.format_exception(error))
    replace_text(folder / CRASH, secrets.hide(text))
    what = secrets.hide(" ".join(f"{type(error).__name__}: {error}".split()))
    culprit = at_fault(error)
    whom = "tell its authors" if culprit else f"report it with the run folder {folder}"
    return SkillOptError(
        f"{culprit} failed: {what}" if culprit else f"internal error: {what}",
        f"{whom}: {folder / CRASH} says where it happened",
    )
