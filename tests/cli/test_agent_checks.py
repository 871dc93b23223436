"""What is said about agents that are programs before any run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import SMALLEST, events, refused, skillopt
from sandbox_rig import namespaces_or_skip

from skillopt_cli.plugins import load_backend
from skillopt_cli.testing import ModelServer


def program(text: str) -> Path:
    path = Path("agent").absolute()
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


AS_TARGET = ("--optimizer-backend", "simulated", "--target-model", "m", "--target-backend")


@pytest.mark.parametrize(
    ("backend", "key"),
    [("codex_exec", "OPENAI_API_KEY"), ("claude_code_exec", "ANTHROPIC_API_KEY")],
)
def test_a_missing_program_ends_a_run_before_it_begins(backend: str, key: str) -> None:
    path = ("--set", f"model.{backend}.path=/no/such/program")
    ended = refused(4, "train", "searchqa", *SMALLEST, *AS_TARGET, backend, *path, **{key: "x"})
    assert f"`/no/such/program`, which model.{backend}.path names" in ended.error
    logs = [path.read_text(encoding="utf-8") for path in Path("outputs").rglob("events.jsonl")]
    assert not any('"rollout_finished"' in log for log in logs)


@pytest.mark.parametrize(
    ("backend", "variable"),
    [("codex_exec", "OPENAI_API_KEY"), ("claude_code_exec", "ANTHROPIC_API_KEY")],
)
def test_a_missing_key_is_said_with_the_variable_that_may_hold_it(
    backend: str, variable: str
) -> None:
    path = ("--set", f"model.{backend}.path={program('echo 1.0')}")
    ended = refused(2, "train", "searchqa", *SMALLEST, *AS_TARGET, backend, *path)
    assert "no key is given for the target" in ended.error and variable in ended.hint


def test_the_doctor_finds_the_program_where_the_configuration_says() -> None:
    asked = ("doctor", "searchqa", "--target-backend", "codex_exec", "--target-model", "m")
    asked = (*asked, "--optimizer-backend", "simulated")
    good = ("--set", f"model.codex_exec.path={program('echo 1.0')}")
    lost = ("--set", "model.codex_exec.path=/no/such/program")
    key = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert "codex_exec, model m" in skillopt(*asked, *good, **key).out
    assert "`/no/such/program`" in skillopt(*asked, *lost, **key).out


def test_any_command_can_be_trained_for() -> None:
    answer = program('cat > prompt; printf "{\\"result\\": \\"<answer>x</answer>\\"}"')
    told = (
        *("--set", f"model.command.argv={answer} --quiet", "--set", "model.command.answer=result"),
        *("--set", "run.executor=local", "--run-id", "a"),
    )
    ended = skillopt(
        *("train", "searchqa", *SMALLEST, "--target-backend", "command", *told),
        *("--optimizer-backend", "simulated"),
    )
    assert ended.code == 0, ended.err
    capped = skillopt(
        *("train", "searchqa", *SMALLEST, "--target-backend", "command", *told[:-1], "b"),
        *("--optimizer-backend", "simulated", "--max-rollouts", "3"),
    )
    assert capped.code == 5, capped.err


COMMAND = ("--target-backend", "command", "--optimizer-backend", "simulated")


@pytest.mark.parametrize("verb", [("train",), ("eval", "--from-scratch")])
def test_a_command_that_always_fails_ends_a_run_before_it_begins(verb: tuple[str, ...]) -> None:
    broken = program("printf 'at line 7\nno license\n' >&2; exit 3")
    settings = (f"model.command.argv={broken}", "run.executor=local", "model.retry.max_attempts=1")
    order = [word for text in settings for word in ("--set", text)]
    ended = refused(4, verb[0], "searchqa", *SMALLEST, *COMMAND, *order, *verb[1:])
    without = " without a skill, for which no file is laid out" if "--from-scratch" in verb else ""
    assert f"fails at a one-line task{without}: it ended with code 3: no license" in ended.error
    assert "preflight.trace.jsonl in the run folder has what it printed" in ended.hint
    (printed,) = Path("outputs").rglob("preflight.trace.jsonl")
    assert printed.read_text(encoding="utf-8") == "[standard error]\nat line 7\nno license\n"


def test_an_agent_that_refuses_so_short_a_question_is_trained_without_it() -> None:
    # It wants the context that every task of the benchmark has.
    picky = program("grep -q '## Context' || exit 3; echo '<answer>x</answer>'")
    settings = (f"model.command.argv={picky}", "run.executor=local", "model.retry.max_attempts=1")
    order = [word for text in settings for word in ("--set", text)]
    ended = refused(4, "train", "searchqa", *SMALLEST, *COMMAND, *order)
    assert "fails at a one-line task: it ended with code 3" in ended.error
    assert "`--set run.preflight=false` if it is only this one that fails" in ended.hint
    trained = skillopt(
        "train", "searchqa", *SMALLEST, *COMMAND, *order, "--set", "run.preflight=false"
    )
    assert trained.code == 0, trained.err
    assert "Preflight" not in trained.err and "Baseline: val score 0.00" in trained.err
    planned = skillopt(
        "plan", "searchqa", *SMALLEST, *COMMAND, *order, "--set", "run.preflight=false", "--json"
    )
    assert planned.json["preflight_calls"] == 0


def test_a_command_made_for_a_skill_file_has_it_in_the_first_check() -> None:
    picky = program('test -s "$1" && echo "<answer>x</answer>"')
    settings = (
        f"model.command.argv={picky} {{skill}}",
        *("model.command.skill_file=SKILL.md", "run.executor=local"),
    )
    order = [word for text in settings for word in ("--set", text)]
    ended = skillopt("train", "searchqa", *SMALLEST, *COMMAND, *order)
    assert ended.code == 0, ended.err


NEEDS_SKILL = """cd .agents/skills/mine && test -s SKILL.md && test -s notes.md || exit 3
echo '<answer>Paris</answer>'"""
NEEDS_CONTEXT = "grep -q '## Context' || exit 3; echo '<answer>x</answer>'"
PROBED = {
    "the skill where it is looked for": ("searchqa", NEEDS_SKILL, (), 0, 'read as "Paris"'),
    "a question it refuses": ("searchqa", NEEDS_CONTEXT, (), 4, "it ended with code 3"),
    "the question left out": (
        *("searchqa", NEEDS_CONTEXT, ("run.preflight=false",), 0),
        "it was not run: `run.preflight` is false",
    ),
}


def skill_folder(name: str) -> Path:
    folder = Path(name)
    folder.mkdir()
    (folder / "SKILL.md").write_text("Answer from the context.\n", encoding="utf-8")
    (folder / "notes.md").write_text("Take your time.\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("case", PROBED)
def test_a_probe_runs_a_program_as_a_run_does_first(case: str) -> None:
    benchmark, text, more, code, what = PROBED[case]
    settings = (
        f"model.command.argv={program(text)}",
        "model.command.skill_file=.agents/skills/mine/SKILL.md",
        *("run.executor=local", "model.retry.max_attempts=1", *more),
    )
    order = [word for one in settings for word in ("--set", one)]
    flags = (benchmark, *SMALLEST, *COMMAND, *order, "--skill-init", skill_folder("mine"))
    checked = skillopt("doctor", *flags, "--probe", "--json")
    (row,) = [row for row in checked.json["checks"] if row["name"] == "target answers"]
    assert what in row["what"]
    probed = skillopt("backends", "list", "--probe", *flags[1:])
    assert what.removeprefix("read as ") in probed.out
    assert (checked.code, probed.code, skillopt("train", *flags).code) == (code, code, code)


def test_a_probe_runs_no_program_that_is_made_for_files() -> None:
    argv = ("--set", f"model.command.argv={program('exit 3')}", "--executor", "local")
    ended = skillopt("doctor", "docvqa", *COMMAND, *argv, "--probe", "--json")
    (row,) = [row for row in ended.json["checks"] if row["name"] == "target answers"]
    assert (row["state"], "tasks come with files" in row["what"]) == ("ok", True)


def test_a_program_that_was_not_run_is_named_as_one_beside_a_model_elsewhere() -> None:
    argv = ("--set", f"model.command.argv={program('exit 3')}")
    flags = ("--target-backend", "command", *argv, "--optimizer-model", "o")
    ended = skillopt(
        *("doctor", "searchqa", *flags, "--optimizer-backend", "openai_compatible", "--json"),
        OPENAI_API_KEY="k",
    )
    rows = {row["name"]: row["what"] for row in ended.json["checks"]}
    assert rows["program"] == "the program of `command` was not run"
    assert rows["address"].startswith("`openai_compatible` has an address of its own")


def test_the_hint_on_a_program_that_failed_isolated_names_what_it_cannot_read() -> None:
    search = f"{Path(namespaces_or_skip().path).parent}:/usr/bin:/bin"
    Path("beside").mkdir()
    Path("beside/answer").write_text("<answer>Paris</answer>", encoding="utf-8")
    agent = program(f"cat {Path('beside/answer').absolute()}")
    flags = (*SMALLEST, *COMMAND, "--set", f"model.command.argv={agent}")
    isolated = (*flags, "--executor", "namespace")
    ended = refused(4, "train", "searchqa", *isolated, PATH=search)
    assert "the program ran isolated" in ended.hint and "by hand in" not in ended.hint
    assert "`--set run.readable=/FOLDER`" in ended.hint and "`--executor local`" in ended.hint
    readable = ("--set", f"run.readable={Path('beside').absolute()}")
    assert skillopt("train", "searchqa", *isolated, *readable, PATH=search).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["codex_exec", "claude_code_exec"])
def test_a_probe_asks_the_real_program(server: ModelServer, backend: str) -> None:
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    if lacking := load_backend(backend).missing({"PATH": os.environ["PATH"], **keys}):
        pytest.skip(lacking)
    ended = skillopt(
        *("backends", "list", "--probe", "--optimizer-backend", "simulated"),
        *("--target-backend", backend, "--target-model", "m", "--json"),
        OPENAI_BASE_URL=server.url,
        ANTHROPIC_BASE_URL=server.url,
        **keys,
    )
    assert ended.code == 0, ended.err
    assert "Paris" in ended.out


def gone(argv: str) -> tuple[str, ...]:
    return (*COMMAND, "--set", f"model.command.argv={argv}", "--executor", "local")


@pytest.mark.parametrize("verb", ["train", "eval", "answer", "aa", "prune"])
def test_a_script_that_no_attempt_can_have_is_refused_before_the_run(verb: str) -> None:
    tasks = "".join(f"question {n},{'ab'[n % 2]}\n" for n in range(12))
    Path("own.csv").write_text(f"question,answer\n{tasks}", encoding="utf-8")
    Path("s.md").write_text("# Sort\n\nName the letter.\n", encoding="utf-8")
    order = {
        "train": ("own.csv",),
        "eval": ("own.csv", "--skill", "s.md"),
        "answer": ("own.csv", "--skill", "s.md"),
        "aa": ("s.md", "own.csv", "--repeats", "2"),
        "prune": ("s.md", "own.csv"),
    }[verb]
    for script in ("agnt.py", "/nowhere/agnt.py"):
        ended = refused(2, verb, *order, *gone(f"python3 -u {script}"))
        assert ended.error == (
            f"error: model.command.argv names the script `{script}`, which does not exist"
        )
        assert "correct its path" in ended.hint
    assert not Path("outputs").exists()


@pytest.mark.parametrize(
    ("tasks", "argv"),
    [
        # A benchmark may put files into the folder of an attempt.
        ("searchqa", "python3 agnt.py"),
        # The skill's folder has it.
        ("own.csv", "python3 scripts/say.py"),
        # The program may make it, or look for it elsewhere.
        ("own.csv", "cat agnt.py"),
        ("own.csv", "python3 -m json.tool made.py"),
    ],
)
def test_a_script_that_an_attempt_may_have_is_not_refused(tasks: str, argv: str) -> None:
    rows = "".join(f"question {n},{'ab'[n % 2]}\n" for n in range(12))
    Path("own.csv").write_text(f"question,answer\n{rows}", encoding="utf-8")
    Path("mine/scripts").mkdir(parents=True)
    Path("mine/SKILL.md").write_text("# Sort\n\nName the letter.\n", encoding="utf-8")
    Path("mine/scripts/say.py").write_text("print('a')\n", encoding="utf-8")
    order = (*gone(argv), "--set", "model.command.skill_file=SKILL.md", "--run-id", "r")
    ended = skillopt(
        "eval", tasks, "--skill", "mine", *order, "--set", "model.retry.max_attempts=1"
    )
    assert "which does not exist" not in ended.err
    assert ended.code != 2, ended.err


@pytest.mark.parametrize("program", [True, False])
def test_broken_attempts_of_a_program_name_what_its_change_needs(*, program: bool) -> None:
    agent = Path("agent.sh").absolute()
    agent.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    agent.chmod(0o755)
    order = gone(str(agent)) if program else ("--set", "model.simulated.permanent_failure_rate=1")
    settings = (
        "run.preflight=false",
        "model.retry.max_attempts=1",
        "model.retry.base_seconds=0.001",
    )
    order += tuple(word for setting in settings for word in ("--set", setting))
    ended = refused(
        6, "train", "searchqa", *SMALLEST, *order, "--display", "none", "--run-id", "broken"
    )
    more = " (a changed program needs `--allow-drift`)" if program else ""
    assert ended.hint.endswith(f"then resume: they are tried again{more}")
    (failed,) = events(Path("outputs/searchqa/broken"), "run_failed")
    assert ended.error == f"error: {failed['message']}"
    assert ended.hint == f"hint: {failed['hint']}"
