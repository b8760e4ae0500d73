"""A laboratory for coordinator election and atomic commit, in the terminal.

For programs:

    import lab

    run = lab.simulate("bully", nodes=5, script="at 2s kill 5")
    run.verdicts, run.elections, run.state_at("3s"), run.to_pandas("messages")

The names are loaded when they are used: the rooms below import this package, and must not import those above. For
type checkers, ``__init__.pyi`` declares them.
"""

from importlib import import_module
from typing import Any

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

__version__ = "0.1.0"

_ROOMS = {
    "Checked": "search",
    "check": "search",
    "Exploration": "exploration",
    "explore": "exploration",
    "LiveCluster": "live",
    "live": "live",
    "Run": "run",
    "load": "run",
    "simulate": "run",
    "schedules": "schedules",
    "UserError": "arguments",
}
"""Each public name, and the module of ``lab.api`` that it is loaded from."""


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return getattr(import_module(f"lab.api.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'lab' has no attribute {name!r}; it has {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
