"""SWE-bench: repositories really worked on and tested, in both executors; nothing outlives."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from clock import out_of_time
from program_rig import KINDS, call, executor_of
from task_files import write_splits

from skillopt_cli.benchmarks.swebench import SPEC, SweBench
from skillopt_cli.benchmarks.swebench.episode import examined
from skillopt_cli.benchmarks.swebench.process import LocalRepositories
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import ConfigError, DataError, EpisodeFailed, NetworkFailed
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import SPLITS, Attempt, ChatReply, Task
from skillopt_cli.executors.program_executor import ProgramExecutor
from skillopt_cli.ports import BenchmarkRequest, Interactive
from skillopt_cli.stages.attempts import Purpose, attempt
from skillopt_cli.stages.prompt_text import trajectory_text
from skillopt_cli.store.memory import MemoryStore
from skillopt_cli.testing import ScriptedChat, Toy, check_benchmark, toy_run

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "calc.py": "def double(x):\n    return x + x + 1\n\n\ndef half(x):\n    return x / 2\n",
    "test_calc.py": "from calc import *\n\n\ndef test_half():\n    assert half(4) == 2\n",
    "conftest.py": "",
}
PATCH = """\
diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def double(x):
-    return x + x + 1
+    return x + x
"""
TEST_PATCH = """\
diff --git a/test_calc.py b/test_calc.py
--- a/test_calc.py
+++ b/test_calc.py
@@ -4,2 +4,6 @@
 def test_half():
     assert half(4) == 2
