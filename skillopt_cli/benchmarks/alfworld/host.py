"""The engine's own process: it loads TextWorld once, and forks itself for every game.

While it translates a game the engine replaces `sys.stdout`, `sys.argv` and a table of options, so
it must share its process with nothing, not even with another game.

Standard input is a Unix socket. With each byte on it comes a connection, over which one game is
played in lines of JSON; a connection that is closed ends its game, and the socket's end everything.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import signal
import socket
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fast_downward
import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from alfworld.info import ALFRED_TWL2_PATH
from textworld.envs import PddlEnv
from textworld.envs.pddl import textgen
from textworld.envs.pddl.logic import GameLogic
from textworld.logic import Rule

from skillopt_cli.benchmarks.alfworld.household import game_of


def main() -> None:
    """Serve until the other end is gone."""
    _remember()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a game's process ended
    with socket.socket(fileno=os.dup(0)) as control:
        while True:
            piece, handed, _, _ = socket.recv_fds(control, 1, 1)
            if not piece:
                return
            if os.fork() == 0:
                control.close()
                serve(socket.socket(fileno=handed[0]))
                os._exit(0)
            os.close(handed[0])


def serve(connection: socket.socket) -> None:
    """Play one game: the first line holds it, each later one an action."""
    environment = None
    with connection, connection.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            try:
                asked = json.loads(line)
                if environment is None:
                    tempfile.tempdir = asked["folder"]
                    environment = _opened(asked)
                    state = environment.reset()
                else:
                    state, _, _ = environment.step(asked["action"])
                told = _told(state)
            # Whatever the engine raises is told to the one who asked.
            except Exception as error:
                told = {"error": repr(error)}
            lines.write(json.dumps(told) + "\n")
            lines.flush()


def _opened(asked: Mapping[str, Any]) -> Any:
    infos = textworld.EnvInfos(
        won=True, admissible_commands=True, policy_commands=asked.get("plan", False)
    )
    environment = AlfredDemangler(PddlEnv(infos))
    environment.load(asked["game"] if "game" in asked else game_of(**asked["household"]))
    return environment


def _told(state: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "observation": state["feedback"],
        "actions": state["admissible_commands"],
        "won": state["won"],
        "plan": state.get("policy_commands") or [],
    }


def _remember() -> None:
    """Let the engine do once what it does again and again with the same outcome.

    It translates a game when it loads it and once more when it begins it, and parses the few
    sentences of its grammar anew for every action it offers: most of the time of a step.
    """
    fast_downward.pddl2sas = functools.cache(fast_downward.pddl2sas)
    parsed = functools.cache(textgen._parse_and_convert)
    textgen._parse_and_convert = lambda *given, **named: copy.deepcopy(parsed(*given, **named))
    queried = functools.cache(Rule.parse_conjunctive_query)
    Rule.parse_conjunctive_query = lambda text: copy.deepcopy(queried(text))
    # Before the first fork, so that every game profits: they differ in one sentence.
    GameLogic("", Path(ALFRED_TWL2_PATH).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
