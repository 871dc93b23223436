"""Trackers at the command line: chosen, refused, dropped, interrupted."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import SMALLEST, TINY, events, refused, rows, skillopt, train
from notebook import install_notebook, notes

from skillopt_cli.plugins import load_tracker
from skillopt_cli.ports import TrackedRun

KEY = "sesame-open-the-door"


@pytest.fixture(autouse=True)
def notebook(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    install_notebook(tmp_path_factory.mktemp("site"), monkeypatch)


@contextmanager
def free_port() -> Iterator[int]:
    """One where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def drops(folder: Path) -> list[tuple[str, str]]:
    return [(e["name"], e["reason"]) for e in events(folder, "subscriber_dropped")]


def test_trackers_are_named_by_flags_files_and_variables() -> None:
    def said(*arguments: object, **variables: str) -> object:
        shown = rows(skillopt("config", "show", *arguments, "--json", **variables))
        return shown["run.trackers"]["value"]

    assert said() == []
    assert said("--tracker", "notebook", "--tracker", "otel") == ["notebook", "otel"]
    assert said("--set", "run.trackers=notebook otel notebook") == ["notebook", "otel"]
    assert said("--set", "run.trackers=[otel]") == ["otel"]
    assert said(SKILLOPT_RUN__TRACKERS="notebook") == ["notebook"]
    Path("mine.yaml").write_text("run:\n  trackers: [notebook]\n", encoding="utf-8")
    assert said("--config", "mine.yaml") == ["notebook"]
    assert said("--config", "mine.yaml", "--tracker", "otel") == ["otel"]


def test_an_unknown_tracker_is_refused_before_anything_happens() -> None:
    ended = refused(2, "train", "searchqa", *SMALLEST, "--tracker", "mlfow")
    assert ended.error == "error: `run.trackers`: there is no tracker `mlfow`"
    assert ended.hint == "hint: did you mean `mlflow`?"
    assert not Path("outputs").exists()


def test_a_missing_package_is_told_with_the_extra_that_brings_it() -> None:
    Path("no-pencil").touch()
    ended = refused(2, "train", "searchqa", *SMALLEST, "--tracker", "notebook")
    assert "the tracker `notebook` needs the module pencil" in ended.error
    assert ended.hint == "hint: pip install 'skillopt-cli[paper]'"
    assert not Path("outputs").exists()


def test_doctor_looks_at_the_trackers_that_are_chosen() -> None:
    def rows_of(*chosen: str) -> list[tuple[str, str]]:
        flags = [word for name in chosen for word in ("--tracker", name)]
        checks = skillopt("doctor", "searchqa", *TINY, *flags, "--json").json["checks"]
        return [(row["state"], row["fix"]) for row in checks if row["name"] == "tracker"]

    assert rows_of() == []
    assert rows_of("notebook") == [("ok", "")]
    Path("no-pencil").touch()
    assert rows_of("notebook") == [("failing", "pip install 'skillopt-cli[paper]'")]


def test_doctor_asks_the_server_of_a_tracker() -> None:
    with free_port() as port:
        looked = ("doctor", "searchqa", *TINY, "--tracker", "notebook", "--json")
        ended = skillopt(*looked, NOTEBOOK_URL=f"http://127.0.0.1:{port}")
    (row,) = [row for row in ended.json["checks"] if row["name"] == "tracker"]
    assert (row["state"], row["code"]) == ("warning", 0)
    assert row["what"] == f"no server answers at http://127.0.0.1:{port}: connection refused"
    assert "NOTEBOOK_URL" in row["fix"]


LINE = "tracker notebook: see notebook"


def test_where_the_numbers_went_is_told_at_the_end() -> None:
    ended = skillopt("train", "searchqa", *SMALLEST, "--tracker", "notebook", NOTEBOOK_KEY=KEY)
    assert [line for line in ended.err.splitlines() if line.startswith("tracker")] == [
        f"{LINE} ***"
    ]
    silent = ("--tracker", "notebook", "--display", "none")
    assert LINE not in skillopt("train", "searchqa", *SMALLEST, *silent).err


def test_a_tracker_that_failed_is_not_said_to_hold_anything() -> None:
    failing = ("train", "searchqa", *SMALLEST, "--tracker", "notebook")
    assert LINE not in skillopt(*failing, NOTEBOOK_FAILS="close").err


VARIABLES = {"MLFLOW_TRACKING_URI": "https://m.example", "WANDB_MODE": "online"}


