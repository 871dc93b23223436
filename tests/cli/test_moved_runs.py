"""Runs and projects that were moved or renamed, home folders, and paths that count from a file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import refused, skillopt

from skillopt_cli.config.files import file_layers
from skillopt_cli.config.layers import resolve
from skillopt_cli.config.section import in_home

SETTINGS = ("--set", "env.split_ratio=1:1:2", "--set", "model.backend=simulated", "--epochs", "1")


def write_project(folder: Path) -> None:
    folder.mkdir(parents=True)
    tasks = [{"id": f"q{n}", "question": f"What is item {n}?", "answer": "thing"} for n in range(8)]
    text = "".join(f"{json.dumps(task)}\n" for task in tasks)
    (folder / "t.jsonl").write_text(text, encoding="utf-8")
    (folder / "seed.md").write_text("# Seed\n\nAnswer well.\n", encoding="utf-8")


def train_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train in a project with relative paths, and let the run seem cut off before its end."""
    write_project(folder)
    monkeypatch.chdir(folder)
    files = ("--set", "env.data_path=t.jsonl", "--skill-init", "seed.md")
    assert skillopt("train", "folder", *files, *SETTINGS, "--run-id", "a").code == 0
    monkeypatch.chdir(folder.parent)
    log = folder / "outputs/folder/a/events.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join(lines[:-1]), encoding="utf-8")


def test_a_renamed_project_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train_in(tmp_path / "old", monkeypatch)
    (tmp_path / "old").rename(tmp_path / "new")
    monkeypatch.chdir(tmp_path / "new")
    ended = skillopt("resume", "a")
    assert ended.code == 0, ended.err
    assert "Data: t.jsonl cut" in ended.err
    assert "nothing to do" not in ended.err
    # And once more: the place of the second time is the one that counts.
    (tmp_path / "new").rename(tmp_path / "newer")
    monkeypatch.chdir(tmp_path)
    assert skillopt("resume", tmp_path / "newer/outputs/folder/a").code == 0
    measured = skillopt("eval", "--skill", tmp_path / "newer/outputs/folder/a")
    assert "Data: newer/t.jsonl cut" in measured.err


def test_a_run_folder_alone_may_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train_in(tmp_path / "project", monkeypatch)
    shutil.move(tmp_path / "project/outputs/folder/a", tmp_path / "b")
    ended = skillopt("resume", tmp_path / "b")
    assert ended.code == 0, ended.err
    assert "Data: project/t.jsonl cut" in ended.err


def test_a_copied_project_uses_its_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_in(tmp_path / "project", monkeypatch)
    shutil.copytree(tmp_path / "project", tmp_path / "copy")
    with (tmp_path / "copy/t.jsonl").open("a", encoding="utf-8") as tasks:
        tasks.write('{"id": "q8", "question": "What is new?", "answer": "thing"}\n')
    ended = refused(2, "resume", tmp_path / "copy/outputs/folder/a")
    assert "split differs in" in ended.err
    assert skillopt("resume", tmp_path / "project/outputs/folder/a").code == 0


@pytest.mark.parametrize(
    ("name", "setting"), [("t.jsonl", "env.data_path"), ("seed.md", "env.skill_init")]
)
def test_a_file_that_was_moved_is_named_by_its_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, setting: str
) -> None:
    train_in(tmp_path / "project", monkeypatch)
    elsewhere = tmp_path / f"elsewhere-{name}"
    (tmp_path / "project" / name).rename(elsewhere)
    run = tmp_path / "project/outputs/folder/a"
    ended = skillopt("resume", run)
    assert ended.code in (2, 3)
    assert f"{tmp_path / 'project' / name} does not exist" in ended.err
    assert ("--skill-init FILE" if name == "seed.md" else "--tasks FILE") in ended.err
    ended = skillopt("resume", run, "--set", f"{setting}={elsewhere}")
    assert ended.code == 0, ended.err


