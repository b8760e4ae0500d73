"""Assertions over records, and what is to be said where one does not hold."""

from lab.properties.assertions import A1_1, A1_2, A2, AGREEMENTS, ASSERTIONS, RAISES, Agreement, Assertion, offend
from lab.properties.judge import Judge
from lab.properties.verdicts import Broken, LocalState, Verdict, Violation, verdict_of
from lab.properties.witness import Moment, account

__all__ = [
    "A1_1",
    "A1_2",
    "A2",
    "AGREEMENTS",
    "ASSERTIONS",
    "RAISES",
    "Agreement",
    "Assertion",
    "Broken",
    "Judge",
    "LocalState",
    "Moment",
    "Verdict",
    "Violation",
    "account",
    "offend",
    "verdict_of",
]
