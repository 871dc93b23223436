"""Pictures in the middle of a text: each after its mark, in every form of request."""

import pytest

from skillopt_cli.backends.chat import anthropic_messages as anthropic_messages
from skillopt_cli.backends.chat.images import placed
from skillopt_cli.core.task import ChatRequest, Image, Message

A, B = (Image(f"/{n}.png", "image/png", n) for n in "ab")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [A, B]),
        ("look", ["look", A, B]),
        ("see [image 1] and [image 2].", ["see [image 1]", A, " and [image 2]", B, "."]),
        ("[image 2] first", ["[image 2]", B, " first", A]),
        ("[image 1] [image 1]", ["[image 1]", A, " [image 1]", B]),
        ("[image 3] is not there", ["[image 3] is not there", A, B]),
    ],
)
def test_each_picture_follows_its_mark(text: str, parts: list[object]) -> None:
    assert placed(Message("user", text, (A, B))) == parts


def test_the_messages_interface_interleaves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anthropic_messages, "base64_of", lambda image: image.digest)
    message = Message("user", "[image 1] or [image 2]?", (A, B))
    (turn,) = anthropic_messages.request_body(
        ChatRequest((message,), "rollout"), anthropic_messages.MessageSampling("m", 9), ()
    )["messages"]
    blocks = turn["content"]
    assert [block["type"] for block in blocks] == ["text", "image", "text", "image", "text"]
    assert [b["source"]["data"] for b in blocks if b["type"] == "image"] == ["a", "b"]
