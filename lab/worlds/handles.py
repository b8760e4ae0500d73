"""What a world offers to whoever carries out commands: to strike its nodes, and to steer its time."""

from typing import Literal

from lab.kernel import CommandInput, Message
from lab.script import CommandError, WorldCommand

__all__ = ["WATCHED", "NodeHandles"]

WATCHED = ("freeze", "go", "speed")
"""The verbs that only change how a run is watched: nothing of it depends on them."""


class NodeHandles:
    """What a world offers its ``Control``: to strike nodes, which is False where it would change nothing."""

    def kill(self, node: int) -> bool:
        """Crash it, now: nothing of it counts from here on."""
        raise NotImplementedError

    def pause(self, node: int) -> bool:
        """Let it stand still."""
        raise NotImplementedError

    def resume(self, node: int) -> bool:
        """Let it go on."""
        raise NotImplementedError

    def restart(self, node: int) -> bool:
        """Start a new life."""
        raise NotImplementedError

    def wipe(self, node: int) -> bool:
        """Empty its safe storage; only of a node that is down."""
        raise NotImplementedError

    def reach(self, node: int) -> Literal["reached", "standing", "down"]:
        """Whether it could be told something now; one that stands still will take it when it goes on."""
        raise NotImplementedError

    def tell(self, node: int, told: CommandInput) -> None:
        """Give it a command of its protocol's own. It is not down."""
        raise NotImplementedError

    def forge(self, message: Message) -> None:
        """Let it arrive now, past all links: where its target is down, it is lost."""
        raise NotImplementedError

    def steer(self, command: WorldCommand, in_script: bool) -> tuple[bool, str]:
        """Do something to the course of time; (whether anything changed, what in words). CommandError.

        What a script does to the pace is for those who watch; where time goes by itself, it is passed over.
        """
        if in_script and command.verb in WATCHED:
            return True, "passed over: time goes by itself here"
        raise CommandError(f"{command.verb}: only in a simulated run: lab run bully --sim")
