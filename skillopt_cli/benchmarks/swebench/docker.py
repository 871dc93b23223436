"""Checkouts in containers of the published images, one for each instance."""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.benchmarks.kit.programs import ProgramFolders
from skillopt_cli.benchmarks.kit.tools import ToolFault
from skillopt_cli.benchmarks.swebench.repositories import (
    APPLY,
    AS_IT_IS,
    DIFF,
    LARGEST_PATCH,
    NOISE,
    SETUP_SECONDS,
    Changes,
    Checkout,
    CommandResult,
    output,
    require_success,
    test_files,
)
from skillopt_cli.benchmarks.swebench.tasks import test_command
from skillopt_cli.core.errors import EpisodeFailed
from skillopt_cli.core.task import Task
from skillopt_cli.ports import Executor, Finished

DOCKER = "docker"
_IMAGE = "swebench/sweb.eval.x86_64.{}:latest"
_SOCKET = Path("/var/run/docker.sock")
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


@dataclass(frozen=True, slots=True)
class DockerRepositories:
    """Checkouts in containers without a network; see `repositories.Repositories`.

    The client runs through the executor, which is shown the daemon's socket; the containers are
    removed here, whatever becomes of the client.

    Attributes:
        limit: seconds the tests may take.
    """

    executor: Executor
    limit: float

    @asynccontextmanager
    async def open(self, task: Task) -> AsyncIterator[Checkout]:
        """A container with one more commit: the state that changes are compared with."""
        async with self._container(task) as box:
            made = await box.shell(_SNAPSHOT, SETUP_SECONDS)
            require_success(made, f"{task.id}: no checkout can be made")
            yield _ContainerCheckout(box, made.stdout.split()[-1])

    async def tested(self, task: Task, patch: str) -> CommandResult | None:
        """See `Repositories.tested`."""
        data = task.data
        async with self._container(task) as box:
            if not await box.applied("/tmp/model.patch", patch):
                return None
            if not await box.applied("/tmp/tests.patch", data["test_patch"]):
                raise EpisodeFailed(f"the test patch of `{task.id}` cannot be applied")
            words = test_command(data, data.get("python") or "python", test_files(data))
            done = await box.shell(shlex.join(words), self.limit)
        log = f"{done.stdout}\n{done.stderr}"
        return CommandResult(log, done.returncode, done.timed_out)

    @asynccontextmanager
    async def _container(self, task: Task) -> AsyncIterator[_Container]:
        name = f"skillopt-{secrets.token_hex(8)}"
        async with self.executor.workspace("docker") as folder:
            box = _Container(self.executor, ProgramFolders.create(folder), name)
            image = _IMAGE.format(re.sub("__", "_1776_", task.id).lower())
            keep = ("--network", "none", "--init", image, "sleep", "infinity")
            try:
                begun = await box.docker(
                    ["run", "-d", "--rm", "--name", name, *keep], SETUP_SECONDS
                )
                require_success(begun, f"the image {image} cannot be started")
                yield box
            finally:
                # A cancelled attempt must not leave it running either.
                await asyncio.shield(box.docker(["rm", "-f", name], SETUP_SECONDS))


@dataclass(frozen=True, slots=True)
class _Container:
    """A container that runs."""

    executor: Executor
    folders: ProgramFolders
    name: str

    async def docker(self, words: Sequence[str], limit: float, stdin: str = "") -> Finished:
        return await self.folders.run(
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
        await self.shell(f"cat > {place}", SETUP_SECONDS, patch)
        return (await self.shell(APPLY.format(place), SETUP_SECONDS)).returncode == 0


@dataclass(frozen=True, slots=True)
class _ContainerCheckout:
    """See `repositories.Checkout`."""

    box: _Container
    base: str

    async def run(self, command: str, limit: float) -> CommandResult:
        # As the whole of a shell's input, so that it cannot end the words around it.
        done = await self.box.shell('eval "$(cat)"', limit, command)
        text = self.box.folders.reproducible(output(done))
        return CommandResult(text, done.returncode, done.timed_out)

    async def read(self, name: str) -> str:
        done = await self.box.shell(f"cat -- {shlex.quote(name)}", SETUP_SECONDS)
        if done.returncode:
            raise ToolFault(f"`{name}` cannot be read.")
        return done.stdout

    async def write(self, name: str, text: str) -> None:
        place = shlex.quote(name)
        made = await self.box.shell(
            f'mkdir -p -- "$(dirname -- {place})" && cat > {place}', SETUP_SECONDS, text
        )
        if made.returncode:
            raise ToolFault(f"`{name}` cannot be written.")

    async def changes(self) -> Changes:
        diff = f"{DIFF} {{}} {self.base}"
        listed = await self.box.shell(
            f"git add -A . && {diff.format('--name-only -z')}", SETUP_SECONDS
        )
        made = await self.box.shell(diff.format("--binary"), SETUP_SECONDS)
        for done in (listed, made):
            require_success(done, "the difference cannot be made")
        paths = tuple(name for name in listed.stdout.split("\0") if name)
        return Changes(made.stdout[: LARGEST_PATCH + 1], paths)
