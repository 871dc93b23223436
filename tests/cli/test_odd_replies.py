"""`skillopt eval` and `train` against servers whose replies are odd: scores, causes and counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from command_line import Ended, skillopt

Answer = Callable[[dict[str, Any]], str | bytes]
FAST = ("--set", "model.retry.base_seconds=0", "--set", "model.retry.max_attempts=2")


def body(content: str | None, finish: str = "stop", **more: Any) -> str:
    message = {"role": "assistant", "content": content, **more}
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}]})


@contextmanager
def served(answer: Answer) -> Iterator[str]:
    """The address of a server that answers every request, in a thread of this process."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            made = answer(asked)
            made = made if isinstance(made, bytes) else made.encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(made)))
            self.end_headers()
            self.wfile.write(made)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(
    command: str, answer: Answer, *more: str, backend: str = "openai_compatible", **shell: str
) -> Ended:
    """What a command of eight tasks, of which `thing` is the answer, makes of a server."""
    tasks = [{"id": f"q{n}", "question": f"What is item {n}?", "answer": "thing"} for n in range(8)]
    lines = "".join(f"{json.dumps(task)}\n" for task in tasks)
    Path("t.jsonl").write_text(lines, encoding="utf-8")
    with served(answer) as url:
        return skillopt(
            *(
                command,
                "folder",
                "--set",
                "env.data_path=t.jsonl",
                "--set",
                "env.split_ratio=1:1:2",
            ),
            *("--target-backend", backend, "--target-model", "m", "--from-scratch", *FAST, *more),
            OPENAI_COMPATIBLE_BASE_URL=url,
            QWEN_CHAT_BASE_URL=url,
            **shell,
        )


def evaluate(answer: Answer, *more: str, **shell: str) -> Ended:
    return run("eval", answer, *more, **shell)


def streamed(asked: dict[str, Any]) -> str:
    """A server that streams unless it is asked not to."""
    if asked.get("stream") is False:
        return body("thing")
    return 'data: {"choices": []}\n\n'


def event_stream(asked: dict[str, Any]) -> str:
    """A server that streams whatever it is asked."""
    deltas = [{"content": "th"}, {"content": "ing"}]
    lines = [json.dumps({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas]
    return "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]"))


DRAFT = "Okay. Maybe <answer>other</answer>?\n</think>\nthing"
WHOLE = "Who? Perhaps other.\n\nNo.\n</think>\n\nthing"
CUT = "<think>first I guess <answer>thing</answer> but"


@pytest.mark.parametrize(
    ("answer", "backend", "score", "words"),
    [
        *(
            (lambda asked, text=text: body(text), backend, 1.0, "a thought left out of a reply")
            for text in (DRAFT, WHOLE)
            for backend in ("openai_compatible", "qwen_chat")
        ),
        *(
            (
                lambda asked, finish=finish: body(CUT, finish),
                "openai_compatible",
                0.0,
                "4 of 4 attempts: the answer was cut at max_completion_tokens before any text;"
                " raise",
            )
            for finish in ("length", "stop")
        ),
        (
            lambda asked: body("<think><answer>thing</answer></think>"),
            "openai_compatible",
            0.0,
            "4 of 4 attempts: the reply held a thought and no answer; raise",
        ),
        (streamed, "openai_compatible", 1.0, "Score: test 1.00"),
        (event_stream, "openai_compatible", 1.0, "Score: test 1.00"),
        (
            lambda asked: f"{body('thing')}\n\ndata: [DONE]\n\n",
            "openai_compatible",
            1.0,
            "Score: test 1.00",
        ),
    ],
)
def test_a_reply_scores_what_its_answer_is_worth(
    answer: Answer, backend: str, score: float, words: str
) -> None:
    ended = evaluate(answer, "--json", backend=backend)
    assert ended.code == 0, ended.err
    assert ended.json["hard"] == score
    assert words in ended.err


