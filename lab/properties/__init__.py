"""Assertions over records, and what is to be said where one does not hold."""

from lab.properties.assertions import A1_1, A1_2, A2, AGREEMENTS, ASSERTIONS, RAISES, Agreement, Assertion, offend

__all__ = ["A1_1", "A1_2", "A2", "AGREEMENTS", "ASSERTIONS", "RAISES", "Agreement", "Assertion", "offend"]
