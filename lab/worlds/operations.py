"""The operations that a world offers to ``Control``: on its nodes, and on time."""

from typing import Literal

from lab.kernel import CommandInput, Message
from lab.script import CommandError, WorldCommand

__all__ = ["WATCHED", "NodeOperations"]

WATCHED = ("freeze", "go", "speed")
"""The verbs that change only how a run is watched; the run itself does not depend on them."""


class NodeOperations:
    """Operations on nodes. Those that return a bool return False where they would change nothing."""

    def kill(self, node: int) -> bool:
        """Crash a node, now: nothing that it does counts from here on."""
        raise NotImplementedError

    def pause(self, node: int) -> bool:
        """Pause a node."""
        raise NotImplementedError

    def resume(self, node: int) -> bool:
        """Let a paused node continue."""
        raise NotImplementedError

    def restart(self, node: int) -> bool:
        """Start a new incarnation."""
        raise NotImplementedError

    def wipe(self, node: int) -> bool:
        """Empty the stable storage of a node that is down."""
        raise NotImplementedError

    def process_state(self, node: int) -> Literal["running", "paused", "down"]:
        """Return the state of the node's process. A paused node takes its inputs when it continues."""
        raise NotImplementedError

    def give_command(self, node: int, command: CommandInput) -> None:
        """Give a protocol command to a node that is not down."""
        raise NotImplementedError

    def forge(self, message: Message) -> None:
        """Deliver a message now, bypassing the links; if its target is down, it is lost."""
        raise NotImplementedError

    def steer(self, command: WorldCommand, in_script: bool) -> tuple[bool, str]:
        """Change the course of time; return (whether anything changed, a description). Raises CommandError.

        The base class has real time, which cannot be steered. It skips a script's commands that change only the
        pace.
        """
        if in_script and command.verb in WATCHED:
            return True, "skipped: this run is in real time"
        raise CommandError(f"{command.verb}: only in a simulated run: lab run bully --sim")