@pytest.mark.parametrize("shell", [{}, {"NO_PROXY": "127.0.0.1"}])
def test_this_machine_needs_no_proxy(shell: dict[str, str]) -> None:
    proxy = "socks5://127.0.0.1:1080"
    ended = evaluate(lambda asked: body("thing"), ALL_PROXY=proxy, **shell)
    assert "Score: test 1.00" in ended.err


in_the_wrong_place = pytest.mark.parametrize(
    ("message", "words", "hint", "tries"),
    [
        (
            {"content": None, "reasoning_content": "It is thing."},
            "answered with reasoning alone, in `reasoning_content`",
            "reasoning parser",
            1,
        ),
        (
            {
                "content": None,
                "tool_calls": [{"id": "c", "function": {"name": "", "arguments": "{}"}}],
            },
            "answered with a tool call that nobody offered",
            "--tool-call-parser",
            2,
        ),
    ],
)


@in_the_wrong_place
def test_an_answer_in_the_wrong_place_is_an_error_that_names_the_cause(
    message: dict[str, Any], words: str, hint: str, tries: int
) -> None:
    asked: list[dict[str, Any]] = []

    def answer(given: dict[str, Any]) -> str:
        asked.append(given)
        return body(**message)

    ended = evaluate(answer)
    assert ended.code == 4
    assert words in ended.error and hint in ended.hint
    assert len(asked) == tries


@in_the_wrong_place
def test_attempts_with_an_answer_in_the_wrong_place_are_broken(
    message: dict[str, Any], words: str, hint: str, tries: int
) -> None:
    asked: list[dict[str, Any]] = []

    def answer(given: dict[str, Any]) -> str:
        asked.append(given)
        return body(**message) if len(asked) > 1 else body("ok")

    ended = evaluate(answer)
    assert ended.code == 6
    assert "only 0 of 4 attempts could be scored" in ended.error and words in ended.error
    assert len(asked) == 1 + 4 * tries


def trained(*answers: str) -> tuple[str, int, dict[str, int]]:
    """The best skill, the questions to the optimizer, and what was degraded."""
    asked: list[dict[str, Any]] = []

    def answer(given: dict[str, Any]) -> str:
        prompt = json.dumps(given["messages"])
        if given["model"] == "m":
            return body("thing" if "Say thing" in prompt else "other")
        asked.append(given)
        return body(("ok", *answers)[min(len(asked) - 1, len(answers))])

    optimizer = ("--optimizer-backend", "openai_compatible", "--optimizer-model", "o")
    limits = ("--epochs", "1", "--preset", "paper", "--set", "optimizer.learning_rate=1")
    ended = run("train", answer, *optimizer, *limits, "--run-id", "a")
    assert ended.code == 0, ended.err
    folder = Path("outputs/folder/a")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    best = (folder / "best_skill.md").read_text(encoding="utf-8")
    return best, len(asked) - 1, summary["degraded"]


def edits(*contents: str) -> str:
    made = [{"op": "append", "content": text, "support": n} for n, text in enumerate(contents)]
    return json.dumps({"edits": made})


def fenced(text: str) -> str:
    return f"```json\n{text}\n```"


@pytest.mark.parametrize(
    ("answer", "best"),
    [
        (
            r'{"edits":[{"op":"append","content":"Use \frac{a}{b} and \beta. Say thing\u0000."}]}',
            "Use \\frac{a}{b} and \\beta. Say thing.\n",
        ),
        (fenced('{"edits": [{"op": "append", "content": "Say thing."},]}'), "Say thing.\n"),
        (
            fenced(r'{"edits": [{"op": "append", "content": "Say thing: \d+ and \(x\)"}]}'),
            "Say thing: \\d+ and \\(x\\)\n",
        ),
        (fenced(json.dumps(edits("Say thing."))), "Say thing.\n"),
        (fenced("{'edits': [{'op': 'append', 'content': 'Say thing.'}]}"), "Say thing.\n"),
    ],
)
def test_what_is_repaired_is_the_skill_and_is_counted(answer: str, best: str) -> None:
    assert trained(answer) == (best, 1, {"reflect": 1})
    read = ("--set", "env.data_path=t.jsonl", "--set", "env.split_ratio=1:1:2")
    skill = ("--skill", "outputs/folder/a", "--target-backend", "simulated")
    assert skillopt("eval", "folder", *read, *skill).code == 0


