"""The words that can be given behind ``ssh HOST``: the lab's own, in one table, and nothing is run but these."""

from collections.abc import Callable

from msgspec import Struct

from lab.serve.house import House
from lab.text import did_you_mean, sanitize

__all__ = ["WORDS", "Word", "answer_to"]

_NOT_UNDERSTOOD = 2


class Word(Struct, frozen=True):
    """``answer`` gets the house, the student, and the words behind this one; it returns what is printed."""

    help: str
    answer: Callable[[House, str, list[str]], str]


def _help(house: House, student: str, words: list[str]) -> str:
    rows = "\n".join(f"  {name:10} {word.help}" for name, word in WORDS.items())
    return f"Connect without a word for the laboratory itself. Behind ssh HOST there can be:\n{rows}"


def _status(house: House, student: str, words: list[str]) -> str:
    sessions = len(house.presence.of(student))
    run = house.clusters.running(student)
    cluster = (
        "no cluster" if run is None else f"a cluster: {run.protocol}, {len(run.nodes)} nodes, since {run.began}"
    )
    return f"{student}: {sessions} session{'s' * (sessions != 1)}, {cluster}"


WORDS: dict[str, Word] = {
    "help": Word("what can be asked for", _help),
    "status": Word("your sessions, and your cluster", _status),
}


def answer_to(command: str, house: House, student: str) -> tuple[str, int]:
    """(what is printed, the exit status)"""
    first, *rest = command.split() or ["help"]
    if first not in WORDS:
        meant = did_you_mean(first, list(WORDS))
        known = ", ".join(WORDS)
        return f"lab: {sanitize(first, 40)}: nothing is run here but: {known}{meant}", _NOT_UNDERSTOOD
    return WORDS[first].answer(house, student, rest), 0
