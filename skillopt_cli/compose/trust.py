"""Consent to what files ask for: what was agreed to, and the refusal of what was not.

Each agreement is a small file in the user's state folder, named by the digest of the act. It does
not lie in a run folder or a project, where a stranger could have put it.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from skillopt_cli.compose.privilege import Privilege, shown_file
from skillopt_cli.compose.run_privileges import run_privileges
from skillopt_cli.compose.settings import Overrides, acting_roles
from skillopt_cli.config.environment import user_folder
from skillopt_cli.config.layers import Resolved
from skillopt_cli.core.errors import BackendUnusable, NotTrusted
from skillopt_cli.permissions import FOLDER_MODES, make_folder, open_file

FOLDER = "trusted"
"""Below the user's state folder; removing it withdraws every consent."""
_ROOT = 0


def required(
    overrides: Overrides,
    resolved: Resolved,
    environment: Mapping[str, str],
    *,
    replayed: bool = False,
) -> tuple[Privilege, ...]:
    """The privileges of a run, that of its folder first.

    Args:
        replayed: whether a recording answers in the place of models, so that only the target's
            program is started.
    """
    roles = ("target",) if replayed else acting_roles(overrides, resolved.config)
    found = run_privileges(resolved, environment, roles, calls=not replayed)
    return (*_foreign(overrides.run_folder), *found)


def unapproved(asked: Sequence[Privilege]) -> list[Privilege]:
    """Those that need consent and have none yet."""
    return [one for one in asked if one.needs_consent and not _agreed(one)]


def require_consent(
    overrides: Overrides,
    resolved: Resolved,
    environment: Mapping[str, str],
    *,
    replayed: bool = False,
) -> None:
    """Go on only with the user's consent to what files ask for; it is asked for at a terminal.

    What was agreed to is remembered, and so is what the user asked for beyond the usual: a
    resume finds it in the file of its run.

    Raises:
        NotTrusted: a file asks for something, and there is no consent.
        BackendUnusable: it asks for a program that does not exist.
    """
    asked = required(overrides, resolved, environment, replayed=replayed)
    lacking = unapproved(asked)
    _require_programs(lacking, environment)
    if not overrides.consent(resolved.config, asked, lacking) and lacking and not overrides.trust:
        raise refusal(lacking)
    agree(asked)


def _require_programs(lacking: Sequence[Privilege], environment: Mapping[str, str]) -> None:
    """Refuse to ask for consent to a program that does not exist.

    Raises:
        BackendUnusable: there is no such program.
    """
    for one in lacking:
        name = shlex.split(one.what)[0] if one.kind == "program" else ""
        if name and shutil.which(name, path=environment.get("PATH", os.defpath)) is None:
            raise BackendUnusable(
                f"there is no program `{name}`, which {one.setting} names",
                f"correct it in {_file_name(one)}; a relative path counts from the file's folder,"
                " else from the working folder",
            )


def agree(asked: Sequence[Privilege]) -> None:
    """Remember the consent to all of these; where nothing can be written it is asked for again."""
    for one in asked:
        path = _agreement(one)
        if one.usual or path is None or path.exists():
            continue
        with suppress(OSError):
            make_folder(path.parent, FOLDER_MODES["owner"])
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with os.fdopen(open_file(path, flags, FOLDER_MODES["owner"]), "wb") as file:
                file.write(f"{one.sentence}\n".encode(errors="backslashreplace"))


def consent_mark(lacking: Sequence[Privilege]) -> str:
    """The same for the same acts: a form that shows them sends it back as consent; "" for none."""
    acts = "\n".join(sorted(one.digest for one in lacking))
    return hashlib.sha256(acts.encode()).hexdigest() if lacking else ""


def refusal(lacking: Sequence[Privilege]) -> NotTrusted:
    """The error that names what was not agreed to, and the files that ask for it."""
    groups = groupby(sorted(lacking, key=_file_name), key=_file_name)
    clauses = []
    for _, (first, *others) in groups:
        acts = [f", to {one.asked}" for one in others[:-1]]
        acts += [f" and to {one.asked}" for one in others[-1:]]
        clauses.append("".join([first.sentence, *acts]))
    read = " and ".join(dict.fromkeys(map(_file_name, lacking)))
    return NotTrusted(
        f"{'; '.join(clauses)}; you have not agreed to that",
        f"look at {read}, then agree with `--trust`",
    )


def _file_name(one: Privilege) -> str:
    return shown_file(one.file) if one.file else ""


def _foreign(folder: Path | None) -> Iterator[Privilege]:
    """The privilege to take up a run folder of which another user wrote a part; root may."""
    if folder is None:
        return
    try:
        with os.scandir(folder) as entries:
            inside = [entry.stat(follow_symlinks=False).st_uid for entry in entries]
        owners = [folder.stat().st_uid, *inside]
    except OSError:
        return  # the next reading of it reports the error
    stranger = next((uid for uid in owners if uid not in (os.geteuid(), _ROOT)), None)
    if stranger is not None:
        yield Privilege("folder", str(folder.resolve()), _user(stranger), "", folder.resolve())


def _user(uid: int) -> str:
    try:
        return f"the user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"the user {uid}"


def _agreed(one: Privilege) -> bool:
    path = _agreement(one)
    return path is not None and path.is_file()


def _agreement(one: Privilege) -> Path | None:
    state = user_folder("state")
    return state / FOLDER / one.digest if state else None
