import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from task_files import qa, write_json, write_lines

from skillopt_cli.benchmarks.kit import json_stream
from skillopt_cli.benchmarks.kit.records import (
    Record,
    read_records,
    scalar_text,
    single_file,
    text_of,
)
from skillopt_cli.core.errors import DataError

KEYS = st.text(max_size=4)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(0, 1) | st.text(max_size=8)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(KEYS, SCALARS, max_size=3)
RECORDS = st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=5)


def ids(path: Path) -> list[str]:
    return [record.identifier() for record in read_records(path)]


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        list(read_records(path))
    return caught.value.message


def test_a_list_an_object_with_data_and_lines_read_the_same(tmp_path: Path) -> None:
    records = [qa("a"), qa("b")]
    paths = [
        write_json(tmp_path / "list.json", records),
        write_json(tmp_path / "object.json", {"version": 1, "data": records}),
        write_lines(tmp_path / "lines.jsonl", records),
    ]
    for path in paths:
        assert [dict(record.data) for record in read_records(path)] == records


@pytest.mark.parametrize("name", ["tasks.json", "tasks.jsonl"])
def test_a_byte_order_mark_is_ignored(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = json.dumps(qa("a")) if name.endswith("l") else json.dumps([qa("a")])
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert ids(path) == ["a"]


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    question = "one\u2028two\u2029three\x85four\x0c"
    path = tmp_path / "tasks.jsonl"
    line = json.dumps(qa("a", question=question), ensure_ascii=False)
    path.write_bytes(f"{line}\r\n\n{json.dumps(qa('b'))}".encode())
    first, second = read_records(path)
    assert json.loads(json.dumps(question)) == first.data["question"]
    assert second.place == f"{path}, line 3"


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=RECORDS, chunk=st.integers(1, 40))
def test_a_streamed_list_equals_a_list_read_at_once(
    tmp_path: Path, items: list[dict[str, object]], chunk: int
) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(items, indent=1), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_CHUNK", chunk)
        assert [dict(record.data) for record in read_records(path)] == items


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.jsonl", '{"id": 1}\n{"id": }\n', "line 2, column 8: not valid JSON (Expecting value)"),
        ("t.jsonl", '{"id": 1}\n[1]\n', "line 2: a list instead of an object"),
        ("t.jsonl", '{"id": 1, "id": 2}', "line 1: not valid JSON (the key `id` is given twice)"),
        ("t.jsonl", '{"id": NaN}', "line 1: not valid JSON (NaN is not a JSON number)"),
        ("t.json", '[{"id": 1},\n{"id" 2}]', "line 2, column 7: not valid JSON (Expecting ':'"),
        (
            "t.json",
            '[{"id": 1}\n\n{"id": 2}]',
            "line 3, column 1: not valid JSON (a comma or `]` is missing)",
        ),
        ("t.json", '[{"id": 1},\n]', "line 2, column 1: not valid JSON (a comma without a record"),
        ("t.json", '[{"id": 1}', "line 1, column 11: not valid JSON (a comma or `]` is missing)"),
        ("t.json", '[{"id": 1}, 7]', "record 2: a number instead of an object"),
        (
            "t.json",
            "",
            "line 1, column 1: not valid JSON (the text ends where a value is expected)",
        ),
        ("t.json", '{\n"id": 1}\n{"id": 2}', "a file of one record per line is .jsonl)"),
        ("t.json", '{"items": []}', "holds neither a list of records nor an object with a list"),
        ("t.json", "[" + "[" * 200_000, "nested too deeply"),
    ],
)
def test_malformed_files_are_refused_by_place(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert refusal(path).startswith(str(path))
    assert message in refusal(path)


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_bytes_that_are_not_utf8_are_refused_by_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b'[{"id": "a"},\n{"id": "\xe9"}]' if name == "t.json" else b'{}\n{"a":"\xe9"}')
    assert refusal(path) == f"{path}, line 2: not UTF-8 text; as Windows-1252 it reads `é`"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.jsonl").startswith(f"cannot read {tmp_path / 'none.jsonl'}")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "`key` is missing"),
        ({"key": None}, "`key` is missing"),
        ({"key": 5}, "`key` is a number, not text"),
        ({"key": True}, "`key` is true or false, not text"),
        ({"key": ["a"]}, "`key` is a list, not text"),
        ({"key": " "}, "`key` is empty"),
        ({"key": "\ud800"}, "`key` holds half a surrogate pair"),
        ({"key": "a\0"}, "`key` holds a zero character"),
    ],
)
def test_a_text_that_is_none_is_refused_by_key(data: dict[str, object], message: str) -> None:
    with pytest.raises(DataError) as caught:
        Record(data, Path("t.jsonl"), 4).text("key")
    assert caught.value.message == f"t.jsonl, line 4: {message}"


