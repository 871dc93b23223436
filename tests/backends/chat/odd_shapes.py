"""Pieces of the bodies that servers answer with, on all three interfaces."""

from __future__ import annotations

from typing import Any

INTERFACES = ("chat_completions", "responses", "messages")


def completion(message: Any, finish: str = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish, **more}]}


def item(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


def part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text}


def told(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}
