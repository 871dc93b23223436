from __future__ import annotations

import pytest

from skillopt_cli.config.layers import assignment_layers, resolve
from skillopt_cli.config.model_section import ModelConfig
from skillopt_cli.core.errors import ConfigError


def model(*assignments: str) -> ModelConfig:
    return resolve(list(assignment_layers(assignments))).config.model


def test_a_command_is_written_as_a_list_or_as_in_a_shell() -> None:
    told = model("model.command.argv=my-agent --name 'two words' {workspace}")
    assert told.command.argv == ("my-agent", "--name", "two words", "{workspace}")
    listed = model('model.command.argv=["my agent", -x, "{workspace}"]').command.argv
    assert listed == ("my agent", "-x", "{workspace}")
    assert model("model.command.variables=A B").command.variables == ("A", "B")
    assert ModelConfig.model_validate({"command": {"argv": ["a b", "c"]}}).command.argv == (
        "a b",
        "c",
    )


@pytest.mark.parametrize("path", ["/etc/passwd", "../AGENTS.md", "a/../../b", "~/x"])
def test_a_skill_is_written_nowhere_but_in_the_workspace(path: str) -> None:
    with pytest.raises(ConfigError, match="within the workspace"):
        model(f"model.command.skill_file={path}")


@pytest.mark.parametrize(
    "said",
    [
        "model.codex_exec.sandbox=danger-full-access",
        "model.claude_code_exec.sandbox=off",
        "model.codex_exec.max_turns=0",
        "model.claude_code_exec.timeout=0",
        "model.command.argv=my-agent 'unclosed",
    ],
)
def test_what_cannot_be_is_refused(said: str) -> None:
    with pytest.raises(ConfigError):
        model(said)
