"""What benchmarks tell the analysts, and what their pages and configurations say of them."""

from __future__ import annotations

from pathlib import Path
from string import Template

import pytest
import yaml

from skillopt_cli.benchmarks.kit.prompts import Prompts
from skillopt_cli.compose.prompts import effective_prompts, shipped_prompts
from skillopt_cli.plugins import load_benchmark

ROOT = Path(__file__).parents[2]
OURS = ("livemathematicianbench", "babyvision", "mathverse")


def test_the_paragraph_comes_before_how_to_work_and_the_contract_stays() -> None:
    made = Prompts(
        role="", seed_skill="", failures="About failures: $5.", successes="About successes."
    ).analysts
    shipped = shipped_prompts()
    assert set(made) == {name for name in shipped if name.startswith("analyst_")}
    for name, text in made.items():
        told = "About failures: $5." if "error" in name else "About successes."
        plain = Template(text).substitute(budget="at most 3")
        assert plain.replace(f"{told}\n\n", "") == Template(shipped[name]).substitute(
            budget="at most 3"
        )
        assert plain.index(told) < plain.index("How to work:")


@pytest.mark.parametrize("name", OURS)
def test_prompts_page_and_configuration_fit(name: str) -> None:
    spec = load_benchmark(name)
    assert effective_prompts(name, spec.prompts)
    page = (ROOT / f"docs/benchmarks/{name}.md").read_text(encoding="utf-8")
    assert [option for option in spec.option_names if f"`env.{option}`" not in page] == []
    text = (ROOT / f"configs/{name}/default.yaml").read_text(encoding="utf-8")
    env = yaml.safe_load(text)["env"]
    assert env.pop("name") == name
    assert set(env) <= spec.option_names
