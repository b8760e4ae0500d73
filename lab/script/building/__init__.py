"""Turn the parse tree into the structs of commands, triggers, predicates and expectations."""

import functools
from typing import TYPE_CHECKING, Any

from lab.script.building.command_rules import CommandRules
from lab.script.building.expectation_rules import ExpectationRules
from lab.script.building.predicate_rules import PredicateRules
from lab.script.building.trigger_rules import TriggerRules

if TYPE_CHECKING:
    from lark import Transformer

__all__ = ["transformer"]


@functools.cache
def transformer() -> "Transformer[Any, Any]":
    """Return the transformer. Lark wraps the ValueError and CommandError that its methods raise in VisitError."""
    from lark import Transformer  # noqa: PLC0415 - a tenth of a second, needed at the first command

    class Build(Transformer[Any, Any], TriggerRules, CommandRules, PredicateRules, ExpectationRules):
        """One method per rule of the grammar."""

        def start(self, items: list[Any]) -> Any:
            return items

    return Build()
