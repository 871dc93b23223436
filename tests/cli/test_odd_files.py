"""Any path may be a pipe, a device, a socket, a folder or endless: one sentence, at once."""

from __future__ import annotations

import inspect
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import pytest
from command_line import SMALLEST, finished_run, skillopt

from skillopt_cli.cli.commands import COMMANDS, load_command
from skillopt_cli.config.declarations import every_setting
from skillopt_cli.config.section import in_home
from skillopt_cli.plugins import BENCHMARKS, load_benchmark, names, sound_backends

PATIENCE = 20.0
"""Seconds after which a command is taken to hang; none should need one."""
FAULTS = (2, 3, 4)
"""Exit codes; 4 where a program or a model cannot be used."""

Make = Callable[[str], str]
"""Makes an odd file of a name, and returns that."""
Arguments = tuple[str, ...]


def pipe(path: Path, open_until: ExitStack) -> None:
    os.mkfifo(path, 0o755)


def device(path: Path, open_until: ExitStack) -> None:
    path.symlink_to("/dev/zero")


def unix_socket(path: Path, open_until: ExitStack) -> None:
    listening = open_until.enter_context(socket.socket(socket.AF_UNIX))
    listening.bind(str(path))


def endless(path: Path, open_until: ExitStack) -> None:
    """A terabyte of zeros, which takes no room."""
    with path.open("wb") as file:
        file.truncate(1 << 40)
    path.chmod(0o755)


def folder(path: Path, open_until: ExitStack) -> None:
    path.mkdir()


KINDS = (pipe, device, unix_socket, endless, folder)


def train(*arguments: str, benchmark: str = "searchqa") -> Arguments:
    return ("train", benchmark, *SMALLEST, *arguments)


def text(name: str, content: str) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return name


def splits(odd: Make, ending: str) -> str:
    """Three splits, of which the train split's file is odd."""
    for split in ("selection", "test"):
        text(f"splits/{split}/tasks.jsonl", "{}\n")
    odd(f"splits/train/tasks{ending}")
    return "splits"


def run_with(odd: Make, name: str) -> str:
    """A finished run with an odd file."""
    run = finished_run(*SMALLEST)
    (run / name).unlink(missing_ok=True)
    odd(str(run / name))
    return str(run)


def program(odd: Make, backend: str, setting: str) -> Arguments:
    path = odd("program")
    return train(f"--set=model.target.backend={backend}", f"--set={setting}=./{path}")


def folder_of(path: str, levels: int = 1) -> str:
    return str(Path(path).parents[levels - 1])


def beside(odd: Make, name: str, *arguments: str) -> Arguments:
    """The arguments, with an odd file that none of them names."""
    odd(name)
    return arguments


def _records(**record: str) -> str:
    """A folder of splits with the same record in each."""
    for split in ("train", "selection", "test"):
        text(f"s/{split}/tasks.jsonl", json.dumps(record | {"id": split}) + "\n")
    return "--split-dir=s"


def _pictures(odd: Make) -> Arguments:
    odd("pictures/odd.png")
    tasks = _records(question="?", image="odd.png", answer="a")
    return train(tasks, "--set=env.image_root=pictures", benchmark="docvqa")


def _workbooks(odd: Make) -> Arguments:
    odd("books/a/1_a_input.xlsx")
    text("books/a/1_a_answer.xlsx", "")
    tasks = _records(
        instruction="Sum.",
        instruction_type="Cell-Level Manipulation",
        answer_position="A!F2",
        spreadsheet_path="a",
    )
    return train(tasks, "--set=env.workbooks=books", benchmark="spreadsheetbench")


def _games(odd: Make) -> Arguments:
    game = "games/pick_and_place_simple-Mug/trial/game.tw-pddl"
    odd(game)
    tasks = _records(gamefile=game.partition("/")[2])
    return train(tasks, "--set=env.games_dir=games", benchmark="alfworld")


