"""The ``lab`` command, and a folder for live runs, as for the tests of the command line and of the worlds."""

from tests.cli.conftest import home, lab
from tests.worlds.conftest import runs

__all__ = ["home", "lab", "runs"]
