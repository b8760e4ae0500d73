"""The public names, for type checkers."""

from lab.api.run import Run as Run
from lab.api.run import load as load
from lab.api.run import simulate as simulate
from lab.api.search import Checked as Checked
from lab.api.search import check as check

__all__ = ["Checked", "Run", "__version__", "check", "load", "simulate"]

__version__: str
