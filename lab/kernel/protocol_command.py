"""Commands of a protocol's own: what users may tell a node, and who it is for where they name nobody.

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
"""Who a command is for where no node is named: all that lead, or, where nobody is elected, that run; of these
one, the highest; or nobody, as it has to be told to nodes by name."""

_LONGEST = 40


class ProtocolCommand(Struct, frozen=True):
    """One of them: what it does, how its words are written, an example of the whole, if any, and who it is for.

    It takes ``least`` words or more, and ``most`` unless that is None.
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
        """How it is written: ``transfer AMOUNT SOURCE TARGET``, ``publish [NODES]``, ``refuse NODES``."""
        return f"{self.name} {self.words or ('NODES' if self.to == 'named' else '[NODES]')}"

    def miscounts(self, words: tuple[str, ...]) -> str:
        """What is wrong where these are too many or too few; nothing, if they are not."""
        if self.least <= len(words) and (self.most is None or len(words) <= self.most):
            return ""
        takes = f"the words of {self.name} are {self.words}" if self.words else f"{self.name} takes no words"
        got = sanitize(" ".join(words), _LONGEST) or "none"
        return f"{takes}; got {got}: {self.example or f'tell NODES {self.name} {self.words}'.rstrip()}"


@overload
def command(method: F) -> F: ...
@overload
def command(*, to: Recipients = ..., words: str = ..., example: str = ...) -> Callable[[F], F]: ...
def command(method: Any = None, *, to: Recipients = "leaders", words: str = "", example: str = "") -> Any:
    """A command that users may give a node: ``(self, *words) -> None``; its docstring is shown to them.

    ``words`` says how its words are written, where the names of the parameters do not.
    """

    def mark(marked: F) -> F:
        taken = list(inspect.signature(marked).parameters.values())[1:]
        plain = [each for each in taken if each.kind is not inspect.Parameter.VAR_POSITIONAL]
        marked._command = ProtocolCommand(  # type: ignore[attr-defined]
            marked.__name__,
            marked.__doc__ or "",
            words or " ".join(map(_usage, taken)),
            example,
            to,
            sum(each.default is inspect.Parameter.empty for each in plain),
            len(plain) if plain == taken else None,
        )
        return marked

    return mark if method is None else mark(method)


def _usage(parameter: inspect.Parameter) -> str:
    name = parameter.name.upper()
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return f"[{name}…]"
    return name if parameter.default is inspect.Parameter.empty else f"[{name}]"
