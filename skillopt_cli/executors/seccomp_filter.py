"""The seccomp filter of the sandbox, as a program of the kernel's classic BPF."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from errno import ENOSYS

from skillopt_cli.executors.system_calls import NEWEST, REFUSED, Condition, RefusedCall

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The kernel's own numbers of the architectures, by their names."""

_LOAD, _AND, _JUMP_EQUAL, _JUMP_GREATER, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in what a filter is asked about."""
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000

_Step = tuple[int, int, int, int]
"""An instruction: code, steps to skip if its test holds, if it does not, and its operand."""


def seccomp_filter(machine: str) -> bytes:
    """Return the filter for a kind of processor, as bubblewrap reads it; empty for an unknown one.

    It refuses `REFUSED`, as if they did not exist all calls newer than `NEWEST` and those of other
    architectures on the same processor, and no other.

    Args:
        machine: as `platform.machine` returns it.
    """
    if machine not in _AUDIT:
        return b""
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, _AUDIT[machine]),
        (_RETURN, 0, 0, _FAIL | ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
        # Those of the x32 architecture are above it as well.
        (_JUMP_GREATER, 0, 1, NEWEST),
        (_RETURN, 0, 0, _FAIL | ENOSYS),
    ]
    for call in REFUSED:
        if (number := call.number(machine)) is not None:
            answer = list(_answer(call))
            steps += [(_JUMP_EQUAL, 0, len(answer), number), *answer]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def _answer(call: RefusedCall) -> Iterator[_Step]:
    """Yield the steps that answer a call, the last of which always ends the filter."""
    fail = _FAIL | call.errno
    met, otherwise = (fail, _ALLOW) if call.only_if else (_ALLOW, fail)
    for condition in call.only_if or call.except_if:
        yield from _tests(condition)
        yield _RETURN, 0, 0, met
    yield _RETURN, 0, 0, otherwise


def _tests(condition: Condition) -> Iterator[_Step]:
    """Yield steps that skip what follows, by one step, unless the condition holds."""
    for left, test in zip(range(len(condition) - 1, -1, -1), condition, strict=True):
        yield _LOAD, 0, 0, _ARGUMENTS + 8 * test.argument + 4 * test.high
        yield _AND, 0, 0, test.mask
        yield _JUMP_EQUAL, 0, 3 * left + 1, test.value
