"""Run folders: where a new run goes, and where a named one is."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from skillopt_cli.config import RunConfig
from skillopt_cli.config.declarations import own_settings
from skillopt_cli.config.files import RUN_FOLDER
from skillopt_cli.config.scalars import dump_yaml
from skillopt_cli.config.section import is_address
from skillopt_cli.config.suggestions import suggestion
from skillopt_cli.core.errors import DataError, SkillOptError, UsageError
from skillopt_cli.permissions import FOLDER_MODES, make_folder
from skillopt_cli.runlog.run_log import read_view
from skillopt_cli.runlog.text.unfinished import resume_command
from skillopt_cli.store.layout import CONFIG, CRASH, EVAL_PLAN, EVENTS

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


@contextmanager
def new_folder(config: RunConfig, run_id: str | None, now: datetime) -> Iterator[Path]:
    """The folder of a new run: `<out_root>/<benchmark>/<run_id>`.

    Without a run id it is the local time, with -2, -3, ... appended while the name is taken. When
    the run fails before anything happened, the folder is removed again, with those made around it.

    Raises:
        UsageError: the run id exists already, or is no plain name.
        DataError: the folder cannot be made.
    """
    home = _home(config)
    around = [folder for folder in (home, *home.parents) if not folder.exists()]
    mode = FOLDER_MODES[config.run.shared_with]
    if run_id is None:
        folder = _timed(home, now, mode)
    elif not _make(folder := vacant(config, run_id), mode):
        raise _taken(folder)
    try:
        yield folder
    # Ctrl-C as well: a run that has not begun leaves nothing.
    except BaseException:
        if not any((folder / name).exists() for name in (EVENTS, CRASH)):
            shutil.rmtree(folder, ignore_errors=True)
            for empty in around:
                # Another run may have moved in meanwhile; then the folder stays.
                with suppress(OSError):
                    empty.rmdir()
        raise


def check_run_id(run_id: str) -> None:
    """Check that a run id is a name for a folder.

    Raises:
        UsageError: it is no plain name.
    """
    if not _RUN_ID.match(run_id):
        raise UsageError(
            f"the run id `{run_id}` is not a plain name", "use letters, digits, . _ and -"
        )


def vacant(config: RunConfig, run_id: str) -> Path:
    """The folder that a new run of this id would be given.

    Raises:
        UsageError: the run id exists already, or is no plain name.
    """
    check_run_id(run_id)
    folder = _home(config) / run_id
    if folder.exists():
        raise _taken(folder)
    return folder


def free_id(home: Path, now: datetime) -> str:
    """The local time, with -2, -3, ... appended while `home` holds a folder of that name."""
    stem, number = now.strftime("%Y-%m-%d_%H-%M-%S"), 1
    name = stem
    while os.path.lexists(home / name):
        number += 1
        name = f"{stem}-{number}"
    return name


def _home(config: RunConfig) -> Path:
    return Path(config.env.out_root) / config.env.name


def _taken(folder: Path) -> UsageError:
    command = ""
    with suppress(SkillOptError):  # who resumes a damaged run is shown what is wrong with it
        command = resume_command(read_view(folder), str(folder))
    resume = f"`{command}` continues it, or " if command else ""
    return UsageError(f"the run {folder} exists already", f"{resume}choose another `run_id=NAME`")


def _timed(home: Path, now: datetime, mode: int) -> Path:
    while not _make(folder := home / free_id(home, now), mode):
        pass  # another run took the name meanwhile
    return folder


def find_run(name: str, out_root: Path) -> Path:
    """The folder of a run, given its path or its id under `out_root`.

    Raises:
        UsageError: there is no such run, its configuration is missing, or the id belongs to
            several.
    """
    direct = Path(name)
    if _is_run(direct):
        return direct
    found = sorted(filter(_is_run, out_root.glob(f"*/{name}"))) if name else []
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(str(p) for p in found)
        raise UsageError(f"the run id `{name}` belongs to several runs", f"name one of {listed}")
    for folder in (direct, *out_root.glob(f"*/{name}")) if name else ():
        if (folder / EVENTS).is_file():
            raise UsageError(
                f"{folder} is no whole run: {CONFIG} is missing", f"restore {CONFIG} from a copy"
            )
    known = sorted({folder.name for folder in out_root.glob("*/*") if _is_run(folder)})
    hint = suggestion(name, known, "`skillopt runs list` shows the runs")
    raise UsageError(f"there is no run `{name}`", hint)


def _is_run(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (CONFIG, EVAL_PLAN))


def run_of(path: Path) -> Path | None:
    """The run folder that holds `path`, None when none does."""
    return next((p for p in path.resolve().parents if (p / CONFIG).is_file()), None)


def closed_above(folder: Path) -> Path | None:
    """The nearest folder above a run folder that the group it is shared with cannot enter."""
    group = folder.stat().st_gid
    for above in folder.resolve().parents:
        found = above.stat()
        own = found.st_gid == group and found.st_mode & stat.S_IXGRP
        if not (own or found.st_mode & stat.S_IXOTH):
            return above
    return None


def unusable_path(error: OSError) -> DataError:
    """The error for a path that the operating system does not let us use."""
    if "temporary directory" in str(error):
        return DataError(
            "no folder for temporary files can be written",
            "free disk space, or name a folder that can be written in TMPDIR",
        )
    return DataError(
        f"{error.filename or 'a file'} cannot be used: {error.strerror or error}",
        "check the path and its permissions",
    )


def dump_config(config: RunConfig, folder: Path) -> str:
    """The configuration as YAML for `--config`; it holds no secret, only names of variables.

    Its paths are absolute, so that the run can be taken up from any folder. The run folder is among
    them: what lies near it is found when both were moved.
    """
    values = anchored(config).model_dump(mode="json", exclude_none=True)
    return dump_yaml({RUN_FOLDER: str(folder.absolute())} | values)


def anchored(config: RunConfig) -> RunConfig:
    """The configuration with absolute paths in the place of those from the working directory."""
    changes: dict[str, dict[str, str]] = {}
    for key, found in own_settings().items():
        section, _, name = key.partition(".")
        path = getattr(getattr(config, section), name) if found.setting.path else ""
        if path and not is_address(path):
            changes.setdefault(section, {})[name] = str(Path(path).absolute())
    return config.model_copy(
        update={
            section: getattr(config, section).model_copy(update=paths)
            for section, paths in changes.items()
        }
    )


def _make(folder: Path, mode: int) -> bool:
    try:
        make_folder(folder, mode, exist_ok=False)
    except FileExistsError:
        return False
    except OSError as error:
        raise DataError(
            f"cannot make the run folder {folder}: {error.strerror}",
            "choose another `env.out_root=FOLDER`",
        ) from error
    return True
