"""The words that can be given behind ``ssh HOST``: the lab's own, in one table, and nothing is run but these."""

from collections.abc import Callable

from msgspec import Struct

from lab.serve.house import House
from lab.text import did_you_mean, sanitize
from lab.units import count_of

__all__ = ["WORDS", "Word", "answer_to", "first_exercise"]

_NOT_UNDERSTOOD = 2


class WordError(Exception):
    """What is wrong with the words behind a word, for the student."""


class Word(Struct, frozen=True):
    """``answer`` gets the house, the student, and the words behind this one; it returns what is printed.

    WordError.
    """

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
    return f"{student}: {count_of(sessions, 'session')}, {cluster}"


def _exercises(house: House, student: str, words: list[str]) -> str:
    home = house.home_of(student)
    width = max((len(name) for name in house.exercises), default=0)
    rows = []
    for exercise in house.exercises.values():
        if exercise.repairs is None:
            points = f"{home.standing(exercise.name).points:2} of {exercise.points:2}"
            rows.append(f"  {exercise.name:{width}}  {points}  {sanitize(exercise.title, 60)}")
    return "\n".join(["Your points; ssh -t HOST start NAME begins one:", *rows])


def _start(house: House, student: str, words: list[str]) -> str:
    """Where there is no such exercise; with one, it is a session."""
    if len(words) != 1:
        raise WordError("write start NAME; ssh HOST exercises says which there are")
    meant = did_you_mean(words[0], list(house.exercises)) or "; ssh HOST exercises says which there are"
    raise WordError(f"there is no exercise {sanitize(words[0], 40)} on the server{meant}")


WORDS: dict[str, Word] = {
    "help": Word("what can be asked for", _help),
    "exercises": Word("the exercises, and your points", _exercises),
    "start": Word("start NAME: an attempt at this exercise; with ssh -t", _start),
    "status": Word("your sessions, and your cluster", _status),
}


def answer_to(command: str, house: House, student: str) -> tuple[str, int]:
    """(what is printed, the exit status)"""
    first, *rest = command.split() or ["help"]
    if first not in WORDS:
        meant = did_you_mean(first, list(WORDS))
        known = ", ".join(WORDS)
        return f"lab: {sanitize(first, 40)}: nothing is run here but: {known}{meant}", _NOT_UNDERSTOOD
    try:
        return WORDS[first].answer(house, student, rest), 0
    except WordError as error:
        return f"lab: {error}", _NOT_UNDERSTOOD


def first_exercise(command: str | None, house: House) -> str | None:
    """What a session is to begin with, the list where it is empty; None: no session is wanted, but an answer."""
    if command is None:
        return ""
    word, _, name = " ".join(command.split()).partition(" ")
    exercise = house.exercises.get(name) if word == "start" else None
    return None if exercise is None or exercise.repairs is not None else name
