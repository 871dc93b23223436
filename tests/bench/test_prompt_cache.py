"""The prompt caches of the bench count like the services they are models of."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from prompt_cache import (
    CHARS_PER_TOKEN,
    SMALLEST,
    STEP,
    Counts,
    MarkCache,
    StepCache,
    anthropic_usage,
    openai_usage,
    seed_skill,
)

from skillopt_cli.backends.chat.anthropic_messages import read_usage as read_anthropic
from skillopt_cli.backends.chat.chat_completions import read_usage as read_openai
from skillopt_cli.core.task import Usage

MARK = {"cache_control": {"type": "ephemeral"}}


def text(tokens, letter="x"):
    return letter * tokens * CHARS_PER_TOKEN


def completion(system, user):
    return {"messages": [{"role": "system", "content": system}, {"role": "user", "content": user}]}


def message(system, *blocks, marked=True):
    block = {"type": "text", "text": system, **(MARK if marked else {})}
    turn = {"role": "user", "content": [{"type": "text", "text": text} for text in blocks]}
    return {"system": [block], "messages": [turn]}


def test_steps_are_read_once_a_prompt_was_answered():
    cache, prompt = StepCache(), completion(text(SMALLEST + 2 * STEP), "a")
    assert cache.count(prompt).read == 0
    cache.store(prompt)
    assert cache.count(completion(text(SMALLEST + 2 * STEP), "b")).read == SMALLEST + 2 * STEP
    assert cache.count(completion(text(SMALLEST + STEP), "b")).read == SMALLEST + STEP
    assert cache.count(completion(text(SMALLEST - STEP), "b")).read == 0
    assert cache.count(completion(text(SMALLEST, "y"), "b")).read == 0


def test_marks_are_read_and_paid_for():
    cache, long = MarkCache(), text(2000)
    first, other = message(long, "a"), message(long, "b")
    stored = cache.count(first)
    assert (stored.read, stored.written) == (0, stored.prompt)
    cache.store(first)
    read = cache.count(other)
    assert (read.read, read.written) == (read.prompt, 0)
    assert cache.count(message(long, "b", marked=False)).read == 0
    short = message(text(SMALLEST - 10), "a")
    cache.store(short)
    assert (cache.count(short).read, cache.count(short).written) == (0, 0)


def test_usage_is_read_back_by_the_backends():
    counts = Counts(prompt=5000, read=3000, written=1000)
    assert read_openai({"usage": openai_usage(counts)}) == Usage(1, 5000, 1, 3000)
    assert read_anthropic({"usage": anthropic_usage(counts)}) == Usage(1, 5000, 1, 3000, None, 1000)


def test_a_seed_skill_has_about_the_wanted_size():
    assert 1900 < len(seed_skill(2000)) // CHARS_PER_TOKEN <= 2030
