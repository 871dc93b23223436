"""SpreadsheetBench: scripts really run, in both executors, and nothing old or foreign is scored."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from program_rig import KINDS, call, executor_of, needs, replied
from task_files import write_splits

needs("openpyxl", "pandas")

import openpyxl  # noqa: E402
from openpyxl import Workbook, load_workbook  # noqa: E402

from skillopt_cli.benchmarks.kit.data_check import check_data  # noqa: E402
from skillopt_cli.benchmarks.spreadsheetbench import (  # noqa: E402
    SPEC,
    computing,
    scoring,
)
from skillopt_cli.benchmarks.spreadsheetbench.benchmark import SpreadsheetBench  # noqa: E402
from skillopt_cli.benchmarks.spreadsheetbench.scripts import code_in  # noqa: E402
from skillopt_cli.core.errors import ConfigError, DataError, NetworkFailed  # noqa: E402
from skillopt_cli.core.score import Trajectory  # noqa: E402
from skillopt_cli.core.skill import SkillDocument  # noqa: E402
from skillopt_cli.core.task import SPLITS, Attempt, Task  # noqa: E402
from skillopt_cli.executors.program_executor import ProgramExecutor  # noqa: E402
from skillopt_cli.ports import BenchmarkRequest, Interactive, Judged  # noqa: E402
from skillopt_cli.stages.attempts import Purpose, attempt  # noqa: E402
from skillopt_cli.stages.prompt_text import trajectory_text  # noqa: E402
from skillopt_cli.store.memory import MemoryStore  # noqa: E402
from skillopt_cli.testing import (  # noqa: E402
    ScriptedChat,
    Toy,
    check_benchmark,
    toy_run,
)

MADE_WITH = "3.1.5"
"""The version of openpyxl that the sample was made with."""
ROOT = Path(__file__).resolve().parents[2]
RIGHT = """\
import openpyxl
wb = openpyxl.load_workbook(INPUT_PATH)
ws = wb.active
ws["B1"] = ws["A1"].value * 2
wb.save(OUTPUT_PATH)
"""
WRONG = RIGHT.replace("* 2", "* 3")
FORMULA = RIGHT.replace('ws["A1"].value * 2', '"=A1*2"')


def block(code: str) -> str:
    return f"Here it is:\n```python\n{code}```\n"


def book(path: Path, **cells: object) -> None:
    made = Workbook()
    for place, value in cells.items():
        made.active[place] = value
    path.parent.mkdir(parents=True, exist_ok=True)
    made.save(path)


def item(folder: Path, name: str, values: tuple[int, ...] = (4,), **more: Any) -> dict[str, Any]:
    """A task to double A1, with a case for each value."""
    for number, value in enumerate(values, 1):
        place = folder / "spreadsheet" / name
        book(place / f"{number}_{name}_input.xlsx", A1=value)
        book(place / f"{number}_{name}_answer.xlsx", A1=value, B1=2 * value)
    return {
        "id": name,
        "instruction": f"Double A1 ({name}).",
        "instruction_type": "Cell-Level Manipulation",
        "answer_position": "B1",
    } | more


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "tasks"
    parts = ([item(data, "one"), item(data, "two", (4, 5))], [item(data, "v")], [item(data, "t")])
    return write_splits(data, *parts)


def opened(folder: Path, **options: Any) -> SpreadsheetBench:
    made = SPEC.open(BenchmarkRequest(split_dir=folder, options=options))
    assert isinstance(made, SpreadsheetBench)
    return made


@pytest.fixture(params=KINDS)
def executor(request: pytest.FixtureRequest, tmp_path: Path) -> ProgramExecutor:
    return executor_of(request.param, tmp_path, frozenset({tmp_path / "tasks"}))


@pytest.fixture
def local(tmp_path: Path) -> ProgramExecutor:
    return executor_of("local", tmp_path)


async def test_a_right_script_wins_and_a_wrong_one_does_not(
    folder: Path, executor: ProgramExecutor
) -> None:
    benchmark = opened(folder, mode="single")
    assert isinstance(benchmark, Interactive)
    assert not isinstance(benchmark, Judged)
    task = benchmark.tasks("test")[0]
    said, score = await replied(benchmark, task, executor, [block(RIGHT)])
    assert (said, score.hard, score.soft, score.feedback) == ([None], 1.0, 1.0, "")
    _, score = await replied(benchmark, task, executor, [block(WRONG)])
    assert (score.hard, score.soft) == (0.0, 0.0)
    assert score.feedback == "eval-mismatch: Sheet!B1: gt=8 pred=12 (0 cells right, 1 wrong)"


async def test_every_case_counts(folder: Path, local: ProgramExecutor) -> None:
    benchmark = opened(folder, mode="single")
    script = RIGHT.replace('ws["A1"].value * 2', "8")
    _, score = await replied(benchmark, benchmark.tasks("train")[1], local, [block(script)])
    assert (score.hard, score.soft) == (0.0, 0.5)
    assert score.feedback.endswith("(case 2; 1 of 2 cases pass)")


@pytest.mark.parametrize(
    ("code", "feedback"),
    [
        ("", "empty-code-block: there was no script to run"),
        ("raise KeyError('Total')\n", "exec-error: Traceback"),
        ("import sys; sys.exit('no')\n", "exec-error: no"),
        ("x = (\n", "SyntaxError: '(' was never closed"),
        ("print('hello')\n", "output-not-found: no workbook was saved at OUTPUT_PATH"),
        ("open(OUTPUT_PATH, 'w').write('x')\n", "output-unreadable: it is no readable workbook"),
        ("import os; os.mkdir(OUTPUT_PATH)\n", "output-not-found"),
        ("import time; time.sleep(600)\n", "exec-error: it was stopped after 3 seconds"),
        ("import os; os.symlink(ANSWER, OUTPUT_PATH)\n", "output-not-found"),
        ("import os; os.link(ANSWER, OUTPUT_PATH)\n", "output-not-found"),
        ("import os\nos.rename('.', '../w') if 0 else os.rename(os.getcwd(), '../elsewhere')\n"
         "os.symlink(os.path.dirname(ANSWER), '../work')\n", "output-not-found"),
    ],
)  # fmt: skip
async def test_how_scripts_fail(
    folder: Path, local: ProgramExecutor, code: str, feedback: str
) -> None:
    answer = folder / "spreadsheet" / "t" / "1_t_answer.xlsx"
    shutil.copyfile(answer, answer.with_name("output.xlsx"))
    code = code.replace("ANSWER", repr(str(answer)))
    benchmark = opened(folder, mode="single", script_timeout=3 if "sleep" in code else 600)
    _, score = await replied(benchmark, benchmark.tasks("test")[0], local, [f"```\n{code}```"])
    assert score.hard == 0.0
    assert feedback in score.feedback
    assert not list(local.root.glob("*"))


async def test_an_isolated_script_cannot_read_the_answers(folder: Path, tmp_path: Path) -> None:
    executor = executor_of("isolated", tmp_path, frozenset({folder}))
    answer = folder / "spreadsheet" / "t" / "1_t_answer.xlsx"
    code = f"import shutil\nshutil.copyfile({str(answer)!r}, OUTPUT_PATH)\n"
    benchmark = opened(folder, mode="single")
    _, score = await replied(benchmark, benchmark.tasks("test")[0], executor, [block(code)])
    assert score.hard == 0.0
    assert "FileNotFoundError" in score.feedback


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ('text = """\n  a\n    b\n"""\nassert text == "\\n  a\\n    b\\n"\n', ""),
        ("from __future__ import annotations\ndef f(x: nothing_of_the_kind): ...\n", ""),
        ('INPUT_PATH = "/mnt/data/in.xlsx"\nif True:\n    OUTPUT_PATH = "/mnt/out.xlsx"\n', ""),
        ("INPUT_PATH, OUTPUT_PATH = 'a', 'b'\nOUTPUT_PATH: str = 'c'\n", ""),
        ("if __name__ != '__main__':\n    raise SystemExit(1)\n", ""),
        ("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: 'int' = 1\nA()\n", ""),
        ("import pandas\n", ""),
        ("import skillopt_cli.benchmarks\n", "No module named 'skillopt_cli"),
    ],
)
async def test_scripts_run_as_they_are_written(
    folder: Path, tmp_path: Path, code: str, printed: str
) -> None:
    executor = executor_of("isolated", tmp_path)
    benchmark = opened(folder, mode="single")
    task = benchmark.tasks("test")[0]
    _, score = await replied(benchmark, task, executor, [block(code + RIGHT)])
    assert (score.hard == 1.0) is (printed == "")
    assert printed in score.feedback


def test_where_the_script_stands_in_a_reply() -> None:
    assert code_in("```python\na\n```") == "a\n"
    assert code_in("```\na\n```\n```\nb\n```") == "a\n"
    assert code_in("```bash\npip\n```\n```py\nb\n```") == "b\n"
    assert code_in("~~~python\na\n~~~") == "a\n"
    assert code_in("```python\nnever closed") == "never closed"
    assert code_in("print(1)\n") == "print(1)\n"
    whole = 'x = """\n```\nno\n```\n"""\n'
    assert code_in(whole) == whole
    nested = "````python\nx = '''\n```\n'''\n````"
    assert code_in(nested) == "x = '''\n```\n'''\n"


async def test_an_older_output_is_never_scored(folder: Path, local: ProgramExecutor) -> None:
    benchmark = opened(folder)
    task = benchmark.tasks("train")[0]
    # Wrong, then a script that ends without saving: the workbook of the first is gone.
    replies = [block(WRONG), block("print(1)\n"), block("print(1)\n")]
    said, score = await replied(benchmark, task, local, replies)
    assert "saved no workbook" in str(said[1])
    assert said[2] is None  # the same again ends it
    assert "output-not-found" in score.feedback


async def test_what_is_said_between_turns(folder: Path, local: ProgramExecutor) -> None:
    benchmark = opened(folder)
    replies = ["", block("ws.nothing\n"), block(WRONG), block(RIGHT)]
    said, score = await replied(benchmark, benchmark.tasks("train")[0], local, replies)
    assert "no script" in str(said[0])
    assert 'File "solution.py", line 1' in str(said[1])
    assert "driver" not in str(said[1])
    assert "Sheet!B1 holds 12" in str(said[2])
    assert "8" not in str(said[2]).replace("B1 holds 12", "")
    assert said[3] is None
    assert score.hard == 1.0


async def test_feedback_names_any_sheet(tmp_path: Path, local: ProgramExecutor) -> None:
    name = "Q1, north east"
    tasks = [item(tmp_path, task, answer_position=f"'{name}'!$b:$b") for task in "abc"]
    for path in (tmp_path / "spreadsheet").rglob("*.xlsx"):
        made = load_workbook(path)
        made.active.title = name
        made.save(path)
    benchmark = opened(write_splits(tmp_path, *([task] for task in tasks)))
    task = benchmark.tasks("train")[0]
    said, score = await replied(benchmark, task, local, [block(WRONG), block(RIGHT)])
    assert f"{name}!B1 holds 12" in str(said[0])
    assert score.hard == 1.0


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("hints", [True, False])
async def test_only_train_tasks_hear_of_the_answer_if_any(
    folder: Path, local: ProgramExecutor, split: str, hints: bool
) -> None:
    benchmark = opened(folder, gold_feedback=hints)
    said, score = await replied(benchmark, benchmark.tasks(split)[0], local, [block(WRONG)])
    assert (said[0] is not None) is (hints and split == "train")
    assert score.hard == 0.0


async def test_the_last_turn_is_scored(folder: Path, local: ProgramExecutor) -> None:
    benchmark = opened(folder, max_turns=2)
    assert benchmark.brief(benchmark.tasks("train")[1]).max_turns == 2
    replies = [block(WRONG), block(RIGHT.replace('ws["A1"].value * 2', "8"))]
    said, score = await replied(benchmark, benchmark.tasks("train")[1], local, replies)
    assert said[1] is None
    assert score.soft == 0.5


async def test_formulas_are_computed_where_libreoffice_is(
    folder: Path, executor: ProgramExecutor
) -> None:
    if not computing.available():
        pytest.skip("LibreOffice is not installed")
    benchmark = opened(folder, mode="single")
    task = benchmark.tasks("test")[0]
    _, score = await replied(benchmark, task, executor, [block(FORMULA)])
    assert score.hard == 1.0


async def test_a_value_that_came_with_a_formula_is_not_believed(
    folder: Path, local: ProgramExecutor
) -> None:
    if not computing.available():
        pytest.skip("LibreOffice is not installed")
    # What a careless writer does: a formula with a value that is not its own.
    code = (
        FORMULA.replace("A1*2", "A1*5")
        + "import re, zipfile\n"
        + "with zipfile.ZipFile(OUTPUT_PATH) as z: parts = {n: z.read(n) for n in z.namelist()}\n"
        + "n = 'xl/worksheets/sheet1.xml'\n"
        + "parts[n] = re.sub(rb'</f><v ?/>|</f><v></v>', b'</f><v>8</v>', parts[n])\n"
        + "assert b'<v>8</v>' in parts[n], parts[n]\n"
        + "with zipfile.ZipFile(OUTPUT_PATH, 'w') as z:\n"
        + "    for n, b in parts.items(): z.writestr(n, b)\n"
    )
    benchmark = opened(folder, mode="single")
    _, score = await replied(benchmark, benchmark.tasks("test")[0], local, [block(code)])
    assert "gt=8 pred=20" in score.feedback


async def test_formulas_are_named_where_nothing_computes_them(
    folder: Path, local: ProgramExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_it = opened(folder, mode="single").version
    monkeypatch.setattr(computing, "available", lambda: "")
    monkeypatch.setattr(scoring, "available", lambda: "")
    benchmark = opened(folder, mode="single")
    _, score = await replied(benchmark, benchmark.tasks("test")[0], local, [block(FORMULA)])
    assert score.hard == 0.0
    assert "formulas, such as Sheet!B1" in score.feedback
    assert "LibreOffice is not installed" in score.feedback
    # A blank reference does not match a formula that nobody computed.
    path = folder / "spreadsheet" / "t" / "1_t_answer.xlsx"
    book(path, A1=4)
    benchmark = opened(folder, mode="single")
    _, score = await replied(benchmark, benchmark.tasks("test")[0], local, [block(FORMULA)])
    assert score.hard == 0.0
    # And a reference that is one breaks the attempt.
    book(path, A1=4, B1="=A1*2")
    benchmark = opened(folder, mode="single")
    with pytest.raises(DataError, match="formulas without values"):
        await benchmark.prove(benchmark.tasks("test")[0], local)
    assert with_it


async def test_tools_work_in_a_folder(folder: Path, executor: ProgramExecutor) -> None:
    benchmark = opened(folder, mode="react")
    assert benchmark.needs == {"tools|workspace"}
    task = benchmark.tasks("train")[1]
    assert [tool.name for tool in benchmark.brief(task).tools] == ["bash", "write_file"]
    script = RIGHT.replace("INPUT_PATH", "'input.xlsx'").replace("OUTPUT_PATH", "'output.xlsx'")
    look = "import openpyxl, os; print(openpyxl.load_workbook('input.xlsx')['Sheet']['A1'].value)"
    async with benchmark.episode(task, executor) as episode:

        async def use(name: str, **arguments: str) -> str:
            result = await episode.use(call(name, json.dumps(arguments)))
            return f"{'FAILED ' if result.failed else ''}{result.text}"

        assert await use("bash", cmd=f'python -c "{look}"') == "4"
        assert "Only python" in await use("bash", cmd="ls -l")
        assert "no shell" in await use("bash", cmd="python - << EOF\nprint(1)\nEOF")
        assert "no shell" in await use("bash", cmd="python -c 'print(1)' && ls")
        assert await use("bash", cmd="python -c 'print(1 << 2); print(5 > 3)'") == "4\nTrue"
        assert "ended with code 1" in await use("bash", cmd="python -c 'import nothing'")
        assert "outside" in await use("write_file", path="/tmp/x.py", content="")
        assert "outside" in await use("write_file", path="../x.py", content="")
        await use("bash", cmd="""python -c "import os; os.symlink('/tmp', 'out')" """)
        assert "link" in await use("write_file", path="out/x.py", content="")
        assert "/work" in await use("bash", cmd="python -c 'import os; print(os.getcwd())'")
        assert "no output.xlsx" in await use("bash", cmd="python -c 'print(1)' solution.py")
        assert "is written" in await use("write_file", path="solution.py", content=script)
        checked = await use("bash", cmd="python solution.py")
        assert "A1=4 | B1=8" in checked
        assert await episode.hear("Done.") is None
        outcome = await episode.outcome("Done.")
    score = await benchmark.score(task, Attempt("Done.", outcome=outcome))
    assert score.hard == 1.0
    assert not list(executor.root.iterdir())


async def test_a_command_makes_no_file_readable(folder: Path, tmp_path: Path) -> None:
    executor = executor_of("isolated", tmp_path, frozenset({folder}))
    benchmark = opened(folder, mode="react")
    answer = folder / "spreadsheet" / "t" / "1_t_answer.xlsx"
    async with benchmark.episode(benchmark.tasks("test")[0], executor) as episode:
        look = "import os, sys; print(os.path.exists(sys.argv[1]))"
        result = await episode.use(
            call("bash", json.dumps({"cmd": f'python -c "{look}" {answer}'}))
        )
    assert result.text == "False"


async def test_tools_without_a_script_leave_the_first_output_only(
    folder: Path, local: ProgramExecutor
) -> None:
    benchmark = opened(folder, mode="react")
    task = benchmark.tasks("train")[1]
    script = RIGHT.replace("INPUT_PATH", "'input.xlsx'").replace("OUTPUT_PATH", "'output.xlsx'")
    async with benchmark.episode(task, local) as episode:
        arguments = {"path": "mine.py", "content": script}
        await episode.use(call("write_file", json.dumps(arguments)))
        await episode.use(call("bash", json.dumps({"cmd": "python mine.py"})))
        outcome = await episode.outcome("")
    score = await benchmark.score(task, Attempt("", outcome=outcome))
    assert score.soft == 0.5
    assert "no-solution-py-for-other-cases" in score.feedback
    async with benchmark.episode(task, local) as episode:
        outcome = await episode.outcome("I gave it some thought.")
    assert (await benchmark.score(task, Attempt("", outcome=outcome))).feedback.startswith("empty")
    async with benchmark.episode(task, local) as episode:
        outcome = await episode.outcome(RIGHT)  # an agent's program that worked elsewhere
    assert (await benchmark.score(task, Attempt("", outcome=outcome))).hard == 1.0


async def test_an_attempt_taken_up_in_its_middle_repeats_no_call(folder: Path) -> None:
    store = MemoryStore()
    benchmark = opened(folder)
    settings = ("model.retry.max_attempts=1",)
    purpose = Purpose("rollout", "rollout")
    skill = SkillDocument("Look.\n")

    async def roll(chat: ScriptedChat) -> Trajectory:
        run = toy_run(Toy(settings, chat, benchmark=benchmark), store)
        return await attempt(run, skill, benchmark.tasks("train")[0], purpose)

    error = "raise ValueError(object())\n"
    broken = await roll(ScriptedChat([block(error), block(WRONG), NetworkFailed("down")]))
    assert broken.score is None
    chat = ScriptedChat([block(RIGHT)])
    made = await roll(chat)
    assert [request.turn for request in chat.requests] == [2]
    assert made.score is not None
    assert made.score.hard == 1.0


async def test_reflection_reads_what_a_person_would_be_told(
    folder: Path, local: ProgramExecutor
) -> None:
    benchmark = opened(folder)
    task = benchmark.tasks("train")[0]
    async with benchmark.episode(task, local) as episode:
        made = Attempt(block(WRONG), outcome=await episode.outcome(block(WRONG)))
    text = trajectory_text(benchmark, Trajectory(task, made, await benchmark.score(task, made)), 1)
    assert "### Task\nDouble A1 (one)." in text
    assert "gt=8 pred=12" in text


def test_the_brief_shows_the_workbook_and_never_the_answer(folder: Path) -> None:
    benchmark = opened(folder, mode="single")
    task = benchmark.tasks("test")[0]
    brief = benchmark.brief(task)
    titles = {section.title: section.text for section in brief.sections}
    assert titles["Workbook"].splitlines()[1] == "  A1=4"
    assert titles["Answer position"] == "B1"
    assert "8" not in brief.prompt
    assert brief.max_turns == 1
    (file,) = brief.files
    assert (file.name, brief.answer_file) == ("input.xlsx", "solution.py")
    assert load_workbook(file.path).active["B1"].value is None


def test_previews_are_bounded(folder: Path) -> None:
    cells: dict[str, object] = {f"A{row}": f"row {row} " + "x" * 50 for row in range(1, 9)}
    book(folder / "spreadsheet" / "t" / "1_t_input.xlsx", **cells, Z1="=A1", B3="a\nb")
    benchmark = opened(folder)
    shown = benchmark.brief(benchmark.tasks("test")[0]).sections[-1].text
    assert "A1=row 1 " + "x" * 34 + "..." in shown
    assert "B3=a b" in shown
    assert "(3 more rows)" in shown
    assert "(6 more columns)" in shown
    assert "row 6" not in shown


FAULTS = [
    ({"answer_position": "all of it"}, "`answer_position` cannot be used"),
    ({"instruction": " "}, "`instruction` is empty"),
    ({"instruction_type": None}, "`instruction_type` is missing"),
    ({"spreadsheet_path": "spreadsheet/none"}, "`spreadsheet/none` with its workbooks is not"),
]


@pytest.mark.parametrize(("change", "said"), FAULTS)
def test_records_that_cannot_be_used(folder: Path, change: dict[str, Any], said: str) -> None:
    path = folder / "test" / "items.json"
    records = json.loads(path.read_text())
    path.write_text(json.dumps([records[0] | change]))
    with pytest.raises(DataError, match="record 1") as caught:
        opened(folder)
    assert said in caught.value.message


def test_workbooks_are_found_as_published(folder: Path, tmp_path: Path) -> None:
    place = folder / "spreadsheet" / "t"
    (place / "1_t_answer.xlsx").rename(place / "gone")
    with pytest.raises(DataError, match=r"has no 1_t_answer\.xlsx beside it"):
        opened(folder)
    (place / "1_t_input.xlsx").rename(place / "10_t_init.xlsx")
    (place / "gone").rename(place / "10_t_golden.xlsx")
    for part in ("init", "golden"):
        shutil.copyfile(place / f"10_t_{part}.xlsx", place / f"9_t_{part}.xlsx")
    (cases,) = (task.data["cases"] for task in opened(folder).tasks("test"))
    assert [case["number"] for case in cases] == ["9", "10"]
    for path in place.iterdir():
        path.unlink()
    with pytest.raises(DataError, match="holds no workbooks"):
        opened(folder)
    elsewhere = tmp_path / "elsewhere" / "spreadsheet" / "t"
    book(elsewhere / "initial.xlsx", A1=1)
    book(elsewhere / "golden.xlsx", A1=1, B1=2)
    place.rmdir()
    (task,) = opened(folder, workbooks=str(tmp_path / "elsewhere")).tasks("test")
    assert [case["number"] for case in task.data["cases"]] == ["1"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "codegen"}, "`env.mode`"),
        ({"max_turns": 0}, "`env.max_turns`"),
        ({"max_turn": 1}, "`env.max_turn` is not an option"),
    ],
)
def test_options_are_checked(folder: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        opened(folder, **options)


def test_what_can_alter_a_score_is_in_the_version(folder: Path) -> None:
    kinds = [{}, {"mode": "single"}, {"gold_feedback": False}, {"script_timeout": 5}]
    assert len({opened(folder, **options).version for options in kinds}) == len(kinds)


async def test_the_sample_keeps_the_contract_and_has_no_faults(local: ProgramExecutor) -> None:
    benchmark = SPEC.open(BenchmarkRequest())
    await check_benchmark(benchmark)
    assert [len(benchmark.tasks(split)) for split in SPLITS] == [12, 8, 12]
    assert [f.what for f in await check_data(benchmark, local, 12) if f.level == "error"] == []


def test_the_sample_is_what_its_script_makes(tmp_path: Path) -> None:
    script = ROOT / "docs" / "examples" / "samples" / "make_spreadsheetbench.py"
    runpy.run_path(str(script))["main"](tmp_path)
    assert SPEC.sample is not None
    made, kept = (
        sorted(p.relative_to(f) for f in [f] for p in f.rglob("*.*"))
        for f in (tmp_path, SPEC.sample)
    )
    assert made == kept
    for name in made:
        one, other = tmp_path / name, SPEC.sample / name
        if name.suffix == ".json":
            assert one.read_bytes() == other.read_bytes()
        elif openpyxl.__version__ == MADE_WITH:
            assert parts(one) == parts(other)
        else:
            assert cells(one) == cells(other)


def cells(path: Path) -> dict[str, list[tuple[object, ...]]]:
    loaded = load_workbook(path)
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in loaded.worksheets}


def parts(path: Path) -> list[tuple[str, object, bytes]]:
    """What a workbook's file holds and when it was put there; how it is packed depends on zlib."""
    with zipfile.ZipFile(path) as packed:
        return [(part.filename, part.date_time, packed.read(part)) for part in packed.infolist()]


def test_the_sample_is_small() -> None:
    assert SPEC.sample is not None
    assert sum(p.stat().st_size for p in SPEC.sample.rglob("*") if p.is_file()) < 420_000


def test_tasks_are_told_apart_by_their_workbooks(folder: Path) -> None:
    before: Task = opened(folder).tasks("test")[0]
    book(folder / "spreadsheet" / "t" / "1_t_answer.xlsx", A1=4, B1=9)
    assert opened(folder).tasks("test")[0].digest != before.digest
    assert os.fspath(folder) not in json.dumps(dict(before.data))
