"""An error printed by one process is the same error to the process that reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_cli.core.errors import Interrupted, SkillOptError
from skillopt_cli.ui.error_text import error_lines, last_error, printed_since


@pytest.mark.parametrize("hint", ["", "raise it"])
def test_what_is_printed_is_found_again(hint: str) -> None:
    text = f"error: an earlier one\nhint: of that\n{error_lines(SkillOptError('a cap', hint))}"
    found = last_error(f"step 1\n{text}done\n")
    assert found is not None
    assert (found.message, found.hint) == ("a cap", hint)


def test_no_error_is_found_where_none_was_printed() -> None:
    assert last_error("no error: here\nhint: none\n") is None
    assert last_error("") is None


def test_a_stop_by_the_user_is_no_error() -> None:
    text = error_lines(Interrupted("stopped by the user", "resume it"))
    assert text == "stopped by the user\nhint: resume it\n"
    assert last_error(text) is None


def test_a_log_is_read_from_where_a_process_began() -> None:
    log = Path("a.log")
    log.write_bytes(b"error: old\n\xff new")
    assert printed_since(log, len("error: old\n")) == "� new"