def test_what_a_seed_skill_holds_counts_and_not_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_in(tmp_path / "project", monkeypatch)
    run = tmp_path / "project/outputs/folder/a"
    Path("other.md").write_text("# Other\n\nAnswer well.\n", encoding="utf-8")
    shutil.copy(tmp_path / "project/seed.md", "same.md")
    assert "seed skill is another one" in refused(2, "resume", run, "--skill-init", "other.md").err
    assert skillopt("resume", run, "--skill-init", "same.md").code == 0


@pytest.mark.parametrize("home", ["~", "$HOME", "${HOME}"])
def test_paths_may_begin_with_the_home_folder(home: str) -> None:
    write_project(Path.home() / "tasks")
    Path("c.yaml").write_text(
        f"env:\n  name: folder\n  data_path: {home}/tasks/t.jsonl\n"
        f"  skill_init: '{home}/tasks/seed.md'\n  out_root: {home}/runs\n",
        encoding="utf-8",
    )
    ended = skillopt("train", "--config", "c.yaml", *SETTINGS, "--run-id", "a")
    assert ended.code == 0, ended.err
    assert (Path.home() / "runs/folder/a/best_skill.md").is_file()
    assert skillopt("resume", "a", "--out-root", f"{home}/runs").code == 0
    assert home != "~" or skillopt("gate-report", "a", "--out-root", "~/runs").code == 0


def test_options_that_a_shell_leaves_alone_may_begin_with_a_tilde() -> None:
    Path.home().mkdir(exist_ok=True)
    (Path.home() / "c.yaml").write_text("train: {seed: 7}\n", encoding="utf-8")
    assert "c.yaml" in skillopt("config", "show", "--config", "~/c.yaml", "searchqa").out
    assert (
        "~no-such-user/c.yaml"
        in refused(2, "config", "show", "--config", "~no-such-user/c.yaml").error
    )


def test_what_names_no_home_stays() -> None:
    for path in ("a/~", "./~/x", "~no-such-user/x", "$HOMER/x", "$OTHER/x", "a/$HOME", ""):
        assert in_home(path) == path


@pytest.mark.parametrize(("folder", "from_there"), [(".", "t.jsonl"), ("../project", "t.jsonl")])
def test_paths_of_a_file_may_count_from_its_folder(folder: str, from_there: str) -> None:
    write_project(Path("project"))
    Path("project/c.yaml").write_text(
        f"_paths_: {folder}\nenv:\n  name: folder\n  data_path: {from_there}\n"
        "  skill_init: seed.md\n",
        encoding="utf-8",
    )
    ended = skillopt("data", "check", "--config", "project/c.yaml", "folder", *SETTINGS[:2])
    assert ended.out.startswith("folder: project/t.jsonl ")
    # A flag counts from the working folder, as ever.
    other = ("--set", "env.data_path=t.jsonl")
    assert refused(3, "data", "check", "--config", "project/c.yaml", "folder", *other).error


def test_paths_of_a_base_file_count_from_its_own_folder() -> None:
    write_project(Path("base"))
    Path("base/b.yaml").write_text(
        "_paths_: .\nenv: {data_path: t.jsonl, skill_init: /s.md, split_dir: ~}\n", encoding="utf-8"
    )
    Path("c.yaml").write_text("_base_: base/b.yaml\nenv: {data_root: d}\n", encoding="utf-8")
    env = resolve(file_layers(Path("c.yaml"))).config.env
    assert env.data_path == str(Path.cwd() / "base/t.jsonl")
    assert (env.skill_init, env.split_dir, env.data_root) == ("/s.md", "", "d")


def test_a_folder_of_paths_that_is_none_is_refused() -> None:
    Path("c.yaml").write_text("_paths_: [a]\n", encoding="utf-8")
    assert "`_paths_`" in refused(2, "config", "show", "--config", "c.yaml").error
