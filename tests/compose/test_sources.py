"""Where settings came from is kept with a run, also once it is taken up again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt_cli.compose.fingerprint import record_sources
from skillopt_cli.store.layout import CONFIG, SOURCES


def kept(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((folder / SOURCES).read_text())
    return found


def test_a_resume_keeps_what_it_finds_in_the_runs_own_file(tmp_path: Path) -> None:
    record_sources(tmp_path, {"train.seed": "flag --seed", "run.workers": "preset tiny"})
    record_sources(
        tmp_path,
        {"train.seed": CONFIG, "run.workers": "flag --workers", "model.backend": CONFIG},
    )
    assert kept(tmp_path) == {
        "train.seed": "flag --seed",
        "run.workers": "flag --workers",
        "model.backend": CONFIG,
    }


def test_nothing_is_written_where_nothing_is_known(tmp_path: Path) -> None:
    record_sources(tmp_path, {})
    assert not (tmp_path / SOURCES).exists()


@pytest.mark.parametrize("damaged", ["{", "[]", ""])
def test_a_damaged_file_is_written_anew(tmp_path: Path, damaged: str) -> None:
    (tmp_path / SOURCES).write_text(damaged)
    record_sources(tmp_path, {"train.seed": CONFIG})
    assert kept(tmp_path) == {"train.seed": CONFIG}