@pytest.mark.parametrize(
    "draft",
    [
        f"[{edits('Say thing: draft.')}]",
        f"{fenced(edits('Say thing: draft.'))}\nRevised:\n```json\n{edits('Say thing')[:-20]}",
    ],
)
def test_a_draft_is_asked_for_again(draft: str) -> None:
    assert trained(draft, edits("Say thing.")) == ("Say thing.\n", 2, {})


def test_a_ranking_that_names_nothing_changes_nothing() -> None:
    ranking = '{"selected_indices": []}'
    assert trained(edits("Say thing.", "Say thing twice."), ranking) == ("", 2, {})


VERDICTS = [
    "CORRECT\n\nThe answer names the same person.",
    '{"reasoning": "same person", "verdict": "correct"}',
    "Is it the same?\n</think>\n\nCORRECT",
    "The final verdict is: CORRECT<|im_end|>",
]


def test_clear_verdicts_are_read_at_once_and_the_share_of_others_is_shown() -> None:
    judged: list[str] = []

    def answer(asked: dict[str, Any]) -> str:
        if "judge" not in asked["model"]:
            return body("a thing")
        if len(asked["messages"]) == 2 and "Answer to judge" in asked["messages"][-1]["content"]:
            judged.append("first")
            return body([*VERDICTS[:3], "PARTIALLY CORRECT"][len(judged) % 4])
        return body(VERDICTS[3])

    ended = evaluate(
        answer,
        *("--json", "--set", "env.scorer=judge", "--set", "model.judge.backend=openai_compatible"),
        *("--set", "model.judge.name=the-judge", "--set", "evaluation.judge_twice=0"),
    )
    assert ended.code == 0, ended.err
    assert ended.json["hard"] == 1.0
    assert "Judge: 1 of 4 verdicts could not be read at first" in ended.err


@pytest.mark.parametrize("recorded", [(), (1,), (1, 2)])
def test_a_run_whose_optimizer_answers_nothing_usable_goes_on_once_it_is_repaired(
    recorded: tuple[int, ...],
) -> None:
    repaired = False

    def answer(given: dict[str, Any]) -> str:
        prompt = json.dumps(given["messages"])
        if given["model"] == "m":
            return body("thing" if "Say thing" in prompt else "other")
        return body(edits("Say thing.") if repaired else "I would rather not.")

    def record(life: int) -> tuple[str, ...]:
        return ("--record", "calls.jsonl") if life in recorded else ()

    tasks = [{"id": f"q{n}", "question": f"Item {n}?", "answer": "thing"} for n in range(8)]
    Path("t.jsonl").write_text("\n".join(map(json.dumps, tasks)), encoding="utf-8")
    flags = (
        *("folder", "--set", "env.data_path=t.jsonl", "--from-scratch", *FAST),
        *("--target-model", "m", "--optimizer-model", "o"),
        *("--epochs", "1", "--preset", "paper", "--set", "env.split_ratio=1:1:2"),
        *("--set", "model.backend=openai_compatible", "--set", "run.cache_dir=shared"),
    )
    with served(answer) as url:
        shell = {"OPENAI_COMPATIBLE_BASE_URL": url}
        ended = skillopt("train", *flags, "--run-id", "a", *record(1), **shell)
        assert ended.code == 4, ended.err
        assert "gave no usable answer to 1 request" in ended.error
        assert "a resume asks again" in ended.hint
        repaired = True
        ended = skillopt("resume", "a", *record(2), **shell)
        assert ended.code == 0, ended.err
    best = Path("outputs/folder/a/best_skill.md").read_text(encoding="utf-8")
    assert best == "Say thing.\n"
    if 2 in recorded:
        ended = skillopt("train", *flags, "--run-id", "b", "--replay", "calls.jsonl")
        assert ended.code == 0, ended.err
        assert Path("outputs/folder/b/best_skill.md").read_text(encoding="utf-8") == best
