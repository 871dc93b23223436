"""Every benchmark of texts is measured with a real model behind a real llama.cpp server."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import skillopt

from skillopt_cli.backends.chat.local import SPEC as LOCAL
from skillopt_cli.plugins import BENCHMARKS, load_benchmark, names

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(LOCAL.missing({})), reason="needs the extra `local`"),
]

TEXTS = sorted(
    name
    for name in set(names(BENCHMARKS)) - {"folder"}
    if "images" not in load_benchmark(name).modality
)
TASKS = 2
FEW_TURNS = {
    "alfworld": ("env.max_steps=2",),
    "officeqa": ("env.max_tool_turns=2",),
    "sealqa": ("env.max_tool_turns=2",),
    "spreadsheetbench": ("env.max_turns=2",),
    "swebench": ("env.max_turns=2",),
}
"""A model this small gets nowhere; that it is asked, heard and scored is what is looked at."""


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_measured_with_a_real_model(name: str, real_model: str) -> None:
    if missing := load_benchmark(name).missing():
        pytest.skip(f"{name} needs {missing}")
    Path("skill.md").write_text("# Task\n\nGive a short answer.\n", encoding="utf-8")
    settings = (
        f"model.target.base_url={real_model}",
        "model.target.max_completion_tokens=24",
        "model.target.temperature=0",
        "model.target.timeout=300",
        "model.judge.backend=simulated",
        "run.workers=1",
        f"evaluation.test_env_num={TASKS}",
        *FEW_TURNS.get(name, ()),
    )
    ended = skillopt(
        *("eval", name, "--skill", "skill.md", "--split", "test", "--json"),
        *("--target-backend", "openai_compatible", "--target-model", "gemma"),
        *(text for setting in settings for text in ("--set", setting)),
    )
    assert ended.code == 0, ended.err
    (folder,) = Path("outputs", name).iterdir()
    measured = json.loads((folder / "eval_summary.json").read_text(encoding="utf-8"))
    assert measured["scored"] == measured["n_items"] == TASKS, measured
    # For whoever runs this with -rP: the score, whatever it is.
    sys.stdout.write(f"{name}: hard {measured['hard']:.2f} (n={TASKS})\n")
