"""Instances: a repository with a fault, its description, and tests that show when it is fixed.

The published fields are read as they are. Ours besides: `files` (a small repository as texts by
path), `repo_dir` (a git clone), `python` (the interpreter of the instance's own environment) and
`test_command` (words, the test files are added).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.core.task import Task

PYTEST = ("-m", "pytest", "-rA", "--tb=short", "-p", "no:cacheprovider")


def instance_task(record: Record) -> Task:
    """A record as a task.

    Raises:
        DataError: a field is missing or cannot be used.
    """
    if record.data.keys() <= {"id", "instance_id"}:
        raise record.fault(
            "holds an id and nothing else",
            "fill the id manifest in: `skillopt data prepare swebench --manifest-dir DIR`",
        )
    data: dict[str, Any] = {
        "repo": record.text("repo"),
        "base_commit": _optional(record, "base_commit"),
        "problem_statement": record.text("problem_statement"),
        "patch": record.text("patch"),
        "test_patch": record.text("test_patch"),
        "fail_to_pass": _names(record, "FAIL_TO_PASS"),
        "pass_to_pass": _names(record, "PASS_TO_PASS"),
    }
    if not data["fail_to_pass"]:
        raise record.fault("`FAIL_TO_PASS` names no tests", "nothing would show a fixed fault")
    for key in ("repo_dir", "python", "version"):
        if value := _optional(record, key):
            data[key] = value
    if record.data.get("files") is not None:
        data["files"] = _files(record)
    if record.data.get("test_command") is not None:
        data["test_command"] = list(record.texts("test_command"))
    return Task(instance_id(record), sys.intern(data["repo"]), data)


def instance_id(record: Record) -> str:
    """A record's `instance_id`, else its `id`.

    Raises:
        DataError: it has neither.
    """
    if record.data.get("instance_id") is not None:
        return record.text("instance_id")
    return record.identifier()


def _optional(record: Record, key: str) -> str:
    return record.text(key) if record.data.get(key) not in (None, "") else ""


def _names(record: Record, key: str) -> list[str]:
    """Names of tests: a list, or, as published, the JSON text of one."""
    value = record.data.get(key)
    if value is None:
        raise record.fault(f"`{key}` is missing")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise record.fault(f"`{key}` is no JSON list: {error}") from error
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise record.fault(f"`{key}` is no list of names")
    return list(value)


def _files(record: Record) -> Mapping[str, str]:
    files = record.data["files"]
    if not isinstance(files, dict) or not files:
        raise record.fault("`files` is no object of texts by path")
    for path, text in files.items():
        parts = PurePosixPath(path)
        if not isinstance(text, str) or not path or parts.is_absolute() or ".." in parts.parts:
            raise record.fault(f"`files` holds `{path}`, which is no text at a path of its own")
        if parts.parts[0] == ".git":
            raise record.fault("`files` holds .git")
    return dict(files)


def test_command(data: Mapping[str, Any], interpreter: str, files: Sequence[str]) -> list[str]:
    """The program that runs an instance's tests, and its arguments."""
    words = data.get("test_command")
    return [*words, *files] if words else [interpreter, *PYTEST, *files]
