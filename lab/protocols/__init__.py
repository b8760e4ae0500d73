"""The algorithms, a file each, and how to find one by its name."""

import inspect
import sys

from lab.protocols.bully import Bully
from lab.protocols.cost import Cost
from lab.protocols.election import Definition, Election, Status

__all__ = [
    "PROTOCOLS",
    "Bully",
    "Cost",
    "Definition",
    "Election",
    "Status",
    "UnknownProtocolError",
    "find_protocol",
    "source_of",
]

PROTOCOLS: dict[str, type[Election]] = {Bully.name: Bully}


class UnknownProtocolError(LookupError):
    """No protocol has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no protocol {name!r}; there is: {', '.join(sorted(PROTOCOLS))}")


def find_protocol(name: str) -> type[Election]:
    """The protocol that users call ``name``; UnknownProtocolError."""
    try:
        return PROTOCOLS[name]
    except KeyError:
        raise UnknownProtocolError(name) from None


def source_of(protocol: type[Election]) -> tuple[str, str]:
    """(file name, source text) of the file that the protocol is written in, for display beside a run."""
    module = sys.modules[protocol.__module__]
    return (module.__file__ or "").rpartition("/")[2], inspect.getsource(module)
