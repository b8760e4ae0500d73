"""The algorithms, one file each, and a registry by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lab.protocols.algorithm import Algorithm
from lab.protocols.bully import Bully
from lab.protocols.bully_tanenbaum import BullyTanenbaum
from lab.protocols.committing import Committing
from lab.protocols.cost import CommitCost, Cost
from lab.protocols.definition import Definition
from lab.protocols.e3pc import EnhancedThreePhaseCommit
from lab.protocols.election import Election, Status
from lab.protocols.field import Field
from lab.protocols.history import FormedGroup, Group
from lab.protocols.invitation import InvitationElection
from lab.protocols.lenses import LENSES
from lab.protocols.program import Program
from lab.protocols.ring import Ring
from lab.protocols.sources import SourceFile, files_in, files_of, source_of
from lab.protocols.stack import ELECTION, stacked
from lab.protocols.survey import Survey
from lab.protocols.task import Task
from lab.protocols.three_phase import ThreePhaseCommit
from lab.protocols.token import Token
from lab.protocols.two_phase import TwoPhaseCommit

__all__ = [
    "CURRICULUM",
    "ELECTION",
    "LENSES",
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
    "EnhancedThreePhaseCommit",
    "Field",
    "FormedGroup",
    "Group",
    "InvitationElection",
    "Program",
    "Ring",
    "SourceFile",
    "Status",
    "Survey",
    "Task",
    "ThreePhaseCommit",
    "Token",
    "TwoPhaseCommit",
    "UnknownProtocolError",
    "commit_protocol",
    "files_in",
    "files_of",
    "find_protocol",
    "source_of",
    "stacked",
]

PROTOCOLS: dict[str, type[Algorithm]] = {
    each.name: each for each in (Bully, BullyTanenbaum, InvitationElection, Ring, Token, TwoPhaseCommit)
}
"""The built-in protocols by name, without the tasks that run above an election."""

TASKS: dict[str, type[Task]] = {each.name: each for each in (Field, ThreePhaseCommit, EnhancedThreePhaseCommit)}
"""The built-in tasks by name. A task runs above an election of PROTOCOLS, chosen by a parameter of the run."""

CURRICULUM = ("bully", "bully-tanenbaum", "ring", "invitation", "token", "field", "2pc", "3pc", "e3pc")
"""The names of PROTOCOLS and TASKS in the order in which to learn them."""


OWN_PROTOCOLS: dict[str, type[Algorithm]] = {}
"""The protocols that this process was told to load from files of the user's, by name."""


class UnknownProtocolError(LookupError):
    """An unknown protocol or election name. The message is for the user."""


def find_protocol(name: str, parameters: Mapping[str, Any] = MappingProxyType({})) -> type[Algorithm]:
    """Return the protocol ``name``; a task is stacked on the chosen election. Raises UnknownProtocolError."""
    if name in TASKS:
        chosen = parameters.get(ELECTION, TASKS[name].usual_election)
        election = PROTOCOLS.get(chosen) if isinstance(chosen, str) else None
        if election is None or not issubclass(election, Election):
            elections = ", ".join(sorted(key for key, each in PROTOCOLS.items() if issubclass(each, Election)))
            raise UnknownProtocolError(
                f"{name} runs above an election, and {chosen!r} is not one; known: {elections}"
            )
        return stacked(TASKS[name], election)
    if name in LENSES:
        return LENSES[name]
    try:
        return PROTOCOLS[name]
    except KeyError:
        known = ", ".join(sorted((*PROTOCOLS, *TASKS)))
        raise UnknownProtocolError(f"unknown protocol {name!r}; known: {known}") from None


def installed(name: str, parameters: Mapping[str, Any] = MappingProxyType({})) -> type[Algorithm] | None:
    """Return the protocol ``name`` if this process has it: a built-in one, or one of the user's own."""
    try:
        return find_protocol(name, parameters)
    except UnknownProtocolError:
        return OWN_PROTOCOLS.get(name)


def commit_protocol(protocol: type[Algorithm]) -> type[Committing] | None:
    """Return the protocol itself or its upper layer if that is a commit protocol, otherwise None."""
    for each in (protocol, protocol.upper_protocol):
        if each is not None and issubclass(each, Committing):
            return each
    return None
