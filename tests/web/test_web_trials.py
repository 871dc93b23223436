"""The attempts that edits were tried with before the gate are shown as other attempts are."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from command_line import events, finished_run
from dom import parsed, text_of
from web_rig import client

RUN = "/runs/searchqa/a"
MADE = ("--set", "model.backend=simulated", "--set", "env.limit=30", "--epochs", "1")


@pytest.mark.parametrize("mode", ["edits", "joint"])
def test_the_trials_of_edits_lead_to_their_attempts(mode: str) -> None:
    run = finished_run(*MADE, "--set", f"optimizer.verify={mode}").resolve()
    verified = events(run, "edits_verified")
    tried = [t for e in verified for t in e["trials"] if t["joint"] == (mode == "joint")]
    assert len({e["round"] for e in verified}) > 1 and len(tried) > 4
    with client(run.parent.parent) as asking:
        page = parsed(asking.get(f"{RUN}/steps/1").text)
        shown = [d for d in page.iter("details") if d.get("id", "").startswith("trial-")]
        seen = list[str]()
        for details, trial in zip(shown, tried, strict=True):
            again = trial["edit"]["content"] in seen
            assert (" (tried again): " in text_of(next(details.iter("summary")))) == again
            seen.append(trial["edit"]["content"])
            numbers = f": solved {len(trial['fixed'])} of {len(trial['tried'])}"
            assert text_of(next(details.iter("summary"))).endswith(numbers)
            links = {text_of(a): a.attrib["href"] for a in details.iter("a")}
            assert list(links) == trial["tried"]
            for item, (task, address) in zip(details.iter("li"), links.items(), strict=True):
                (place,) = parse_qs(urlsplit(address).query)["in"]
                kept = json.loads((run / place / f"{task}.json").read_text(encoding="utf-8"))
                assert trial["edit"]["content"].strip() in str(kept["conversation"][0]["content"])
                right = task in trial["fixed"]
                assert (kept["hard"] == 1) == right
                assert text_of(item).endswith("right" if right else "failed")
                attempt = asking.get(address)
                assert f"hard {kept['hard']:.2f}, soft {kept['soft']:.2f}" in attempt.text
                assert "step 1, trial of: add " in text_of(parsed(attempt.text))
                # The page of the task has it among the other attempts.
                listed = asking.get(f"{RUN}/attempts?task={task}").text
                assert f"in={quote(place, safe='')}" in listed


def test_a_place_beside_those_of_trials_is_none(trained: Path) -> None:
    with client(trained) as asking:
        for place in ("verify", "verify/..", "verify/alone_1", "verify/first_01", "check/x"):
            address = f"{RUN}/attempts?task=val-002&in=steps/step_0001/{place}"
            assert asking.get(address).status_code == 404
