"""The public API: the same runs as the command's, in a script and inside an event loop."""

from __future__ import annotations

import asyncio
import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import SMALLEST, finished_run, outcome, skillopt
from pydantic import TypeAdapter

import skillopt_cli
from skillopt_cli import (
    ConfigError,
    DataError,
    RunResult,
    SkillOptError,
    Stamped,
    UsageError,
    answer,
    evaluate,
    load_run,
    prune,
    resume,
    resume_async,
    train,
    train_async,
)
from skillopt_cli.api import arguments
from skillopt_cli.compose.flags import in_call
from skillopt_cli.core.errors import BudgetExhausted
from skillopt_cli.runlog.schedule_file import read_schedule

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
ONE_STEP = {
    "train.num_epochs": 1,
    "train.batch_size": 4,
    "train.train_size": 4,
    "evaluation.sel_env_num": 4,
    "evaluation.test_env_num": 3,
}


def one_step(run_id: str, **flags: object) -> RunResult:
    return train("searchqa", preset="tiny", settings=ONE_STEP, run_id=run_id, **flags)


def test_a_training_is_the_one_of_the_command() -> None:
    result = one_step("python")
    assert skillopt("train", "searchqa", *SMALLEST, "--run-id", "shell").code == 0
    assert outcome(result.folder) == outcome(Path("outputs/searchqa/shell"))
    assert result.best_skill == (result.folder / "best_skill.md").read_text(encoding="utf-8")


def test_the_page_of_every_training_can_show_the_time_left() -> None:
    ran = [one_step("python").folder]
    for display in ("plain", "none"):
        given = ("--display", display, "--run-id", display)
        assert skillopt("train", "searchqa", *SMALLEST, *given).code == 0
        ran.append(Path("outputs/searchqa", display))
    first, *others = map(read_schedule, ran)
    assert first is not None and len(first.steps) == 1
    assert others == [first, first]
    # What is left of a run that is resumed is planned anew.
    with pytest.raises(BudgetExhausted):
        train("searchqa", preset="tiny", run_id="capped", max_calls=60)
    whole = read_schedule(Path("outputs/searchqa/capped"))
    resumed = read_schedule(resume("capped", max_calls=1000).folder)
    assert whole is not None and resumed is not None
    assert whole.baseline > resumed.baseline == 0


def test_the_result_has_the_numbers_of_the_files() -> None:
    result = train("searchqa", preset="tiny", seed=1, run_id="a")
    summary = json.loads((result.folder / "summary.json").read_text(encoding="utf-8"))
    history = json.loads((result.folder / "history.json").read_text(encoding="utf-8"))
    assert result.summary == summary
    assert result.history() == history
    assert result.status == summary["status"] == "finished"
    assert result.improved is (summary["best_step"] > 0) is True
    assert result.verdict is not None
    assert result.verdict.evidence is not None
    assert result.verdict.word == result.verdict.evidence.word == summary["verdict"]["word"]
    assert result.verdict.sentence == summary["verdict"]["sentence"]
    assert result.selection["seed"].digest == summary["baseline_selection_digest"] != ""
    for name in ("seed", "best", "gain", "low", "high", "p_value", "n"):
        assert getattr(result.verdict, name) == summary["verdict"][name]
    assert result.verdict.best == summary["test_hard"]
    for text, name in (("seed", "baseline"), ("best", "best"), ("final", "final")):
        assert result.selection[text].hard == summary[f"{name}_selection_hard"]
        assert result.selection[text].n == summary[f"{name}_selection_n"]
    assert result.test["best"].soft == summary["test_soft"]
    assert [d.action for d in result.decisions] == [record["action"] for record in history]
    assert result.spend.calls == summary["token_summary"]["_total"]["calls"]
    rows = result.tasks()
    seed = [row["hard"] for row in rows if (row["step"], row["stage"]) == (0, "measure")]
    assert sum(seed) / len(seed) == summary["baseline_selection_hard"]
    tested = [row["hard"] for row in rows if (row["stage"], row["label"]) == ("test", "best")]
    assert sum(tested) / len(tested) == summary["test_hard"]
    assert load_run("a") == result == load_run(result.folder)


