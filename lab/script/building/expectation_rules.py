"""Build the structs of ``lab.script.expectations`` from the parse tree."""

from typing import Any

from lab.script.expectations import Expect, ExpectThroughout, ExpectViolation
from lab.units import parse_us

__all__ = ["ExpectationRules"]


class ExpectationRules:
    """One method per grammar rule for an expectation."""

    def expect(self, items: list[Any]) -> Expect:
        predicate, within = items
        return Expect(predicate, None if within is None else parse_us(within))

    def always(self, items: list[Any]) -> ExpectThroughout:
        return ExpectThroughout(items[0], always=True)

    def never(self, items: list[Any]) -> ExpectThroughout:
        return ExpectThroughout(items[0], always=False)

    def violation(self, items: list[Any]) -> ExpectViolation:
        assertion, cause = items
        return ExpectViolation(str(assertion), str(cause or ""))

    def no_violation(self, items: list[Any]) -> ExpectViolation:
        return ExpectViolation(str(items[0] or ""), none=True)
