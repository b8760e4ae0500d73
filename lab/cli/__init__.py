"""The command line: typer commands in ``commands``, their implementation beside it."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run ``lab``. Exit status: 0 success, 1 a check failed, 2 usage error, 130 interrupted by Ctrl-C."""
    try:
        import lab.cli.commands  # noqa: F401, PLC0415 - here, so that Ctrl-C during the import is caught
        from lab.cli.program import run_commands  # noqa: PLC0415

        status = run_commands()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