def test_the_edits_of_a_step_are_those_of_its_report() -> None:
    result = one_step("a")
    report = result.folder / "steps" / "step_0001" / "edit_report.json"
    edits = result.edits(1)
    assert edits and edits == json.loads(report.read_text(encoding="utf-8"))
    applied = [edit for edit in edits if edit["state"] in ("applied", "appended")]
    assert len(applied) == result.decisions[0].edits
    for step in (0, 2):
        with pytest.raises(UsageError, match=f"has no step {step}") as caught:
            result.edits(step)
        assert caught.value.hint == "its steps are 1 to 1"
    wrong: Any
    for wrong in (1.0, "1", True):
        with pytest.raises(UsageError, match="`step` must be a whole number, not") as caught:
            result.edits(wrong)
        assert caught.value.hint == "`help(skillopt_cli.RunResult.edits)` describes every argument"
    report.write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="is not an edit report"):
        result.edits(1)
    report.unlink()
    assert result.edits(1) == []


def test_rows_as_a_data_frame() -> None:
    result = one_step("a")
    frame = result.to_pandas()
    assert frame.to_dict("records") == result.tasks()


@pytest.mark.parametrize("what", ["tasks", "kinds"])
@pytest.mark.parametrize("split", [None, "train"])
def test_a_table_is_the_one_that_is_exported(what: str, split: str | None) -> None:
    result = one_step("a")
    chosen = ("--split", split) if split else ()
    exported = skillopt("runs", "export", "a", "--what", what, "--format", "jsonl", *chosen)
    rows = result.table(what, split=split)
    assert rows == [json.loads(line) for line in exported.out.splitlines()] != []


def test_tables_that_a_run_does_not_have() -> None:
    result = one_step("a")
    for asked, message, hint in (
        ({"what": "skills"}, "there is no table `skills`", "tables: tasks, "),
        ({"what": "labels"}, "the answers of this run are no labels", '`what="kinds"` groups'),
        ({"split": "middle"}, "there is no split `middle`", "splits: "),
    ):
        with pytest.raises(UsageError, match=message) as caught:
            result.table(**asked)
        assert caught.value.hint.startswith(hint)


def test_hints_name_settings_by_the_arguments_of_the_call() -> None:
    rows = "".join(f"Please see to case {n},{'ab'[n % 2]}\n" for n in range(12))
    Path("tickets.csv").write_text(f"text,queue\n{rows}", encoding="utf-8")
    for settings, hint in (
        ({"env.answer_key": "queu"}, 'did you mean `answer_key="queue"`?'),
        (
            {"env.id_key": "number"},
            'if one of `text`, `queue` is meant, name it with `settings={"env.id_key": NAME}`',
        ),
    ):
        with pytest.raises(ConfigError) as caught:
            train("tickets.csv", settings=settings)
        assert caught.value.hint == hint
        with pytest.raises(ConfigError) as caught:
            asyncio.run(train_async("tickets.csv", settings=settings))
        assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("hint", "argument"),
    [
        ("`train.num_epochs=3`", "`epochs=3`"),
        ("`preset=demo`", '`preset="demo"`'),
        ("`evaluation.eval_test=false`", '`settings={"evaluation.eval_test": False}`'),
        ("`no_key=3`, `skillopt resume a`", "`no_key=3`, `skillopt resume a`"),
    ],
)
def test_a_hint_as_an_argument(hint: str, argument: str) -> None:
    assert in_call(hint) == in_call(in_call(hint)) == argument


async def test_inside_a_running_loop_the_plain_call_waits() -> None:
    result = one_step("a")
    assert result.status == "finished"
    assert evaluate(result.folder, split="selection").status == "finished"


async def test_runs_side_by_side_in_one_loop() -> None:
    runs = await asyncio.gather(
        *(
            train_async("searchqa", preset="tiny", settings=ONE_STEP, seed=seed, run_id=f"s{seed}")
            for seed in (1, 2)
        )
    )
    assert [outcome(run.folder) for run in runs] == [
        outcome(one_step(f"alone{seed}", seed=seed).folder) for seed in (1, 2)
    ]


