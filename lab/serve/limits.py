"""The limits for one student, for one address, and in total; and the counters that enforce some of them.

A class may share one address, so nobody who can show an identity is limited by address: a student is limited by
name, with a valid code, a listed key or a known browser. An address is limited only in what identifies nobody:
wrong codes, new guests, and connections before the log-in.

These limits spare the processor and the log; codes and keys need none. A code is one of 23**16, about 6e21. Even
ten thousand guesses per second, during the two weeks for which a code is usually valid, find one of a hundred
unused codes with a probability of 2e-10. Nobody guesses a key: a client offers those that its agent has.
"""

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
    ] = 800
    logins_per_minute: Annotated[int, Meta(description="Maximum log-ins of one student per minute.")] = 20
    login_s: Annotated[float, Meta(description="Time allowed for a log-in, including typing a passphrase.")] = 60
    unused_s: Annotated[float, Meta(description="Close a connection without a session after this time.")] = 5
    requests_per_connection: Annotated[
        int, Meta(description="Maximum number of log-in requests on a connection; each key offered is one.")
    ] = 12
    wrong_codes_per_minute: Annotated[
        int, Meta(description="Maximum wrong codes from one address per minute; valid codes are not limited.")
    ] = 120
    guests_per_minute: Annotated[int, Meta(description="Maximum new guests from one address per minute.")] = 60
    half_open: Annotated[int, Meta(description="Maximum number of connections before log-in.")] = 1000
    half_open_per_address: Annotated[
        int, Meta(description="Maximum number of connections before log-in from one address.")
    ] = 800


def help_of(limit: str) -> str:
    """Return the help text of this limit."""
    (meta,) = get_type_hints(Limits, include_extras=True)[limit].__metadata__
    return str(meta.description)


_WINDOW_S = 60.0
_MOST_CLIENTS = 1000


class RateLimit:
    """Counts events of each client in the last minute; ``now_s`` is a monotonic clock.

    It remembers the last ``_MOST_CLIENTS`` clients only, so that a flood from many addresses costs little memory.
    """

    def __init__(self, most: int, now_s: Callable[[], float]) -> None:
        self._most = most
        self._now_s = now_s
        self._came: dict[str, deque[float]] = {}

    def is_exceeded(self, who: str) -> bool:
        """Count an event of this client; return whether the limit is exceeded."""
        now_s = self._now_s()
        came = self._came.pop(who, None) or deque(maxlen=self._most + 1)
        came.append(now_s)
        self._came[who] = came  # last, so the first one is the client that has been quiet longest
        while len(self._came) > _MOST_CLIENTS or self._last_s(next(iter(self._came))) < now_s - _WINDOW_S:
            del self._came[next(iter(self._came))]
        return len(came) > self._most and came[0] > now_s - _WINDOW_S

    def _last_s(self, who: str) -> float:
        return self._came[who][-1]


class Evictable(Protocol):
    """A connection that has not logged in."""

    address: str

    def evict(self) -> None:
        """Close the connection: another one needs its place."""


K = TypeVar("K", bound=Evictable)


class HalfOpen(Generic[K]):
    """The connections that have not logged in, by address and by whether they have begun to, oldest first.

    If there are too many, the largest of these groups loses its oldest one. A log-in takes a second, so a client
    that holds hundreds of connections open loses these, and nobody else loses any. One that opens hundreds in a
    second loses these too: a student at the same address, who has begun to log in, is in another group.
    """

    def __init__(self, most: int, most_per_address: int) -> None:
        self._most = most
        self._most_per_address = most_per_address
        self._pending: dict[tuple[str, bool], list[K]] = {}

    def add(self, connection: K) -> None:
        """Add a connection; another one may be evicted."""
        self._group(connection, has_begun=False).append(connection)
        at_address = [self._group(connection, has_begun) for has_begun in (False, True)]
        if sum(map(len, at_address)) > self._most_per_address:
            self._drop(max(at_address, key=len)[0])
        elif sum(map(len, self._pending.values())) > self._most:
            self._drop(max(self._pending.values(), key=len)[0])

    def begin_log_in(self, connection: K) -> None:
        """Move a connection to the group of those that have begun to log in."""
        self.discard(connection)
        self._group(connection, has_begun=True).append(connection)

    def discard(self, connection: K) -> None:
        """Remove a connection that has logged in, or closed."""
        for has_begun in (False, True):
            group = self._group(connection, has_begun)
            if connection in group:
                group.remove(connection)
            if not group:
                del self._pending[connection.address, has_begun]

    def all(self) -> list[K]:
        return [each for group in self._pending.values() for each in group]

    def _group(self, connection: K, has_begun: bool) -> list[K]:
        return self._pending.setdefault((connection.address, has_begun), [])

    def _drop(self, connection: K) -> None:
        self.discard(connection)
        connection.evict()
