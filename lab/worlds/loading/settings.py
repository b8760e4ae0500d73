"""The settings of a run as a user writes them, and the values that they mean: nodes, times, seed, parameters.

The command line has these texts in options, the head of a scenario in keys. ``Written`` formats a setting as
either, so that an error quotes it as the user wrote it. Every mistake raises SettingError.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, inspect

from lab.kernel import Timing
from lab.protocols import ELECTION, TASKS, Algorithm
from lab.recording.records import Link
from lab.text import UserError, did_you_mean
from lab.units import first_duplicate, parse_us
from lab.worlds.loading.targets import sandboxed_target, stacked_target, target_with

Written = Callable[[str, str], str]
"""Formats a setting, given its name and value; with an empty value, its name alone."""

_DESCRIPTIONS: dict[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.NoneType: "null",
}


class SettingError(UserError):
    """A text that cannot be converted; the message says what was got, what is expected, and what to do."""


def as_option(name: str, value: str) -> str:
    """Format a setting as an option of the command line: ``--nodes 5``."""
    return f"--{name} {value}".rstrip()


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of a run as texts; None if left out. ``set_`` are ``NAME=VALUE`` texts."""

    protocol: str
    properties: Path | None = None
    nodes: str | None = None
    t: str | None = None
    tm: str | None = None
    tp: str | None = None
    latency: str | None = None
    jitter: str | None = None
    set_: list[str] = []
    seed: str | None = None
    for_: str | None = None

    @staticmethod
    def written(name: str, value: str) -> str:
        """Format a setting as the user wrote it (``Written``)."""
        return as_option(name, value)

    @property
    def target(self) -> str:
        """The target of the protocol, with the election that is set below a task, and the properties."""
        return target_of(self.protocol, self.set_, self.properties)

    def node_ids(self) -> Sequence[int]:
        """Return the nodes, ascending; by default five. The caller limits their number."""
        text = "5" if self.nodes is None else self.nodes.strip()
        got = self.written("nodes", text)
        if re.fullmatch(r"\d{1,9}(,\d{1,9})+", text):
            named = sorted(map(int, text.split(",")))
            if (twice := first_duplicate(named)) is not None:
                raise SettingError(f"{got}: node {twice} is named twice; name each node once")
            return tuple(named)
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text)
        if match is None:
            count, span, ids = (self.written("nodes", each) for each in ("5", "0-7", "1,3,5"))
            raise SettingError(f"{got}: write a count ({count}), a range of ids ({span}) or a list of ids ({ids})")
        low, high = (1, int(match[1])) if match[2] is None else (int(match[1]), int(match[2]))
        if match[2] is not None and high < low:
            lower_first = self.written("nodes", f"{high}-{low}")
            raise SettingError(f"{got}: write the lower number first ({lower_first})")
        return range(low, high + 1)

    def timing(self) -> Timing:
        """Return the bounds."""
        return timing_of(self.t, self.tm, self.tp, self.written)

    def link(self) -> Link | None:
        """Return the links, all alike; None if neither latency nor jitter is set."""
        if self.latency is None and self.jitter is None:
            return None
        return Link(
            duration("latency", self.latency or "0s", self.written),
            duration("jitter", self.jitter or "0s", self.written),
        )

    def seed_or(self, default: int) -> int:
        """Return the seed."""
        return default if self.seed is None else seed_of(self.seed, self.written)

    def end_us(self) -> int | None:
        """Return the time at which the run ends."""
        return None if self.for_ is None else positive("for", self.for_, self.written)


def timing_of(t: str | None, tm: str | None = None, tp: str | None = None, written: Written = as_option) -> Timing:
    """Return the bounds, given as T or as Tm and Tp."""
    option_t, option_tm, option_tp = (written(name, "") for name in ("t", "tm", "tp"))
    if t is not None and (tm is not None or tp is not None):
        raise SettingError(
            f"{option_t} sets both Tm and Tp: write {option_t}, or {option_tm} and {option_tp}, not both"
        )
    if t is None and (tm is None) != (tp is None):
        given, missing = (option_tm, option_tp) if tp is None else (option_tp, option_tm)
        raise SettingError(
            f"{given} requires {missing}, because T = 2·Tm + Tp: add {missing}, or write {option_t} instead"
        )
    if t is not None or tm is None or tp is None:
        t_us = positive("t", t or "200ms", written)
        tm_us = t_us * 2 // 5
        return Timing(tm_us, t_us - 2 * tm_us)
    return Timing(positive("tm", tm, written), duration("tp", tp, written))