async def test_a_cancelled_training_is_resumed() -> None:
    begun = asyncio.Event()

    def watch(fact: Stamped) -> None:
        if fact.event.kind == "gate_decided":
            begun.set()

    task = asyncio.ensure_future(
        train_async("searchqa", preset="tiny", seed=1, run_id="cut", on_event=watch)
    )
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert load_run("cut").status == "interrupted"
    resumed = await resume_async("cut")
    assert outcome(resumed.folder) == outcome(
        train("searchqa", preset="tiny", seed=1, run_id="whole").folder
    )


def test_a_capped_training_raises_and_goes_on() -> None:
    with pytest.raises(BudgetExhausted):
        train("searchqa", preset="tiny", run_id="capped", max_calls=40)
    assert load_run("capped").status == "budget"
    assert resume("capped", max_calls=1000).status == "finished"
    assert resume("capped").finished


def test_a_setting_with_two_values_in_one_call_is_refused() -> None:
    twice = "`train.batch_size` is given twice, as 8 by batch_size and as 20 by settings"
    for call in (train, evaluate):
        with pytest.raises(ConfigError, match=f"^{twice}$"):
            call(benchmark="searchqa", batch_size=8, settings={"train.batch_size": 20})
    seed = Path("seed.md")
    seed.write_text("# Seed\n\nAnswer.\n", encoding="utf-8")
    # What agrees, or unsets, is no contradiction.
    same: dict[str, object] = {
        "train.batch_size": "4", "env.skill_init": "seed.md", "train.seed": None
    }  # fmt: skip
    result = train(
        "searchqa",
        preset="tiny",
        run_id="a",
        settings={**ONE_STEP, **same},
        batch_size=4,
        skill_init=seed,
        seed=7,
    )
    config = (result.folder / "config.yaml").read_text(encoding="utf-8")
    assert "batch_size: 4\n" in config and "seed: 7\n" in config


