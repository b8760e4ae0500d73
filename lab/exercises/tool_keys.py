"""Compute the answers of questions that students answer with ``lab explore``, ``lab scale`` or ``lab compare``."""

from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import Struct

from lab.api.exploration import explore
from lab.kernel import Timing
from lab.protocols import Election
from lab.script.parse import numbered_lines, read_script
from lab.script.scope import Scope
from lab.tasks.comparison import ProtocolTotals
from lab.tasks.extension import comparison_of
from lab.worlds.campaign.comparison import ProtocolComparison, run_comparison
from lab.worlds.campaign.scalability import ScaleCase, ScaleStudy
from lab.worlds.campaign.schedule import SchedulePlan
from lab.worlds.explored.states import Timeouts
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.settings import timing_of
from lab.worlds.loading.targets import load_protocol

_TIMING = Timing(80_000, 40_000)
_SEED = 1
_COMPARE_FAULTS = ("kill", "pause")
"""The default of ``lab compare``. A script replaces them, but what is drawn of the links depends on them, too."""


class ToolKeyError(Exception):
    """The key cannot be computed; the text is for the author of the exercise."""


class ExplorationKey(Struct, frozen=True, forbid_unknown_fields=True):
    """An answer that follows from explorations of ``protocol``, one for each number of ``nodes``: 3, or 2-4.

    ``asks`` is what the answer is: the *smallest* number of nodes with which ``assertion`` is violated; the number
    of *moves* to its first violation; or the number of *states* of a proof. All explorations that it rests on must
    be complete, and a proof must find no failure. The others are the options of ``lab explore``.
    """

    protocol: str
    nodes: str
    asks: Literal["smallest", "moves", "states"]
    assertion: str = ""
    kills: str = "1"
    restarts: str = "0"
    cuts: str = "0"
    pauses: str = "0"
    timeouts: Timeouts = "prompt"
    suspicions: str = "0"
    parameters: dict[str, Any] = {}

    def answer(self) -> str:
        """Explore, and return the answer; for *smallest*, ``none`` if nothing is violated.

        Raises ToolKeyError, and what ``explore`` raises.
        """
        least, _, most = self.nodes.partition("-")
        clusters = range(_whole(least), _whole(most or least) + 1)
        if not clusters:
            raise ToolKeyError(f"nodes = {self.nodes!r} is no cluster; write the least number first: 2-4")
        for nodes in clusters:
            found = explore(
                self.protocol,
                nodes,
                kills=_whole(self.kills),
                restarts=_whole(self.restarts),
                cuts=_whole(self.cuts),
                pauses=_whole(self.pauses),
                timeouts=self.timeouts,
                suspicions=_whole(self.suspicions),
                parameters=self.parameters,
            )
            if found.tally.stopped_by:
                raise ToolKeyError(f"the exploration with {nodes} nodes is not complete: {found.coverage}")
            if self.asks == "states" and found.failures:
                raise ToolKeyError(f"with {nodes} nodes it is no proof: {', '.join(found.failures)} fails")
            if self.asks == "states":
                return str(found.tally.states)
            if self.assertion not in found.verdicts:
                raise ToolKeyError(f"{self.assertion or 'no assertion'} is not among {', '.join(found.verdicts)}")
            if found.tally.violated[self.assertion]:
                return str(nodes) if self.asks == "smallest" else str(found.count_moves_to(self.assertion))
        return "none"


class ScaleKey(Struct, frozen=True, forbid_unknown_fields=True):
    """An answer that follows from the cost of elections in a cluster of ``nodes``, in their ``case``.

    ``asks``: the *cheaper* of the ``protocols``, or by how many messages it is: *fewer*. The costs are those of
    the formulas, which must be exactly what is measured with ``measured_with`` nodes. ``nodes`` is a text, as it
    may be drawn.
    """

    protocols: tuple[str, str]
    nodes: str
    case: Literal["best", "worst"]
    asks: Literal["cheaper", "fewer"]
    measured_with: int = 10

    def answer(self) -> str:
        """Measure, and return the answer. Raises ToolKeyError."""
        costs = {name: self._messages_of(name) for name in self.protocols}
        one, other = self.protocols
        if costs[one] == costs[other]:
            raise ToolKeyError(f"both cost {costs[one]} messages with {self.nodes} nodes")
        return min(costs, key=costs.__getitem__) if self.asks == "cheaper" else str(abs(costs[one] - costs[other]))

    def _messages_of(self, name: str) -> int:
        protocol = load_protocol(name)
        if not issubclass(protocol, Election):
            raise ToolKeyError(f"{name} is not an election")
        study = ScaleStudy.of(protocol)
        found, took_us = study.measure(self.measured_with, _TIMING, _SEED, lambda messages, share: None)
        if found.failed:
            raise ToolKeyError(f"{name}: {found.failed}")
        study.add(found, took_us)
        case = self._case_of(study)
        formula, (measured,) = case.messages(self.measured_with), case.measured
        if case.cost is None or measured.messages != formula:
            raise ToolKeyError(
                f"{name} with {self.measured_with} nodes: {measured.messages} messages, by formula {formula:g}"
            )
        return round(case.messages(_whole(self.nodes)))

    def _case_of(self, study: ScaleStudy) -> ScaleCase:
        return study.best() if self.case == "best" else study.worst()


