"""The events that are enabled in a simulated run, for a user who chooses the next one."""

from msgspec import Struct

__all__ = ["Delivery", "EnabledEvent", "TimerExpiry"]


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


EnabledEvent = Delivery | TimerExpiry
