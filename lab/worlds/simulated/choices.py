"""What may happen next in a simulated run, for a person who wants to choose it."""

from msgspec import Struct

__all__ = ["Choice", "Deliver", "Fire"]


class Deliver(Struct, frozen=True, tag="deliver"):
    """The message ``(source, serial)``, due at that time, arrives at ``node``."""

    due_us: int
    node: int
    source: int
    serial: int
    kind: str

    @property
    def command(self) -> str:
        """The command that makes it happen, as long as it is the first message of its link."""
        return f"deliver {self.source}->{self.node}"

    @property
    def said(self) -> str:
        """What happens, in words."""
        return f"{self.kind} {self.source}->{self.node} arrives"


class Fire(Struct, frozen=True, tag="fire"):
    """The next timer of ``node``, due at that time, fires; it belongs to this procedure."""

    due_us: int
    node: int
    procedure: str

    @property
    def command(self) -> str:
        """The command that makes it happen."""
        return f"fire {self.node}"

    @property
    def said(self) -> str:
        """What happens, in words."""
        return f"timer of {self.node} fires: {self.procedure}"


Choice = Deliver | Fire
