"""The commands, their options and their help.

Each command imports its implementation, a module of ``lab.cli``, only when it runs. This keeps ``lab --help`` and
shell completion fast.
"""

# ruff: noqa: I001 - the help lists the commands in import order

from lab.cli.commands.run import run
from lab.cli.commands.tour import tour
from lab.cli.commands.scenario import scenario
from lab.cli.commands.exercise import exercise
from lab.cli.commands.recordings import replay, show, verify
from lab.cli.commands.history import history
from lab.cli.commands.export import export
from lab.cli.commands.branch import branch, branches, diff
from lab.cli.commands.check import check
from lab.cli.commands.explore import explore
from lab.cli.commands.compare import compare
from lab.cli.commands.scale import scale
from lab.cli.commands.hosts import attach, ctl, list_
from lab.cli.commands.serve import serve
from lab.cli.commands.serve_teacher import status
from lab.cli.commands.guide import guide

__all__ = [
    "attach",
    "branch",
    "branches",
    "check",
    "compare",
    "ctl",
    "diff",
    "exercise",
    "explore",
    "export",
    "guide",
    "history",
    "list_",
    "replay",
    "run",
    "scale",
    "scenario",
    "serve",
    "show",
    "status",
    "tour",
    "verify",
]
