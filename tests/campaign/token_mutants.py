"""The token with one line of its rules removed or inverted: to be caught by a campaign, or by the test of K2."""

from lab.kernel import on
from lab.protocols import Token
from lab.protocols.token import PassToken, RequestToken, TokenStatus


class KeptWhenPassed(Token):
    """K1: the token is passed on, and kept."""

    def _pass_to(self, peer: int) -> None:
        super()._pass_to(peer)
        self.status = TokenStatus.HOLDING


class GivenFromInside(Token):
    """K1: a node inside the critical section gives the token away at once."""

    def on_request_token(self, sender: int, message: RequestToken) -> None:
        inside = self.status is TokenStatus.INSIDE
        if inside:
            self.status = TokenStatus.HOLDING
        super().on_request_token(sender, message)
        if inside:
            self.status = TokenStatus.INSIDE


class CopiesTaken(Token):
    """K1: the number of the token is ignored."""

    @on(PassToken)
    def on_pass_token(self, sender: int, message: PassToken) -> None:
        if self.status in (TokenStatus.IDLE, TokenStatus.WAITING):
            self.status = TokenStatus.HOLDING


class MadeAnew(Token):
    """K1: the lowest node makes a token whenever it comes up."""

    def started(self) -> None:
        self.number = 0
        super().started()


class GuessKept(Token):
    """K2: no path compression: a node that passed the token on still assumes it is there."""

    def on_request_token(self, sender: int, message: RequestToken) -> None:
        guess = self.guess
        super().on_request_token(sender, message)
        self.guess = guess


class NextForgotten(Token):
    """K2: the last node in line does not remember the next one."""

    def on_request_token(self, sender: int, message: RequestToken) -> None:
        super().on_request_token(sender, message)
        self.next = None


class NotForwarded(Token):
    """K2: a request that arrives at the wrong node is dropped."""

    def on_request_token(self, sender: int, message: RequestToken) -> None:
        if self.status is not TokenStatus.IDLE:
            super().on_request_token(sender, message)