OPTIONS: dict[str, Callable[[Make], Arguments]] = {
    "--config": lambda odd: train("--config", odd("odd.yaml")),
    "--config, its _base_": lambda odd: train(
        "--config", text("a.yaml", f"_base_: {odd('odd.yaml')}\n")
    ),
    "config import FILE": lambda odd: ("config", "import", odd("odd.yaml")),
    "sweep GRID": lambda odd: ("sweep", odd("odd.yaml")),
    "sweep GRID, its config": lambda odd: (
        "sweep",
        text("g.yaml", f"benchmark: searchqa\ngrid: {{train.seed: [1]}}\nconfig: {odd('c.yaml')}"),
    ),
    "aa SKILL": lambda odd: ("aa", odd("odd.md"), "searchqa"),
    "prune SKILL": lambda odd: ("prune", odd("odd.md"), "searchqa"),
    "--skill": lambda odd: ("eval", "searchqa", "--skill", odd("odd.md")),
    "--skill, of a folder": lambda odd: (
        *("eval", "searchqa", "--skill"),
        folder_of(odd("skill/SKILL.md")),
    ),
    "--arms": lambda odd: ("eval", "searchqa", "--arms", f"a={odd('odd.md')},none"),
    "--skill-init": lambda odd: train("--skill-init", odd("odd.md")),
    "--skill-init, a file beside it": lambda odd: beside(
        odd, "s/x", *train("--skill-init", folder_of(text("s/SKILL.md", "# A\n\nDo.\n")))
    ),
    "diff-skills A": lambda odd: ("diff-skills", odd("a.md"), text("b.md", "# B\n")),
    "diff-skills B": lambda odd: ("diff-skills", text("a.md", "# A\n"), odd("b.md")),
    "--apply": lambda odd: (
        *("diff-skills", text("a.md", "# A\n"), text("b.md", "# B\n"), "--apply"),
        odd("c.md"),
    ),
    "--undo": lambda odd: ("diff-skills", "--undo", odd("c.md")),
    "--undo, the backup": lambda odd: beside(
        odd, "c.md.20260101T000000Z.bak", "diff-skills", "--undo", text("c.md", "# C\n")
    ),
    "resume RUN": lambda odd: ("resume", odd("run")),
    "gate-report RUN": lambda odd: ("gate-report", odd("run")),
    "ctl RUN": lambda odd: ("ctl", odd("run"), "status"),
    "--like": lambda odd: ("plan", "searchqa", "--like", odd("run")),
    "--replay": lambda odd: train("--replay", odd("odd.jsonl")),
    "--record": lambda odd: (
        *("resume", str(finished_run(*SMALLEST)), "--record"),
        odd("odd.jsonl"),
    ),
    "--split-dir": lambda odd: train("--split-dir", odd("odd")),
    "--manifest-dir": lambda odd: (
        *("data", "prepare", "searchqa", "--out", "out", "--manifest-dir"),
        splits(odd, ".json"),
    ),
    "--out-root": lambda odd: train("--out-root", odd("odd")),
    "--token-file": lambda odd: ("webui", "--port", "0", "--token-file", odd("token")),
}
"""By the option or argument, a command for which it is odd; several for what is behind one."""
ONLY_WRITTEN = {"--out", "new benchmark NAME", "new skill NAME"}
NO_PATH = {
    *("ctl hint TEXT", "ctl set KEY=VALUE", "ctl veto NUMBER", "BENCHMARK"),
    *("--accuracy", "--at", "--display", "--format", "--host", "--lr-scheduler"),
    *("--optimizer-backend", "--optimizer-model", "--preset", "--reason", "--run-id", "--set"),
    *("--sort", "--split", "--target-backend", "--target-model", "--targets", "--token"),
    *("--tracker",),
}

SETTINGS: dict[str, Callable[[Make], Arguments]] = {
    "env.skill_init": OPTIONS["--skill-init"],
    "env.split_dir": OPTIONS["--split-dir"],
    **{
        f"env.split_dir, {ending}": lambda odd, ending=ending: train(
            "--split-dir", splits(odd, ending), benchmark="folder"
        )
        for ending in (".jsonl", ".json", ".csv", ".xlsx", ".parquet")
    },
    "env.data_path": lambda odd: train(f"--set=env.data_path={odd('odd.csv')}"),
    "env.data_root, its tasks": lambda odd: beside(
        odd,
        "d/searchqa/train/items.json",
        *train(f"--set=env.data_root={folder_of(text('d/searchqa/split_manifest.json', '{}'), 2)}"),
    ),
    "env.out_root": OPTIONS["--out-root"],
    "optimizer.prompts_dir": lambda odd: train(f"--set=optimizer.prompts_dir={odd('odd')}"),
    "optimizer.prompts_dir, a prompt": lambda odd: train(
        f"--set=optimizer.prompts_dir={folder_of(odd('p/analyst_error.md'))}"
    ),
    "run.cache_dir": lambda odd: train(f"--set=run.cache_dir={odd('odd')}"),
    "run.cache_dir, its journal": lambda odd: train(
        f"--set=run.cache_dir={folder_of(odd('c/journal.sqlite'))}"
    ),
    "model.local.model_path": lambda odd: train(
        "--target-backend=local", f"--set=model.local.model_path={odd('odd.gguf')}"
    ),
    "model.command.argv": lambda odd: program(odd, "command", "model.command.argv"),
    "model.codex_exec.path": lambda odd: (
        *program(odd, "codex_exec", "model.codex_exec.path"),
        *("--target-model=m", "--set=model.target.base_url=http://127.0.0.1:9"),
    ),
    "model.claude_code_exec.path": lambda odd: (
        *program(odd, "claude_code_exec", "model.claude_code_exec.path"),
        *("--target-model=m", "--set=model.target.base_url=http://127.0.0.1:9"),
    ),
    **{
        f"model.{name}.path": lambda odd, name=name: (
            *program(odd, name, f"model.{name}.path"),
            "--set=model.target.api_key_env=HOME",
        )
        for name in ("cursor_exec", "copilot_exec", "copilot_chat")
    },
    "env.image_root, a picture": lambda odd: _pictures(odd),
    "env.data_dirs": lambda odd: train(f"--set=env.data_dirs={odd('odd')}", benchmark="officeqa"),
    "env.workbooks, a workbook": lambda odd: _workbooks(odd),
    "env.games_dir, a game": lambda odd: _games(odd),
}
"""By the setting, the same."""
FILES: dict[str, Callable[[Make], Arguments]] = {
    ".env": lambda odd: beside(odd, ".env", *train()),
    **{
        f"a run's {name}": lambda odd, name=name: ("resume", run_with(odd, name), "--epochs", "2")
        for name in ("config.yaml", "state.json", "events.jsonl", "journal.sqlite", "run.lock")
    },
    "the manifest of a run": lambda odd: ("resume", run_with(odd, "manifest.json")),
}
"""By the file that is found without being named, the same."""
CASES = OPTIONS | SETTINGS | FILES
MAY_BE_FOLDERS = {
    *(".env", "--out-root", "env.out_root", "--skill-init, a file beside it"),
    *("optimizer.prompts_dir", "run.cache_dir", "env.data_dirs"),
}
"""Where an empty folder is none of these faults."""


