"""Generated task files: whatever a file holds, the reader ends with tasks or an error of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook
from reading_tables import rows
from test_task_files import TABLE

from skillopt_cli.benchmarks.folder import open_folder
from skillopt_cli.benchmarks.kit.records import read_records
from skillopt_cli.core.errors import DataError
from skillopt_cli.ports import BenchmarkRequest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

INPUTS = 20_000
BINARY = 400
"""Sheets and Parquet files among these, of each kind."""
TEXTS = [row["content"] for row in TABLE if isinstance(row.get("content"), str)]
REPLIES = [row["reply"] for row in rows("1_replies")]
CELLS = [
    *("thing", "['a', 'b']", '["a", "b"]', "1.50", "007", "", " ", '"', '""', "a, b", "a;b", "\t"),
    *(
        "A) x | B) y",
        "[",
        "[[[",
        "NaN",
        "\x00",
        "\ud7ff",
        "\u2028",
        "é",
        "1e999",
        "9" * 5000,
        "=1+1",
    ),
]
NAMES = [
    "question",
    "answer",
    "answers",
    "choices",
    "id",
    "Question",
    " answer ",
    "",
    "context",
    "kind",
]
ENDINGS = [".csv", ".tsv", ".json", ".jsonl", ".CSV"]
PIECES = [
    *(
        b",",
        b";",
        b"\t",
        b"|",
        b'"',
        b"'",
        b"\n",
        b"\r",
        b"\r\n",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
    ),
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b":",
        b"\\",
        b"\\u",
        b"\\ud800",
        b"\xff\xfe",
        b"\xfe\xff",
        b"PK\x03\x04",
    ),
    *(b"sep=;\n", b"NaN", b"1e999", b"null", b"//", b"question", b'"answer"', b"-", b"0", b"\xc3"),
]


def table(random: Random) -> bytes:
    """A table in some dialect, not always a sound one."""
    mark = random.choice(",;\t|")
    names = random.sample(NAMES, random.randint(1, 5))
    lines = [mark.join(names)]
    for _ in range(random.randint(0, 6)):
        cells = [
            random.choice([*CELLS, *REPLIES])
            for _ in range(random.choice([len(names)] * 4 + [2, 6]))
        ]
        quoted = random.random() < 0.7
        lines.append(mark.join('"' + c.replace('"', '""') + '"' if quoted else c for c in cells))
    text = random.choice(["\n", "\r\n", "\r"]).join(lines)
    return text.encode(random.choice(["utf-8", "utf-8", "utf-16", "cp1252"]), "replace")


def value(random: Random, depth: int = 0) -> Any:
    """A JSON value of any kind."""
    kind = random.randint(0, 7 if depth < 4 else 4)
    if kind > 5:
        return {random.choice(NAMES): value(random, depth + 1) for _ in range(random.randint(0, 4))}
    if kind == 5:
        return [value(random, depth + 1) for _ in range(random.randint(0, 4))]
    return random.choice([random.choice(CELLS), random.choice(CELLS), 7, 1.5, None, True, 10**30])


def document(random: Random) -> bytes:
    """JSON, or lines of it, of any shape."""
    if random.random() < 0.5:
        lines = [json.dumps(value(random)) for _ in range(random.randint(0, 6))]
        return random.choice(["\n", "\r\n", ",\n"]).join(lines).encode()
    return json.dumps(value(random), ensure_ascii=False).encode("utf-8", "replace")


def torn(random: Random) -> bytes:
    """A file of the table, or one generated, with pieces put in, cut out or repeated."""
    data = bytearray(
        random.choice([random.choice(TEXTS).encode(), table(random), document(random)])
    )
    for _ in range(random.randint(1, 6)):
        at = random.randint(0, len(data))
        match random.randint(0, 3):
            case 0:
                data[at:at] = random.choice(PIECES)
            case 1:
                del data[at : at + random.randint(1, 9)]
            case 2:
                data[at:at] = data[at : at + random.randint(1, 40)]
            case _:
                data[at : at + 1] = random.randbytes(1)
    return bytes(data)


def noise(random: Random) -> bytes:
    return b"".join(random.choice(PIECES) for _ in range(random.randint(0, 40)))


def sheet() -> bytes:
    book = Workbook()
    made = book.worksheets[0]
    for line in (
        ["question", "answer", "choices"],
        ["Who?", 1.5, "A) x | B) y"],
        ["When?", True, ""],
    ):
        made.append(line)
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def columns() -> bytes:
    content = BytesIO()
    pq.write_table(pa.table({"question": ["a", "b"], "answers": [["x"], None]}), content)
    return content.getvalue()


def damaged(random: Random, sound: bytes) -> bytes:
    """A binary file with some bytes changed, or a part missing."""
    data = bytearray(sound)
    for _ in range(random.randint(1, 8)):
        data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data[: random.choice([len(data)] * 3 + [random.randrange(len(data))])])


def read(folder: Path, name: str, content: bytes) -> bool:
    """Whether a file is read: as records, then as tasks of one's own, or with errors of ours."""
    path = folder / name
    # A new file each time: to write over one takes a file system much longer.
    path.write_bytes(content)
    try:
        return _is_read(path)
    finally:
        path.unlink()


def _is_read(path: Path) -> bool:
    try:
        assert all(isinstance(record.data, dict) for record in read_records(path))
    except DataError:
        return False
    request = BenchmarkRequest(
        data_root=path.parent, data_path=path, split_ratio="1:1:1", split_seed=1
    )
    with suppress(DataError):
        benchmark = open_folder(request)
        assert "\n" not in benchmark.source
        for task in benchmark.tasks("train"):
            assert all(task.data["answers"])
            assert benchmark.brief(task).prompt
    return True


def test_no_text_breaks_the_reader(tmp_path: Path) -> None:
    random = Random(3)
    makers: list[Callable[[Random], bytes]] = [table, document, torn, torn, noise]
    sound = 0
    for number in range(INPUTS - 2 * BINARY):
        sound += read(tmp_path, f"{number}{random.choice(ENDINGS)}", random.choice(makers)(random))
    assert INPUTS / 10 < sound < INPUTS / 2


@pytest.mark.parametrize(("name", "sound"), [("t.xlsx", sheet()), ("t.parquet", columns())])
def test_no_damaged_binary_file_breaks_the_reader(tmp_path: Path, name: str, sound: bytes) -> None:
    random = Random(5)
    for number in range(BINARY):
        read(tmp_path, f"{number}{name}", damaged(random, sound))
