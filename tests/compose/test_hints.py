"""Hints speak of settings; each surface says how one is given there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import skillopt_cli
from skillopt_cli.compose.flags import in_form, in_shell
from skillopt_cli.config.declarations import own_flags

PACKAGE = Path(skillopt_cli.__file__).parent
COMMAND = re.compile(r"`skillopt [^`]*`")
OTHERS = ("--set", "--preset", "--run-id", "--what")
FLAG = re.compile(rf"(?<![\w-])({'|'.join([*own_flags(), *OTHERS])})\b")


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("try `train.num_epochs=3`", "try `--epochs 3`"),
        ("or `env.from_scratch=true`", "or `--from-scratch`"),
        ("add `env.split_mode=ratio`, then", "add `--set env.split_mode=ratio`, then"),
        ("try `preset=demo` or `run_id=NAME`", "try `--preset demo` or `--run-id NAME`"),
        ("or `what=tasks`", "or `--what tasks`"),
        ("did you mean `train.seed`?", "did you mean `train.seed`?"),
        ("`skillopt resume a` or `x=1`", "`skillopt resume a` or `x=1`"),
        ("such as `[a=1]` and `A_B=1`", "such as `[a=1]` and `A_B=1`"),
    ],
)
def test_a_setting_of_a_hint_is_a_flag_in_a_shell(hint: str, shown: str) -> None:
    assert in_shell(hint) == shown
    assert in_form(shown) == hint


def test_a_flag_that_stands_for_no_setting_stays_a_flag() -> None:
    for hint in ("check `--config`", "`--allow-drift` goes on", "`skillopt train --epochs 3`"):
        assert in_form(hint) == hint


def raised() -> Iterator[tuple[str, str]]:
    """Every text that is raised or returned, as errors are, below the command line."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] in ("cli", "testing"):
            continue
        if path.name in ("flags.py", "form.py"):  # which make command lines
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Return) and isinstance(node.value, ast.List):
                continue  # the command line of a program
            if isinstance(node, ast.Raise | ast.Return):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                        yield f"{path.relative_to(PACKAGE)}:{inner.lineno}", inner.value


def test_no_error_below_the_command_line_speaks_of_a_flag() -> None:
    said = [place for place, text in raised() if FLAG.search(COMMAND.sub("", text))]
    assert said == []
