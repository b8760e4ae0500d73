"""The command line: each command is a thin call into one room."""

import sys

__all__ = ["main"]


def main() -> None:
    """The ``lab`` command. Exit status: 0 done, 1 not as expected, 2 the user's mistake, 130 on Ctrl-C."""
    try:
        import lab.cli.commands  # noqa: F401, PLC0415 - an import takes long enough for a Ctrl-C
        from lab.cli.app import run_commands  # noqa: PLC0415

        status = run_commands()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
