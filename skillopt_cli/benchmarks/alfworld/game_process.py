"""The engine's own process: it loads each game once, and forks itself for every time it is played.

While it translates a game the engine replaces `sys.stdout`, `sys.argv` and a table of options, so
it must share its process with nothing that is ours.

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
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import fast_downward
import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from alfworld.info import ALFRED_TWL2_PATH
from textworld.envs import PddlEnv
from textworld.envs.pddl import textgen
from textworld.envs.pddl.logic import GameLogic
from textworld.logic import Rule

from skillopt_cli.benchmarks.alfworld.household import game_of

KEPT = 32
"""Games that stay loaded: some 20 MB each."""


def main() -> None:
    """Serve until the other end is gone."""
    _remember()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a game's process ended
    cache = GameCache()
    with (
        tempfile.TemporaryDirectory(prefix="skillopt-") as tempfile.tempdir,
        socket.socket(fileno=os.dup(0)) as control,
    ):
        while True:
            piece, handed, _, _ = socket.recv_fds(control, 1, 1)
            if not piece:
                return
            with (
                socket.socket(fileno=handed[0]) as connection,
                connection.makefile("rw", encoding="utf-8") as lines,
                suppress(OSError),  # the caller may be gone
            ):
                environment, told = cache.loaded(lines.readline())
                if os.fork() == 0:
                    control.close()
                    play(environment, told, lines)
                    os._exit(0)


class GameCache:
    """Games at their beginning, those played last."""

    def __init__(self) -> None:
        self._games: OrderedDict[str, tuple[Any, dict[str, Any]]] = OrderedDict()

    def loaded(self, line: str) -> tuple[Any, dict[str, Any]]:
        """The game a line asks for, with the text of its beginning, or why there is none."""
        if line not in self._games:
            try:
                self._games[line] = _begun(json.loads(line))
            # Whatever the engine raises is sent to the caller.
            except Exception as error:
                return None, {"error": repr(error)}
        self._games.move_to_end(line)
        if len(self._games) > KEPT:
            _, (environment, _) = self._games.popitem(last=False)
            fast_downward.close_lib(environment.unwrapped.downward_lib)
        return self._games[line]


def play(environment: Any, told: dict[str, Any], lines: TextIO) -> None:
    """Tell of a game's beginning, then of what comes of each action that is read."""
    with suppress(OSError):
        _say(told, lines)
        for line in lines:
            try:
                state, _, _ = environment.step(json.loads(line)["action"])
                told = _told(state)
            # Whatever the engine raises is sent to the caller.
            except Exception as error:
                told = {"error": repr(error)}
            _say(told, lines)


def _say(told: dict[str, Any], lines: TextIO) -> None:
    lines.write(json.dumps(told) + "\n")
    lines.flush()


def _begun(asked: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    infos = textworld.EnvInfos(
        won=True, admissible_commands=True, policy_commands=asked.get("plan", False)
    )
    environment = AlfredDemangler(PddlEnv(infos))
    environment.load(asked["game"] if "game" in asked else game_of(**asked["household"]))
    return environment, _told(environment.reset())


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
    sentences of its grammar again for every action it offers: most of the time of a step.
    """
    fast_downward.pddl2sas = functools.lru_cache(2)(fast_downward.pddl2sas)
    parsed = functools.cache(textgen._parse_and_convert)
    textgen._parse_and_convert = lambda *given, **named: copy.deepcopy(parsed(*given, **named))
    queried = functools.cache(Rule.parse_conjunctive_query)
    Rule.parse_conjunctive_query = lambda text: copy.deepcopy(queried(text))
    # Before the first fork, so that every game profits: they differ in one sentence.
    GameLogic("", Path(ALFRED_TWL2_PATH).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
