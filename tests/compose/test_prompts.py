"""Prompts: the user's over the benchmark's over ours; a slip of the pen is found before the run."""

from __future__ import annotations

from pathlib import Path
from string import Template

import pytest

from skillopt_cli.compose.prompts import PLACEHOLDERS, effective_prompts, shipped_prompts
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.engine.session import train_session
from skillopt_cli.stages.modes import MODES
from skillopt_cli.testing import Toy, toy_run, toy_session

SHIPPED = shipped_prompts()


def test_every_mode_has_its_prompts() -> None:
    names = ("analyst_error", "analyst_success", "merge_failure", "merge_success", "merge_final")
    wanted = {f"{name}{mode.suffix}" for name in names for mode in MODES.values()}
    assert wanted | {"ranking", "rewrite", "learning_rate"} <= SHIPPED.keys()


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_a_shipped_prompt_can_be_filled_in(name: str) -> None:
    template = Template(SHIPPED[name])
    assert template.is_valid()
    assert set(template.get_identifiers()) <= PLACEHOLDERS


def test_the_user_wins_over_the_benchmark_and_the_benchmark_over_us(tmp_path: Path) -> None:
    (tmp_path / "ranking.md").write_bytes(b"\xef\xbb\xbfMine, ${budget}.\n")
    (tmp_path / "notes.txt").write_text("not a prompt", encoding="utf-8")
    theirs = {"ranking": "Theirs.", "rewrite": "Theirs, for $$5."}
    prompts = effective_prompts("toy", theirs, str(tmp_path))
    assert prompts["ranking"] == "Mine, ${budget}.\n"
    assert prompts["rewrite"] == "Theirs, for $$5."
    assert prompts["merge_final"] == SHIPPED["merge_final"]
    assert effective_prompts("toy", {}) == SHIPPED


@pytest.mark.parametrize(
    ("name", "text", "message", "hint"),
    [
        ("analyst_eror", "x", "there is no prompt `analyst_eror`", "did you mean `analyst_error`?"),
        ("zzz", "x", "there is no prompt `zzz`", "there are analyst_error, "),
        ("ranking", "At most $number.", "has the unknown placeholder `number`", "write ${budget}"),
        ("ranking", "Costs 5 $.", "has a dollar sign that starts no placeholder", "$$"),
        ("ranking", " \n", "prompt `ranking` is empty", "remove it"),
    ],
)
def test_an_override_that_cannot_be_used(
    tmp_path: Path, name: str, text: str, message: str, hint: str
) -> None:
    (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    for given in ({name: text}, {}):
        with pytest.raises(ConfigError) as caught:
            effective_prompts("toy", given, "" if given else str(tmp_path))
        assert message in caught.value.message
        assert hint in caught.value.hint
        assert ("benchmark `toy`" if given else f"{name}.md") in caught.value.message


def test_a_folder_that_is_none_and_a_file_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"optimizer\.prompts_dir: .* is not a folder"):
        effective_prompts("toy", {}, str(tmp_path / "none"))
    (tmp_path / "rewrite.md").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"cannot read the prompt .*rewrite\.md"):
        effective_prompts("toy", {}, str(tmp_path))


async def test_a_run_asks_in_the_users_words(tmp_path: Path) -> None:
    (tmp_path / "analyst_error.md").write_text("Look at ${budget} of them.", encoding="utf-8")
    run = toy_run(Toy((f"optimizer.prompts_dir={tmp_path}",)))
    assert run.prompts["analyst_error"] == "Look at ${budget} of them."
    assert await train_session(toy_session(Toy((f"optimizer.prompts_dir={tmp_path}",)))) == 0
