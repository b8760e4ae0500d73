"""The topics that exercises teach, in a few words: rules of the algorithms, assertions, assumptions.

``lab guide algorithms`` has the rules in full.
"""

from lab.analysis.assumptions import ASSUMPTIONS
from lab.properties import ASSERTIONS

__all__ = ["RULES", "describe_topic"]

RULES = {
    "M1": "ids and priorities",
    "M2": "the state vector",
    "M3": "stable storage",
    "M4": "a crash halts a node",
    "M5": "the bounds T, Tm and Tp",
    "M6": "links keep their order",
    "M7": "only Normal nodes work",
    "B1": "a silent coordinator is noticed",
    "B2": "recovery",
    "B3": "the coordinator's check",
    "B4": "stage 1: ask the higher nodes",
    "B5": "stage 2: halt the lower nodes",
    "B6": "stage 3: set the coordinator",
    "B7": "stage 4: hand out the new state",
    "B8": "answers to messages",
    "B9": "late answers do not count",
    "B10": "no finished work is lost",
    "T1": "ELECTION to the higher nodes",
    "T2": "OK to a lower node",
    "T3": "no OK: COORDINATOR to all",
    "T4": "recovery",
    "T5": "the run of figure 3-12",
    "R1": "the ring",
    "R2": "ELECTION, and dead successors",
    "R3": "the list becomes COORDINATOR",
    "R4": "elections at the same time",
    "R5": "a message whose starter crashed",
    "R6": "recovery",
    "I1": "group identifiers",
    "I2": "recovery: a group of one",
    "I3": "the coordinator's check",
    "I4": "a silent coordinator is noticed",
    "I5": "merging groups",
    "I6": "an invitation",
    "I7": "answers to messages",
    "I8": "nothing waits forever",
    "I9": "optional behaviours",
    "I10": "the history of groups",
    "F1": "regions and readings",
    "F2": "a new division of the field",
    "F3": "double work, and joining results",
    "F4": "publishing with a majority",
    "C1": "votes and the commit point",
    "C2": "uncertain after YES",
    "C3": "abort before voting",
    "C4": "cooperative termination and blocking",
    "C5": "recovery from the log",
    "C6": "locks",
    "P1": "the PreCommit phase",
    "P2": "electing a new coordinator",
    "P3": "the termination rules",
    "P4": "majorities count all participants",
    "P5": "no blocking with a majority",
    "K1": "one token",
    "K2": "every request is served",
}
"""The rules of the algorithms by their ids."""


def describe_topic(topic: str) -> str:
    """Return a topic with a word on what it is: ``B3 (the coordinator's check)``."""
    words = RULES.get(topic, "")
    if topic in ASSERTIONS:
        words = ASSERTIONS[topic].short
    elif topic.startswith("assumption "):
        number = topic.removeprefix("assumption ")
        words = ASSUMPTIONS.get(int(number), "") if number.isdecimal() else ""
    return f"{topic} ({words})" if words else topic
