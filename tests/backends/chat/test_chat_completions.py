"""Request bodies of both of OpenAI's interfaces, for any set of refused parameters."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.backends.chat import chat_completions, responses
from skillopt_cli.backends.chat.chat_completions import EFFORT_WITH_TOOLS, OPTIONAL, Sampling
from skillopt_cli.core.task import ChatRequest, Message, Tool

ASKED = ChatRequest(
    (Message("user", "hi"),),
    "rollout",
    {"type": "object"},
    "ranking",
    tools=(Tool("look", "", {}),),
    tool_choice="none",
)
FULL = Sampling("m", 100, 0.5, "low", {"enable_thinking": False})
CAPS = {"max_tokens", "max_completion_tokens"}
refusals = st.frozensets(st.sampled_from([*OPTIONAL, EFFORT_WITH_TOOLS]))


@given(refusals, st.booleans())
def test_a_refused_parameter_is_not_sent_and_the_rest_stays(refused, new_cap):
    body = chat_completions.request_body(ASKED, replace(FULL, new_cap=new_cap), refused)
    assert not refused & body.keys()
    assert {"model", "messages", "tools", "enable_thinking"} <= body.keys()
    assert {"temperature", "response_format", "tool_choice"} - refused <= body.keys()
    effort = not refused & {"reasoning_effort", EFFORT_WITH_TOOLS}
    assert ("reasoning_effort" in body) == effort
    assert len(CAPS & body.keys()) == (0 if refused >= CAPS else 1)


@given(refusals)
def test_a_response_leaves_out_what_is_refused_too(refused):
    body = responses.request_body(ASKED, FULL, refused)
    assert not refused & body.keys()
    assert {"model", "input", "tools", "enable_thinking"} <= body.keys()
    optional = {"max_output_tokens", "store", "temperature", "reasoning", "text", "tool_choice"}
    assert optional - refused <= body.keys()


def test_openais_own_cap_comes_first_where_it_is_wanted():
    assert CAPS & chat_completions.request_body(ASKED, FULL, ()).keys() == {"max_tokens"}
    own = chat_completions.request_body(ASKED, replace(FULL, new_cap=True), ())
    assert CAPS & own.keys() == {"max_completion_tokens"}
