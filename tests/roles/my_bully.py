"""Versions of bully that a user may have written, to run beside the built-in one."""

from typing import ClassVar

from lab.kernel import Payload, command, on
from lab.protocols import Bully


class Greeting(Payload, frozen=True):
    """A message that only ``MyBully`` knows."""

    text: str


class Letter(Payload, frozen=True):
    """A message of another payload than the message of bully that has the kind."""

    number: int


Letter.__name__ = "NewState"


class MyBully(Bully):
    """Bully with a message of its own, another payload for a message of bully's, and a command."""

    name: ClassVar[str] = "my-bully"
    greeted: int = 0

    @command(to="named")
    def greet(self) -> None:
        """Send the one message to all peers, and the other to the nodes that execute bully: 1 to 3."""
        for peer in self.peers:
            self.send(peer, Greeting("hello"))
            if peer <= 3:
                self.send(peer, Letter(7))

    @on(Greeting)
    def on_greeting(self, sender: int, message: Greeting) -> None:
        """Count it."""
        self.greeted += 1
