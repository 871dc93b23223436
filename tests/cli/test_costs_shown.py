"""Costs of whole runs against a real server: shown where they are known, never made up."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import SMALLEST, events, skillopt

from skillopt_cli.testing import ModelServer

PRICES = "[{model: big, input: 3, output: 15}, {model: small, input: 0.25, output: 2}]"
RATES = {"optimizer": (3, 15), "target": (0.25, 2)}


def trained(server: ModelServer, *arguments: str) -> tuple[str, dict[str, Any]]:
    """The lines of a run on the server, and its summary."""
    ended = skillopt(
        *("train", "searchqa", *SMALLEST, "--set", "model.backend=openai_compatible"),
        *("--optimizer-model", "big", "--target-model", "small", "--run-id", "a", *arguments),
        OPENAI_COMPATIBLE_BASE_URL=server.url,
        OPENAI_COMPATIBLE_API_KEY="any",
    )
    assert ended.code == 0, ended.err
    folder = Path("outputs/searchqa/a")
    return ended.err, json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def test_what_a_run_cost_is_the_sum_of_its_calls(server: ModelServer) -> None:
    lines, summary = trained(server, "--set", f"model.prices={PRICES}", "--max-usd", "5")
    usd = 0.0
    for call in events(Path("outputs/searchqa/a"), "call_made"):
        read, written = RATES[call["role"]]
        usage = call["usage"]
        usd += (usage["prompt_tokens"] * read + usage["completion_tokens"] * written) / 1e6
    assert usd > 0
    assert summary["usd_total"] == pytest.approx(usd)
    assert summary["usd_unknown_calls"] == 0
    assert summary["caps"] == {"max_usd": {"limit": 5.0, "spent": summary["usd_total"]}}
    by_role = summary["token_summary_by_role"]
    assert sum(part["usd"] for part in by_role.values()) == pytest.approx(usd)
    assert re.search(r"^Limits: .*; max_usd \$5\.00$", lines, re.M)
    assert re.search(r"^Spent: target .*, \$[\d.]+; optimizer .*, \$[\d.]+; in all \$", lines, re.M)
    assert re.search(r"^Caps: \$[\d.]+ of \$5\.00$", lines, re.M)
    report = skillopt("gate-report", "a").out
    assert re.search(r"^role +stage +calls +tokens +USD$", report, re.M)
    (run,) = skillopt("gate-report", "a", "--json").json["runs"]
    cost = run["cost"]
    assert cost["usd_estimate"] is None
    within = sum(step["spend"][role]["usd"] for step in run["steps"] for role in RATES)
    assert cost["in_steps"]["usd"] == pytest.approx(within)
    outside = sum(part["usd"] for part in run["spend_outside_steps"].values())
    assert within + outside == pytest.approx(usd)


def test_a_server_of_ones_own_has_no_price_until_it_is_said(server: ModelServer) -> None:
    lines, summary = trained(server)
    assert summary["usd_total"] is None
    assert summary["usd_unknown_calls"] == summary["token_summary"]["_total"]["calls"] > 0
    assert re.search(r"^Spent: target .*, price unknown; optimizer .*, price unknown$", lines, re.M)
    assert "$" not in lines
    assert "of unknown price; the models' prices can be set under" in (
        skillopt("gate-report", "a").out
    )


def test_the_simulated_model_costs_nothing_and_says_so() -> None:
    ended = skillopt("train", "searchqa", *SMALLEST, "--run-id", "a")
    summary = json.loads(Path("outputs/searchqa/a/summary.json").read_text(encoding="utf-8"))
    assert (summary["usd_total"], summary["usd_unknown_calls"]) == (0.0, 0)
    for text in (ended.err, skillopt("gate-report", "a").out):
        assert "$" not in text
        assert "unknown price" not in text