def usual_link(timing: Timing, simulated: bool) -> Link:
    """Return the default link: simulated messages are slow enough to be seen in flight."""
    return Link(timing.tm_us // 4, timing.tm_us // 8) if simulated else Link()


def seed_of(text: str, written: Written = as_option) -> int:
    if re.fullmatch(r"\d{1,18}", text.strip()) is None:
        raise SettingError(f"{written('seed', text)}: write a whole number, such as {written('seed', '7')}")
    return int(text.strip())  # int alone strips less


def target_of(
    protocol: str, settings: Sequence[str], properties: Path | None = None, sandbox: bool = False
) -> str:
    """Return the target with the election set below a task: ``--set election=ring``, and with ``--properties``.

    With ``sandbox``, its file is executed in one. Raises TargetError if it has none.
    """
    chosen = [value for name, _, value in (each.partition("=") for each in settings) if name == ELECTION]
    target = stacked_target(protocol, chosen[-1]) if protocol in TASKS and chosen else protocol
    target = sandboxed_target(target) if sandbox else target
    return target if properties is None else target_with(target, str(properties))


def parameters_of(
    protocol: type[Algorithm], settings: Sequence[str], written: Written = as_option
) -> dict[str, Any]:
    """Return the parameters set by ``NAME=VALUE`` texts."""
    fields = {field.name: field for field in msgspec.structs.fields(protocol.Parameters)}
    shown = {name.removesuffix("_us"): name for name in fields}
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        got = written("set", setting)
        known = f"its parameters are {', '.join(shown)}" if shown else "it has no parameters"
        if name not in shown:
            meant = did_you_mean(name, list(shown))
            raise SettingError(f"{got}: {protocol.name} has no parameter {name!r}; {known}{meant}")
        if not equals:
            raise SettingError(f"{got}: the value is missing; write {written('set', f'{name}=VALUE')}")
        field = fields[shown[name]]
        election = protocol.fixed_parameters.get(name, value)
        if value != election and protocol.upper_protocol not in TASKS.values():
            raise SettingError(
                f"{got}: {protocol.name} runs above {election}; to change that, set usual_election in its file"
            )
        value = election  # for the built-in tasks, target_of has chosen it already
        if field.name.endswith("_us"):
            values[field.name] = positive(f"set {name}", value, written)
        else:
            values[field.name] = _value_of(got, value, field.type)
    return values


def duration(name: str, text: str, written: Written = as_option) -> int:
    """Return a duration in microseconds."""
    try:
        return parse_us(text)
    except ValueError as error:
        raise SettingError(f"{written(name, '')}: {error}") from None


def positive(name: str, text: str, written: Written = as_option) -> int:
    """Return a duration in microseconds, of at least a millisecond."""
    us = duration(name, text, written)
    if us < 1000:
        raise SettingError(f"{written(name, text)}: the minimum is 1ms")
    return us


def _value_of(got: str, text: str, kind: Any) -> Any:
    """Convert ``text`` to this type; several values are separated by commas."""
    info = inspect.type_info(kind)
    given = text.split(",") if isinstance(info, inspect.VarTupleType) else text
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        expected = _describe_values(info)
        raise SettingError(f"{got}: {f'write {expected}' if expected else error}") from None


def _describe_values(kind: inspect.Type) -> str:
    """Describe the values of this type; empty if there is no description."""
    match kind:
        case inspect.UnionType(types):
            each = [_describe_values(one) for one in types]
            return " or ".join(each) if all(each) else ""
        case inspect.IntType(ge=int(least), le=int(most)):
            return f"a whole number from {least} to {most}"
        case inspect.LiteralType(values):
            return " or ".join(sorted(map(str, values)))
        case inspect.VarTupleType(inspect.LiteralType(values)):
            return f"one or more of these, separated by commas: {', '.join(sorted(map(str, values)))}"
    return _DESCRIPTIONS.get(type(kind), "")
