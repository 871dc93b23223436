"""Variables: `.env` fills gaps, the real environment wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_cli.config.environment import file_of, read_environment, user_folder
from skillopt_cli.core.errors import ConfigError


def test_the_real_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("A_KEY=file\nB_KEY=file\n", encoding="utf-8")
    monkeypatch.setenv("A_KEY", "real")
    found = read_environment()
    assert (found["A_KEY"], found["B_KEY"]) == ("real", "file")


def test_an_empty_variable_leaves_the_file_its_say(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("A_KEY=file\nB_KEY=\n", encoding="utf-8")
    monkeypatch.setenv("A_KEY", "")
    monkeypatch.setenv("C_KEY", "")
    found = read_environment()
    assert found["A_KEY"] == "file"
    assert "B_KEY" not in found
    assert "C_KEY" not in found


def test_export_quotes_comments_and_a_byte_order_mark_are_understood() -> None:
    text = "export A=1\nB='two words'  # comment\n# C=3\nexport D=\"x#y\"\nE=http://h/v1?a=b\n"
    Path(".env").write_text(text, encoding="utf-8-sig")
    found = read_environment()
    assert {k: found.get(k) for k in "ABCDE"} == {
        "A": "1",
        "B": "two words",
        "C": None,
        "D": "x#y",
        "E": "http://h/v1?a=b",
    }


def test_another_folder_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / ".env").write_text("A=deep\n", encoding="utf-8")
    assert read_environment(tmp_path / "deep")["A"] == "deep"
    assert "A" not in read_environment()


def test_a_folder_of_that_name_is_no_file() -> None:
    Path(".env").mkdir()
    assert "A" not in read_environment()


def test_an_unreadable_file_is_a_configuration_error() -> None:
    Path(".env").write_bytes(b"A=\xff\xfe\xff\n")
    with pytest.raises(ConfigError, match=r"\.env.*not UTF-8"):
        read_environment()


def test_it_is_known_which_variables_the_file_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("A_KEY=file\nB_KEY=file\n", encoding="utf-8")
    monkeypatch.setenv("A_KEY", "real")
    found = read_environment()
    assert file_of(found, "A_KEY") is None
    assert file_of(found, "B_KEY") == Path.cwd() / ".env"
    assert file_of(dict(found), "B_KEY") is None


def test_the_file_names_no_program_and_no_folder_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PATH")
    text = "PATH=/evil\nHOME=/evil\nXDG_CACHE_HOME=/evil\nXDG_STATE_HOME=/evil\n"
    Path(".env").write_text(text, encoding="utf-8")
    assert "/evil" not in read_environment().values()
    assert user_folder("state") == Path.home() / ".local" / "state" / "skillopt"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert user_folder("state") == Path.home() / ".local" / "state" / "skillopt"
    monkeypatch.setenv("XDG_STATE_HOME", "/own")
    assert user_folder("state") == Path("/own/skillopt")
