"""The commands that a protocol defines for its users.

@command
def publish(self) -> None:
    \"\"\"Publish the survey.\"\"\"

@command(to="one", example="transfer 100 savings checking")
def transfer(self, amount: str, source: str, target: str) -> None:
    \"\"\"Move an amount from one account to another.\"\"\"
"""

import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from msgspec import Struct

from lab.text import sanitize

__all__ = ["ProtocolCommand", "Recipients", "command"]

F = TypeVar("F", bound=Callable[..., Any])
Recipients = Literal["leaders", "one", "named"]
"""The default recipients of a command: all leaders, or all running nodes if the protocol elects none; one of
these, the highest; or nobody, so that nodes must be named."""

_LONGEST = 40


class ProtocolCommand(Struct, frozen=True):
    """A command: its help text, the form of its words, an example if there is one, and its default recipients.

    It takes at least ``least`` words, and at most ``most`` unless that is None.
    """

    name: str
    does: str
    words: str
    example: str
    to: Recipients
    least: int
    most: int | None

    @property
    def usage(self) -> str:
        """The syntax: ``transfer AMOUNT SOURCE TARGET``, ``publish [NODES]`` or ``refuse NODES``."""
        return f"{self.name} {self.words or ('NODES' if self.to == 'named' else '[NODES]')}"

    def count_error(self, words: tuple[str, ...]) -> str:
        """Return what is wrong if the words are too many or too few, otherwise ""."""
        if self.least <= len(words) and (self.most is None or len(words) <= self.most):
            return ""
        takes = f"usage: {self.name} {self.words}" if self.words else f"{self.name} takes no arguments"
        got = sanitize(" ".join(words), _LONGEST) or "none"
        return f"{takes}; got {got}: {self.example or f'tell NODES {self.name} {self.words}'.rstrip()}"


@overload
def command(method: F) -> F: ...
@overload
def command(*, to: Recipients = ..., words: str = ..., example: str = ...) -> Callable[[F], F]: ...
def command(method: Any = None, *, to: Recipients = "leaders", words: str = "", example: str = "") -> Any:
    """Make the method a command for users: ``(self, *words) -> None``. Its docstring is the help text.

    ``words`` is the form of the words; by default it is derived from the names of the parameters.
    """

    def mark(marked: F) -> F:
        accepted_words = list(inspect.signature(marked).parameters.values())[1:]
        plain = [each for each in accepted_words if each.kind is not inspect.Parameter.VAR_POSITIONAL]
        marked._command = ProtocolCommand(  # type: ignore[attr-defined]
            marked.__name__,
            marked.__doc__ or "",
            words or " ".join(map(_usage, accepted_words)),
            example,
            to,
            sum(each.default is inspect.Parameter.empty for each in plain),
            len(plain) if plain == accepted_words else None,
        )
        return marked

    return mark if method is None else mark(method)


def _usage(parameter: inspect.Parameter) -> str:
    name = parameter.name.upper()
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return f"[{name}…]"
    return name if parameter.default is inspect.Parameter.empty else f"[{name}]"
