"""The command line: a module for each command, or for a few that belong together."""

import sys


def main() -> None:
    """Run ``lab``. Exit status: 0 success, 1 a check failed, 2 usage error, 130 interrupted by Ctrl-C."""
    try:
        from lab.cli.program import run_commands  # noqa: PLC0415 - here, so that Ctrl-C during the import is caught

        status = run_commands()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