+
+
+def test_the_secret():
+    assert double(21) == 42
"""


def instance(name: str, **more: Any) -> dict[str, Any]:
    return {
        "instance_id": name,
        "repo": "sample/calc",
        "base_commit": "",
        "problem_statement": f"`double(2)` gives 5 ({name}).",
        "patch": PATCH,
        "test_patch": TEST_PATCH,
        "FAIL_TO_PASS": json.dumps(["test_calc.py::test_the_secret"]),
        "PASS_TO_PASS": ["test_calc.py::test_half"],
        "files": FILES,
    } | more


def opened(folder: Path, *train: dict[str, Any], **options: Any) -> SweBench:
    parts = [[*train] or [instance("a")], [instance("v")], [instance("t")]]
    write_splits(folder, *parts)
    made = SPEC.open(BenchmarkRequest(split_dir=folder, options={"test_timeout": 60, **options}))
    assert isinstance(made, SweBench)
    return made


@pytest.fixture(params=KINDS)
def executor(request: pytest.FixtureRequest, tmp_path: Path) -> ProgramExecutor:
    return executor_of(request.param, tmp_path, frozenset({tmp_path / "tasks"}))


@pytest.fixture
def local(tmp_path: Path) -> ProgramExecutor:
    return executor_of("local", tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "tasks"


class Worker:
    """Uses the tools of an episode."""

    def __init__(self, episode: Any) -> None:
        self.episode = episode

    async def __call__(self, name: str, **arguments: Any) -> str:
        result = await self.episode.use(call(name, json.dumps(arguments)))
        return f"{'FAILED ' if result.failed else ''}{result.text}"

    async def sh(self, command: str) -> str:
        return await self("bash", command=command)


async def worked(
    benchmark: SweBench, executor: ProgramExecutor, *commands: str, task: Task | None = None
) -> tuple[Score, Attempt]:
    """The score of an attempt that runs these commands."""
    task = task or benchmark.tasks("train")[0]
    async with benchmark.episode(task, executor) as episode:
        use = Worker(episode)
        for command in commands:
            await use.sh(command)
        made = Attempt("Done.", outcome=await episode.outcome("Done."))
    assert not list(executor.root.iterdir())
    return await benchmark.score(task, made), made


MEND = "sed -i 's/ + 1$//' calc.py"


async def test_the_reference_wins_and_doing_nothing_does_not(
    folder: Path, executor: ProgramExecutor
) -> None:
    benchmark = opened(folder)
    assert isinstance(benchmark, Interactive)
    task = benchmark.tasks("train")[0]
    proven = await benchmark.score(task, await benchmark.prove(task, executor))
    assert proven.hard == 1.0
    score, made = await worked(benchmark, executor)
    assert score == Score(0.0, 0.0, "swebench unresolved: nothing was changed")
    assert made.outcome["patch"] == ""


async def test_a_target_mends_the_fault_with_the_tools(
    folder: Path, executor: ProgramExecutor
) -> None:
    benchmark = opened(folder)
    task = benchmark.tasks("train")[0]
    async with benchmark.episode(task, executor) as episode:
        use = Worker(episode)
        assert "calc.py" in await use.sh("ls; git log --format=%s")
        assert await use("read_file", path="calc.py", first=2, last=2) == (
            "    2     return x + x + 1\n(4 more lines)"
        )
        assert "1 failed" not in await use.sh("python -m pytest -q -p no:cacheprovider")
        assert "0 times" in await use("edit_file", path="calc.py", old="x * 3", new="")
        assert await use("edit_file", path="calc.py", old=" + x + 1", new=" + x") == (
            "calc.py is changed."
        )
        assert "is written" in await use("write_file", path="docs/new.md", content="new\n")
        assert "+    return x + x\n" in await use.sh("git diff")
        assert await episode.hear("Done.") is None
        made = Attempt("Done.", outcome=await episode.outcome("Done."))
    assert (await benchmark.score(task, made)).hard == 1.0
    assert "docs/new.md" in made.outcome["patch"]
    assert "__pycache__" not in made.outcome["patch"]
    assert not list(executor.root.iterdir())


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        ([MEND, "echo '# seen' >> test_calc.py"], "touches 1 of the tests' own files"),
        ([MEND, "rm test_calc.py"], "touches 1 of the tests' own files"),
        ([MEND, "git mv test_calc.py other.py"], "touches 1 of the tests' own files"),
        ([MEND, "echo 'def half(x): return 9' >> calc.py"], "0 of 1 hidden tests of the fault"),
        (["echo '# nothing' >> calc.py"], "1 of 1 hidden tests of the fault fail, and 0 of 1"),
        (["echo '((' >> calc.py"], "1 of 1 hidden tests of the fault fail, and 1 of 1"),
        (["echo 'import os; os._exit(0)' >> calc.py"], "1 of 1 hidden tests"),
        (["printf 'print(\"\\\\nPASSED test_calc.py::test_the_secret\")\\n' >> calc.py"], "1 of 1"),
        (["head -c 2000000 /dev/zero | tr '\\0' 'x' > big"], "longer than 1000000"),
        (["git commit -qam done --allow-empty"], "nothing was changed"),
        (
            ["mkdir -p .pytest_cache __pycache__; touch calc.pyc .pytest_cache/x __pycache__/x"],
            "nothing was",
        ),
    ],
)
async def test_patches_that_do_not_win(
    folder: Path, local: ProgramExecutor, commands: list[str], said: str
) -> None:
    score, _ = await worked(opened(folder), local, *commands)
    assert score.hard == 0.0
    assert said in score.feedback


async def test_whatever_was_done_to_git_the_files_count(
    folder: Path, local: ProgramExecutor
) -> None:
    ruin = "git config core.fsmonitor /bin/false; git commit -qam x; rm -rf .git; echo no > .git"
    link = "ln -s /etc/passwd link; mkdir -p a/.git; echo x > a/.git/y; mkfifo pipe"
    score, made = await worked(opened(folder), local, MEND, ruin, link)
    assert score.hard == 1.0
    assert "new file mode 120000" in made.outcome["patch"]
    assert "root:" not in made.outcome["patch"]
    assert "a/.git" not in made.outcome["patch"]


async def test_files_that_are_no_utf_8_are_kept(folder: Path, executor: ProgramExecutor) -> None:
    benchmark = opened(folder)
    task = benchmark.tasks("train")[0]
    async with benchmark.episode(task, executor) as episode:
        use = Worker(episode)
        await use.sh(MEND)
        await use.sh("printf '# caf\\xe9\\nx = 1\\n' > old.py")
        assert await use("read_file", path="old.py") == "    1 # caf\ufffd\n    2 x = 1"
        await use("edit_file", path="old.py", old="x = 1", new="x = 2 # é")
        look = "print(open('old.py', 'rb').read())"
        assert await use.sh(f'python -c "{look}"') == (r"b'# caf\xe9\nx = 2 # \xc3\xa9\n'")
        made = Attempt("Done.", outcome=await episode.outcome("Done."))
    assert json.dumps(made.outcome, ensure_ascii=False).encode()
    assert (await benchmark.score(task, made)).hard == 1.0


HANG = "import os, time\nif os.fork() == 0:\n    os.setsid()\ntime.sleep(600)\n"


async def test_a_hanging_test_is_killed_with_all_it_started(
    folder: Path, executor: ProgramExecutor
) -> None:
    benchmark = opened(folder, test_timeout=3)
    score, _ = await worked(
        benchmark, executor, MEND, f"printf '{HANG}' > calc.py".replace("\n", "\\n")
    )
    assert score.hard == 0.0
    assert "killed at their time limit" in score.feedback
    left = [p for p in psutil.process_iter(["cmdline"]) if str(executor.root) in str(p.info)]
    assert left == []


async def test_a_hanging_command_is_killed_and_told(folder: Path, local: ProgramExecutor) -> None:
    benchmark = opened(folder, command_timeout=600)
    async with benchmark.episode(benchmark.tasks("train")[0], local) as episode:
        hanging = Worker(episode).sh("echo begun; touch begun; sleep 900 & exec sleep 900")
        told = await out_of_time(hanging, 600, lambda: any(local.root.rglob("begun")))
    assert told == "FAILED begun\n(killed after 600 seconds)"


async def test_the_same_commands_are_told_the_same(folder: Path, executor: ProgramExecutor) -> None:
    benchmark = opened(folder)
    commands = (
        "pwd; ls -l; python -m pytest -q -p no:cacheprovider",
        "python -c 'print(object(), {str(n) for n in range(20)})'; echo $HOME $TMPDIR",
        "git commit -q --allow-empty -m x; git log",
        "nothing-of-the-kind; exit 3",
    )
    told = []
    for _ in range(2):
        async with benchmark.episode(benchmark.tasks("train")[0], executor) as episode:
            told.append([await Worker(episode).sh(command) for command in commands])
    assert told[0] == told[1]
    assert told[0][0].startswith("/repository\n")
    assert "(ended with code 3)" in told[0][3]
    assert str(executor.root) not in str(told)


async def test_tools_stay_in_the_repository(folder: Path, local: ProgramExecutor) -> None:
    benchmark = opened(folder)
    async with benchmark.episode(benchmark.tasks("train")[0], local) as episode:
        use = Worker(episode)
        await use.sh("ln -s /etc etc; ln -s /etc/passwd one")
        for name in ("/etc/passwd", "../x", "etc/passwd", "one"):
            assert (await use("read_file", path=name)).startswith("FAILED ")
            assert (await use("write_file", path=name, content="")).startswith("FAILED ")
        assert "is a folder" in await use("read_file", path=".")
        assert "does not exist" in await use("read_file", path="none.py")
        assert "has 6 lines" in await use("read_file", path="calc.py", first=99)
        assert "do not fit" in await use("edit_file", path="calc.py", old="", new="x")
        assert "(no output)" in await use.sh("cat")  # its input is empty, not the script


async def test_an_isolated_target_cannot_read_the_tests(folder: Path, tmp_path: Path) -> None:
    executor = executor_of("isolated", tmp_path, frozenset({folder}))
    benchmark = opened(folder)
    async with benchmark.episode(benchmark.tasks("train")[0], executor) as episode:
        told = await Worker(episode).sh(f"cat {folder}/train/*.json")
        assert "No such file" in told
        told = await Worker(episode).sh("python -c 'import skillopt_cli.core'")
        assert "No module named" in told


async def test_neither_brief_nor_reflection_sees_the_tests(
    folder: Path, local: ProgramExecutor
) -> None:
    benchmark = opened(folder)
    task = benchmark.tasks("train")[0]
    brief = benchmark.brief(task)
    assert "secret" not in repr(brief)
    assert "x + x" not in repr(brief)
    assert [tool.name for tool in brief.tools] == ["bash", "read_file", "write_file", "edit_file"]
    score, made = await worked(benchmark, local, "echo '# x' >> calc.py")
    assert "secret" in score.private.text
    assert "secret" not in score.feedback
    assert "secret" not in trajectory_text(benchmark, Trajectory(task, made, score), 1)


async def test_an_attempt_taken_up_in_its_middle_repeats_no_call(folder: Path) -> None:
    store, benchmark = MemoryStore(), opened(folder)
    settings = ("model.retry.max_attempts=1",)

    async def roll(*replies: Any) -> tuple[Trajectory, list[int]]:
        chat = ScriptedChat(list(replies))
        chat.offers = frozenset({"tools"})
        run = toy_run(Toy(settings, chat, benchmark=benchmark), store)
        task = benchmark.tasks("train")[0]
        made = await attempt(run, SkillDocument("Look.\n"), task, Purpose("rollout", "rollout"))
        return made, [request.turn for request in chat.requests]

    def step(number: int, command: str) -> ChatReply:
        asked = ToolCall(str(number), "bash", json.dumps({"command": command}))
        return ChatReply("", finish="tool_calls", tool_calls=(asked,))

    look = "python -m pytest -q; ls -l --time-style=+%b; python -c 'print(object())'"
    broken, turns = await roll(step(0, look), step(1, MEND), NetworkFailed("down"))
    assert (broken.score, turns) == (None, [0, 1, 2])
    made, turns = await roll(ChatReply("Done."))
    assert turns == [2]
    assert made.score is not None
    assert made.score.hard == 1.0


async def test_braces_in_a_skill_are_letters(folder: Path) -> None:
    chat = ScriptedChat(["Done."])
    chat.offers = frozenset({"tools"})
    run = toy_run(Toy((), chat, benchmark=opened(folder)))
    skill = "Write `{{ x }}`, never {% raw %} or {y}.\n"
    task = run.benchmark.tasks("train")[0]
    await attempt(run, SkillDocument(skill), task, Purpose("rollout", "rollout"))
    assert skill.strip() in chat.requests[0].messages[0].content


async def test_faults_of_the_data_break_the_attempt(folder: Path, local: ProgramExecutor) -> None:
    bad = TEST_PATCH.replace("test_calc.py", "none.py")
    benchmark = opened(folder, instance("a", test_patch=bad))
    with pytest.raises(EpisodeFailed, match="the test patch of `a` cannot be applied"):
        await worked(benchmark, local, MEND)


async def test_a_reference_that_does_not_apply_is_not_proven(
    folder: Path, local: ProgramExecutor
) -> None:
    benchmark = opened(folder, instance("a", patch=PATCH.replace("x + x", "y")))
    task = benchmark.tasks("train")[0]
    score = await benchmark.score(task, await benchmark.prove(task, local))
    assert score.feedback == "swebench unresolved: the patch cannot be applied"


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, str]:
    """A repository in which the fault was mended later."""
    place = tmp_path / "clones" / "sample__calc"
    place.mkdir(parents=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=x", "-c", "user.email=x@x")

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *who, *words], cwd=place, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    for name, text in FILES.items():
        (place / name).write_text(text)
    (place / ".gitignore").write_text("ignored.txt\n")
    (place / "ignored.txt").write_text("but tracked\n")
    git("add", "-f", ".")
    git("commit", "-q", "-m", "base")
    base = git("rev-parse", "HEAD")
    (place / "calc.py").write_text("mended later\n")
    git("commit", "-q", "-am", "mend")
    return place, base


def status(place: Path) -> str:
    command = ["git", "status", "--porcelain"]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=True).stdout


async def test_a_clone_is_checked_out_at_the_base(
    folder: Path, tmp_path: Path, executor: ProgramExecutor, clone: tuple[Path, str]
) -> None:
    place, base = clone
    plain = {key: value for key, value in instance("a").items() if key != "files"}
    record = {**plain, "base_commit": base}
    benchmark = opened(folder, record, repos=str(tmp_path / "clones"))
    task = benchmark.tasks("train")[0]
    async with benchmark.episode(task, executor) as episode:
        told = await Worker(episode).sh("git log --format=%s --all; cat ignored.txt; git status -s")
        assert told == "base\nbut tracked"
        await Worker(episode).sh(MEND)
        made = Attempt("Done.", outcome=await episode.outcome("Done."))
    assert (await benchmark.score(task, made)).hard == 1.0
    assert status(place) == ""
    absent = opened(folder, {**record, "base_commit": "0" * 40}, repos=str(tmp_path / "clones"))
    with pytest.raises(EpisodeFailed, match="no checkout can be made"):
        await worked(absent, executor)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A virtual environment with a module that nothing else has."""
    own = tmp_path / "own"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(own)], check=True)
    library = next((own / "lib").glob("python*/site-packages"))
    (library / "only_here.py").write_text("x = 42\n")
    return own


