"""SWE-bench in containers: what is asked of Docker, played by a program that works in a folder."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from program_rig import call
from task_files import write_splits

from skillopt_cli.benchmarks.swebench import SPEC
from skillopt_cli.core.errors import EpisodeFailed
from skillopt_cli.core.task import Attempt
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import BenchmarkRequest

FAKE = """\
#!{python}
import json, os, shutil, subprocess, sys
from pathlib import Path

state = Path({state!r})
words = sys.argv[1:]
with open(state / "calls", "a") as log:
    log.write(json.dumps(words) + "\\n")
boxes = state / "boxes"
if words[0] == "run":
    if "broken" in words[-3]:
        sys.exit("no such image")
    shutil.copytree(state / "image", boxes / words[words.index("--name") + 1])
elif words[0] == "rm":
    shutil.rmtree(boxes / words[-1])
else:
    box = boxes / words[2]
    words = [word.replace("/tmp/", "/TMP/").replace("/testbed", str(box)) for word in words]
    inside = [word.replace("/TMP/", f"{{box}}.") for word in words[3:]]
    env = {{"PATH": {path!r}, "HOME": str(box) + ".home", "PYTHONDONTWRITEBYTECODE": "1"}}
    os.makedirs(env["HOME"], exist_ok=True)
    sys.exit(subprocess.run(inside, env=env).returncode)
"""
PATCH = (
    "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def double(x):\n"
    "-    return 3 * x\n+    return 2 * x\n"
)
TESTS = (
    "--- /dev/null\n+++ b/test_calc.py\n@@ -0,0 +1,3 @@\n+from calc import double\n"
    "+def test_double():\n+    assert double(2) == 4\n"
)


def instance(name: str) -> dict[str, Any]:
    return {
        "instance_id": name,
        "repo": "x/calc",
        "base_commit": "1" * 40,
        "problem_statement": f"Wrong ({name}).",
        "patch": PATCH,
        "test_patch": TESTS,
        "FAIL_TO_PASS": ["test_calc.py::test_double"],
        "PASS_TO_PASS": [],
    }


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the stand-in keeps its containers; it is on the path."""
    state = tmp_path / "docker"
    (state / "boxes").mkdir(parents=True)
    image = state / "image"
    image.mkdir()
    (image / "calc.py").write_text("def double(x):\n    return 3 * x\n")
    os.system(f"cd {image} && git init -q .")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "docker"
    program.write_text(FAKE.format(python=sys.executable, state=str(state), path=path))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert shutil.which("docker") == str(program)
    return state


def opened(folder: Path, **options: Any) -> Any:
    parts = [[instance("django__django-1")], [instance("broken__b-1")], [instance("t")]]
    write_splits(folder, *parts)
    return SPEC.open(BenchmarkRequest(split_dir=folder, options={"test_timeout": 60, **options}))


def calls(state: Path) -> list[list[str]]:
    return [json.loads(line) for line in (state / "calls").read_text().splitlines()]


async def test_an_instance_is_mended_and_tested_in_containers(state: Path, tmp_path: Path) -> None:
    executor = LocalExecutor(tmp_path / "attempts", {"PATH": os.environ["PATH"]})
    benchmark = opened(tmp_path / "tasks")
    task = benchmark.tasks("train")[0]
    async with benchmark.episode(task, executor) as episode:

        async def use(name: str, **arguments: Any) -> str:
            return (await episode.use(call(name, json.dumps(arguments)))).text

        assert await use("read_file", path="calc.py", first=2) == "    2     return 3 * x"
        assert "cannot be read" in await use("read_file", path="none.py")
        assert "is changed" in await use("edit_file", path="calc.py", old="3 *", new="2 *")
        assert "is written" in await use("write_file", path="new dir/new.md", content="it's\n")
        assert await use("bash", command="cat 'new dir/new.md'; touch x.pyc; exit 4") == (
            "it's\n(ended with code 4)"
        )
        made = Attempt("Done.", outcome=await episode.outcome("Done."))
    assert "new dir/new.md" in made.outcome["patch"]
    assert "x.pyc" not in made.outcome["patch"]
    assert (await benchmark.score(task, made)).hard == 1.0
    begun = [words for words in calls(state) if words[0] == "run"]
    assert len(begun) == 2
    assert begun[0][5:] == [
        *("--network", "none", "--init"),
        "swebench/sweb.eval.x86_64.django_1776_django-1:latest",
        *("sleep", "infinity"),
    ]
    assert [place.name for place in (state / "boxes").iterdir() if "." not in place.name] == []


async def test_containers_are_removed_when_an_attempt_fails(state: Path, tmp_path: Path) -> None:
    executor = LocalExecutor(tmp_path / "attempts", {"PATH": os.environ["PATH"]})
    benchmark = opened(tmp_path / "tasks", command_timeout=1)
    with pytest.raises(ZeroDivisionError):
        async with benchmark.episode(benchmark.tasks("train")[0], executor) as episode:
            told = await episode.use(call("bash", json.dumps({"command": "sleep 60"})))
            assert "killed after 1 seconds" in told.text
            raise ZeroDivisionError
    assert calls(state)[-1][:2] == ["rm", "-f"]
    with pytest.raises(EpisodeFailed, match="cannot be started: no such image"):
        async with benchmark.episode(benchmark.tasks("selection")[0], executor):
            pass


async def test_the_reference_and_nothing(state: Path, tmp_path: Path) -> None:
    executor = LocalExecutor(tmp_path / "attempts", {"PATH": os.environ["PATH"]})
    benchmark = opened(tmp_path / "tasks", runner="docker")
    task = benchmark.tasks("test")[0]
    assert (await benchmark.score(task, await benchmark.prove(task, executor))).hard == 1.0
    async with benchmark.episode(task, executor) as episode:
        made = Attempt("", outcome=await episode.outcome(""))
    assert "nothing was changed" in (await benchmark.score(task, made)).feedback
