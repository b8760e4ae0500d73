"""The public names, for type checkers."""

from lab.api.exploration import Exploration as Exploration
from lab.api.exploration import explore as explore
from lab.api.live import LiveCluster as LiveCluster
from lab.api.live import live as live
from lab.api.run import Run as Run
from lab.api.run import load as load
from lab.api.run import simulate as simulate
from lab.api.schedules import schedules as schedules
from lab.api.search import Checked as Checked
from lab.api.search import check as check
from lab.text import UserError as UserError

__all__ = [
    "Checked",
    "Exploration",
    "LiveCluster",
    "Run",
    "UserError",
    "__version__",
    "check",
    "explore",
    "live",
    "load",
    "schedules",
    "simulate",
]

__version__: str
