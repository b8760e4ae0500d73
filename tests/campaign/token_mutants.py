"""The token with one line of its rules left out or inverted: what a campaign or the test of K2 has to catch."""

from lab.kernel import on
from lab.protocols import Token
from lab.protocols.token import PassToken, RequestToken, TokenStatus


class KeptWhenPassed(Token):
    """K1: the token is passed on, and held all the same."""

    def _pass_to(self, peer: int) -> None:
        super()._pass_to(peer)
        self.status = TokenStatus.HOLDING


class GivenFromInside(Token):
    """K1: whoever asks a node that is inside gets the token at once."""

    def requested(self, sender: int, message: RequestToken) -> None:
        """Pass it, and stay inside."""
        inside = self.status is TokenStatus.INSIDE
        if inside:
            self.status = TokenStatus.HOLDING
        super().requested(sender, message)
        if inside:
            self.status = TokenStatus.INSIDE


class CopiesTaken(Token):
    """K1: the number of the token is not looked at."""

    @on(PassToken)
    def passed(self, sender: int, message: PassToken) -> None:
        """Take whatever comes."""
        if self.status in (TokenStatus.IDLE, TokenStatus.WAITING):
            self.status = TokenStatus.HOLDING


class MadeAnew(Token):
    """K1: the lowest node makes a token whenever it comes up."""

    def started(self) -> None:
        """Forget that it had one."""
        self.number = 0
        super().started()


class GuessKept(Token):
    """K2: no path is compressed; who passed the token on goes on guessing that it is there."""

    def requested(self, sender: int, message: RequestToken) -> None:
        """Guess as before."""
        guess = self.guess
        super().requested(sender, message)
        self.guess = guess


class NextForgotten(Token):
    """K2: who is last in line does not remember who stands behind it."""

    def requested(self, sender: int, message: RequestToken) -> None:
        """Forget it."""
        super().requested(sender, message)
        self.next = None


class NotForwarded(Token):
    """K2: a request that came to the wrong node is answered by nobody."""

    def requested(self, sender: int, message: RequestToken) -> None:
        """Drop it."""
        if self.status is not TokenStatus.IDLE:
            super().requested(sender, message)