def test_ids_and_lists_of_texts() -> None:
    record = Record({"id": 7, "many": ["a", 2, 0.5], "one": "b"}, Path("t.json"), 1)
    assert record.identifier() == "7"
    assert record.texts("many") == ("a", "2", "0.5")
    assert record.texts("one") == ("b",)
    for bad in ([], [""], [None], [["a"]], [True], {}):
        with pytest.raises(DataError, match=r"t\.json, record 1: `many` is"):
            Record({"many": bad}, Path("t.json"), 1).texts("many")


@pytest.mark.parametrize(
    ("data", "identifier"),
    [
        ({"key": "a", "id": "b"}, "a"),
        ({"key": 7, "id": "b"}, "7"),
        ({"key": 0, "id": "b"}, "0"),
        ({"key": None, "id": "b"}, "b"),
        ({"key": "", "id": 3}, "3"),
    ],
)
def test_an_id_is_that_of_the_first_key_with_a_value(
    data: dict[str, object], identifier: str
) -> None:
    assert Record(data, Path("t.json"), 1).identifier("key", "id") == identifier


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({}, "`id` is missing"),
        ({"key": "", "id": " "}, "`id` is empty"),
        ({"key": 0.5}, "`id` is a number"),
    ],
)
def test_without_a_usable_id_a_record_is_an_error(data: dict[str, object], fault: str) -> None:
    with pytest.raises(DataError, match=f"t\\.json, record 1: {fault}"):
        Record(data, Path("t.json"), 1).identifier("key", "id")


@pytest.mark.parametrize(
    ("value", "text", "scalar"),
    [
        (" a ", "a", "a"),
        (3, "", "3"),
        (0.5, "", "0.5"),
        (True, "", ""),
        (None, "", ""),
        ([], "", ""),
    ],
)
def test_texts_and_numbers_of_any_value(value: object, text: str, scalar: str) -> None:
    assert (text_of(value), scalar_text(value)) == (text, scalar)


def test_a_folder_must_hold_exactly_one_task_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="found: none"):
        single_file(tmp_path)
    wanted = write_lines(tmp_path / "tasks.jsonl", [qa("a")])
    write_json(tmp_path / "split_manifest.json", {})
    write_json(tmp_path / "._tasks.json", [])
    assert single_file(tmp_path) == wanted
    write_json(tmp_path / "more.json", [])
    with pytest.raises(DataError, match=r"found: more\.json, tasks\.jsonl"):
        single_file(tmp_path)


def test_other_names_and_missing_paths_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tasks.txt").write_text("id\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"is no \.json, \.jsonl, .* or \.parquet file"):
        single_file(tmp_path / "tasks.txt")
    with pytest.raises(DataError, match="does not exist"):
        single_file(tmp_path / "nothing.json")


def test_csv_rows_are_records_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text('\ufeffid,question\n1,"a, b\nc"\nx,d\n', encoding="utf-8")
    first, second = read_records(path)
    assert (dict(first.data), first.place) == (
        {"id": "1", "question": "a, b\nc"},
        f"{path}, line 3",
    )
    assert (second.identifier(), second.number) == ("x", 4)
