"""The limits for one student, for one address, and in total: one struct, with a help text for each."""

from typing import Annotated, get_type_hints

from msgspec import Meta, Struct

__all__ = ["Limits", "help_of"]


class Limits(Struct, frozen=True, kw_only=True):
    """The limits of a server. The defaults suit a class of thirty on a machine with two cores."""

    nodes: Annotated[int, Meta(description="Maximum number of nodes in a cluster of a student.")] = 9
    clusters: Annotated[
        int,
        Meta(
            description="Maximum number of clusters; for a new one, one whose student has disconnected is ended."
        ),
    ] = 40
    memory_mib: Annotated[int, Meta(description="Maximum memory of each process, in MiB.")] = 1024
    recording_mib: Annotated[int, Meta(description="Maximum size of a recording, in MiB.")] = 64
    sessions: Annotated[int, Meta(description="Maximum number of concurrent sessions.")] = 40
    idle_s: Annotated[float, Meta(description="End a session after this time without a key press.")] = 3600
    linger_s: Annotated[
        float, Meta(description="Keep a cluster for this time after its student has disconnected.")
    ] = 300
    logins_per_minute: Annotated[int, Meta(description="Maximum log-ins of one student per minute.")] = 20
    login_s: Annotated[float, Meta(description="Time allowed for a log-in, including typing a passphrase.")] = 60
    unused_s: Annotated[float, Meta(description="Close a connection without a session after this time.")] = 5
    keys_per_connection: Annotated[
        int, Meta(description="Maximum number of keys that one connection may try.")
    ] = 8
    refusals_per_minute: Annotated[int, Meta(description="Maximum keys refused to one address per minute.")] = 120
    half_open: Annotated[int, Meta(description="Maximum number of connections before log-in.")] = 100
    half_open_per_address: Annotated[
        int, Meta(description="Maximum number of connections before log-in from one address.")
    ] = 50


def help_of(limit: str) -> str:
    """Return the help text of this limit."""
    (meta,) = get_type_hints(Limits, include_extras=True)[limit].__metadata__
    return str(meta.description)