def test_every_fact_is_handed_over() -> None:
    facts: list[Stamped] = []
    result = one_step("a", on_event=facts.append)
    logged = (result.folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert [fact.number for fact in facts] == [json.loads(line)["number"] for line in logged]


def test_an_evaluation() -> None:
    trained = one_step("a")
    measured = evaluate(trained.folder, split="selection")
    assert measured.is_evaluation
    assert measured.test["selection"].hard == trained.selection["best"].hard
    written = json.loads((measured.folder / "eval_summary.json").read_text(encoding="utf-8"))
    assert written["hard"] == measured.test["selection"].hard
    none = evaluate(None, "searchqa", preset="tiny", split="selection", run_id="none")
    assert none.summary["skill"] == ""


def test_a_comparison_is_the_one_of_the_command() -> None:
    run = finished_run(*SMALLEST)
    given = {"none": None, "mine": run / "best_skill.md", "seed": "seed"}
    found = evaluate("a", arms=given, repeats=2, lint=True, run_id="python")
    listed = "none,mine=outputs/searchqa/a/best_skill.md,seed"
    arguments = ("--arms", listed, "--repeats", 2, "--lint", "--json", "--run-id", "shell")
    assert found.evaluation == skillopt("eval", "--skill", "a", *arguments).json
    assert set(found.test) == {"none", "mine", "seed"}
    assert (found.is_evaluation, found.finished, found.pruned) == (True, True, None)
    again = evaluate("a", arms=listed, repeats=2, lint=True, run_id="text")
    assert again.evaluation == found.evaluation
    assert load_run("a").evaluation is None


def test_a_comparison_that_was_stopped_is_resumed() -> None:
    finished_run(*SMALLEST)
    with pytest.raises(BudgetExhausted):
        evaluate("a", arms="none,best", repeats=3, run_id="capped", max_rollouts=5, workers=1)
    assert load_run("capped").evaluation is None
    whole = resume("capped", max_rollouts=99)
    assert whole.evaluation == evaluate("a", arms="none,best", repeats=3, run_id="e").evaluation
    assert resume("capped").evaluation == whole.evaluation


def test_a_comparison_with_several_targets_is_read() -> None:
    finished_run(*SMALLEST)
    given = ("--targets", "simulated,simulated:other", "--json", "--run-id", "both")
    printed = skillopt("eval", "--skill", "a", "--arms", "none,seed", *given).json
    both = load_run("both")
    assert (both.evaluation, both.status, both.finished) == (printed, "finished", True)
    assert both.is_evaluation


def new_tasks() -> Path:
    """Three tasks without answers."""
    path = Path("new.csv")
    path.write_text("body\nThe first\nThe second\nThe third\n", encoding="utf-8")
    return path


def test_answers_are_those_of_the_command() -> None:
    run, tasks = finished_run(*SMALLEST), new_tasks()
    skill = run / "best_skill.md"
    own: dict[str, object] = {"config": "own.yaml", "run_id": "python"}
    text = "env: {name: folder, prompt_key: body}\nmodel: {backend: simulated}\n"
    Path("own.yaml").write_text(text, encoding="utf-8")
    found = answer(tasks, skill, out="python.csv", **own)
    given = ("--skill", skill, "--config", "own.yaml", "--run-id", "shell")
    assert Path("python.csv").read_text(encoding="utf-8") == skillopt("answer", tasks, *given).out
    assert [row["input"] for row in found.answers()] == ["The first", "The second", "The third"]
    assert all(row["answer"] and row["error"] is None for row in found.answers())
    assert (found.finished, found.is_evaluation, found.evaluation, found.test) == (
        True,
        True,
        None,
        {},
    )
    assert load_run("python").answers() == load_run("shell").answers() == found.answers()
    assert load_run("a").answers() == []
    assert len(answer(tasks, None, **{**own, "run_id": "none"}).answers()) == 3


def test_answers_that_were_stopped_are_resumed() -> None:
    simulated: dict[str, object] = {"settings": {"model.backend": "simulated"}, "out": "a.csv"}
    with pytest.raises(BudgetExhausted):
        answer(new_tasks(), None, run_id="capped", max_rollouts=2, workers=1, **simulated)
    errors = [row["error"] for row in load_run("capped").answers()]
    assert errors == [None, None, "not attempted"]
    partial = Path("a.csv").read_text(encoding="utf-8")
    rows = resume("capped", max_rollouts=9).answers()
    assert all(row["answer"] for row in rows)
    assert partial != Path("a.csv").read_text(encoding="utf-8")
    assert resume("capped").answers() == rows


def test_a_pruning_is_the_one_of_the_command() -> None:
    finished_run(*SMALLEST)
    found = prune("a", out="python.md", run_id="python")
    printed = skillopt("prune", "a", "--out", "shell.md", "--run-id", "shell", "--json").json
    assert found.evaluation is not None and found.pruned is not None
    assert {**found.evaluation, "file": ""} == {**printed, "file": ""}
    assert Path("python.md").read_bytes() == Path("shell.md").read_bytes()
    assert found.pruned.chars == len(Path("python.md").read_text(encoding="utf-8"))
    assert resume("python").evaluation == found.evaluation
    with pytest.raises(UsageError, match=r"python\.md exists"):
        prune("a", out="python.md")


def test_nothing_is_shown_unless_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    one_step("a")
    assert capfd.readouterr() == ("", "")
    one_step("b", display="plain")
    shown = capfd.readouterr()
    assert shown.out == "" and "[Step 1/1] Gate:" in shown.err


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: train("searchqa", batchsize=3), UsageError, "batchsize"),
        (lambda: train("searchq", preset="tiny"), ConfigError, "searchq"),
        (lambda: train("searchqa", preset="tiny", settings={"train.x": 1}), ConfigError, "train.x"),
        (lambda: train("searchqa", preset="tiny", batch_size=0), ConfigError, "train.batch_size"),
        (lambda: load_run("nowhere"), UsageError, "nowhere"),
        (lambda: resume("nowhere"), UsageError, "nowhere"),
        (lambda: evaluate("no.md", "searchqa", preset="tiny"), UsageError, "no.md"),
        (lambda: evaluate(None, "searchqa", preset="tiny", split="dev"), UsageError, "dev"),
        (lambda: evaluate(None, "searchqa", preset="tiny", repeats=0), UsageError, "repeats"),
        (lambda: evaluate(None, "searchqa", preset="tiny", arms=["7"]), UsageError, "no run"),
        (lambda: prune("no.md", "searchqa", preset="tiny"), UsageError, "no.md"),
        (lambda: answer("no.csv"), UsageError, "no.csv does not exist"),
        (lambda: answer("no.csv", "no.md"), UsageError, "no.md"),
        (lambda: answer("no.csv", split_dir="x"), UsageError, "named twice"),
        (lambda: answer(5), UsageError, "`tasks` must be a text or a path, not int"),
        (
            lambda: train("searchqa", run_id=5),
            UsageError,
            "`run_id` must be a text or None, not int",
        ),
        (lambda: train("searchqa", on_event="x"), UsageError, "`on_event` must be a function"),
        (lambda: train("searchqa", config=5), UsageError, "`config` must be a text or a path"),
        (lambda: train("searchqa", settings=["x"]), UsageError, "`settings` must be a mapping"),
        (lambda: train("searchqa", settings={5: 1}), UsageError, "`settings` must be a mapping"),
        (lambda: train("searchqa", "tiny"), UsageError, "too many positional arguments"),
        (lambda: train("searchqa", trust="yes"), UsageError, "`trust` must be true or false"),
        (lambda: resume(5), UsageError, "`run` must be a text or a path, not int"),
        (
            lambda: evaluate(None, "searchqa", arms=[5]),
            UsageError,
            "`arms` must be a text or a list",
        ),
        (lambda: evaluate(None, "searchqa", repeats="2"), UsageError, "`repeats` must be a whole"),
        (lambda: prune(), UsageError, "missing a required argument: 'skill'"),
        (lambda: load_run("a", out_root=5), UsageError, "`out_root` must be a text or a path"),
    ],
)
def test_a_mistake_is_an_error_that_names_it_and_leaves_nothing(
    call: object, kind: type[SkillOptError], words: str
) -> None:
    assert callable(call)
    with pytest.raises(kind, match=words) as caught:
        call()
    assert caught.value.hint
    assert not Path("outputs").exists()


