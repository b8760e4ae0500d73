"""The limits for one student, for one address, and in total; and the counters that enforce some of them."""

from collections import deque
from collections.abc import Callable
from typing import Annotated, Generic, Protocol, TypeVar, get_type_hints

from msgspec import Meta, Struct


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


_WINDOW_S = 60.0


class RateLimit:
    """Counts events of each client in the last minute; ``now_s`` is a monotonic clock."""

    def __init__(self, most: int, now_s: Callable[[], float]) -> None:
        self._most = most
        self._now_s = now_s
        self._came: dict[str, deque[float]] = {}

    def is_exceeded(self, who: str) -> bool:
        """Count an event of this client; return whether the limit is exceeded."""
        now_s = self._now_s()
        for each in [each for each, came in self._came.items() if came[-1] < now_s - _WINDOW_S]:
            del self._came[each]
        came = self._came.setdefault(who, deque(maxlen=self._most + 1))
        came.append(now_s)
        return len(came) > self._most and came[0] > now_s - _WINDOW_S


class Evictable(Protocol):
    """A connection that has not logged in."""

    address: str

    def evict(self) -> None:
        """Close the connection: another one needs its place."""


K = TypeVar("K", bound=Evictable)


class HalfOpen(Generic[K]):
    """The connections that have not logged in, oldest first.

    If there are too many, the address with the most loses its oldest one. A log-in takes a second, so a client
    that holds a hundred connections open loses these, and nobody else loses any.
    """

    def __init__(self, most: int, most_per_address: int) -> None:
        self._most = most
        self._most_per_address = most_per_address
        self._pending: dict[str, list[K]] = {}

    def add(self, connection: K) -> None:
        """Add a connection; another one may be evicted."""
        same = self._pending.setdefault(connection.address, [])
        same.append(connection)
        if len(same) > self._most_per_address:
            self._drop(same[0])
        elif sum(map(len, self._pending.values())) > self._most:
            self._drop(max(self._pending.values(), key=len)[0])

    def discard(self, connection: K) -> None:
        """Remove a connection that has logged in, or closed."""
        same = self._pending.get(connection.address, [])
        if connection in same:
            same.remove(connection)
        if not same:
            self._pending.pop(connection.address, None)

    def all(self) -> list[K]:
        return [each for same in self._pending.values() for each in same]

    def _drop(self, connection: K) -> None:
        self.discard(connection)
        connection.evict()
