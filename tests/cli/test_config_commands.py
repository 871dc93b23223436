"""`config show`, `config prompts` and `config import`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import TINY, refused, rows, skillopt

from skillopt_cli.compose.prompts import shipped_prompts
from skillopt_cli.config.declarations import known_keys


def test_every_key_is_shown_with_value_and_source() -> None:
    found = rows(skillopt("config", "show", "searchqa", *TINY, "--json"))
    assert set(known_keys()) <= set(found)
    assert all(set(row) == {"key", "value", "source"} for row in found.values())
    assert found["train.batch_size"] == {
        "key": "train.batch_size",
        "value": 6,
        "source": "preset tiny",
    }
    assert found["env.name"]["source"] == "argument BENCHMARK"
    assert found["train.seed"]["source"] == "default"


FLAGS = {
    "--optimizer-model": ("model.optimizer.name", "007"),
    "--target-model": ("model.target.name", "4"),
    "--optimizer-backend": ("model.optimizer.backend", "simulated"),
    "--target-backend": ("model.target.backend", "simulated"),
    "--epochs": ("train.num_epochs", 7),
    "--batch-size": ("train.batch_size", 7),
    "--learning-rate": ("optimizer.learning_rate", 7),
    "--lr-scheduler": ("optimizer.lr_scheduler", "linear"),
    "--seed": ("train.seed", 7),
    "--patience": ("evaluation.patience", 7),
    "--workers": ("run.workers", 7),
    "--skill-init": ("env.skill_init", "s.md"),
    "--split-dir": ("env.split_dir", "d"),
    "--out-root": ("env.out_root", "o"),
    "--display": ("run.display", "plain"),
}


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("spell", [str, lambda flag: "--" + flag[2:].replace("-", "_")])
def test_every_run_flag_is_taken_in_both_spellings(flag, spell) -> None:
    key, value = FLAGS[flag]
    found = rows(skillopt("config", "show", "searchqa", "--json", spell(flag), value))
    assert found[key] == {"key": key, "value": value, "source": f"flag {flag}"}


@pytest.mark.parametrize("flag", [flag for flag in FLAGS if flag != "--out-root"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_setting_with_two_values_on_one_command_line_is_refused(flag: str, swapped: bool) -> None:
    key, value = FLAGS[flag]
    other = {"simulated": "rules", "linear": "cosine", "plain": "none"}.get(
        str(value), f"{value}1" if str(value).isdigit() else f"{value}x"
    )
    pair = [(flag, str(value)), ("--set", f"{key}={other}")]
    pair = pair[::-1] if swapped else pair
    words = [word for one in pair for word in one]
    ended = refused(2, "config", "show", "searchqa", *words)
    assert ended.error.startswith(f"error: `{key}` is given twice, as ")
    assert f" by {flag} and as " in ended.error and ended.error.endswith(" by --set")
    # What agrees, or unsets, is no contradiction.
    for same in (value, ""):
        found = rows(
            skillopt("config", "show", "searchqa", "--json", flag, value, "--set", f"{key}={same}")
        )
        assert found[key]["value"] == value


@pytest.mark.parametrize(
    ("flag", "key"),
    [
        ("--from-scratch", "env.from_scratch"),
        ("--require-improvement", "run.require_improvement"),
    ],
)
def test_a_switch_says_true_or_nothing(flag: str, key: str) -> None:
    assert rows(skillopt("config", "show", "--json", flag))[key]["value"] is True
    variable = f"SKILLOPT_{key.upper().replace('.', '__')}"
    found = rows(skillopt("config", "show", "--json", **{variable: "true"}))
    assert found[key]["value"] is True


def test_config_preset_and_set_are_taken_too() -> None:
    Path("my.yaml").write_text("train: {seed: 1}\n", encoding="utf-8")
    given = ("--config", "my.yaml", "--set", "train.batch_size=9", "--set", "env.limit=2")
    found = rows(skillopt("config", "show", *TINY, *given, "--json"))
    sources = {key: found[key]["source"] for key in ("train.seed", "train.num_epochs", "env.limit")}
    assert sources == {
        "train.seed": "my.yaml",
        "train.num_epochs": "preset tiny",
        "env.limit": "flag --set",
    }


def test_variables_and_the_dotenv_file_are_layers() -> None:
    Path(".env").write_text(
        "export SKILLOPT_TRAIN__SEED=5\nSKILLOPT_TRAIN__BATCH_SIZE=5\n", encoding="utf-8"
    )
    found = rows(skillopt("config", "show", "--json", SKILLOPT_TRAIN__BATCH_SIZE="6"))
    assert found["train.seed"]["value"] == 5
    assert found["train.batch_size"]["value"] == 6
    assert found["train.seed"]["source"] == "environment SKILLOPT_TRAIN__SEED"


def test_the_table_holds_a_line_per_key_however_long_the_values() -> None:
    shown = skillopt("config", "show", "--set", f"env.skill_init={'x' * 200}.md")
    lines = shown.out.splitlines()
    assert lines[0].split() == ["key", "value", "source"]
    assert len(lines) == len(known_keys()) + 1
    (line,) = [line for line in lines if line.startswith("env.skill_init")]
    assert line.split() == ["env.skill_init", f'"{"x" * 200}.md"', "flag", "--set"]


def test_brackets_in_a_value_are_shown_as_they_are() -> None:
    shown = skillopt("config", "show", "--set", "env.skill_init=[bold]x[/bold].md")
    assert '"[bold]x[/bold].md"' in shown.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "train.batch_siz=3"), ("train.batch_siz", "train.batch_size")),
        (("--set", "batch_size=3"), ("batch_size", "train.batch_size")),
        (("--set", "nonsense"), ("section.key=value", "train.batch_size=20")),
        (("--preset", "tinny"), ("tinny", "tiny")),
        (("--config", "gone.yaml"), ("gone.yaml", "")),
        (("serchqa",), ("serchqa", "searchqa")),
        (("--lr-scheduler", "cosin"), ("optimizer.lr_scheduler", "`cosine`")),
        (("--batch-size", "many"), ("train.batch_size", "Tasks per rollout")),
        (("--bacth-size", "3"), ("--bacth-size", "--batch-size")),
        (("searchqa", "--set", "env.scorer=f1"), ("env.scorer", "")),
    ],
)
def test_a_mistake_is_one_sentence_and_a_hint(
    arguments: tuple[str, ...], words: tuple[str, str]
) -> None:
    ended = refused(2, "config", "show", *arguments)
    assert words[0] in ended.error
    assert words[1] in ended.hint


def test_a_misspelt_variable_of_ours_is_refused_and_others_are_not() -> None:
    ended = refused(2, "config", "show", SKILLOPT_TRAIN__BATCH_SIZ="3")
    assert "SKILLOPT_TRAIN__BATCH_SIZ" in ended.error
    assert "train.batch_size" in ended.hint
    assert skillopt("config", "show", SKILLOPT_PROCESS="1").code == 0


PUBLISHED = "optimizer_model: gpt\ntrain_size: 5\nmeta_edit_budget: 4\nenv: searchqa\n"


def test_import_prints_a_configuration_and_tells_what_it_left_on_stderr() -> None:
    Path("old.yaml").write_text(PUBLISHED, encoding="utf-8")
    shown = skillopt("config", "import", "old.yaml")
    assert shown.code == 0
    assert "not carried over: meta_edit_budget" in shown.err
    Path("new.yaml").write_text(shown.out, encoding="utf-8")
    found = rows(skillopt("config", "show", "--config", "new.yaml", "--json"))
    assert found["model.optimizer.name"]["value"] == "gpt"
    assert found["train.train_size"]["value"] == 5


def test_import_writes_a_file_once() -> None:
    Path("old.yaml").write_text(PUBLISHED, encoding="utf-8")
    written = skillopt("config", "import", "old.yaml", "--out", "new.yaml")
    assert (written.code, written.out) == (0, "")
    assert rows(skillopt("config", "show", "--config", "new.yaml", "--json"))
    again = refused(2, "config", "import", "old.yaml", "--out", "new.yaml")
    assert "new.yaml exists already" in again.error


def test_import_as_json_holds_both_parts() -> None:
    Path("old.yaml").write_text(PUBLISHED, encoding="utf-8")
    found = skillopt("config", "import", "old.yaml", "--json").json
    assert found["values"]["env"] == {"name": "searchqa"}
    assert [entry["key"] for entry in found["not_carried_over"]] == ["meta_edit_budget"]


def test_import_says_what_does_not_exist() -> None:
    ended = refused(2, "config", "import", "nofile.yaml")
    assert "nofile.yaml does not exist" in ended.error
    assert ended.hint == "hint: name the file to convert"
    Path("old.yaml").write_text(PUBLISHED, encoding="utf-8")
    ended = refused(2, "config", "import", "old.yaml", "--out", "gone/new.yaml")
    assert "there is no folder gone" in ended.error
    assert not Path("gone").exists()


@pytest.mark.parametrize("text", [PUBLISHED, "env: searchqa\nnum_epochs: 2\n"])
def test_a_flat_published_file_is_sent_to_the_import(text: str) -> None:
    Path("old.yaml").write_text(text, encoding="utf-8")
    assert "`skillopt config import`" in refused(2, "config", "show", "--config", "old.yaml").hint


def test_the_prompts_are_listed_printed_and_written() -> None:
    shipped = shipped_prompts()
    listed = skillopt("config", "prompts")
    assert listed.code == 0
    assert {line.split()[0] for line in listed.out.splitlines()[1:]} == set(shipped)
    assert skillopt("config", "prompts", "ranking").out == shipped["ranking"]
    documents = json.loads(skillopt("config", "prompts", "--json").out)
    assert {each["name"]: each["text"] for each in documents} == shipped
    (one,) = json.loads(skillopt("config", "prompts", "ranking", "--json").out)
    assert one["keys"] == ["selected_indices"]

    assert skillopt("config", "prompts", "--out", "mine/all").code == 0
    written = {path.stem: path.read_text(encoding="utf-8") for path in Path("mine/all").iterdir()}
    assert written == shipped
    assert skillopt("config", "prompts", "ranking", "--out", "mine").code == 0
    assert skillopt("config", "prompts", "rewrite", "--out", "mine").code == 0
    assert {path.name for path in Path("mine").iterdir()} == {"all", "ranking.md", "rewrite.md"}
    # What was written is a folder to train with.
    flag = ("--set", "optimizer.prompts_dir=mine/all")
    assert skillopt("plan", "searchqa", *TINY, *flag).code == 0


def test_prompts_that_cannot_be_written_or_do_not_exist() -> None:
    Path("mine").mkdir()
    Path("mine/ranking.md").write_text("mine", encoding="utf-8")
    assert (
        "mine/ranking.md exists already" in refused(2, "config", "prompts", "--out", "mine").error
    )
    assert [path.name for path in Path("mine").iterdir()] == ["ranking.md"]
    assert "cannot write" in refused(3, "config", "prompts", "--out", "mine/ranking.md/x").error
    ended = refused(2, "config", "prompts", "rankin")
    assert ended.error == "error: there is no prompt `rankin`"
    assert ended.hint == "hint: did you mean `ranking`?"


def test_a_prompt_without_the_form_of_its_answer_is_refused_before_the_run() -> None:
    Path("mine").mkdir()
    Path("mine/analyst_error.md").write_text("Be kind.", encoding="utf-8")
    ended = refused(2, "train", "searchqa", *TINY, "--set", "optimizer.prompts_dir=mine")
    assert ended.error == (
        'error: mine/analyst_error.md: prompt `analyst_error` does not name "edits", a key of the'
        " answer"
    )
    assert "`skillopt config prompts analyst_error`" in ended.hint
    assert not Path("outputs").exists()
