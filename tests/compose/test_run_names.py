from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_cli.compose.run_folder import find_run
from skillopt_cli.core.errors import UsageError


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lokal", "did you mean `local`?"),
        ("second", "`skillopt runs list` shows the runs"),
        ("", "`skillopt runs list` shows the runs"),
    ],
)
def test_an_unknown_run_is_refused_with_the_one_that_is_meant(
    tmp_path: Path, name: str, hint: str
) -> None:
    for known in ("local", "today"):
        folder = tmp_path / "folder" / known
        folder.mkdir(parents=True)
        (folder / "config.yaml").touch()
    with pytest.raises(UsageError, match=f"there is no run `{name}`") as refused:
        find_run(name, tmp_path)
    assert refused.value.hint == hint