class CompareKey(Struct, frozen=True, forbid_unknown_fields=True):
    """An answer that follows from a comparison of the ``protocols`` in clusters of ``nodes``, without a task.

    ``script`` are the lines of the file that students give with ``--script``. ``figure`` is a number that
    ``lab compare --json`` prints of each protocol, ``messages_mean`` or ``blocked.longest_us``; times count in
    whole seconds. ``asks``: the protocol with the *most* or the *least* of it, how much that of ``of`` is
    (*value*), or by how much the most is *more* than the least.
    """

    protocols: tuple[str, ...]
    nodes: str
    script: str
    figure: str
    asks: Literal["most", "least", "value", "more"]
    of: str = ""
    runs: int = 10

    def answer(self) -> str:
        """Compare, and return the answer. Raises ToolKeyError, and CommandError for a mistake in the script."""
        figures = self._measure()
        if self.asks == "value":
            if self.of not in figures:
                raise ToolKeyError(f"of = {self.of!r} is not one of {', '.join(figures)}")
            return str(figures[self.of])
        least, *_, most = sorted(figures, key=figures.__getitem__)
        if figures[least] == figures[most]:
            raise ToolKeyError(f"{self.figure} is {figures[least]} for each of {', '.join(figures)}")
        if self.asks == "more":
            return str(figures[most] - figures[least])
        return most if self.asks == "most" else least

    def _measure(self) -> dict[str, int]:
        if len(self.protocols) < 2:
            raise ToolKeyError('a comparison needs two protocols: protocols = ["2pc", "3pc"]')
        compared = _compare(self.protocols, _whole(self.nodes), self.script, self.runs)
        return {name: self._figure_in(figures, name) for name, figures in compared.items()}

    def _figure_in(self, figures: Any, protocol: str) -> int:
        found = figures
        for name in self.figure.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise ToolKeyError(f"{protocol} has no figure {self.figure}; lab compare --json prints all")
        if self.figure.endswith("_us"):
            return round(found / 1_000_000)
        if found != round(found):
            raise ToolKeyError(f"{self.figure} of {protocol} is {found:g}, which is not a whole number")
        return round(found)


@lru_cache(maxsize=4)  # the tasks of an exercise ask for several figures of one comparison
def _compare(protocols: tuple[str, ...], count: int, script: str, runs: int) -> dict[str, Any]:
    """Return the figures of each protocol, as ``lab compare --json`` prints them. Raises CommandError."""
    loaded = [load_protocol(name) for name in protocols]
    nodes, timing = tuple(range(1, count + 1)), timing_of(None)
    for line in read_script(script, loaded[0]):
        line.check(Scope(loaded[0], nodes, {}))
    comparison = ProtocolComparison(
        protocols,
        tuple(simulation_header(protocol, nodes, timing, {}) for protocol in loaded),
        SchedulePlan((count, count), _COMPARE_FAULTS, timing, (), gaps=False),
        tuple(line for _, line in numbered_lines(script)),
        _SEED,
        runs,
        names=protocols,
    )
    totals = [ProtocolTotals(*each) for each in zip(protocols, loaded, strict=True)]
    for number, measured in enumerate(run_comparison(comparison)):
        for each, one in zip(totals, measured, strict=True):
            each.add(one.measured, one.violations, _SEED + number)
    return {each.name: msgspec.to_builtins(comparison_of(each.protocol).figures(each)) for each in totals}


def _whole(text: str) -> int:
    """Return the number. Raises ToolKeyError."""
    if not (text.isdecimal() and text.isascii()):
        raise ToolKeyError(f"{text!r} is not a whole number")
    return int(text)
