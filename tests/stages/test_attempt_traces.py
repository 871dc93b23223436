from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.events import RolloutFinished
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, Ending, Message
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.ports import Executor
from skillopt_cli.stages import measure
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import Journal
from skillopt_cli.testing import EventLog, Toy, toy_run

SKILL = SkillDocument("skill\n")
TRACE = '{"type": "turn.started"}\n{"type": "surprise", "text": "ä\u2028"}\n'


class Agent:
    """An agent that tells of its work."""

    name = fingerprint = "agent"
    offers: frozenset[str] = frozenset()

    def __init__(self, ending: Ending = "answered") -> None:
        self.ending = ending
        self.asked = 0

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        self.asked += 1
        call = ToolCall("1", "exec", "ls")
        messages = (
            Message("assistant", "", tool_calls=(call,)),
            Message("tool", "no", call_id="1", failed=True),
        )
        return Attempt("x", messages, ending=self.ending, skill_loaded=False, trace=TRACE)


def found(folder: Path, pattern: str) -> list[Path]:
    return list(folder.rglob(pattern))


@pytest.mark.parametrize("ending", ["answered", "broken"])
async def test_a_trace_is_kept_beside_its_attempt_and_not_in_the_journal(
    tmp_path: Path, ending: Ending
) -> None:
    log, agent = EventLog(), Agent(ending)
    with Journal(tmp_path / "journal.sqlite") as journal, FileStore(tmp_path, journal) as store:
        run = toy_run(Toy(settings=("evaluation.sel_env_num=1",)), store, [Subscriber("log", log)])
        run = replace(run, target=agent)
        for _ in range(2):
            await measure(run, SKILL, "selection")
    traces = found(tmp_path, "*.trace.jsonl")
    assert [trace.read_text("utf-8") for trace in traces] == [TRACE] * len(traces)
    assert len({trace.parent for trace in traces}) == len(traces) == 1
    document = json.loads(
        traces[0].with_name(traces[0].name.replace(".trace.jsonl", ".json")).read_text()
    )
    assert document["conversation"] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"name": "exec", "arguments": "ls"}],
        },
        {"role": "tool", "content": "no", "failed": True},
    ]
    assert document["skill_loaded"] is False
    assert agent.asked == (1 if ending == "answered" else 2)
    assert {fact.skill_loaded for fact in log.of(RolloutFinished)} == {False}
    raw = b"".join(path.read_bytes() for path in found(tmp_path, "journal.sqlite*"))
    assert b"surprise" not in raw and (b"skill_loaded" in raw) == (ending == "answered")
