"""From the words of a user to the values of a run: nodes, times, seed, parameters.

The command line has these words behind options, a scenario's head behind keys; ``Written`` says how either is
written, so that a mistake is told as the user made it. Every mistake is a SettingError.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from lab.kernel import Timing
from lab.protocols import ELECTION, TASKS, Algorithm
from lab.recording.records import Link
from lab.text import did_you_mean
from lab.units import parse_us
from lab.worlds.targets import above

__all__ = [
    "SettingError",
    "Written",
    "as_option",
    "duration",
    "nodes_of",
    "parameters_of",
    "positive",
    "seed_of",
    "target_of",
    "timing_of",
    "usual_link",
]

Written = Callable[[str, str], str]
"""How a setting is written, given its name and its value; an empty value: its name alone."""

_WORDS: dict[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.NoneType: "null",
}


class SettingError(Exception):
    """A word that no value can be made of: what was got, what was expected, what to do."""


def as_option(name: str, value: str) -> str:
    """As options of the command line have it: ``--nodes 5``."""
    return f"--{name} {value}".rstrip()


def nodes_of(text: str, written: Written = as_option) -> Sequence[int]:
    """The nodes that are meant, ascending; how many they may be is for the caller to say."""
    if re.fullmatch(r"\d{1,9}(,\d{1,9})+", text.strip()):
        return tuple(sorted({int(number) for number in text.split(",")}))
    got = written("nodes", text)
    match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text.strip())
    if match is None:
        many, between = written("nodes", "5"), written("nodes", "0-7")
        raise SettingError(f"{got}: write how many ({many}), from-to ({between}), or which (1,3,5)")
    low, high = (1, int(match[1])) if match[2] is None else (int(match[1]), int(match[2]))
    if match[2] is not None and high < low:
        raise SettingError(f"{got}: write the lower number first ({written('nodes', f'{high}-{low}')})")
    return range(low, high + 1)


def timing_of(t: str | None, tm: str | None, tp: str | None, written: Written = as_option) -> Timing:
    """The bounds that were given as T, or as its parts."""
    said_t, said_tm, said_tp = (written(name, "") for name in ("t", "tm", "tp"))
    if t is not None and (tm is not None or tp is not None):
        raise SettingError(
            f"{said_t} gives Tm and Tp as parts of it: write {said_t}, or {said_tm} and {said_tp}, not both"
        )
    if t is None and (tm is None) != (tp is None):
        given, missing = (said_tm, said_tp) if tp is None else (said_tp, said_tm)
        raise SettingError(f"{given} goes with {missing}, as T = 2·Tm + Tp: add {missing}, or write {said_t}")
    if t is not None or tm is None or tp is None:
        t_us = positive("t", t or "200ms", written)
        tm_us = t_us * 2 // 5
        return Timing(tm_us, t_us - 2 * tm_us)
    return Timing(positive("tm", tm, written), duration("tp", tp, written))


def usual_link(timing: Timing, simulated: bool) -> Link:
    """Where nothing is said of it, simulated messages take so long that they can be seen in flight."""
    return Link(timing.tm_us // 4, timing.tm_us // 8) if simulated else Link()


def seed_of(text: str, written: Written = as_option) -> int:
    """The seed that was given."""
    if re.fullmatch(r"\d{1,18}", text.strip()) is None:
        raise SettingError(f"{written('seed', text)}: write a whole number, such as {written('seed', '7')}")
    return int(text)


def target_of(protocol: str, settings: Sequence[str]) -> str:
    """The target with the election that is set below a task: ``--set election=ring``."""
    chosen = [value for name, _, value in (each.partition("=") for each in settings) if name == ELECTION]
    return above(protocol, chosen[-1]) if protocol in TASKS and chosen else protocol


def parameters_of(
    protocol: type[Algorithm], settings: Sequence[str], written: Written = as_option
) -> dict[str, Any]:
    """What ``NAME=VALUE`` sets, each of them."""
    fields = {field.name: field for field in msgspec.structs.fields(protocol.Parameters)}
    shown = {name.removesuffix("_us"): name for name in fields}
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        got = written("set", setting)
        if not equals or name not in shown:
            known = ", ".join(shown) or "nothing"
            how = written("set", "NAME=VALUE")
            meant = "" if name in shown else did_you_mean(name, list(shown))
            raise SettingError(f"{got}: {protocol.name} has {known} to set: {how}{meant}")
        field = fields[shown[name]]
        below = protocol.chosen.get(name, value)
        if value != below and protocol.carries not in TASKS.values():
            raise SettingError(f"{got}: {protocol.name} is above {below}: set usual_election in its file")
        value = below  # of the program's own tasks it has been chosen by now
        if field.name.endswith("_us"):
            values[field.name] = positive(f"set {name}", value, written)
        else:
            values[field.name] = _value_of(got, value, field.type)
    return values


def duration(name: str, text: str, written: Written = as_option) -> int:
    """A duration, in microseconds."""
    try:
        return parse_us(text)
    except ValueError as error:
        raise SettingError(f"{written(name, '')}: {error}") from None


def positive(name: str, text: str, written: Written = as_option) -> int:
    """The same; a millisecond at least."""
    us = duration(name, text, written)
    if us < 1000:
        raise SettingError(f"{written(name, text)}: a millisecond is the least")
    return us


def _value_of(got: str, text: str, kind: Any) -> Any:
    """The value that ``text`` has as this type."""
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        may_be = _may_be(inspect.type_info(kind))
        raise SettingError(f"{got}: {f'write {may_be}' if may_be else error}") from None


def _may_be(kind: inspect.Type) -> str:
    """What may be written for a value of this type; empty where there is no word for it."""
    match kind:
        case inspect.UnionType(types):
            each = [_may_be(one) for one in types]
            return " or ".join(each) if all(each) else ""
        case inspect.IntType(ge=int(least), le=int(most)):
            return f"a whole number from {least} to {most}"
    return _WORDS.get(type(kind), "")
