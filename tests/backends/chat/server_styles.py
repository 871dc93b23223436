"""Answers in the shapes of ten servers of chat completions, each to the same question.

The answer is `thing` in all of them, and `other` is never more than a thought.
"""

from __future__ import annotations

import json
from typing import Any

OTHER = "Perhaps <answer>other</answer>? No."


def body(content: Any, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A completion; `more` are further fields of its message."""
    message = {"role": "assistant", "content": content, **more}
    return {
        "id": "chatcmpl-5d1f",
        "object": "chat.completion",
        "created": 1767225600,
        "model": "m",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 9, "total_tokens": 20},
    }


def azure() -> dict[str, Any]:
    filtered = {"hate": {"filtered": False, "severity": "safe"}}
    made = body("thing", refusal=None, annotations=[])
    made["choices"][0]["content_filter_results"] = filtered
    return {
        **made,
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": filtered}],
    }


def openrouter() -> str:
    """Comments keep the connection open until the answer has come, here as a stream."""
    chunks = [
        {"role": "assistant", "content": "", "reasoning": "Perhaps other?"},
        {"content": "th", "reasoning": None},
        {"content": "ing"},
    ]
    events = [
        {"id": "gen-1", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in chunks
    ]
    events.append({"id": "gen-1", "choices": [{"delta": {"content": ""}, "finish_reason": "stop"}]})
    events.append({
        "id": "gen-1",
        "choices": [],
        "usage": {"prompt_tokens": 11, "completion_tokens": 9},
    })
    lines = (f"data: {json.dumps(event)}\n\n" for event in events)
    return ": OPENROUTER PROCESSING\n\n" * 2 + "".join(lines) + "data: [DONE]\n\n"


def harmony() -> str:
    return (
        f"<|channel|>analysis<|message|>{OTHER}<|end|><|start|>assistant"
        "<|channel|>final<|message|>thing<|return|>"
    )


STYLES: dict[str, Any] = {
    "OpenAI": body("thing", refusal=None, annotations=[]),
    "Azure": azure(),
    "vLLM with a reasoning parser": body(
        "\n\nthing", reasoning_content=OTHER, tool_calls=[], function_call=None
    ),
    "vLLM without a reasoning parser": body(f"{OTHER}\n</think>\n\nthing"),
    "llama.cpp": {**body("thing<|im_end|>"), "timings": {"predicted_n": 9}},
    "Ollama": {**body(f"<think>\n{OTHER}\n</think>\n\nthing"), "system_fingerprint": "fp_ollama"},
    "OpenRouter": openrouter(),
    "LM Studio": {**body("thing", reasoning=OTHER, tool_calls=[]), "stats": {}},
    "DeepSeek": body("thing", reasoning_content=OTHER),
    "Qwen": body(f"<think>\n\n</think>\n\n{OTHER}\n</think>\n\nthing<|im_end|>"),
    "gpt-oss": body(harmony(), reasoning=None, reasoning_content=None),
}
