"""From the parse tree to the structs of commands, triggers, predicates and expectations."""

import functools
from typing import TYPE_CHECKING, Any

from lab.script.building.commands import Commands
from lab.script.building.expectations import Expectations
from lab.script.building.predicates import Predicates
from lab.script.building.triggers import Triggers

if TYPE_CHECKING:
    from lark import Transformer

__all__ = ["transformer"]


@functools.cache
def transformer() -> "Transformer[Any, Any]":
    """What builds them. ValueError and CommandError come out of it wrapped, as lark does."""
    from lark import Transformer  # noqa: PLC0415 - a tenth of a second, needed at the first command

    class Build(Transformer[Any, Any], Triggers, Commands, Predicates, Expectations):
        """A method for each rule of the grammar."""

        def start(self, items: list[Any]) -> Any:
            return items

    return Build()
