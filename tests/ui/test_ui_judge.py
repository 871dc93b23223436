"""How steady a judge is: told at the end, and in the summary; nothing where none was asked."""

from __future__ import annotations

import json

from facts import begun, stamp, whole_run

from skillopt_cli.core import events as ev
from skillopt_cli.core.ledger import PREFLIGHT
from skillopt_cli.core.task import Usage
from skillopt_cli.runlog.fold import fold
from skillopt_cli.runlog.summary import summarise
from skillopt_cli.runlog.text.ending import spend_lines
from skillopt_cli.runlog.text.header import models_words
from skillopt_cli.store.codec import dump_fact

VERDICTS = [ev.JudgedTwice(1, "rollout", f"t{n}", agree=n != 2) for n in range(4)]


def test_agreement_is_told() -> None:
    view = fold(stamp([*VERDICTS, *whole_run()]))
    assert "Judge: 3 of 4 second verdicts agreed" in spend_lines(view)
    assert summarise(view)["judged_twice"] == {"answers": 4, "agreed": 3, "share": 0.75}


def test_the_share_of_unreadable_verdicts_is_told() -> None:
    turns = (0, 0, 1, 0, 0)
    calls = [ev.CallMade("judge", "rollout", Usage(1), turn=turn) for turn in turns]
    preflight = [
        ev.CallMade("judge", PREFLIGHT, Usage(1)),
        ev.CallMade("target", "rollout", Usage(1), turn=1),
    ]
    view = fold(stamp([*preflight, *calls, *whole_run()]))
    assert "Judge: 1 of 4 verdicts could not be read at first" in spend_lines(view)
    shown = {"answers": 4, "unreadable": 1, "share": 0.25}
    assert summarise(view)["unreadable_verdicts"] == shown


def test_a_run_without_a_judge_says_nothing_of_one() -> None:
    view = fold(stamp(whole_run()))
    assert not any("Judge" in line for line in spend_lines(view))
    assert not summarise(view).keys() & {"judged_twice", "unreadable_verdicts"}


def test_the_head_names_who_plays_each_role_and_none_that_nobody_plays() -> None:
    judged = begun(judge="claude_chat/c")
    assert models_words(judged) == "target tiny-model, optimizer rules, judge claude_chat/c"
    assert models_words(begun()) == "target tiny-model, optimizer rules"
    measured = begun(judge="c", optimizer="none", total_steps=0)
    assert models_words(measured) == "target tiny-model, judge c"


def test_log_and_summary_name_the_judge() -> None:
    (fact,) = stamp([begun(judge="c")])
    assert json.loads(dump_fact(fact))["event"]["judge"] == "c"
    assert summarise(fold([fact]))["judge"] == "c"
    (fact,) = stamp([begun(optimizer="none", total_steps=0)])
    assert "judge" not in json.loads(dump_fact(fact))["event"]
    summary = summarise(fold([fact]))
    assert (summary["judge"], summary["optimizer"]) == (None, None)
