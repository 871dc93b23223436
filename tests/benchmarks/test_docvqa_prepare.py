"""Preparing DocVQA with the real `datasets` library, on local files of the data set's layout."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pictures_for_tests import png
from task_files import write_json, write_splits

from skillopt_cli.benchmarks.docvqa import SPEC
from skillopt_cli.benchmarks.docvqa.prepare import DATASET, prepare
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.task import SPLITS
from skillopt_cli.ports import BenchmarkRequest

# In one child: `datasets` reads the environment when imported, which takes seconds.
CHILD = """
import base64, json, sys
from pathlib import Path
from datasets import Dataset, Features, Image, Sequence, Value
from skillopt_cli.benchmarks.docvqa.prepare import prepare
from skillopt_cli.core.errors import DataError

FORM = Features({
    "questionId": Value("string"), "question": Value("string"),
    "question_types": Sequence(Value("string")), "image": Image(decode=False),
    "docId": Value("int64"), "ucsf_document_id": Value("string"),
    "ucsf_document_page_no": Value("string"), "answers": Sequence(Value("string")),
    "data_split": Value("string"),
})
given = json.load(sys.stdin)
for path, rows in given["files"].items():
    for row in rows:
        row["image"] = {"bytes": base64.b64decode(row["image"]), "path": None}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    form = Features({key: FORM[key] for key in rows[0]})
    Dataset.from_list(rows, form).to_parquet(path)
for case in given["cases"]:
    manifest = Path(case["manifest"]) if case["manifest"] else None
    try:
        outcome = {"counts": prepare(Path(case["folder"]), manifest, dataset=case["dataset"])}
    except DataError as error:
        outcome = {"error": error.message, "hint": error.hint}
    print("OUTCOME " + json.dumps(outcome))