async def test_an_environment_of_its_own_is_used(
    folder: Path, own: Path, executor: ProgramExecutor
) -> None:
    files = {**FILES, "calc.py": "import only_here\n" + FILES["calc.py"]}
    test = f"{own}/bin/python -m unittest -v checks"
    patch = (
        "--- /dev/null\n+++ b/checks.py\n@@ -0,0 +1,4 @@\n+import unittest, calc\n"
        "+class T(unittest.TestCase):\n+    def test_double(self):\n"
        "+        self.assertEqual(calc.double(2), 4)\n"
    )
    name = "test_double (checks.T.test_double)"
    record = instance(
        "a",
        files=files,
        python=str(own / "bin" / "python"),
        test_patch=patch,
        test_command=["bash", "-c", test],
        FAIL_TO_PASS=[name],
        PASS_TO_PASS=[],
    )
    benchmark = opened(folder, record)
    async with benchmark.episode(benchmark.tasks("train")[0], executor) as episode:
        assert await Worker(episode).sh("python -c 'import only_here; print(only_here.x)'") == "42"
    score, _ = await worked(benchmark, executor, MEND)
    assert score.hard == 1.0


async def test_without_a_repository_or_docker_the_attempt_says_what_is_missing(
    folder: Path, local: ProgramExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {key: value for key, value in instance("a").items() if key != "files"}
    benchmark = opened(folder, plain)
    task = benchmark.tasks("train")[0]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(DataError, match="neither a repository here nor Docker"):
        await benchmark.prove(task, local)
    with pytest.raises(DataError, match="`a` has no repository here"):
        await examined(task, LocalRepositories(local, None, 5), PATCH)


FAULTS = [
    ({"FAIL_TO_PASS": "[]"}, "`FAIL_TO_PASS` names no tests"),
    ({"FAIL_TO_PASS": "a, b"}, "`FAIL_TO_PASS` is no JSON list"),
    ({"PASS_TO_PASS": None}, "`PASS_TO_PASS` is missing"),
    ({"PASS_TO_PASS": [1]}, "`PASS_TO_PASS` is no list of names"),
    ({"patch": " "}, "`patch` is empty"),
    ({"files": {"../x": ""}}, "holds `../x`"),
    ({"files": {"/x": ""}}, "holds `/x`"),
    ({"files": {".git/config": ""}}, "holds .git"),
    ({"files": {}}, "`files` is no object"),
]


@pytest.mark.parametrize(("change", "said"), FAULTS)
def test_records_that_cannot_be_used(folder: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match="record 1") as caught:
        opened(folder, instance("a") | change)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"runner": "cloud"}, "`env.runner`"),
        ({"max_turns": 0}, "`env.max_turns`"),
        ({"turns": 1}, "`env.turns` is not an option"),
    ],
)
def test_options_are_checked(folder: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        opened(folder, **options)


async def test_the_sample_keeps_the_contract_and_is_won_by_its_references(
    local: ProgramExecutor,
) -> None:
    benchmark = SPEC.open(BenchmarkRequest())
    assert isinstance(benchmark, SweBench)
    await check_benchmark(benchmark)
    assert [len(benchmark.tasks(split)) for split in SPLITS] == [12, 8, 12]
    for split in SPLITS:
        for task in benchmark.tasks(split)[::4]:
            score = await benchmark.score(task, await benchmark.prove(task, local))
            assert score.hard == 1.0, task.id


def test_the_sample_is_what_its_script_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = ROOT / "docs" / "examples" / "samples"
    monkeypatch.syspath_prepend(str(scripts))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    runpy.run_path(str(scripts / "make_swebench.py"))["main"](tmp_path)
    assert SPEC.sample is not None
    for split in ("train", "val", "test"):
        made = (tmp_path / split / "items.json").read_bytes()
        assert made == (SPEC.sample / split / "items.json").read_bytes()
