"""Prompts: the user's over the benchmark's over ours; a slip of the pen is found before the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

import pytest

from skillopt_cli.compose.prompts import PLACEHOLDERS, effective_prompts, shipped_prompts
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.engine.session import train_session
from skillopt_cli.stages.answer_schemas import Consolidation, Contract, Guidance, Notes, Ranking
from skillopt_cli.stages.modes import MODES
from skillopt_cli.stages.prompt_specs import PROMPTS
from skillopt_cli.stages.rewrite_schemas import NewSkill, Rate
from skillopt_cli.testing import Toy, toy_run, toy_session

SHIPPED = shipped_prompts()


def test_every_mode_has_its_prompts() -> None:
    names = ("analyst_error", "analyst_success", "merge_failure", "merge_success", "merge_final")
    wanted = {f"{name}{mode.suffix}" for name in names for mode in MODES.values()}
    assert wanted | {"ranking", "rewrite", "learning_rate"} <= SHIPPED.keys()


def test_every_shipped_prompt_has_its_line_and_names_the_keys_of_its_answer() -> None:
    assert set(PROMPTS) == set(SHIPPED)
    assert {name: spec.unnamed(SHIPPED[name]) for name, spec in PROMPTS.items()} == dict.fromkeys(
        PROMPTS, ""
    )


@pytest.mark.parametrize("name", sorted(PROMPTS))
def test_a_prompt_that_lacks_a_key_of_its_answer_is_refused(name: str) -> None:
    for key in PROMPTS[name].keys:
        text = SHIPPED[name].replace(f'"{key}"', key).replace(f"`{key}`", key)
        with pytest.raises(ConfigError, match=f'does not name "{key}"'):
            effective_prompts("toy", {name: text})


def required(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> set[str]:
    """The keys without which an answer is refused, those of its parts included."""
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    found = set(schema.get("required", ()))
    parts = [schema["properties"][name] for name in found] + [schema.get("items", {})]
    return found.union(*(required(part, whole) for part in parts if part))


CONTRACTS: Mapping[str, type[Contract]] = {
    "ranking": Ranking,
    "learning_rate": Rate,
    "rewrite": NewSkill,
    "slow_update": Guidance,
    "meta_skill": Notes,
    "appendix_consolidation": Consolidation,
    **{f"analyst_error{mode.suffix}": mode.analysis["failure"] for mode in MODES.values()},
    **{f"analyst_success{mode.suffix}": mode.analysis["success"] for mode in MODES.values()},
    **{
        f"merge_{kind}{mode.suffix}": mode.merge
        for mode in MODES.values()
        for kind in ("failure", "success", "final")
    },
}


def test_the_keys_that_a_prompt_must_name_are_those_its_answer_must_have() -> None:
    # What is added to a prompt asks for keys that may be left out.
    assert PROMPTS.keys() - CONTRACTS.keys() == {"skill_aware", "skill_files"}
    for name, contract in CONTRACTS.items():
        schema = contract.model_json_schema()
        assert required(schema, schema) == set(PROMPTS[name].keys), name


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_a_shipped_prompt_can_be_filled_in(name: str) -> None:
    template = Template(SHIPPED[name])
    assert template.is_valid()
    assert set(template.get_identifiers()) <= PLACEHOLDERS


def test_the_user_wins_over_the_benchmark_and_the_benchmark_over_us(tmp_path: Path) -> None:
    mine = 'Mine, ${budget}, as {"selected_indices": []}.\n'
    (tmp_path / "ranking.md").write_text(mine, encoding="utf-8-sig")
    (tmp_path / "notes.txt").write_text("not a prompt", encoding="utf-8")
    theirs = {
        "ranking": "Theirs: 'selected_indices'.",
        "rewrite": "Theirs, for $$5, in `new_skill`.",
    }
    prompts = effective_prompts("toy", theirs, str(tmp_path))
    assert prompts["ranking"] == mine
    assert prompts["rewrite"] == theirs["rewrite"]
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
        ("ranking", "Give selected_indices.", 'does not name "selected_indices"', "config prompts"),
        ("merge_final", '{"edits": []}', 'prompt `merge_final` does not name "op"', "config"),
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
    text = 'Look at ${budget} of them, for {"edits": [{"op": "append"}]}.'
    (tmp_path / "analyst_error.md").write_text(text, encoding="utf-8")
    run = toy_run(Toy((f"optimizer.prompts_dir={tmp_path}",)))
    assert run.prompts["analyst_error"] == text
    assert await train_session(toy_session(Toy((f"optimizer.prompts_dir={tmp_path}",)))) == 0