"""


def row(n: int, **more: Any) -> dict[str, Any]:
    return {
        "questionId": str(n),
        "question": f"What is {n}?",
        "question_types": ["form", "layout"],
        "image": PAGES[n % 2],
        "docId": n % 2,
        "ucsf_document_id": f"u{n}",
        "ucsf_document_page_no": "4",
        "answers": ["1,200", f"thing {n}"],
        "data_split": "val",
        **more,
    }


PAGES: list[str] = []


def manifest(folder: Path, *parts: list[dict[str, Any]]) -> Path:
    write_json(folder / "split_manifest.json", {"counts": {}})
    return write_splits(folder, *parts)


def named(n: int, **more: Any) -> dict[str, Any]:
    return {"questionId": str(n), "docId": n % 2, **more}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if importlib.util.find_spec("datasets") is None:
        pytest.skip("the extra [data] is not installed")
    import base64

    PAGES[:] = [base64.b64encode(png(n)).decode() for n in range(2)]
    root = tmp_path_factory.mktemp("prepare")
    part = "DocVQA/validation-0000{}-of-00002.parquet"
    bare = {key: value for key, value in row(1).items() if key != "answers"}
    files = {
        str(root / "few" / part.format(0)): [row(n) for n in range(6)],
        str(root / "few" / part.format(1)): [row(6), row(6), row(7, answers=[])],
        # A file that must not be read: it would hold the ids twice.
        str(root / "few" / "DocVQA/train-00000-of-00001.parquet"): [row(n) for n in range(6)],
        str(root / "big" / part.format(0)): [
            row(n, question=f"What is {n % 560}?", docId=0) for n in range(600)
        ],
        str(root / "bare" / part.format(0)): [bare],
        str(root / "nopage" / part.format(0)): [row(n, image="") for n in range(3)],
    }
    ids = root / "ids"
    path = "data/docvqa_images/q3_d77.png"
    listed = named(3, image_path=path, topic="table/list")
    fine = manifest(ids / "fine", [listed, named(1)], [named(5)], [named(0)])
    cases = {
        "fine": ("few", fine),
        "absent": ("few", manifest(ids / "absent", [named(1)], [named(8)], [named(9)])),
        "unanswered": ("few", manifest(ids / "unanswered", [named(1)], [named(7)], [named(2)])),
        "twice": ("few", manifest(ids / "twice", [named(1)], [named(6)], [named(2)])),
        "over two splits": ("few", manifest(ids / "over", [named(1)], [named(2)], [named(1)])),
        "no field": ("bare", fine),
        "no page": ("nopage", manifest(ids / "nopage", [named(0)], [named(1)], [named(2)])),
        "too few": ("few", None),
        "drawn": ("big", None),
        "drawn again": ("big", None),
        "hub": (DATASET, None),
        "no files": ("ids", None),
    }
    sent = {
        "files": files,
        "cases": [
            {
                "folder": str(root / "out" / name),
                "manifest": str(chosen) if chosen else None,
                "dataset": source if source == DATASET else str(root / source),
            }
            for name, (source, chosen) in cases.items()
        ],
    }
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(sent),
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(root / "hf")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("OUTCOME ")]
    results = dict(zip(cases, [json.loads(line.split(" ", 1)[1]) for line in lines], strict=True))
    return {"root": root / "out", "fine ids": fine, **results}


def items(folder: Path, split: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((folder / split / "items.json").read_text("utf-8"))
    return loaded


def test_a_list_of_ids_is_filled_and_its_file_names_kept(outcomes: dict[str, Any]) -> None:
    folder = outcomes["root"] / "fine"
    assert outcomes["fine"] == {"counts": {"train": 2, "selection": 1, "test": 1}}
    third, one = items(folder, "train")
    assert third == {
        "questionId": "3",
        "question": "What is 3?",
        "answers": ["1,200", "thing 3"],
        "image_path": "../images/q3_d77.png",
        "topic": "table/list",
        "docId": 1,
        "ucsf_document_id": "u3",
        "ucsf_document_page_no": "4",
    }
    assert (one["image_path"], one["topic"]) == ("../images/q1_d1.png", "form")


def test_pages_are_written_byte_for_byte(outcomes: dict[str, Any]) -> None:
    images = outcomes["root"] / "fine" / "images"
    names = ["q0_d0.png", "q1_d1.png", "q3_d77.png", "q5_d1.png"]
    assert sorted(path.name for path in images.iterdir()) == names
    assert (images / "q3_d77.png").read_bytes() == png(1)
    assert (images / "q0_d0.png").read_bytes() == png(0)


def test_prepared_data_loads(outcomes: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "docvqa").symlink_to(outcomes["root"] / "fine")
    benchmark = SPEC.open(BenchmarkRequest(data_root=tmp_path))
    assert benchmark.source == "docvqa (2 train / 1 selection / 1 test)"
    assert [(task.id, task.kind) for task in benchmark.tasks("train")] == [
        ("3", "table/list"),
        ("1", "form"),
    ]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("absent", "lacks 2 of the 3 wanted ids: `8`, `9`"),
        ("unanswered", "lacks 1 of the 3 wanted ids: `7`"),
        ("twice", "holds more than once 1 of the 3 wanted ids: `6`"),
        ("over two splits", "the id `1` occurs already in "),
        ("no field", "has no field `answers`"),
        ("no page", "the picture of `q0_d0` is no PNG, JPEG, GIF or WebP"),
        ("too few", "the data set has 6 usable records, 534 are wanted"),
        ("hub", f"cannot load the data set `{DATASET}`: "),
        ("no files", "has no file `validation-*.parquet`"),
    ],
)
def test_what_does_not_fit_is_refused(outcomes: dict[str, Any], case: str, message: str) -> None:
    assert message in outcomes[case]["error"]
    assert not (outcomes["root"] / case / "split_manifest.json").exists()


def test_without_ids_a_seeded_selection_is_drawn(outcomes: dict[str, Any]) -> None:
    counts = {"train": 107, "selection": 53, "test": 374}
    assert outcomes["drawn"] == outcomes["drawn again"] == {"counts": counts}
    assert SPEC.sizes == counts
    first, second = (
        SPEC.open(BenchmarkRequest(split_dir=outcomes["root"] / name))
        for name in ("drawn", "drawn again")
    )
    for split in SPLITS:
        assert [t.id for t in first.tasks(split)] == [t.id for t in second.tasks(split)]
    asked = {task.data["question"] for split in SPLITS for task in first.tasks(split)}
    assert len(asked) == 534


def test_without_the_package_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError) as caught:
        prepare(tmp_path)
    assert caught.value.hint == "pip install 'skillopt-cli[data]'"
