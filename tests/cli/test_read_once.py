"""A command parses each line of a run's log once and opens the benchmark once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from command_line import TINY, skillopt
from plugin_folder import benchmark, install

from skillopt_cli.core.events import Stamped
from skillopt_cli.store import codec

SIZES = [
    f"{key}=0"
    for key in ("train.train_size", *(f"evaluation.{s}_env_num" for s in ("sel", "test")))
]
CONDITIONS = (*TINY, "--batch-size", "4", *(word for size in SIZES for word in ("--set", size)))
RUN = ("sums", *CONDITIONS, "--run-id", "a")
OPENING = "import tempfile; tempfile.mkdtemp(prefix='opened-', dir='.')"
LOG = Path("outputs/sums/a/events.jsonl")


@pytest.fixture
def parsed(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Counter[bytes]:
    """How often each line of a log was parsed, in a folder with a benchmark that counts opens."""
    lines: Counter[bytes] = Counter()
    load = codec.load_fact

    def counting(line: str | bytes) -> Stamped:
        lines[line if isinstance(line, bytes) else line.encode()] += 1
        return load(line)

    monkeypatch.setattr(codec, "load_fact", counting)
    source = {"sums": benchmark("sums", opening=OPENING)}
    site = tmp_path_factory.mktemp("site")
    install(site, monkeypatch, source, {"benchmark": {"sums": "sums:SPEC"}})
    return lines


def opened() -> int:
    """How often the benchmark was opened since the last time that was asked."""
    marks = list(Path().glob("opened-*"))
    for mark in marks:
        mark.rmdir()
    return len(marks)


def test_a_training_and_an_evaluation_parse_no_line_and_open_one_benchmark(
    parsed: Counter[bytes],
) -> None:
    assert skillopt("train", *RUN).code == 0
    assert opened() == 1
    ended = skillopt("eval", "sums", *CONDITIONS, "--skill", "outputs/sums/a")
    assert ended.code == 0, ended.err
    assert (opened(), parsed) == (1, Counter())


@pytest.mark.parametrize("more", [(), ("--seed", "7", "--allow-drift")], ids=["same", "drifted"])
def test_a_resume_parses_each_line_once_and_opens_one_benchmark(
    parsed: Counter[bytes], more: tuple[str, ...]
) -> None:
    assert skillopt("train", *RUN, "--max-rollouts", "9").code == 5
    opened()
    before = LOG.read_bytes().splitlines(keepends=True)
    ended = skillopt("resume", "a", "--max-rollouts", "1000", *more)
    assert ended.code == 0, ended.err
    assert len(LOG.read_bytes().splitlines()) > len(before)
    assert (opened(), parsed) == (1, Counter(before))


def test_a_finished_run_parses_each_line_once_and_opens_no_benchmark(
    parsed: Counter[bytes],
) -> None:
    assert skillopt("train", *RUN).code == 0
    opened()
    assert skillopt("resume", "a").code == 0
    assert (opened(), parsed) == (0, Counter(LOG.read_bytes().splitlines(keepends=True)))