def test_what_checks_a_type_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[object] = []

    class Counted(TypeAdapter[Any]):
        def __init__(self, kind: Any) -> None:
            built.append(kind)
            super().__init__(kind)

    def check() -> None:
        with pytest.raises(UsageError, match="nowhere"):
            load_run("nowhere")

    check()
    monkeypatch.setattr(arguments, "TypeAdapter", Counted)
    check()
    assert built == []
    arguments._type.cache_clear()
    check()
    assert len(built) == 1  # the run and `out_root` are of one type


def test_a_path_is_taken_where_a_setting_is_a_path() -> None:
    rows = [{"id": f"t{n}", "question": f"{n} + {n}?", "answer": str(2 * n)} for n in range(12)]
    tasks, seed = Path("tasks.jsonl"), Path("seed.md")
    tasks.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    seed.write_text("# Seed\n\nAnswer.\n", encoding="utf-8")
    known: dict[str, object] = {"model.backend": "simulated", "env.skill_init": seed}
    result = train(tasks=tasks, settings={**ONE_STEP, **known}, out_root=Path("runs"), run_id="a")
    assert result.folder == Path("runs/folder/a")


@pytest.mark.parametrize(
    "name",
    [
        "answer_from_python.py",
        "compare_from_python.py",
        "train_from_python.py",
        "train_in_a_loop.py",
    ],
)
def test_the_shown_scripts_run_on_their_own(name: str) -> None:
    ran = subprocess.run(
        [sys.executable, EXAMPLES / name], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


async def test_the_shown_script_runs_inside_a_loop() -> None:
    assert asyncio.get_running_loop().is_running()
    names = runpy.run_path(str(EXAMPLES / "train_from_python.py"))
    assert names["result"].status == "finished"


def test_every_public_name_is_there_and_typed() -> None:
    stub = Path(skillopt_cli.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    typed = {line.split()[-1] for line in stub.splitlines() if line.startswith("from ")}
    assert typed == set(skillopt_cli.__all__) - {"__version__"}
    assert all(hasattr(skillopt_cli, name) for name in skillopt_cli.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        skillopt_cli.nothing  # noqa: B018 - the access is the test


def test_importing_the_package_imports_no_model_library() -> None:
    program = "import json, sys, skillopt_cli; print(json.dumps(list(sys.modules)))"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"openai", "anthropic", "pydantic", "typer", "rich"} & set(json.loads(ran.stdout))