@pytest.fixture(autouse=True)
def impatience() -> Iterator[None]:
    def hangs(number: int, frame: FrameType | None) -> NoReturn:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def open_until() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("case", CASES)
def test_an_odd_file_is_refused_in_one_sentence(
    case: str, kind: Callable[[Path, ExitStack], None], open_until: ExitStack
) -> None:
    if kind is folder and case in MAY_BE_FOLDERS:
        pytest.skip("a folder may be there")
    if kind is endless and "backup" in case:
        pytest.skip("it is moved, not read")
    if "games" in case and load_benchmark("alfworld").missing():
        pytest.skip("needs the engine")

    def odd(name: str) -> str:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        kind(Path(name), open_until)
        return name

    ended = skillopt(*CASES[case](odd))
    assert ended.code in FAULTS, (ended.code, ended.err, ended.out)
    lines = ended.err.splitlines()
    assert sum(line.startswith("error: ") for line in lines) == 1, ended.err
    assert "Traceback" not in ended.err


def test_every_option_that_takes_a_path_is_tried() -> None:
    known = {name.partition(",")[0] for name in OPTIONS}
    for where, parameter in _parameters():
        words = {where, where.rpartition(" ")[2]}
        if _is_path(parameter) or not words & NO_PATH:
            assert words & known or words & ONLY_WRITTEN or _run(where), where
    assert not known & NO_PATH


def test_every_setting_that_takes_a_path_is_tried() -> None:
    tried = {name.partition(",")[0] for name in SETTINGS}
    programs = {spec.program.setting for spec in sound_backends() if spec.program}
    declared = {
        key
        for key, found in every_setting().items()
        if found.setting.path or found.setting.file or _checks_home(found.info.metadata)
    }
    options = {
        f"env.{field}"
        for benchmark in names(BENCHMARKS)
        for field in load_benchmark(benchmark).option_names
        if field.endswith(("_dir", "_dirs", "_root", "_path", "_file", "workbooks"))
    }
    assert declared | programs | options == tried


def test_what_is_behind_a_folder_is_found_by_its_name() -> None:
    """A setting whose name says that it is a path is declared as one."""
    undeclared = {
        key
        for key, found in every_setting().items()
        if key.endswith(("_dir", "_path", ".path", "_file", "_root"))
        and not (found.setting.path or found.setting.file or _checks_home(found.info.metadata))
    }
    programs = {spec.program.setting for spec in sound_backends() if spec.program}
    assert undeclared - programs == {"model.command.skill_file"}  # within the workspace


def _checks_home(metadata: list[Any]) -> bool:
    return any(getattr(entry, "func", None) is in_home for entry in metadata)


def _parameters() -> Iterator[tuple[str, inspect.Parameter]]:
    """Every option and argument of a text or a path, as `COMMAND ARGUMENT` or `--option`."""
    for name in COMMANDS:
        for words, command in _leaves(load_command(name), (name,)):
            kinds = inspect.signature(command.callback, eval_str=True).parameters
            for parameter in command.params:
                found = kinds.get(parameter.name)
                if found is not None and _takes_text(found.annotation):
                    option = parameter.param_type_name == "option"
                    shown = parameter.opts[0] if option else str(parameter.metavar)
                    yield shown if option else f"{' '.join(words)} {shown}", found


def _leaves(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    children = getattr(command, "commands", {})
    if not children:
        yield words, command
    for name, child in children.items():
        yield from _leaves(child, (*words, name))


def _takes_text(annotation: Any) -> bool:
    return any(kind in str(annotation) for kind in ("'str'", "Path"))


def _is_path(parameter: inspect.Parameter) -> bool:
    return "Path" in str(parameter.annotation)


def _run(where: str) -> bool:
    """Whether it is the run of `ctl`, which every one of its commands takes."""
    return where.startswith("ctl ") and where.endswith(" RUN")
