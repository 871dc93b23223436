"""Checkouts in folders of this machine, with programs run by the executor."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from skillopt_cli.benchmarks.kit.programs import ProgramFolders, installation, packages
from skillopt_cli.benchmarks.kit.working_files import inside, read_text, write_text
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
from skillopt_cli.core.errors import DataError, EpisodeFailed
from skillopt_cli.core.task import Task
from skillopt_cli.ports import Executor
from skillopt_cli.safe_files import read_unlinked

_LARGEST_FILE = 2_000_000
_SHELL = ("bash", "-c", 'eval "$(cat)"')
"""A command comes by way of standard input: what is in `argv` a program may read."""
_NO_PLUGINS = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"
"""What else is installed beside this program has no part in an instance's tests."""
_COMMIT = (
    f"git init -q -b base . && mkdir -p .git/info && echo {shlex.quote(AS_IT_IS)} >"
    " .git/info/attributes && git add -A -f . && git commit -q -m base --allow-empty"
)
_EXPORT = (
    'GIT_INDEX_FILE="$PWD/../index" git --git-dir={clone} --work-tree=. checkout -q {commit} -- .'
)
_NO_MODEL_PATCH = 10
_APPLY_BOTH = (
    f"({APPLY.format('../model.patch')}) || exit {_NO_MODEL_PATCH};"
    f" {APPLY.format('../tests.patch')}"
)
_REPLACE = (
    "find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} + && cp -a ../changed/. ."
    " && cp ../exclude .git/info/exclude"
)


@dataclass(frozen=True, slots=True)
class LocalRepositories:
    """Checkouts in workspaces of an executor; see `repositories.Repositories`.

    Attributes:
        repos: folder of git clones for records that bring no files; None for none.
        limit: seconds the tests may take.
    """

    executor: Executor
    repos: Path | None
    limit: float

    def has(self, task: Task) -> bool:
        """Whether an instance's repository is here."""
        if "files" in task.data:
            return True
        folder = _folder(task, self.repos)
        return folder is not None and folder.is_dir()

    @asynccontextmanager
    async def open(self, task: Task) -> AsyncIterator[Checkout]:
        """A checkout with one commit: nothing reveals how the fault was fixed later."""
        async with self.executor.workspace("repository") as folder:
            folders = ProgramFolders.create(folder, "/repository")
            await self.lay_out(task, folders, commit=True)
            yield _LocalCheckout(self, task, folders)

    async def tested(self, task: Task, patch: str) -> CommandResult | None:
        """See `Repositories.tested`."""
        data = task.data
        async with self.executor.workspace("tests") as folder:
            folders = ProgramFolders.create(folder, "/repository")
            await self.lay_out(task, folders, commit=False)
            (folder / "model.patch").write_bytes(patch.encode(errors="surrogateescape"))
            (folder / "tests.patch").write_bytes(data["test_patch"].encode(errors="replace"))
            done = await folders.run(
                self.executor, ("bash", "-c", _APPLY_BOTH), limit=SETUP_SECONDS
            )
            if done.returncode == _NO_MODEL_PATCH:
                return None
            if done.returncode:
                raise EpisodeFailed(f"the test patch of `{task.id}` cannot be applied")
            files = [name for name in test_files(data) if (folders.work / name).exists()]
            command = test_command(data, str(_interpreter(task)), files)
            if "python" not in data:
                command = ["env", _NO_PLUGINS, *command]
            done = await folders.run(
                self.executor, command, limit=self.limit, readable=_readable(task)
            )
        log = folders.reproducible(f"{done.stdout}\n{done.stderr}")
        return CommandResult(log, done.returncode, done.timed_out)

    async def lay_out(
        self, task: Task, folders: ProgramFolders, *, commit: bool, then: str = ""
    ) -> None:
        """Fill the working folder with the repository as it was.

        Args:
            then: a script to run there afterwards.
        """
        files = task.data.get("files")
        steps = [step for step in (_COMMIT if commit else "", then) if step]
        clone = None if files is not None else _clone(task, self.repos)
        if files is not None:
            await asyncio.to_thread(_write, folders.work, files)
        else:
            where = shlex.quote(str(clone)), shlex.quote(task.data["base_commit"] or "HEAD")
            steps.insert(0, _EXPORT.format(clone=where[0], commit=where[1]))
        if steps:
            script = ("bash", "-c", " && ".join(steps))
            readable = [clone] if clone else []
            done = await folders.run(self.executor, script, limit=SETUP_SECONDS, readable=readable)
            require_success(done, "no checkout can be made")


