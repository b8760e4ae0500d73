"""What one student, one address and all together may have: one struct, with a line of help for each."""

from typing import Annotated, get_type_hints

from msgspec import Meta, Struct

__all__ = ["Limits", "help_of"]


class Limits(Struct, frozen=True, kw_only=True):
    """The limits of a server. The defaults are for a class of thirty on a machine with two cores."""

    nodes: Annotated[int, Meta(description="Nodes of a cluster, at most.")] = 9
    clusters: Annotated[int, Meta(description="Clusters in all; one that nobody watches makes room.")] = 40
    memory_mib: Annotated[int, Meta(description="Memory of each process, in MiB.")] = 1024
    recording_mib: Annotated[int, Meta(description="Size of a recording in MiB, at most.")] = 64
    sessions: Annotated[int, Meta(description="Sessions at once, at most.")] = 40
    idle_s: Annotated[float, Meta(description="A session without a key pressed ends after this.")] = 3600
    linger_s: Annotated[float, Meta(description="A cluster stays so long after its student's connection.")] = 300
    logins_per_minute: Annotated[int, Meta(description="Log-ins of one student in a minute, at most.")] = 20
    login_s: Annotated[float, Meta(description="A log-in takes no longer; somebody may type a passphrase.")] = 60
    unused_s: Annotated[float, Meta(description="A connection without a session ends after this.")] = 5
    keys_per_connection: Annotated[int, Meta(description="Keys that one connection may try.")] = 8
    refusals_per_minute: Annotated[int, Meta(description="Keys refused to one address in a minute.")] = 120
    half_open: Annotated[int, Meta(description="Connections in all that have not logged in.")] = 100
    half_open_per_address: Annotated[int, Meta(description="The same, from one address.")] = 50


def help_of(limit: str) -> str:
    """The line of help of this limit."""
    (meta,) = get_type_hints(Limits, include_extras=True)[limit].__metadata__
    return str(meta.description)
