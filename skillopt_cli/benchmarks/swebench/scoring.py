"""Which tests passed, and whether that means that the fault is fixed.

The log of a test run is read, and the tests are weighed, as the published harness does it (swebench
5.0: its parser of pytest's logs, and its grading). Two differences, where one log holds more than
another: a parametrised test whose name holds blanks is known by its whole name besides by its first
word, and where pytest's summary marks its beginning, what tests printed before is no status.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_STATUSES = ("FAILED", "PASSED", "SKIPPED", "ERROR", "XFAIL")
_GOOD = ("PASSED", "XFAIL")
_KEPT = (*_GOOD, "SKIPPED")
"""A test that passed before may be skipped now; one that must come to pass may not."""
_BAD = ("FAILED", "ERROR")
_COUNT = re.compile(r"\[\d+\]")
_SEEN = re.compile(r"^(?P<name>\S.*?) \.\.\. (?:.* )?(?P<word>ok|skipped.*|FAIL|ERROR)$")
_COUNTED = re.compile(r"^(?P<word>FAIL|ERROR): (?P<name>\S.*)$")
_SUMMARY = re.compile(r"^=+ short test summary info =+$", re.MULTILINE)
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_WORDS = {"ok": "PASSED", "FAIL": "FAILED", "ERROR": "ERROR"}


@dataclass(frozen=True, slots=True)
class Grade:
    """How the named tests ended.

    Attributes:
        fixed, broken: tests that must come to pass: those that do, and those that do not.
        kept, lost: tests that must go on to pass, likewise.
    """

    fixed: tuple[str, ...]
    broken: tuple[str, ...]
    kept: tuple[str, ...]
    lost: tuple[str, ...]

    @property
    def resolved(self) -> bool:
        """Whether every named test passes."""
        return not self.broken and not self.lost


def read_log(log: str, code: int) -> dict[str, str]:
    """Statuses of tests by name, from the summary of pytest -rA or the lines of unittest -v.

    Args:
        code: what the test run ended with. One that failed although the log shows no failure is
            not the run of the log: then nothing is known.
    """
    plain = _ESCAPE.sub("", log)
    found = _pytest(plain) or _unittest(plain)
    if code and not any(status in _BAD for status in found.values()):
        return {}
    return found


def grade(
    statuses: Mapping[str, str], fail_to_pass: Sequence[str], pass_to_pass: Sequence[str]
) -> Grade:
    """Weigh the named tests. One that the log does not know has not passed."""

    def split(names: Sequence[str], good: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        passed = tuple(name for name in names if status_of(name, statuses) in good)
        return passed, tuple(name for name in names if name not in passed)

    return Grade(*split(fail_to_pass, _GOOD), *split(pass_to_pass, _KEPT))


def status_of(name: str, statuses: Mapping[str, str]) -> str:
    """A test's status; empty when it is not known.

    Published names may be cut within their parameters; such a name covers all that begin with
    it, if these agree.
    """
    if name in statuses:
        return statuses[name]
    if name.count("[") <= name.count("]"):
        return ""
    found = [status for known, status in statuses.items() if known.startswith(name)]
    agreed = len({status in _GOOD for status in found}) == 1
    return found[0] if agreed else ""


def _pytest(log: str) -> dict[str, str]:
    found: dict[str, str] = {}
    whole: dict[str, str] = {}
    *_, log = _SUMMARY.split(log)
    for line in log.splitlines():
        status = next((word for word in _STATUSES if line.startswith(f"{word} ")), "")
        if not status:
            continue
        words = (line.replace(" - ", " ") if status == "FAILED" else line).split()
        if len(words) > 1 and not (status == "SKIPPED" and _COUNT.fullmatch(words[1])):
            found[words[1]] = words[0]
            name = line.removeprefix(status).strip()
            whole[name.partition(" - ")[0]] = words[0]
    return {**whole, **found}


def _unittest(log: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in log.splitlines():
        if match := _SEEN.match(line.rstrip()):
            found[match["name"].strip()] = _WORDS.get(match["word"], "SKIPPED")
        elif match := _COUNTED.match(line.rstrip()):
            found[match["name"].strip()] = _WORDS[match["word"]]
    return found
