"""The course of a program, once its folders are laid out: how it is run, and how it ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from skillopt_cli.backends.agents.program import Layout, Program, Told, broken
from skillopt_cli.backends.agents.relay import SHOWN, Door
from skillopt_cli.core.errors import (
    BackendError,
    BackendUnusable,
    FatalBackendError,
    RequestRefused,
    TransientError,
)
from skillopt_cli.ports import Executor, Finished


@dataclass(frozen=True, slots=True)
class Course:
    """One run of a program.

    Attributes:
        door: where it reaches its model; None where that is its own affair.
    """

    program: Program
    layout: Layout
    door: Door | None = None

    async def run(self, prompt: str, executor: Executor) -> Finished:
        """Run the program to its end. What it said speaks of the folder as its model saw it.

        Raises:
            BackendUnusable: it could not be started.
        """
        program, layout = self.program, self.layout
        await asyncio.to_thread(program.lay_out, layout)
        folders = {"HOME": str(layout.own), "TMPDIR": str(layout.temporary)}
        try:
            finished = await executor.run(
                program.argv(layout),
                cwd=layout.work,
                stdin=prompt,
                limit=program.limit,
                environment={**folders, **program.environment(layout)},
                reach=self.door.reach if self.door else None,
            )
        except BackendError as error:
            raise BackendUnusable(error.message, error.hint) from error
        # The folder will be gone, and another one the next time.
        return replace(
            finished,
            stdout=finished.stdout.replace(str(layout.folder), SHOWN),
            stderr=finished.stderr.replace(str(layout.folder), SHOWN),
        )

    def ending(self, finished: Finished) -> Told:
        """How it ended: what the relay and the executor saw counts before what was told.

        Raises:
            FatalBackendError: the model service says that no call can succeed.
        """
        door = self.door
        if door is not None:
            if door.fault is not None:
                raise door.fault
            if isinstance(door.failure, FatalBackendError):
                raise door.failure
        told = self.program.told(finished)
        if finished.stopped:
            return broken(f"it was stopped: {finished.stopped}", messages=told.messages)
        if finished.timed_out:
            reason = f"it was not done within {self.program.limit:g} s"
            return broken(reason, messages=told.messages)
        return told if door is None else self._seen_at(door, told)

    def _seen_at(self, door: Door, told: Told) -> Told:
        if door.closed:
            reason = f"it used up its {self.program.max_turns} turns"
            return replace(told, answer="", ending="gave_up", error=reason)
        failed = door.failure
        if isinstance(failed, TransientError) or (
            isinstance(failed, RequestRefused) and told.ending != "answered"
        ):
            reason = f"{type(failed).__name__}: {failed}"
            return broken(reason, messages=told.messages)
        if told.ending == "answered" and not door.turns:
            return broken("it answered without asking its model", messages=told.messages)
        return told
