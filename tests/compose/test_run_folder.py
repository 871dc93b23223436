"""Run folders: their names, what a failed start leaves behind, how a run is found."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from facts import begun, stamp

from skillopt_cli.compose.run_folder import (
    anchored,
    dump_config,
    find_run,
    new_folder,
    run_of,
    unusable_path,
)
from skillopt_cli.config import RunConfig
from skillopt_cli.config.files import file_layers
from skillopt_cli.config.layers import Layer, resolve
from skillopt_cli.core.errors import DataError, UsageError
from skillopt_cli.core.events import RunEvent, RunFailed, RunFinished
from skillopt_cli.store import codec

NOW = datetime(2026, 1, 31, 10, 30)
CONFIG = resolve([Layer("test", {"env": {"name": "searchqa"}})]).config


def made(run_id: str | None = None) -> Path:
    with new_folder(CONFIG, run_id, NOW) as folder:
        return folder


def test_the_name_is_the_local_time_and_a_number_when_that_is_taken() -> None:
    names = [made().name for _ in range(3)]
    stem = "2026-01-31_10-30-00"
    assert names == [stem, f"{stem}-2", f"{stem}-3"]


STOPPED = RunFailed("Interrupted", "stopped by the user", "", 130, resumable=True)
REPLAY = begun(replay="calls.jsonl")


@pytest.mark.parametrize(
    ("facts", "resumable"),
    [
        ([], False),
        ([begun()], True),
        ([begun(), STOPPED], True),
        ([begun(), replace(STOPPED, resumable=False)], False),
        ([begun(total_steps=0)], False),
        ([begun(total_steps=0), STOPPED], True),
        ([REPLAY], False),
        ([begun(), RunFinished(3, 0, 0.5, 0)], False),
    ],
)
def test_a_chosen_name_is_used_once_and_the_hint_resumes_what_can_be(
    facts: list[RunEvent], resumable: bool
) -> None:
    folder = made("mine")
    assert folder == Path("outputs/searchqa/mine")
    log = "".join(f"{codec.dump_fact(fact)}\n" for fact in stamp(facts))
    (folder / "events.jsonl").write_text(log, encoding="utf-8")
    with pytest.raises(UsageError, match="exists already") as caught:
        made("mine")
    resume = f"`skillopt resume {folder}` continues it, or " if resumable else ""
    assert caught.value.hint == f"{resume}choose another `run_id=NAME`"


def test_a_name_is_taken_by_a_run_that_cannot_be_read() -> None:
    folder = made("mine")
    (folder / "events.jsonl").write_text("{\n{\n", encoding="utf-8")
    with pytest.raises(UsageError, match="exists already") as caught:
        made("mine")
    assert caught.value.hint == "choose another `run_id=NAME`"


@pytest.mark.parametrize("run_id", ["../x", "a/b", ".hidden", "-x", "a b", "", "x" * 101])
def test_a_name_that_leads_elsewhere_is_refused(run_id: str) -> None:
    with pytest.raises(UsageError, match="plain name"):
        made(run_id)
    assert not Path("x").exists()
    assert not Path("outputs").exists()


def test_a_failed_start_leaves_nothing_behind() -> None:
    with pytest.raises(ValueError, match="no"), new_folder(CONFIG, None, NOW) as folder:
        (folder / "run.lock").touch()
        raise ValueError("no")
    assert not Path("outputs").exists()


def test_folders_that_were_there_before_stay() -> None:
    Path("outputs").mkdir()
    with pytest.raises(KeyboardInterrupt), new_folder(CONFIG, None, NOW):
        raise KeyboardInterrupt
    assert list(Path("outputs").iterdir()) == []


@pytest.mark.parametrize("name", ["events.jsonl", "crash.txt"])
def test_a_run_in_which_something_happened_is_kept(name: str) -> None:
    with pytest.raises(ValueError, match="no"), new_folder(CONFIG, None, NOW) as folder:
        (folder / name).touch()
        raise ValueError("no")
    assert (folder / name).exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_cannot_be_written_is_named() -> None:
    Path("outputs").mkdir(mode=0o500)
    with pytest.raises(DataError, match="outputs") as caught:
        made()
    assert "--out-root" in caught.value.hint


def test_a_file_in_the_way_is_named() -> None:
    Path("outputs").touch()
    with pytest.raises(DataError, match="outputs"):
        made()


def test_a_run_is_found_by_path_and_by_id() -> None:
    folder = made("mine")
    (folder / "config.yaml").touch()
    assert find_run("mine", Path("outputs")) == folder
    assert find_run(str(folder), Path("elsewhere")) == folder
    for name in ("gone", "", str(folder / "steps")):
        with pytest.raises(UsageError, match="no run"):
            find_run(name, Path("outputs"))


def test_an_id_of_two_benchmarks_is_ambiguous() -> None:
    for benchmark in ("a", "b"):
        folder = Path("outputs") / benchmark / "same"
        folder.mkdir(parents=True)
        (folder / "config.yaml").touch()
    with pytest.raises(UsageError, match="several") as caught:
        find_run("same", Path("outputs"))
    assert "outputs/a/same" in caught.value.hint


def test_the_run_that_holds_a_file_is_found() -> None:
    folder = made("mine")
    (folder / "config.yaml").touch()
    skill = folder / "skills" / "step_0001.md"
    assert run_of(skill) == folder.resolve()
    assert run_of(Path("other.md")) is None


def test_a_dumped_configuration_is_read_back() -> None:
    values = {
        "model": {"target": "007", "optimizer": {"name": "1e3", "temperature": 1e-05}},
        "env": {"name": "folder", "scorer": "yes", "pattern": "1e3", "tolerance": "2024-01-01"},
        "optimizer": {"min_learning_rate": 1},
    }
    config = resolve([Layer("test", values)]).config
    Path("config.yaml").write_text(dump_config(config, Path("outputs/a")), encoding="utf-8")
    assert resolve(file_layers(Path("config.yaml"))).config == anchored(config)
    assert isinstance(config, RunConfig)


def test_a_run_reads_the_same_files_from_any_folder() -> None:
    given = {
        "env": {"skill_init": "s.md", "split_dir": "d", "data_root": "/data"},
        "run": {"cache_dir": "../c"},
    }
    config = anchored(resolve([Layer("test", given)]).config)
    here = Path.cwd()
    assert config.env.skill_init == str(here / "s.md")
    assert config.env.split_dir == str(here / "d")
    assert config.env.data_root == "/data"
    assert config.run.cache_dir == str(here / "../c")
    assert (config.env.data_path, config.optimizer.prompts_dir) == ("", "")
    assert anchored(config) == config


def test_a_machine_without_a_folder_for_temporary_files_is_told_the_variable() -> None:
    error = unusable_path(OSError(2, "No usable temporary directory found in ['/tmp']"))
    assert error.message == "no folder for temporary files can be written"
    assert "TMPDIR" in error.hint
    assert unusable_path(OSError(13, "Permission denied", "x")).message.startswith("x cannot be")
