"""The published configuration of every benchmark, converted, is one that can be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import skillopt

JUDGE = "  judge_model: gpt-5.4\n  judge_max_completion_tokens: 256\n  judge_retries: 5\n"
PUBLISHED = {
    "alfworld": "  split_mode: split_dir\n  split_dir: d\n  max_steps: 50\n  max_api_workers: 8\n",
    "searchqa": "  split_dir: d\n  max_turns: 1\n  exec_timeout: 120\n",
    "docvqa": "  split_dir: d\n  max_turns: 1\n  image_detail: auto\n",
    "livemathematicianbench": (
        "  split_dir: d\n  max_turns: 1\n  exec_timeout: 300\n  shuffle_choices: true\n"
        "  use_theorem: false\n  use_sketch: false\n"
    ),
    "officeqa": (
        "  split_dir: d\n  data_dirs: [data/officeqa_docs_official]\n  max_tool_turns: 24\n"
        "  search_mode: offline\n  max_queries_per_turn: 4\n  search_api_url: http://x/\n"
        "  search_auth_env: OFFICEQA_CUSTOM_SEARCH_AUTH\n  search_provider: duckduckgo\n"
        "  search_max_num_results: 4\n  search_timeout_seconds: 20\n"
    ),
    "spreadsheetbench": (
        "  split_dir: d\n  data_root: data/verified_400\n  mode: multi\n  max_turns: 30\n"
        "  exec_timeout: 600\n"
    ),
    "babyvision": (
        f"  split_mode: ratio\n  split_ratio: 2:1:7\n  max_turns: 1\n  image_detail: auto\n{JUDGE}"
    ),
    "mathverse": (
        "  data_root: data/MathVerse\n  problem_version: Text Lite\n  max_turns: 1\n"
        f"  use_text_dominant_reference: false\n  image_detail: auto\n{JUDGE}"
    ),
    "mmrb": "  split_mode: ratio\n  max_turns: 1\n  image_detail: auto\n",
    "sealqa": "  split_dir: d\n  max_tool_turns: 12\n",
    "swebench": (
        "  split_mode: ratio\n  split_ratio: 2:1:7\n  dataset_name: lite\n  hf_split: test\n"
        "  eval_workers: 8\n  step_limit: 50\n  cost_limit: 3.0\n  timeout_per_instance: 600\n"
    ),
}
RATIO = {"babyvision", "mmrb"}
"""Those whose published configuration has yet to be told the task file."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_configuration_can_be_used(name: str) -> None:
    text = f"env:\n  name: {name}\n{PUBLISHED[name]}  workers: 6\n  limit: 0\n"
    Path("old.yaml").write_text(text, encoding="utf-8")
    done = skillopt("config", "import", "old.yaml", "--out", "new.yaml")
    assert done.code == 0, done.err
    more = ("--set", "env.data_path=tasks.json") if name in RATIO else ()
    rows = skillopt("config", "show", "--config", "new.yaml", *more, "--json").json
    shown = {row["key"]: row["value"] for row in rows}
    assert shown["run.workers"] == 6
    assert shown["env.name"] == name
    if name in {"babyvision", "mathverse"}:
        assert shown["model.judge.name"] == "gpt-5.4"
        assert "model.retry" in done.err


@pytest.mark.parametrize(
    ("name", "written", "key", "value"),
    [
        ("spreadsheetbench", "data_root: books", "env.workbooks", "books"),
        ("mathverse", "data_root: pictures", "env.image_root", "pictures"),
        ("swebench", "step_limit: 30", "env.max_turns", 30),
        ("docvqa", "max_turns: 2", "env.max_turns", 2),
    ],
)
@pytest.mark.parametrize("shape", ["env:\n  name: {}\n  {}\n", "env: {}\n{}\n"])
def test_what_has_another_name_here(
    shape: str, name: str, written: str, key: str, value: object
) -> None:
    Path("old.yaml").write_text(shape.format(name, written), encoding="utf-8")
    assert skillopt("config", "import", "old.yaml", "--out", "new.yaml").code == 0
    rows = skillopt("config", "show", "--config", "new.yaml", "--json").json
    assert {row["key"]: row["value"] for row in rows}[key] == value


def test_what_a_benchmark_does_not_take_is_said() -> None:
    text = "env:\n  name: searchqa\n  max_turns: 2\n  mode: multi\n  data_root: books\n"
    Path("old.yaml").write_text(text, encoding="utf-8")
    told = skillopt("config", "import", "old.yaml", "--json").json
    left = {row["key"] for row in told["not_carried_over"]}
    assert left == {"env.max_turns", "env.mode"}
    assert told["values"] == {"env": {"name": "searchqa", "data_root": "books"}}
