"""The filter's program, run by an interpreter of ours, and the numbers in its table."""

from __future__ import annotations

import ctypes
import ctypes.util
import struct
from collections.abc import Sequence
from errno import EAFNOSUPPORT, ENOSYS, EPERM

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.executors.seccomp_filter import seccomp_filter
from skillopt_cli.executors.system_calls import NEWEST, REFUSED

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386 = 0x40000003
X32 = 0x40000000
ALLOWED = 0
"""Stands for no error."""

LONGEST = 4096
"""Instructions of a program that the kernel takes."""


def verdict(program: bytes, number: int, arguments: Sequence[int] = (), audit: int = 0) -> int:
    """The errno that a call fails with. As the kernel, it knows no loop: steps only go forward."""
    filled = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, audit, 0, *filled)
    steps = list(struct.iter_unpack("<HBBI", program))
    accumulator = at = 0
    while True:
        code, held, missed, operand = steps[at]
        at += 1
        match code:
            case 0x20:
                assert operand % 4 == 0
                (accumulator,) = struct.unpack_from("<I", data, operand)
            case 0x54:
                accumulator &= operand
            case 0x15:
                at += held if accumulator == operand else missed
            case 0x25:
                at += held if accumulator > operand else missed
            case 0x06:
                if operand == 0x7FFF0000:
                    return ALLOWED
                assert operand >> 16 == 0x0005
                return operand & 0xFFFF
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


@pytest.fixture(params=list(AUDIT))
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def told(machine: str, number: int, *arguments: int) -> int:
    return verdict(seccomp_filter(machine), number, arguments, AUDIT[machine])


def number_of(name: str, machine: str) -> int:
    (found,) = (call.number(machine) for call in REFUSED if call.name == name)
    assert found is not None
    return found


def test_every_number_gets_what_the_table_says(machine: str) -> None:
    """With arguments that are all zero, so that conditions hold for none but a socket."""
    due = {call.number(machine): call for call in REFUSED}
    for number in range(NEWEST + 1):
        call = due.get(number)
        refused = call is not None and not call.only_if
        assert told(machine, number) == (call.errno if call and refused else ALLOWED), number


words = st.integers(0, 2**64 - 1)


@given(st.sampled_from(list(AUDIT)), st.integers(0, NEWEST), st.lists(words, max_size=6))
def test_arguments_decide_about_four_calls_only(
    machine: str, number: int, given: list[int]
) -> None:
    conditional = {"keyctl", "socket", "ioctl", "clone"}
    if number not in {number_of(name, machine) for name in conditional}:
        assert told(machine, number, *given) == told(machine, number)


@given(st.sampled_from(list(AUDIT)), st.integers(NEWEST + 1, 2**32 - 1))
def test_what_is_newer_than_the_table_does_not_exist(machine: str, number: int) -> None:
    assert told(machine, number) == ENOSYS
    assert told(machine, X32 + 1) == ENOSYS


@given(st.integers(0, 2**32 - 1), st.sampled_from([I386, 0, *AUDIT.values()]))
def test_another_architecture_has_no_calls(number: int, audit: int) -> None:
    for machine, own in AUDIT.items():
        if audit != own:
            assert verdict(seccomp_filter(machine), number, (), audit) == ENOSYS


@given(st.sampled_from(list(AUDIT)), words)
def test_a_clone_is_refused_with_a_user_namespace_only(machine: str, flags: int) -> None:
    refused = bool(flags & 0x10000000)
    assert told(machine, number_of("clone", machine), flags) == (EPERM if refused else ALLOWED)


@given(st.sampled_from(list(AUDIT)), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_what_the_kernel_ignores_of_an_argument_does_not_count(
    machine: str, low: int, high: int
) -> None:
    """A filter that compares all 64 bits of a command does not see it."""
    upper = high << 32
    ioctl, socket = number_of("ioctl", machine), number_of("socket", machine)
    for command in (0x5412, 0x541C):
        assert told(machine, ioctl, 0, upper | command) == EPERM
    wanted = EPERM if low in {0x5412, 0x541C} else ALLOWED
    assert told(machine, ioctl, 0, upper | low) == wanted
    families = {1, 2, 10, 16}
    for family in (*families, 40, 38, low):
        wanted = ALLOWED if family in families else EAFNOSUPPORT
        assert told(machine, socket, upper | family) == wanted


@given(st.sampled_from(list(AUDIT)), words, words)
def test_of_the_keyrings_only_a_new_one_without_a_name_can_be_joined(
    machine: str, operation: int, name: int
) -> None:
    keyctl = number_of("keyctl", machine)
    assert told(machine, keyctl, 1, 0) == ALLOWED
    for named in (name | 1, name | 1 << 32, 1 << 63):
        assert told(machine, keyctl, 1, named) == EPERM
    if operation & 0xFFFFFFFF != 1:
        assert told(machine, keyctl, operation, 0) == EPERM


def test_the_kernel_takes_so_many_steps(machine: str) -> None:
    assert 100 < len(seccomp_filter(machine)) // 8 < LONGEST


def test_no_filter_is_guessed_for_another_machine() -> None:
    assert [seccomp_filter(name) for name in ("riscv64", "i686", "armv7l", "aarch64_be", "")] == [
        b""
    ] * 5


def test_the_numbers_are_those_of_libseccomp(machine: str) -> None:
    """Which has them from the kernel's own tables, as far as it is new enough."""
    found = ctypes.util.find_library("seccomp")
    if found is None:
        pytest.skip("libseccomp is not installed")
    resolve = ctypes.CDLL(found).seccomp_syscall_resolve_name_arch
    resolve.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    wrong = {
        call.name: (call.number(machine), theirs)
        for call in REFUSED
        if (theirs := resolve(AUDIT[machine], call.name.encode())) != -1
        and max(theirs, -1) != (-1 if call.number(machine) is None else call.number(machine))
    }
    assert wrong == {}
    assert resolve(AUDIT[machine], b"ptrace") > 0


def test_each_call_stands_in_the_table_once() -> None:
    assert len({call.name for call in REFUSED}) == len(REFUSED)
