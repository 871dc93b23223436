"""`skillopt init`: a project that trains as it is, with questions where tasks leave some open."""

from __future__ import annotations

import csv
import os
import pty
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
import yaml
from command_line import TINY, refused, rows, skillopt

from skillopt_cli.core.front_matter import agent_metadata

QUEUES = ("billing", "login", "returns")
BODY = "Parcel {} came late and the box around it was wet."


def tickets(name: str = "tickets.csv", **more: list[str]) -> Path:
    columns = {
        "ticket_id": [f"t{i}" for i in range(48)],
        "body": [BODY.format(i) for i in range(48)],
        "queue": [QUEUES[i % 3] for i in range(48)],
        **more,
    }
    path = Path(name)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def config(folder: str) -> dict[str, dict[str, object]]:
    loaded = yaml.safe_load(Path(folder, "config.yaml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_a_project_holds_what_was_given_and_inferred_and_trains_from_any_folder() -> None:
    tickets()
    made = skillopt("init", "tickets.csv", "--epochs", "1", "--set", "env.split_seed=7")
    assert made.code == 0, made.err
    assert "tickets.csv cut 2:1:1 by label, seed 7 (24 train / 12 selection / 12 test)" in made.out
    assert "wrote tickets-skill: config.yaml, SKILL.md" in made.out
    held = config("tickets-skill")
    assert held == {
        "_paths_": ".",
        "train": {"num_epochs": 1},
        "env": {
            "name": "folder",
            "skill_init": "SKILL.md",
            "data_path": "../tickets.csv",
            "split_ratio": "2:1:1 by label",
            "split_seed": 7,
            "scorer": "exact",
            "answer_key": "queue",
            "prompt_key": "body",
            "id_key": "ticket_id",
        },
    }
    skill = Path("tickets-skill/SKILL.md").read_text(encoding="utf-8")
    assert agent_metadata(skill) is not None
    assert "\n# Tickets\n\nGive the queue of the text, one of:\n\n- billing\n- login\n" in skill
    Path("elsewhere").mkdir()
    with chdir("elsewhere"):
        ended = skillopt("train", "--config", "../tickets-skill/config.yaml", *TINY)
    assert ended.code == 0, ended.err
    assert "Inferred" not in ended.err, "all is in the file"


def test_an_own_skill_is_named_and_none_is_written() -> None:
    tickets()
    Path("mine/scripts").mkdir(parents=True)
    front = "---\nname: mine\ndescription: Sorts tickets.\n---\n"
    Path("mine/SKILL.md").write_text(f"{front}\n# Mine\n\nSort.\n", encoding="utf-8")
    made = skillopt("init", "--tasks", "tickets.csv", "--skill-init", "mine", "--out", "p/q")
    assert made.code == 0, made.err
    assert [path.name for path in Path("p/q").iterdir()] == ["config.yaml"]
    assert config("p/q")["env"]["skill_init"] == "../../mine"
    shown = rows(skillopt("config", "show", "--config", "p/q/config.yaml", "--json"))
    assert Path(shown["env.skill_init"]["value"]).resolve() == Path("mine").resolve()


def test_what_is_open_is_an_error_without_a_terminal() -> None:
    tickets(priority=["low", "high"] * 24)
    ended = refused(3, "init", "tickets.csv")
    assert ended.error.endswith("it is unclear which column is the answer: `queue`, `priority`")
    assert ended.hint == "hint: name it, such as `--answer-key queue`"
    assert "no task file is named" in refused(2, "init").error
    assert "`searchqa` is a benchmark" in refused(2, "init", "searchqa").error
    assert "does not exist" in refused(2, "init", "none.csv").error
    assert "configuration of its own" in refused(2, "init", "tickets.csv", *TINY).error
    Path("here").mkdir()
    assert "here exists" in refused(2, "init", "tickets.csv", "--out", "here").error
    missing = refused(2, "init", "tickets.csv", "--answer-key", "queue", "--skill-init", "no.md")
    assert "no.md" in missing.error
    assert not Path("tickets-skill").exists()


def on_a_terminal(answers: str, *arguments: str) -> tuple[int, str]:
    """A command on a terminal of its own, with these lines typed; its exit code and the screen."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "skillopt_cli", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "200"},
    )
    os.close(theirs)
    os.write(ours, answers.encode())
    screen = b""
    while True:
        try:
            read = os.read(ours, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not read:
            break
        screen += read
    os.close(ours)
    return process.wait(), screen.decode()


@pytest.mark.slow
def test_a_terminal_is_asked_what_the_tasks_leave_open() -> None:
    tickets(priority=["low", "high"] * 24, subject=[BODY.format(i) for i in range(48)])
    typed = "tickets.csv\nno such column\nqueue\nbody\n\nsmall-model\n\n"
    code, screen = on_a_terminal(typed, "init")
    assert code == 0, screen
    for question in (
        "File of tasks",
        "Which holds the answer? [queue/priority]",
        "Which holds the task text? [body/subject]",
        "Skill to start from",
        "Model that attempts the tasks",
        "Model that proposes edits",
    ):
        assert question in screen, screen
    held = config("tickets-skill")
    assert held["env"]["answer_key"] == "queue" and held["env"]["prompt_key"] == "body"
    assert held["model"] == {"target": {"name": "small-model"}}


@pytest.mark.slow
def test_the_end_of_the_input_ends_the_questions() -> None:
    code, screen = on_a_terminal("\x04", "init")
    assert code == 130, screen
    assert "no answer: the input ended" in screen


def test_an_agent_of_the_project_is_found_from_any_folder() -> None:
    tickets()
    Path("agent.py").write_text("print('billing')", encoding="utf-8")
    agent = ("--target-backend", "command", "--set", 'model.command.argv=["python3", "agent.py"]')
    made = skillopt("init", "tickets.csv", *agent)
    assert made.code == 0, made.err
    model = config("tickets-skill")["model"]
    assert model["command"] == {"argv": ["python3", "../agent.py"]}
    found = Path("agent.py").absolute()
    Path("elsewhere").mkdir()
    with chdir("elsewhere"):
        asked = ("--config", "../tickets-skill/config.yaml", "--optimizer-backend", "simulated")
        ended = skillopt("train", *asked, *TINY, "--trust", PATH=os.environ["PATH"])
    assert ended.code == 0, ended.err
    isolation = "not isolated: can read your files"
    assert f"Programs: python3 {found} ({isolation}; model.command.argv in " in ended.err
