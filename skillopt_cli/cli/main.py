"""Entry point of the console script: loads the program within a guard, and says its version."""

from __future__ import annotations

import sys

from skillopt_cli import __version__

INTERRUPTED = 130


def main() -> None:
    """Run the program. Its import takes a while, and Ctrl-C may come in it as well."""
    try:
        if sys.argv[1:] == ["--version"]:
            sys.stdout.write(f"skillopt {__version__}\n")
            return
        from skillopt_cli.cli.app import app

        app()
    except KeyboardInterrupt:
        sys.stderr.write("error: stopped by the user\n")
        sys.exit(INTERRUPTED)
