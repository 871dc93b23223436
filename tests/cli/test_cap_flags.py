"""Caps at the command line: exit codes, what is said, and what takes the run up again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import (
    SMALLEST,
    TINY,
    Ended,
    events,
    finished_run,
    outcome,
    refused,
    rows,
    skillopt,
    train,
)

from skillopt_cli.testing import ModelServer, ScriptedResponse

RUN = Path("outputs/searchqa/a")
REMOTE = ("--set", "model.backend=openai_compatible", "--set", "model.retry.base_seconds=0")
NAMED = ("--optimizer-model", "m", "--target-model", "m")
PRICED = ("--set", "model.prices=[{model: m, input: 1000, output: 1000}]")


def summary() -> dict[str, object]:
    found = json.loads((RUN / "summary.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def resumed(*arguments: str) -> Ended:
    return skillopt("resume", RUN, *arguments)


def test_a_capped_run_ends_with_five_and_a_higher_cap_takes_it_up() -> None:
    ended = refused(5, "train", "searchqa", *TINY, "--max-rollouts", 62, "--run-id", "a")
    assert "max_rollouts of 62, less 36 kept for the final test, was reached after" in ended.error
    assert ended.hint.endswith("`skillopt resume a --max-rollouts N` goes on up to a higher N")
    assert (summary()["status"], summary()["exit_code"]) == ("budget", 5)
    assert events(RUN, "run_failed")[-1]["reached"] == "max_rollouts"
    assert "budget exhausted after " in ended.err
    assert "test" in {event["stage"] for event in events(RUN, "call_made")}

    before = len(events(RUN, "call_made"))
    again = refused(5, "resume", RUN)
    assert "max_rollouts of 62" in again.error
    assert len(events(RUN, "call_made")) == before

    assert resumed("--max-rollouts", "500").code == 0
    assert outcome(RUN) == outcome(finished_run(*TINY, run_id="whole"))
    assert summary()["status"] == "finished"


def test_a_cap_for_next_to_nothing_is_told_before_and_after() -> None:  # T23
    small = (*TINY, "--set", "evaluation.sel_env_num=6", "--set", "gradient.minibatch_size=3")
    ended = refused(5, "train", "searchqa", *small, "--max-rollouts", 8, "--run-id", "a")
    warning = "max_rollouts of 8 cannot pay for baseline, one step and final test"
    assert 0 < ended.err.index(warning) < ended.err.index("Baseline:")
    assert "budget exhausted after 0 steps of 4" in ended.err
    assert ended.error.endswith(
        "max_rollouts of 8 was reached after 0 steps; the final test was not made"
    )
    assert not any("Finished" in line for line in ended.err.splitlines())


@pytest.mark.parametrize(
    ("calls", "tested", "words"),
    [
        (40, "true", "; the final test was not made"),
        (2, "true", "; the final test was not made"),
        (40, "false", ""),
    ],
)
def test_a_cap_that_leaves_the_final_test_undone_is_told_without_a_display_too(
    calls: int, tested: str, words: str
) -> None:
    given = ("--display", "none", "--run-id", "a", "--set", f"evaluation.eval_test={tested}")
    ended = refused(5, "train", "searchqa", *TINY, *given, "--max-calls", calls)
    extent = ended.error.partition(" was reached after ")[2]
    assert extent.partition(" step")[2].removeprefix("s") == words
    assert ended.error == f"error: {summary()['message']}"


def test_a_mark_is_said_on_the_way() -> None:
    ended = skillopt("train", "searchqa", *TINY, "--max-calls", 90, "--run-id", "a")
    assert "[Budget] 50 % of max_calls: 45 of 90" in ended.err
    shares = [event["share"] for event in events(RUN, "budget_spent")]
    assert shares == sorted(set(shares))


def test_each_cap_has_a_flag_on_each_command_that_spends() -> None:
    flags = {
        "run.max_usd": ("--max-usd", 1.5),
        "run.max_calls": ("--max-calls", 7),
        "run.max_tokens": ("--max-tokens", 70),
        "run.max_rollouts": ("--max-rollouts", 6),
        "run.max_minutes": ("--max-minutes", 2.5),
        "run.max_concurrency": ("--max-concurrency", 3),
    }
    given = [text for flag, value in flags.values() for text in (flag, str(value))]
    found = rows(skillopt("config", "show", "searchqa", *TINY, *given, "--json"))
    for key, (flag, value) in flags.items():
        assert (found[key]["value"], found[key]["source"]) == (value, f"flag {flag}")
    for command in ("train", "eval", "resume"):
        shown = skillopt(command, "--help").out
        assert all(flag in shown for flag, _ in flags.values()), command


@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_a_cap_of_nothing_is_a_mistake(value: str) -> None:
    ended = skillopt("train", "searchqa", *TINY, "--max-calls", value)
    assert ended.code == 2
    assert "max-calls" in ended.error
    assert not Path("outputs").exists()


def test_money_cannot_be_capped_where_no_price_is_known(server: ModelServer) -> None:
    command = ("train", "searchqa", *SMALLEST, *REMOTE, *NAMED, "--max-usd", 5)
    ended = refused(2, *command, OPENAI_BASE_URL=server.url)
    assert "the price of the optimizer model `m` is not known" in ended.error
    assert "model.prices" in ended.hint
    assert server.requests() == []
    assert not Path("outputs").exists()


def test_money_is_capped_by_the_prices_given(server: ModelServer) -> None:
    command = ("train", "searchqa", *SMALLEST, *REMOTE, *NAMED, *PRICED, "--run-id", "a")
    ended = refused(5, *command, "--max-usd", 0.9, OPENAI_BASE_URL=server.url)
    assert "max_usd of 0.9" in ended.error
    spent = sum(event["usd"] or 0 for event in events(RUN, "call_made"))
    dearest = max(event["usd"] or 0 for event in events(RUN, "call_made"))
    tokens = sum(r["prompt_tokens"] + r["completion_tokens"] for r in server.requests())
    assert spent == pytest.approx(tokens / 1000)
    assert spent < 0.9 + 24 * dearest
    done = skillopt("resume", RUN, "--max-usd", 500, OPENAI_BASE_URL=server.url)
    assert done.code == 0, done.err


def test_what_costs_nothing_needs_no_price() -> None:
    train(*SMALLEST, "--max-usd", 0.01)
    assert {event["usd"] for event in events(RUN, "call_made")} == {0.0}


def test_a_service_that_tells_no_tokens_is_found_out_before_any_rollout(
    server: ModelServer,
) -> None:
    message = {"role": "assistant", "content": "ok"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    server.script(ScriptedResponse(200, body))
    command = ("train", "searchqa", *SMALLEST, *REMOTE, *NAMED, "--run-id", "a")
    ended = refused(4, *command, "--max-tokens", 90000, OPENAI_BASE_URL=server.url)
    assert "the optimizer model does not say how many tokens" in ended.error
    assert len(server.requests()) == 1


def test_an_evaluation_is_capped_as_well() -> None:
    command = ("eval", "searchqa", *TINY, "--from-scratch", "--run-id", "a", "--max-calls", 5)
    ended = refused(5, *command)
    assert ended.error == "error: max_calls of 5 was reached"
    assert ended.hint == "hint: evaluate again with a higher --max-calls"
    assert len(events(RUN, "call_made")) == 5


FATAL = {
    401: ("AuthFailed", {"error": {"message": "no"}}),
    403: ("AuthFailed", {"error": {"message": "no"}}),
    404: ("UnknownModel", {"error": {"message": "no such model", "code": "model_not_found"}}),
}


@pytest.mark.parametrize("status", FATAL)
@pytest.mark.parametrize(
    ("command", "healthy"),
    [("train", 0), ("train", 1), ("eval", 0), ("resume", 0), ("resume", 1)],
)
def test_a_fatal_answer_ends_it_before_any_rollout(
    server: ModelServer, command: str, status: int, healthy: int
) -> None:
    """Whichever of the roles the command needs has the fault, the second one's too."""
    error, body = FATAL[status]
    where = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "key-of-someone"}
    remote = (*SMALLEST, *REMOTE, *NAMED, "--run-id", "a")
    words = {
        "train": ("train", "searchqa", *remote),
        "eval": ("eval", "searchqa", *remote, "--from-scratch"),
        "resume": ("resume", RUN),
    }[command]
    if command == "resume":
        refused(5, "train", "searchqa", *remote, "--max-calls", 4, **where)
        words = (*words, "--max-calls", 400)
    before = len(events(RUN, "rollout_finished")) if command == "resume" else 0
    asked = len(server.requests())
    good = [ScriptedResponse(200, _fine())] * healthy
    server.script(*good, ScriptedResponse(status, body))
    refused(4, *words, **where)
    assert events(RUN, "run_failed")[-1]["error"] == error
    assert len(events(RUN, "rollout_finished")) == before
    assert len(server.requests()) - asked == healthy + 1


def _fine() -> dict[str, object]:
    message = {"role": "assistant", "content": "ok"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }
