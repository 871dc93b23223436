"""The public fakes behave like backends, and complain like tests."""

import pytest

from skillopt_cli.core.errors import RateLimited
from skillopt_cli.core.task import ChatReply, ChatRequest, Message
from skillopt_cli.testing import FunctionChat, ScriptedChat

ASKED = ChatRequest((Message("user", "hi"),), "rollout")


async def test_a_script_is_played_in_order_and_requests_are_kept():
    chat = ScriptedChat(["one", RateLimited("slow"), ChatReply("three", finish="length")])
    assert await chat.chat(ASKED) == ChatReply("one")
    assert chat.left == 2
    with pytest.raises(RateLimited):
        await chat.chat(ASKED)
    assert (await chat.chat(ASKED)).finish == "length"
    assert chat.requests == [ASKED] * 3
    assert chat.left == 0


async def test_running_out_of_script_is_an_error_that_names_the_request():
    chat = ScriptedChat(["one"])
    await chat.chat(ASKED)
    with pytest.raises(AssertionError, match=r"request 2 \(rollout\)"):
        await chat.chat(ASKED)


async def test_a_function_makes_the_replies():
    chat = FunctionChat(lambda request: request.messages[0].content.upper(), name="loud")
    assert (await chat.chat(ASKED)).text == "HI"
    assert (chat.name, chat.fingerprint) == ("loud", "loud")
    assert chat.requests == [ASKED]
