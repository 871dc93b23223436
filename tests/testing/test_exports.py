"""The public door for plug-in tests: complete, documented and free of clashes."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

from skillopt_cli import testing


@pytest.mark.parametrize("name", testing.__all__)
def test_every_export_exists_and_documents_itself(name: str) -> None:
    exported = getattr(testing, name)
    assert not inspect.ismodule(exported)
    assert (exported.__doc__ or "").strip()
    # A dataclass without a docstring gets its signature as one.
    assert not exported.__doc__.startswith(f"{name}(")


def test_the_docstring_lists_every_fake_and_check() -> None:
    values = {
        name for name in testing.__all__ if ".testing." not in getattr(testing, name).__module__
    }
    listed = set(re.findall(r"`(\w+)`", testing.__doc__ or ""))
    assert listed == {*testing.__all__} - values | {"MemoryStore"}


def test_the_model_servers_program_starts_without_a_warning() -> None:
    argv = [sys.executable, "-W", "error", "-m", "skillopt_cli.testing.model_server", "--help"]
    ended = subprocess.run(argv, capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stderr == ""
    assert "--key" in ended.stdout
