"""Reading the event log: facts of some kinds, without decoding the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from facts import one_of_each, stamp

from skillopt_cli.core.errors import DataError
from skillopt_cli.store import event_log
from skillopt_cli.store.codec import dump_fact
from skillopt_cli.store.event_log import KindTail
from skillopt_cli.store.layout import EVENTS


@pytest.mark.parametrize("block", [1, 100, 1 << 24])
def test_only_facts_of_the_kinds_are_found_in_the_order_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(event_log, "_BLOCK", block)
    facts = stamp([*one_of_each(), *one_of_each()])
    (tmp_path / EVENTS).write_text("".join(f"{dump_fact(fact)}\n" for fact in facts))
    for kinds in (("run_started",), ("test_measured", "run_started", "edits_chosen"), ()):
        assert KindTail(tmp_path, kinds).read() == [f for f in facts if f.event.kind in kinds]


def test_other_lines_may_be_damaged_and_the_last_one_incomplete(tmp_path: Path) -> None:
    (fact,) = stamp([fact for fact in one_of_each() if fact.kind == "run_started"])
    line = dump_fact(fact)
    (tmp_path / EVENTS).write_text(f"no fact\n{line}\n{line}")
    assert KindTail(tmp_path, ["run_started"]).read() == [fact]
    (tmp_path / EVENTS).write_text(f'{line}\n{{"kind":"run_started"}}\n')
    with pytest.raises(DataError, match="is not a fact"):
        KindTail(tmp_path, ["run_started"]).read()


def test_only_what_was_appended_is_read_the_next_time(tmp_path: Path) -> None:
    (fact,) = stamp([fact for fact in one_of_each() if fact.kind == "run_started"])
    line = dump_fact(fact)
    (tmp_path / EVENTS).write_text(f"{line}\nno fact\n{line[:9]}")
    tail = KindTail(tmp_path, ["run_started"])
    assert (tail.read(), tail.read()) == ([fact], [])
    with (tmp_path / EVENTS).open("a") as log:
        log.write(f"{line[9:]}\n{line}\n")
    assert (tail.read(), tail.read()) == ([fact, fact], [])
