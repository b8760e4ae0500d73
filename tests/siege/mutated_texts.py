"""Hostile texts, drawn from valid samples: cut, mixed up, or made to do harm."""

import re
from collections.abc import Callable, Sequence
from random import Random

__all__ = ["mutate"]

ODD = (
    *("0", "-1", "1.5", "9" * 30, "9" * 400, "1e999", "0x" + "f" * 40, "٣", "²", "NaN", "true"),
    *("\x00", "\x1b[2J", "\x9b31m", "\x07", "\u202e", "\u2028", "\ufeff", "\r", "\t", "\n", "\udcff", "𝔄", "é"),
    *('"', "'", '"""', "'''", "\\", "`", "#", "---", "\n---\n", "=", "[[", "]]", "{", "}", "(", ")", ":", "->"),
    *("\\u0000", "\\u001b[2J", "\\ud800", "\\x00", "null\\u0000.py"),
    *("[" * 300, "(" * 90 + ")" * 90, "{" * 200, "not " * 90, "a" * 5_000, "../" * 40, "%s{}", ".py:", "()"),
)
"""``\\udcff`` is a byte that is no UTF-8: in a file, and in an argument."""

_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)
_MOST = 1 << 17


def mutate(samples: Sequence[str], chance: Random) -> str:
    """Return a sample with one mutation or a few."""
    text = chance.choice(samples)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        text = chance.choice(_WAYS)(text, samples, chance)[:_MOST]
    return text


def _span(text: str, chance: Random, longest: int = 60) -> tuple[int, int]:
    start = chance.randint(0, len(text))
    return start, min(len(text), start + chance.randint(1, longest))


def _flip(text: str, samples: Sequence[str], chance: Random) -> str:
    if not text:
        return text
    place = chance.randrange(len(text))
    return text[:place] + chr(ord(text[place]) ^ 1 << chance.randrange(7)) + text[place + 1 :]


def _remove(text: str, samples: Sequence[str], chance: Random) -> str:
    start, end = _span(text, chance)
    return text[:start] + text[end:]


def _repeat(text: str, samples: Sequence[str], chance: Random) -> str:
    start, end = _span(text, chance, 20)
    return text[:end] + text[start:end] * chance.choice((1, 1, 2, 50)) + text[end:]


def _insert(text: str, samples: Sequence[str], chance: Random) -> str:
    place = chance.randint(0, len(text))
    return text[:place] + chance.choice(ODD) + text[place:]


def _truncate(text: str, samples: Sequence[str], chance: Random) -> str:
    return text[: chance.randint(0, len(text))]


def _splice(text: str, samples: Sequence[str], chance: Random) -> str:
    other = chance.choice(samples)
    return text[: chance.randint(0, len(text))] + other[chance.randint(0, len(other)) :]


def _replace_token(text: str, samples: Sequence[str], chance: Random) -> str:
    tokens, others = _TOKEN.findall(text), _TOKEN.findall(chance.choice(samples))
    if tokens:
        tokens[chance.randrange(len(tokens))] = chance.choice((*ODD, *others))
    return "".join(tokens)


def _swap_tokens(text: str, samples: Sequence[str], chance: Random) -> str:
    tokens = _TOKEN.findall(text)
    if tokens:
        one, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        tokens[one], tokens[other] = tokens[other], tokens[one]
    return "".join(tokens)


_WAYS: tuple[Callable[[str, Sequence[str], Random], str], ...] = (
    *(_flip, _remove, _repeat, _insert, _truncate, _splice, _replace_token, _replace_token, _swap_tokens),
)
