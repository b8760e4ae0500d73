"""The algorithms, a file each, and how to find one by its name."""

import inspect
import sys

from lab.protocols.algorithm import Algorithm
from lab.protocols.bully import Bully
from lab.protocols.cost import Cost
from lab.protocols.definition import Definition, Formed, Group, Survey
from lab.protocols.election import Election, Status
from lab.protocols.task import Task

__all__ = [
    "PROTOCOLS",
    "Algorithm",
    "Bully",
    "Cost",
    "Definition",
    "Election",
    "Formed",
    "Group",
    "Status",
    "Survey",
    "Task",
    "UnknownProtocolError",
    "find_protocol",
    "source_of",
]

PROTOCOLS: dict[str, type[Algorithm]] = {each.name: each for each in (Bully,)}


class UnknownProtocolError(LookupError):
    """No protocol has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no protocol {name!r}; there is: {', '.join(sorted(PROTOCOLS))}")


def find_protocol(name: str) -> type[Algorithm]:
    """The protocol that users call ``name``; UnknownProtocolError."""
    try:
        return PROTOCOLS[name]
    except KeyError:
        raise UnknownProtocolError(name) from None


def source_of(protocol: type[Algorithm]) -> tuple[str, str]:
    """(file name, source text) of the file that the protocol is written in, for display beside a run."""
    module = sys.modules[protocol.__module__]
    return (module.__file__ or "").rpartition("/")[2], inspect.getsource(module)
