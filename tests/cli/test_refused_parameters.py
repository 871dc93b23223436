"""A parameter that a model does not take is found out once per run, also over a resume."""

from __future__ import annotations

from pathlib import Path

from command_line import SMALLEST, events, refused, skillopt

from skillopt_cli.testing import ModelServer, ScriptedResponse

RUN = Path("outputs/searchqa/a")
REFUSAL = ScriptedResponse(
    400,
    {
        "error": {
            "message": "Unsupported parameter: 'temperature' is not supported with this model.",
            "param": "temperature",
            "code": "unsupported_parameter",
        }
    },
)


def test_a_refused_parameter_is_learned_once_per_role_and_not_sent_after_a_resume(
    server: ModelServer,
) -> None:
    where = {"OPENAI_BASE_URL": server.url}
    remote = ("--set", "model.backend=openai_compatible", "--set", "model.temperature=0.5")
    named = ("--optimizer-model", "m1", "--target-model", "m2")
    # The first call of each role is refused, then answered without the parameter.
    server.script(REFUSAL)
    first = ("train", "searchqa", *SMALLEST, *remote, *named, "--run-id", "a")
    refused(5, *first, "--max-calls", 4, **where)
    bodies = server.bodies()
    assert ["temperature" in body for body in bodies[:2]] == [True, False]
    assert all("temperature" in body for body in bodies if body["model"] == "m2")
    (told,) = events(RUN, "parameter_refused")
    assert (told["role"], told["model"], told["parameter"]) == (
        "optimizer",
        "m1",
        "temperature",
    )

    seen = len(bodies)
    ended = skillopt("resume", RUN, "--max-calls", 400, **where)
    assert ended.code == 0, ended.err
    later = server.bodies()[seen:]
    assert not any("temperature" in body for body in later if body["model"] == "m1")
    assert all("temperature" in body for body in later if body["model"] == "m2")
    assert len(events(RUN, "parameter_refused")) == 1