@pytest.mark.parametrize(
    ("name", "variables", "words"),
    [
        ("mlflow", {}, "`mlflow ui --backend-store-uri 'sqlite:////my runs/mlflow.db'` shows them"),
        ("mlflow", VARIABLES, "see https://m.example"),
        ("tensorboard", {}, "`tensorboard --logdir '/my runs/a/trackers/t'` shows them"),
        ("wandb", {}, "`wandb sync '/my runs/a/trackers/t'/wandb/offline-run-*` sends them"),
        ("wandb", VARIABLES, "see https://wandb.ai"),
        ("wandb", {**VARIABLES, "WANDB_BASE_URL": "https://w.example"}, "see https://w.example"),
        ("wandb", {"WANDB_MODE": "disabled"}, ""),
        ("otel", {}, "see /my runs/a/trackers/t/spans.jsonl"),
        ("otel", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://o:4318"}, "sent to http://o:4318"),
        ("otel", {"OTEL_TRACES_EXPORTER": "console"}, ""),
    ],
)
def test_every_tracker_says_what_shows_its_numbers(
    name: str, variables: dict[str, str], words: str
) -> None:
    home = Path("/my runs")
    run = TrackedRun("i", "a", "b", 0.0, home / "a/trackers/t", home, {}, variables)
    assert load_tracker(name).look(run) == words


@pytest.mark.parametrize(
    ("name", "variables", "url"),
    [
        ("mlflow", {}, ""),
        ("mlflow", {"MLFLOW_TRACKING_URI": "sqlite:///x.db"}, ""),
        ("mlflow", VARIABLES, "https://m.example"),
        ("tensorboard", {}, ""),
        ("wandb", {}, ""),
        ("wandb", {"WANDB_BASE_URL": "https://w.example"}, ""),
        ("wandb", VARIABLES, "https://api.wandb.ai"),
        ("wandb", {**VARIABLES, "WANDB_BASE_URL": "https://w.example"}, "https://w.example"),
        ("wandb", {**VARIABLES, "WANDB_CONFIG_DIR": "signed-in"}, ""),
        ("otel", {}, ""),
        ("otel", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://o:4318"}, "http://o:4318"),
        ("otel", {"OTEL_EXPORTER_OTLP_ENDPOINT": "o:4317"}, ""),
        ("otel", {"OTEL_TRACES_EXPORTER": "otlp"}, ""),
        (
            "otel",
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://o:4318", "OTEL_TRACES_EXPORTER": "console"},
            "",
        ),
    ],
)
def test_the_server_a_tracker_sends_to_is_known_from_its_variables(
    name: str, variables: dict[str, str], url: str
) -> None:
    Path("signed-in").mkdir()
    Path("signed-in/settings").write_text("[default]\nbase_url = https://w.example\n", "utf-8")
    server = load_tracker(name).server(variables)
    assert (server.url if server else "") == url
    assert server is None or variables.get(server.variable, url) == url


def test_a_strangers_tracker_is_told_the_run() -> None:
    folder = train(*SMALLEST, "--tracker", "notebook", NOTEBOOK_COLOUR="red", OTHER="x")
    (run,) = notes(folder, "open")
    assert (run["name"], run["benchmark"]) == ("a", "searchqa")
    assert run["settings"]["train"]["train_size"] == 4
    assert run["environment"] == {"NOTEBOOK_COLOUR": "red"}
    assert [point["step"] for point in notes(folder, "step")] == [0, 1]
    (closing,) = notes(folder, "close")
    assert (closing["step"], closing["status"], closing["exit_code"]) == (1, "finished", 0)
    assert {Path(name).name for name in closing["files"]} == {
        *("best_skill.md", "config.yaml", "history.json", "summary.json")
    }
    assert drops(folder) == []


def test_an_evaluation_is_tracked_by_its_summary() -> None:
    ended = skillopt(
        "eval", "searchqa", *TINY, "--run-id", "e", "--tracker", "notebook", "--from-scratch"
    )
    assert ended.code == 0, ended.err
    folder = Path("outputs/searchqa/e")
    assert notes(folder, "step") == []
    (closing,) = notes(folder, "close")
    assert closing["values"]["eval_n"] == 12


@pytest.mark.parametrize("at", ["open", "step 0", "step 1", "close"])
def test_a_tracker_that_fails_is_dropped_and_told_once_without_keys(at: str) -> None:
    ended = skillopt(
        *("train", "searchqa", *SMALLEST, "--run-id", "a", "--tracker", "notebook"),
        NOTEBOOK_FAILS=at,
        NOTEBOOK_KEY=KEY,
    )
    assert ended.code == 0, ended.err
    folder = Path("outputs/searchqa/a")
    assert drops(folder) == [("tracker notebook", "OSError: no paper for ***")]
    assert ended.err.count("Dropped: tracker notebook") == 1
    assert KEY not in ended.err
    assert (folder / "best_skill.md").exists()
    # Taken up, it is told everything it did not take.
    assert skillopt("resume", folder, "--epochs", "2", "--allow-drift").code == 0
    assert sorted({p["step"] for p in notes(folder, "step")}) == [0, 1, 2]
    assert len(notes(folder, "step")) == 3


def test_a_server_that_is_not_there_is_told_in_one_sentence_with_a_hint() -> None:
    with free_port() as port:
        address = f"http://127.0.0.1:{port}"
        ended = skillopt(
            *("train", "searchqa", *SMALLEST, "--run-id", "a", "--tracker", "notebook"),
            NOTEBOOK_URL=address.replace("//", f"//me:{KEY}@"),
        )
    assert ended.code == 0, ended.err
    folder = Path("outputs/searchqa/a")
    (dropped,) = events(folder, "subscriber_dropped")
    assert dropped["reason"] == f"no server answers at {address}: connection refused"
    assert "`NOTEBOOK_URL`" in dropped["hint"]
    assert f"Dropped: tracker notebook: {dropped['reason']}\nhint: " in ended.err
    assert KEY not in ended.err
    assert not (folder / "trackers").exists(), "its library was not even loaded"


def test_a_tracker_whose_process_dies_is_told_with_its_last_words() -> None:
    folder = train(*SMALLEST, "--tracker", "notebook", NOTEBOOK_FAILS="death 1")
    assert drops(folder) == [("tracker notebook", "its process ended: the pencil broke")]


def test_what_a_library_prints_stands_in_no_output() -> None:
    ended = skillopt("train", "searchqa", *SMALLEST, "--tracker", "notebook", "--json")
    assert ended.code == 0
    assert "summary" in ended.lines[-1]
    assert "talks" not in ended.out + ended.err


def test_keys_of_models_are_not_shown_to_the_library(tmp_path: Path) -> None:
    Path(".env").write_text("NOTEBOOK_INK=blue\n", encoding="utf-8")
    folder = train(
        *(*SMALLEST, "--tracker", "notebook", "--set", "model.api_key_env=NOTEBOOK_KEY"),
        NOTEBOOK_KEY=KEY,
        NOTEBOOK_FAILS="close",
    )
    assert drops(folder) == [("tracker notebook", "OSError: no paper for")]
    (run,) = notes(folder, "open")
    assert run["environment"] == {"NOTEBOOK_INK": "blue", "NOTEBOOK_FAILS": "close"}


def test_a_library_is_shown_no_key_but_its_own() -> None:
    folder = train(
        *(*SMALLEST, "--tracker", "notebook"),
        NOTEBOOK_TOKEN="its-own-token",
        OTHERS_API_KEY=KEY,
        OTHERS_COLOUR="red",
        NOTEBOOK_TELLS="NOTEBOOK_TOKEN OTHERS_API_KEY OTHERS_COLOUR",
    )
    (told,) = notes(folder, "process")
    assert told["variables"] == ["NOTEBOOK_TOKEN", "OTHERS_COLOUR"]


def wait_for_a_step(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Until a step is sent, and noted as sent: between the two a kill would have it sent again."""
    note = folder / "trackers/notebook.json"
    while not (note.exists() and json.loads(note.read_text("utf-8"))["sent"] >= 1):
        assert process.poll() is None, "the run ended too early"
        time.sleep(0.02)


def started(*arguments: str) -> subprocess.Popen[bytes]:
    """A training as a process, and group, of its own."""
    slow = ("--set", "model.simulated.latency_ms=500", "--workers", "2", "--display", "none")
    return subprocess.Popen(
        [*(sys.executable, "-m", "skillopt_cli", "train", "searchqa", *TINY), *slow, *arguments],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.slow
def test_ctrl_c_lets_the_tracker_know_how_the_run_ended() -> None:
    folder = Path("outputs/searchqa/a")
    with started("--run-id", "a", "--tracker", "notebook") as process:
        wait_for_a_step(folder, process)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(600) == 130
    (closing,) = notes(folder, "close")
    assert closing["status"] == "interrupted"
    assert drops(folder) == []


@pytest.mark.slow
def test_a_killed_run_that_is_taken_up_sends_each_step_once() -> None:
    folder = Path("outputs/searchqa/a")
    with started("--run-id", "a", "--tracker", "notebook") as process:
        wait_for_a_step(folder, process)
        process.kill()
    assert notes(folder, "close") == []
    ended = skillopt(*("resume", folder, "--allow-drift", "--set", "model.simulated.latency_ms=0"))
    assert ended.code == 0, ended.err
    assert [point["step"] for point in notes(folder, "step")] == [0, 1, 2, 3, 4]
    assert len({run["identity"] for run in notes(folder, "open")}) == 1
    assert drops(folder) == []
