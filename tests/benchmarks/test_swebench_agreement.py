"""What a log of tests means agrees with the parser and the grader of `swebench` itself."""

from __future__ import annotations

import random
from pathlib import Path

from skillopt_cli.benchmarks.swebench.scoring import grade, read_log


def generated(rng: random.Random) -> tuple[str, int, list[str], list[str]]:
    """A log, what the run ended with, and the named tests."""
    tests = [f"t.py::test_{n}" for n in range(6)] + ["t.py::p[a]", "t.py::p[a-b]", "t.py::p[x y]"]
    words = ("PASSED", "PASSED", "PASSED", "FAILED", "ERROR", "XFAIL", "SKIPPED", "")
    lines = ["collected 9 items", ""]
    status = {}
    for test in tests:
        if word := rng.choice(words if rng.random() < 0.4 else ("PASSED",)):
            status[test] = word
            lines.append(f"{word} {test}" + (" - assert a - b" if word == "FAILED" else ""))
    lines.append("SKIPPED [2] t.py:9: not here")
    code = int(any(word in ("FAILED", "ERROR") for word in status.values()))
    code = rng.choice((code, code, code, 1))
    names = [*tests, "t.py::p[a", "t.py::p[x"]
    rng.shuffle(names)
    return "\n".join(lines), code, names[:3], names[3:6]


def test_agreement_with_the_published_harness(tmp_path: Path) -> None:
    # Here, for every test process reads this file and the harness takes seconds to import.
    from swebench.harness import constants, grading

    class Instance:
        log_parser = next(
            name
            for name, parser in grading.PARSER_REGISTRY.items()
            if getattr(parser, "__name__", "") == "parse_log_pytest"
        )

    rng = random.Random(12)
    verdicts = []
    for number in range(600):
        log, code, mend, keep = generated(rng)
        path = tmp_path / f"{number}.log"
        marks = (constants.START_TEST_OUTPUT, constants.END_TEST_OUTPUT)
        ended = f"{constants.TEST_EXIT_CODE}: {code}"
        path.write_text("\n".join([marks[0], log, marks[1], ended]))
        known, _ = grading.get_logs_eval(Instance(), str(path))
        report = grading.get_eval_tests_report(known, {"FAIL_TO_PASS": mend, "PASS_TO_PASS": keep})
        theirs = grading.get_resolution_status(report) == "RESOLVED_FULL"
        ours = grade(read_log(log, code), mend, keep).resolved
        whole = {name for name in (*mend, *keep) if " " in name}
        if not whole:  # a name with blanks is known to us only
            assert ours is theirs, (log, code, mend, keep)
            verdicts.append(ours)
    assert len(verdicts) >= 200
    assert 20 < sum(verdicts) < len(verdicts) - 20
