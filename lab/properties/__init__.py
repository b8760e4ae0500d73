"""Assertions over records, and what is to be said where one does not hold."""

from lab.properties.assertions import (
    A1_1,
    A1_2,
    A2,
    A3_1,
    A3_2,
    A4,
    A5,
    A9,
    AGREEMENTS,
    ASSERTIONS,
    CLAIMS,
    K1,
    RAISES,
    Agreement,
    Assertion,
    Claim,
    offend,
)
from lab.properties.judge import Judge
from lab.properties.verdicts import Broken, LocalState, Verdict, Violation, verdict_of
from lab.properties.witness import Moment, account

__all__ = [
    "A1_1",
    "A1_2",
    "A2",
    "A3_1",
    "A3_2",
    "A4",
    "A5",
    "A9",
    "AGREEMENTS",
    "ASSERTIONS",
    "CLAIMS",
    "K1",
    "RAISES",
    "Agreement",
    "Assertion",
    "Broken",
    "Claim",
    "Judge",
    "LocalState",
    "Moment",
    "Verdict",
    "Violation",
    "account",
    "offend",
    "verdict_of",
]
