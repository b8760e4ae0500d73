"""The algorithms, a file each, and how to find one by its name."""

import inspect
import sys
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from lab.protocols.algorithm import Algorithm
from lab.protocols.bully import Bully
from lab.protocols.bully_tanenbaum import BullyTanenbaum
from lab.protocols.committing import Committing
from lab.protocols.cost import CommitCost, Cost
from lab.protocols.definition import Definition
from lab.protocols.election import Election, Status
from lab.protocols.field import Field
from lab.protocols.history import Formed, Group
from lab.protocols.invitation import InvitationElection
from lab.protocols.ring import Ring
from lab.protocols.stack import ELECTION, stacked
from lab.protocols.survey import Survey
from lab.protocols.task import Task
from lab.protocols.three_phase import ThreePhaseCommit
from lab.protocols.token import Token
from lab.protocols.two_phase import TwoPhaseCommit

__all__ = [
    "ELECTION",
    "PROTOCOLS",
    "TASKS",
    "Algorithm",
    "Bully",
    "BullyTanenbaum",
    "CommitCost",
    "Committing",
    "Cost",
    "Definition",
    "Election",
    "Field",
    "Formed",
    "Group",
    "InvitationElection",
    "Ring",
    "Status",
    "Survey",
    "Task",
    "ThreePhaseCommit",
    "Token",
    "TwoPhaseCommit",
    "UnknownProtocolError",
    "commit_protocol",
    "find_protocol",
    "source_of",
    "stacked",
]

PROTOCOLS: dict[str, type[Algorithm]] = {
    each.name: each for each in (Bully, BullyTanenbaum, InvitationElection, Ring, Token, TwoPhaseCommit)
}

TASKS: dict[str, type[Task]] = {each.name: each for each in (Field, ThreePhaseCommit)}
"""They run above an election, which is a parameter of the run: any of PROTOCOLS that is one."""


class UnknownProtocolError(LookupError):
    """No protocol has this name, or no election; the text is for the user."""


def find_protocol(name: str, parameters: Mapping[str, Any] = MappingProxyType({})) -> type[Algorithm]:
    """The protocol that users call ``name``, a task above the election that is set; UnknownProtocolError."""
    if name in TASKS:
        chosen = parameters.get(ELECTION, TASKS[name].usual_election)
        election = PROTOCOLS.get(chosen)
        if election is None or not issubclass(election, Election):
            elections = ", ".join(sorted(key for key, each in PROTOCOLS.items() if issubclass(each, Election)))
            raise UnknownProtocolError(
                f"{name} runs above an election, and {chosen!r} is none; there is: {elections}"
            )
        return stacked(TASKS[name], election)
    try:
        return PROTOCOLS[name]
    except KeyError:
        known = ", ".join(sorted((*PROTOCOLS, *TASKS)))
        raise UnknownProtocolError(f"there is no protocol {name!r}; there is: {known}") from None


def commit_protocol(protocol: type[Algorithm]) -> type[Committing] | None:
    """The commit protocol that this is, or that it carries above an election; None: it commits nothing."""
    for each in (protocol, protocol.carries):
        if each is not None and issubclass(each, Committing):
            return each
    return None


def source_of(protocol: type[Algorithm]) -> tuple[str, str]:
    """(file name, source text) of the file that the protocol is written in, for display beside a run.

    Behind it come the other files in which it waits, of its bases and of the task above it, each below a line that
    names it: once one of them has changed, the lines in a recording at which procedures wait are others.
    """
    own, *others = _modules_of(protocol)
    file, source = _file(own)
    for module in others:
        source += "\n# ---- {} ----\n{}".format(*_file(module))
    return file, source


def _modules_of(protocol: type[Algorithm]) -> list[ModuleType]:
    layers = [each for each in (protocol, protocol.carries) if each is not None]
    written = [each for layer in layers for each in layer.__mro__ if each in layers or _waits(each)]
    return list(dict.fromkeys(sys.modules[each.__module__] for each in written))


def _waits(part: type) -> bool:
    return issubclass(part, Algorithm) and any(map(inspect.iscoroutinefunction, vars(part).values()))


def _file(module: ModuleType) -> tuple[str, str]:
    return (module.__file__ or "").rpartition("/")[2], inspect.getsource(module)
