"""The ``lab`` command, with its own folders."""

from tests.cli.conftest import home, lab

__all__ = ["home", "lab"]
