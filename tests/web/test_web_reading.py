"""Pages that need all of a log follow once it is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from web_rig import client, until


@pytest.mark.parametrize(
    ("path", "sign"),
    [
        pytest.param("/compare?run=searchqa/a&run=searchqa/b", "Tasks that differ", id="compare"),
        pytest.param("/runs/searchqa/a/export/tasks.csv", '"id","split"', id="download"),
    ],
)
def test_a_page_that_needs_whole_logs_waits_for_them(trained: Path, path: str, sign: str) -> None:
    with client(trained, patience=0) as asking:
        first = asking.get(path)
        assert first.status_code == 200
        assert "is being read" in first.text and first.headers["refresh"] == "1"
        until(lambda: "refresh" not in asking.get(path).headers)
        assert sign in asking.get(path).text
