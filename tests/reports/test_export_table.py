"""What a table holds comes back from each format, and no cell of CSV is a formula."""

from __future__ import annotations

import csv
import io
import json

import pandas
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.errors import UsageError
from skillopt_cli.reports.export import table as export
from skillopt_cli.reports.export.table import Column, ExportTable, as_csv, as_jsonl, as_parquet

COLUMNS = (
    Column("text", "text"),
    Column("texts", "texts"),
    Column("count", "count"),
    Column("number", "number"),
    Column("numbers", "numbers"),
    Column("flag", "flag"),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\0\r\n\t\"',;=+-@"))
SCORE = st.none() | st.floats(0, 1)
ROWS = st.lists(
    st.tuples(
        st.none() | TEXT,
        st.lists(TEXT),
        st.none() | st.integers(0, 10**9),
        SCORE,
        st.lists(SCORE),
        st.none() | st.booleans(),
    )
)


def read_csv(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


@given(ROWS)
def test_every_format_holds_the_same(rows: list[tuple[object, ...]]) -> None:
    table = ExportTable(COLUMNS, rows)
    names = [column.name for column in COLUMNS]
    wanted = [dict(zip(names, map(_listed, row), strict=True)) for row in rows]
    assert [json.loads(line) for line in as_jsonl(table).decode().split("\n")[:-1]] == wanted
    parquet = pyarrow.parquet.read_table(io.BytesIO(as_parquet(table)))
    assert parquet.column_names == names
    assert parquet.to_pylist() == wanted
    titles, *cells = read_csv(as_csv(table))
    assert titles == names
    assert len(cells) == len(rows)
    for row, (text, texts, count, number, numbers, flag) in zip(rows, cells, strict=True):
        assert text.removeprefix("'") == (row[0] or "").removeprefix("'")
        assert (count, number) == tuple("" if n is None else str(n) for n in (row[2], row[3]))
        assert flag == {None: "", True: "true", False: "false"}[row[5]]
        assert numbers == (json.dumps(row[4]) if row[4] else "")
        if len(row[1]) > 1:
            assert json.loads(texts) == row[1]


def _listed(cell: object) -> object:
    return list(cell) if isinstance(cell, list | tuple) else cell


@given(TEXT, TEXT)
def test_no_cell_begins_a_formula(title: str, text: str) -> None:
    table = ExportTable([Column(title, "text"), Column("l", "texts")], [(text, [text])])
    for cell in (cell for row in read_csv(as_csv(table)) for cell in row):
        assert not cell.startswith(tuple("=@\t\r\n"))
        if cell.startswith(("+", "-")):
            float(cell.replace(",", "").replace(".", ""))


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+49 30", "'+49 30"),
        ("-x", "'-x"),
        ("@a", "'@a"),
        ("\ta", "'\ta"),
        ("\uff1d1", "'\uff1d1"),
        ("-5", "-5"),
        ("+1.234,5", "+1.234,5"),
        ("- a list", "'- a list"),
        ("a=b", "a=b"),
        ("'quoted'", "'quoted'"),
    ],
)
def test_a_text_that_looks_like_a_formula_has_an_apostrophe(text: str, cell: str) -> None:
    assert read_csv(as_csv(ExportTable([Column("t", "text")], [(text,)])))[1] == [cell]


def test_numbers_are_never_altered() -> None:
    data = as_csv(ExportTable([Column("n", "number"), Column("c", "count")], [(-0.5, -3)]))
    assert data == b'"n","c"\n-0.5,-3\n'


def test_half_a_surrogate_pair_is_written_as_its_escape() -> None:
    table = ExportTable(COLUMNS[:2], [("\ud800", ["\ud800", "b"])])
    assert rb"\ud800" in as_csv(table)
    assert json.loads(as_jsonl(table)) == {"text": "\ud800", "texts": ["\ud800", "b"]}
    assert pyarrow.parquet.read_table(io.BytesIO(as_parquet(table))).to_pylist() == [
        {"text": r"\ud800", "texts": [r"\ud800", "b"]}
    ]


def test_pandas_reads_the_types() -> None:
    rows = [("a", ["b"], 3, 0.5, [], True), (None, [], None, None, [], None)]
    found = pandas.read_csv(io.BytesIO(as_csv(ExportTable(COLUMNS, rows))))
    assert found["number"].tolist()[0] == 0.5 and found["count"].tolist()[0] == 3
    assert found["number"].isna().tolist() == [False, True]


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "absent", lambda name: f"the package {name}")
    with pytest.raises(UsageError, match="writing Parquet needs the package pyarrow") as caught:
        as_parquet(ExportTable(COLUMNS, []))
    assert caught.value.hint == "pip install 'skillopt-cli[parquet]'"
