"""The system calls that programs in the sandbox are refused, with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from errno import EAFNOSUPPORT, ENOSYS, EPERM
from socket import AF_INET, AF_INET6, AF_UNIX

NEWEST = 469
"""The highest number with a known meaning; from 424 on, architectures share the numbers."""

_WORD = 0xFFFFFFFF
_JOIN_SESSION_KEYRING = 1
_NEW_USER_NAMESPACE = 0x10000000
_TYPE_INTO_TERMINAL, _CONSOLE_CONTROL = 0x5412, 0x541C
_NETLINK = 16


@dataclass(frozen=True, slots=True)
class ArgumentTest:
    """Holds where half of an argument, masked, equals a value.

    Attributes:
        argument: 0 to 5.
        high: whether it is the upper half of the 64 bits, which the kernel ignores in most calls.
    """

    argument: int
    value: int
    mask: int = _WORD
    high: bool = False


Condition = tuple[ArgumentTest, ...]
"""Holds where all tests hold."""


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A system call that fails with `errno`.

    Attributes:
        x86_64, aarch64: its number on these processors; None where it does not exist.
        only_if: if any, one of them has to hold.
        except_if: it is let through where one of them holds.
    """

    name: str
    x86_64: int | None
    aarch64: int | None
    errno: int = EPERM
    only_if: tuple[Condition, ...] = ()
    except_if: tuple[Condition, ...] = ()

    def number(self, machine: str) -> int | None:
        """Return its number on a kind of processor; None where it does not exist or is unknown."""
        return {"x86_64": self.x86_64, "aarch64": self.aarch64}.get(machine)


_EMPTY_KEYRING = (
    ArgumentTest(0, _JOIN_SESSION_KEYRING),
    # Without a name; with one, an existing keyring is joined.
    ArgumentTest(1, 0),
    ArgumentTest(1, 0, high=True),
)
_FAMILIES = tuple((ArgumentTest(0, int(f)),) for f in (AF_UNIX, AF_INET, AF_INET6, _NETLINK))
_USER_NAMESPACE = (ArgumentTest(0, _NEW_USER_NAMESPACE, mask=_NEW_USER_NAMESPACE),)
_TERMINAL = tuple((ArgumentTest(1, ask),) for ask in (_TYPE_INTO_TERMINAL, _CONSOLE_CONTROL))

KEYCTL = RefusedCall("keyctl", 250, 219, except_if=(_EMPTY_KEYRING,))

KEYS = (
    RefusedCall("add_key", 248, 217),
    RefusedCall("request_key", 249, 218),
    KEYCTL,
)
TRACING = (
    RefusedCall("ptrace", 101, 117),
    RefusedCall("process_vm_readv", 310, 270),
    RefusedCall("process_vm_writev", 311, 271),
    RefusedCall("process_madvise", 440, 440),
    RefusedCall("pidfd_getfd", 438, 438),
    RefusedCall("kcmp", 312, 272),
    RefusedCall("perf_event_open", 298, 241),
)
KERNEL = (
    RefusedCall("init_module", 175, 105),
    RefusedCall("finit_module", 313, 273),
    RefusedCall("delete_module", 176, 106),
    RefusedCall("kexec_load", 246, 104),
    RefusedCall("kexec_file_load", 320, 294),
    RefusedCall("bpf", 321, 280),
    RefusedCall("userfaultfd", 323, 282),
    # Programs do without where a kernel does not have it.
    RefusedCall("io_uring_setup", 425, 425, ENOSYS),
    RefusedCall("io_uring_enter", 426, 426, ENOSYS),
    RefusedCall("io_uring_register", 427, 427, ENOSYS),
    # Among the others are the host of a virtual machine and the kernel's ciphers.
    RefusedCall("socket", 41, 198, EAFNOSUPPORT, except_if=_FAMILIES),
    RefusedCall("ioctl", 16, 29, only_if=_TERMINAL),
    RefusedCall("modify_ldt", 154, None),
    RefusedCall("iopl", 172, None),
    RefusedCall("ioperm", 173, None),
    RefusedCall("mbind", 237, 235),
    RefusedCall("set_mempolicy", 238, 237),
    RefusedCall("get_mempolicy", 239, 236),
    RefusedCall("set_mempolicy_home_node", 450, 450),
    RefusedCall("migrate_pages", 256, 238),
    RefusedCall("move_pages", 279, 239),
    RefusedCall("lookup_dcookie", 212, 18),
)
NAMESPACES = (
    RefusedCall("unshare", 272, 97),
    RefusedCall("setns", 308, 268),
    RefusedCall("clone", 56, 220, only_if=(_USER_NAMESPACE,)),
    # Its flags lie in memory, where a filter cannot look; the C library falls back to `clone`.
    RefusedCall("clone3", 435, 435, ENOSYS),
)
MOUNTS = (
    RefusedCall("mount", 165, 40),
    RefusedCall("umount2", 166, 39),
    RefusedCall("pivot_root", 155, 41),
    RefusedCall("chroot", 161, 51),
    RefusedCall("open_tree", 428, 428, ENOSYS),
    RefusedCall("move_mount", 429, 429, ENOSYS),
    RefusedCall("fsopen", 430, 430, ENOSYS),
    RefusedCall("fsconfig", 431, 431, ENOSYS),
    RefusedCall("fsmount", 432, 432, ENOSYS),
    RefusedCall("fspick", 433, 433, ENOSYS),
    RefusedCall("mount_setattr", 442, 442, ENOSYS),
    RefusedCall("open_tree_attr", 467, 467, ENOSYS),
    RefusedCall("open_by_handle_at", 304, 265),
    RefusedCall("fanotify_init", 300, 262),
    RefusedCall("quotactl", 179, 60),
    RefusedCall("quotactl_fd", 443, 443),
)
MACHINE = (
    RefusedCall("reboot", 169, 142),
    RefusedCall("swapon", 167, 224),
    RefusedCall("swapoff", 168, 225),
    RefusedCall("settimeofday", 164, 170),
    RefusedCall("clock_settime", 227, 112),
    RefusedCall("clock_adjtime", 305, 266),
    RefusedCall("sethostname", 170, 161),
    RefusedCall("setdomainname", 171, 162),
    RefusedCall("acct", 163, 89),
    RefusedCall("syslog", 103, 116),
    RefusedCall("vhangup", 153, 58),
)
REFUSED = (*KEYS, *TRACING, *KERNEL, *NAMESPACES, *MOUNTS, *MACHINE)
