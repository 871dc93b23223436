"""Checkouts in containers of the published images, one for each instance."""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.benchmarks.programs import Rooms
from skillopt_cli.benchmarks.swebench.instances import test_command
from skillopt_cli.benchmarks.swebench.sites import (
    AS_IT_IS,
    LARGEST_PATCH,
    NOISE,
    Changes,
    Said,
    Site,
    Tested,
    test_files,
)
from skillopt_cli.benchmarks.toolbox import ToolFault
from skillopt_cli.core.errors import EpisodeFailed
from skillopt_cli.core.task import Task
from skillopt_cli.ports import Executor, Finished

DOCKER = "docker"
_IMAGE = "swebench/sweb.eval.x86_64.{}:latest"
_SOCKET = Path("/var/run/docker.sock")
_SECONDS = 600.0
_FOLDER = "/testbed"
_ACTIVATED = (
    "source /opt/miniconda3/bin/activate testbed 2>/dev/null; "
    f'git config --global --add safe.directory "*"; cd {_FOLDER}; '
)
_SNAPSHOT = (
    f"echo {shlex.quote(AS_IT_IS)} > .git/info/attributes && git add -A -f ."
    " && git -c user.name=base -c user.email=base@localhost commit -q --allow-empty"
    f" -m base && printf '%s\\n' {shlex.join(NOISE)} > .git/info/exclude && git rev-parse HEAD"
)
_DIFF = "git diff --cached --no-renames --no-ext-diff --no-textconv --no-color"
_APPLY = "git apply --whitespace=nowarn {0} || patch --batch --fuzz=5 -p1 -i {0}"


@dataclass(frozen=True, slots=True)
class DockerYard:
    """Checkouts in containers without a network; see `sites.Yard`.

    The client runs through the executor, which is shown the daemon's socket; the containers are
    removed here, whatever becomes of the client.

    Attributes:
        limit: seconds the tests may take.
    """

    executor: Executor
    limit: float

    def open(self, task: Task) -> AbstractAsyncContextManager[Site]:
        """A container with one more commit: the state that changes are told from."""
        return self._open(task)

    @asynccontextmanager
    async def _open(self, task: Task) -> AsyncIterator[Site]:
        async with self._container(task) as box:
            made = await box.shell(_SNAPSHOT, _SECONDS)
            _require(made.returncode == 0, f"{task.id}: no checkout can be made", made)
            yield _Inside(box, made.stdout.split()[-1])

    async def tested(self, task: Task, patch: str) -> Tested:
        """See `Yard.tested`."""
        data = task.data
        async with self._container(task) as box:
            if not await box.applied("/tmp/model.patch", patch):
                return Tested(applied=False)
            if not await box.applied("/tmp/tests.patch", data["test_patch"]):
                raise EpisodeFailed(f"the test patch of `{task.id}` cannot be applied")
            words = test_command(data, data.get("python") or "python", test_files(data))
            done = await box.shell(shlex.join(words), self.limit)
        return Tested(True, f"{done.stdout}\n{done.stderr}", done.timed_out, done.returncode)

    @asynccontextmanager
    async def _container(self, task: Task) -> AsyncIterator[_Box]:
        name = f"skillopt-{secrets.token_hex(8)}"
        async with self.executor.workspace("docker") as folder:
            box = _Box(self.executor, Rooms(folder).made(), name)
            image = _IMAGE.format(re.sub("__", "_1776_", task.id).lower())
            keep = ("--network", "none", "--init", image, "sleep", "infinity")
            try:
                begun = await box.docker(["run", "-d", "--rm", "--name", name, *keep], _SECONDS)
                _require(begun.returncode == 0, f"the image {image} cannot be started", begun)
                yield box
            finally:
                # A cancelled attempt must not leave it running either.
                await asyncio.shield(box.docker(["rm", "-f", name], _SECONDS))


@dataclass(frozen=True, slots=True)
class _Box:
    """A container that runs."""

    executor: Executor
    rooms: Rooms
    name: str

    async def docker(self, words: Sequence[str], limit: float, stdin: str = "") -> Finished:
        return await self.rooms.run(
            self.executor, [DOCKER, *words], limit=limit, stdin=stdin, readable=[_SOCKET]
        )

    async def shell(self, command: str, limit: float, stdin: str = "") -> Finished:
        """Run a command, killed inside at its limit: the client's end would not end it."""
        killed = ["timeout", "-k", "5", f"{limit:g}"]
        words = ["exec", "-i", self.name, *killed, "bash", "-c", f"{_ACTIVATED}{command}"]
        done = await self.docker(words, limit + 30, stdin)
        late = done.timed_out or done.returncode in {124, 137}
        return Finished(done.returncode, done.stdout, done.stderr, late)

    async def applied(self, place: str, patch: str) -> bool:
        await self.shell(f"cat > {place}", _SECONDS, patch)
        return (await self.shell(_APPLY.format(place), _SECONDS)).returncode == 0


@dataclass(frozen=True, slots=True)
class _Inside:
    """See `sites.Site`."""

    box: _Box
    base: str

    async def run(self, command: str, limit: float) -> Said:
        # As the whole of a shell's input, so that it cannot end the words around it.
        done = await self.box.shell('eval "$(cat)"', limit, command)
        said = "\n".join(p.rstrip("\n") for p in (done.stdout, done.stderr) if p.strip())
        return Said(self.box.rooms.told(said), done.returncode, done.timed_out)

    async def read(self, name: str) -> str:
        done = await self.box.shell(f"cat -- {shlex.quote(name)}", _SECONDS)
        if done.returncode:
            raise ToolFault(f"`{name}` cannot be read.")
        return done.stdout

    async def write(self, name: str, text: str) -> None:
        place = shlex.quote(name)
        made = await self.box.shell(
            f'mkdir -p -- "$(dirname -- {place})" && cat > {place}', _SECONDS, text
        )
        if made.returncode:
            raise ToolFault(f"`{name}` cannot be written.")

    async def changes(self) -> Changes:
        diff = f"{_DIFF} {{}} {self.base}"
        listed = await self.box.shell(f"git add -A . && {diff.format('--name-only -z')}", _SECONDS)
        made = await self.box.shell(diff.format("--binary"), _SECONDS)
        for done in (listed, made):
            _require(done.returncode == 0, "the difference cannot be made", done)
        paths = tuple(name for name in listed.stdout.split("\0") if name)
        return Changes(made.stdout[: LARGEST_PATCH + 1], paths)


def _require(good: bool, what: str, done: Finished) -> None:
    if not good:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        raise EpisodeFailed(f"{what}: {said}")