@dataclass(frozen=True, slots=True)
class _LocalCheckout:
    """See `repositories.Checkout`."""

    repositories: LocalRepositories
    task: Task
    folders: ProgramFolders

    async def run(self, command: str, limit: float) -> CommandResult:
        # The environment's own programs come first, as where it is activated.
        folder = shlex.quote(str(_interpreter(self.task).parent))
        plugins = "" if "python" in self.task.data else _NO_PLUGINS
        done = await self.folders.run(
            self.repositories.executor,
            _SHELL,
            stdin=f'export PATH={folder}:"$PATH" {plugins}\n{command}',
            limit=limit,
            readable=_readable(self.task),
        )
        text = self.folders.reproducible(output(done))
        return CommandResult(text, done.returncode, done.timed_out)

    async def read(self, name: str) -> str:
        return await asyncio.to_thread(read_text, self.folders.work, name, _LARGEST_FILE)

    async def write(self, name: str, text: str) -> None:
        await asyncio.to_thread(write_text, self.folders.work, name, text)

    async def changes(self) -> Changes:
        """Found in a fresh checkout, where the target's programs never wrote."""
        work = inside(self.folders.work, ".")
        async with self.repositories.executor.workspace("difference") as folder:
            (folder / "exclude").write_text("\n".join(NOISE), encoding="utf-8")
            (folder / "changed").mkdir()
            await asyncio.to_thread(_copy, work, folder / "changed")
            script = (
                f"{_REPLACE} && git add -A . && {DIFF} --name-only -z HEAD > ../paths"
                f" && {DIFF} --binary HEAD > ../patch"
            )
            fresh = ProgramFolders.create(folder)
            await self.repositories.lay_out(self.task, fresh, commit=True, then=script)
            patch = read_unlinked(folder / "patch", 4 * LARGEST_PATCH)
            paths = read_unlinked(folder / "paths", 4 * LARGEST_PATCH) or b""
        if patch is None:
            return Changes("x" * (LARGEST_PATCH + 1), ())
        names = tuple(os.fsdecode(name) for name in paths.split(b"\0") if name)
        # Not every file is UTF-8; a patch must keep its bytes.
        return Changes(patch.decode(errors="surrogateescape"), names)


def _interpreter(task: Task) -> Path:
    """The Python of an instance's environment; this program's own where none is named."""
    return Path(task.data.get("python") or sys.executable)


def _readable(task: Task) -> frozenset[Path]:
    """What programs of the environment need."""
    own = "python" in task.data
    return installation(_interpreter(task)) | (frozenset() if own else packages("pytest"))


def _clone(task: Task, repos: Path | None) -> Path:
    """The folder of git's that holds an instance's repository.

    Raises:
        DataError: there is none.
    """
    folder = _folder(task, repos)
    if folder is None or not folder.is_dir():
        raise DataError(
            f"the instance `{task.id}` has no repository here: {folder or 'none is named'}",
            f"clone {task.data['repo']} into a folder named by env.repos, as owner__name, or use"
            " env.runner=docker",
        )
    return next(
        (g for g in (folder / ".git", folder) if (g / "objects").is_dir()), folder
    ).resolve()


def _folder(task: Task, repos: Path | None) -> Path | None:
    """Where an instance's clone should be; None when that is not said."""
    if named := task.data.get("repo_dir"):
        return Path(named)
    return repos / task.data["repo"].replace("/", "__") if repos else None


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def _copy(source: Path, target: Path) -> None:
    """Files, folders and links, which are not followed; nothing of git's, and nothing odder."""
    with os.scandir(source) as entries:
        for entry in entries:
            place = target / entry.name
            if entry.name == ".git":
                continue
            if entry.is_symlink():
                place.symlink_to(Path(entry.path).readlink())
            elif entry.is_dir():
                place.mkdir()
                _copy(Path(entry.path), place)
            elif entry.is_file():
                shutil.copyfile(entry.path, place)
                place.chmod(0o755 if entry.stat().st_mode & 0o100 else 0o644)
