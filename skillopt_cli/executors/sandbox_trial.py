"""Trials of the sandbox: what of it this machine allows."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from skillopt_cli.executors.mounts import needed_by
from skillopt_cli.executors.sandbox import Bubblewrap, interpreter, sandbox_arguments, wrapping
from skillopt_cli.executors.supervisor import Launch, ResourceLimits
from skillopt_cli.executors.workspaces import temp_prefix

SECCOMP = "seccomp filter"
KEYRING = "session keyring of its own"

_SECONDS = 20.0
_UNKNOWN = "the system calls of this kind of processor are not known"


@dataclass(frozen=True, slots=True)
class SandboxSupport:
    """What of a sandbox a machine allows.

    Attributes:
        refusal: why there is none; "" where there is one.
        wrapper: with the parts that can be used; None where there is no sandbox.
        lacking: the names of the others, each with a reason.
    """

    refusal: str = ""
    wrapper: Bubblewrap | None = None
    lacking: tuple[tuple[str, str], ...] = ()


@cache
def sandbox_support(whole: Bubblewrap) -> SandboxSupport:
    """Return what this machine allows of `whole`: by one trial if that is all of it."""
    complete = bool(whole.seccomp and whole.keyctl)
    if complete and not _fault(whole):
        return SandboxSupport(wrapper=whole)
    bare = replace(whole, seccomp=b"", keyctl=0)
    if refusal := _fault(bare):
        return SandboxSupport(refusal)
    seccomp = _fault(replace(whole, keyctl=0)) if whole.seccomp else _UNKNOWN
    keyring = _fault(replace(whole, seccomp=b"")) if whole.keyctl else _UNKNOWN
    usable = replace(
        whole,
        seccomp=b"" if seccomp else whole.seccomp,
        keyctl=0 if keyring else whole.keyctl,
    )
    reasons = ((SECCOMP, seccomp), (KEYRING, keyring))
    return SandboxSupport("", usable, tuple(one for one in reasons if one[1]))


def _fault(wrapper: Bubblewrap) -> str:
    """Return why a program does not run in such a sandbox; "" if it does."""
    program = [str(interpreter()), "-I", "-S", "-c", "pass"]
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as name:
        own = Path(name)
        launch = Launch(program[0], program, own, own, "", {}, _SECONDS, own)
        launch.home.mkdir()
        launch.temporary.mkdir()
        reads = needed_by(Path(program[0]), "")
        inside = sandbox_arguments(launch, reads, frozenset(), ResourceLimits(), wrapper.keyctl)
        try:
            with wrapping(wrapper, own) as (command, handed):
                done = subprocess.run(
                    [*command, *inside, *program],
                    capture_output=True,
                    timeout=_SECONDS,
                    check=False,
                    pass_fds=handed,
                )
        except subprocess.TimeoutExpired:
            return f"a trial of it did not end within {_SECONDS:g} seconds"
        except OSError as error:
            return f"it cannot be started: {error.strerror}"
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"a trial of it ended with code {done.returncode}"
