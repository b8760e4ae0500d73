"""The messages between a host and the clients of its feed, beside the records; and the pace that both follow."""

from typing import Literal

from msgspec import Struct, field


class Delivery(Struct, frozen=True, tag="deliver"):
    """The message ``(source, serial)``, due at that time, arrives at ``node``."""

    due_us: int
    node: int
    source: int
    serial: int
    kind: str

    @property
    def command(self) -> str:
        """The command that schedules it, as long as it is the first message of its link."""
        return f"deliver {self.source}->{self.node}"

    @property
    def text(self) -> str:
        return f"{self.kind} {self.source}->{self.node} arrives"


class TimerExpiry(Struct, frozen=True, tag="fire"):
    """The next timer of ``node``, due at that time, fires; it belongs to this procedure."""

    due_us: int
    node: int
    procedure: str

    @property
    def command(self) -> str:
        """The command that schedules it."""
        return f"fire {self.node}"

    @property
    def text(self) -> str:
        return f"timer of {self.node} fires: {self.procedure}"


class WriteEnd(Struct, frozen=True, tag="write"):
    """The write of ``node`` to its slow disk, due at that time, ends, and with it the step."""

    due_us: int
    node: int

    @property
    def command(self) -> str:
        """The command that schedules it; until it has happened, the node has no timer."""
        return f"fire {self.node}"

    @property
    def text(self) -> str:
        return f"write of {self.node} ends"


EnabledEvent = Delivery | TimerExpiry | WriteEnd


REPLY_PREFIX = b'{"record":"reply"'
CLOCK_PREFIX = b'{"record":"clock"'
ASIDES = (REPLY_PREFIX, CLOCK_PREFIX)
"""The lines of a ``Reply`` and of a ``Clock`` begin so, and those of records never do."""


class Attach(Struct, frozen=True):
    """A client's first line. ``start``: with the first record, the last keyframe, or new records only."""

    role: Literal["driver", "viewer"]
    start: Literal["first", "keyframe", "end"] = "first"


class FeedRequest(Struct, frozen=True):
    """A driver's command; the reply has the same id.

    ``end`` ends the run, ``enabled_events`` asks for the events that may happen next, ``waiting`` for the commands
    that wait for their triggers. ``withdraw``: stop waiting for the predicate of this earlier command.
    """

    id: int
    command: str = ""
    end: bool = False
    enabled_events: bool = field(default=False, name="choices")
    withdraw: bool = False
    waiting: bool = False


class Reply(Struct, frozen=True, omit_defaults=True, tag="reply", tag_field="record"):
    """The reply to a ``FeedRequest``, among the records but never in the recording. Not ``ok``: refused."""

    id: int
    ok: bool
    changed: bool
    text: str
    enabled_events: tuple[EnabledEvent, ...] = field(default=(), name="choices")
    waiting: tuple[str, ...] = ()

    @classmethod
    def refused(cls, why: str, request: int = 0) -> "Reply":
        """Return that a request with this id is refused, and why."""
        return cls(request, False, False, why)


class Clock(Struct, frozen=True, tag="clock", tag_field="record"):
    """The course of virtual time in a simulated run: frozen at ``at_us``, or running since then.

    ``real_us`` is that instant on the machine's monotonic clock. ``factor`` is virtual over real time; None: as
    fast as possible, so that only the last record gives the time. ``note`` says why time is frozen, unless a
    client just asked for that.
    """

    at_us: int
    real_us: int
    frozen: bool
    factor: float | None
    note: str = ""

    def stopped_since(self, before: "Clock | None") -> str:
        """Return why time has been frozen since the earlier clock; empty if it has not, or a client asked."""
        is_new = before is None or (before.at_us, before.note) != (self.at_us, self.note)
        return self.note if is_new else ""


_WHOLE = 1_000_000


class Pace:
    """Virtual time runs ``factor`` times as fast as real time; None: as fast as possible.

    ``since`` is one instant in both: (virtual, real). Call ``start`` when the factor changes. The factor is
    rounded to a millionth, so that the arithmetic is exact: after ``wait_us``, ``reached_us`` is at least the
    instant waited for.
    """

    def __init__(self, factor: float | None) -> None:
        self.factor = factor
        self.since = (0, 0)

    def start(self, virtual_us: int, real_us: int) -> None:
        """Continue from here: this virtual instant is at that real instant."""
        self.since = (virtual_us, real_us)

    def reached_us(self, real_us: int) -> int | None:
        """Return how far virtual time may have got by then; None: there is no bound."""
        if self.factor is None:
            return None
        virtual_us, since_us = self.since
        return virtual_us + (real_us - since_us) * round(self.factor * _WHOLE) // _WHOLE

    def wait_us(self, virtual_us: int, real_us: int) -> int:
        """Return how long to wait, in real time, until that virtual instant."""
        if self.factor is None:
            return 0
        reached_us, since_us = self.since
        ahead_us = -((reached_us - virtual_us) * _WHOLE // round(self.factor * _WHOLE))
        return max(0, since_us + ahead_us - real_us)
