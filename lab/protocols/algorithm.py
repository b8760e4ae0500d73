"""The declarations of an algorithm: its promises, the assumptions that they need, and its cost."""

from collections.abc import Mapping
from typing import Any, ClassVar

from lab.kernel import Protocol, Timing
from lab.protocols.cost import Cost, Formula
from lab.protocols.departures import Reading, Repair

__all__ = ["Algorithm"]


class Algorithm(Protocol):
    """A protocol that can be run, judged and compared by its name."""

    promises: ClassVar[tuple[str, ...]] = ()
    """The assertions that hold as long as the assumptions do."""

    relies_on: ClassVar[Mapping[str, tuple[int | str, ...]]] = {}
    """The numbers of the assumptions that a promise needs; those not listed here need all nine."""

    @classmethod
    def promises_with(cls, parameters: Any) -> tuple[str, ...]:
        """Return the promises in a run with these parameters: all, or some of them."""
        return cls.promises

    @classmethod
    def relied_on(cls, parameters: Any) -> Mapping[str, tuple[int | str, ...]]:
        """Return what the promises rely on in a run with these parameters."""
        return cls.relies_on

    @classmethod
    def parameter_refusal(cls, timing: Timing, parameters: Any) -> str:
        """Return why the promises cannot be kept with these parameters and bounds, or "" if they can."""
        return ""

    fixed_parameters: ClassVar[dict[str, str]] = {}
    """The parameters that distinguish this class from others of the same name: the election below a task."""

    workload: ClassVar[tuple[str, ...]] = ()
    """Commands that a campaign gives to random nodes, so that faults have work to interrupt."""

    environment: ClassVar[tuple[str, ...]] = ()
    """The fields and methods that model what is outside the algorithm, such as the work that it is given.

    ``lab mutate`` leaves them alone, and the statements that use them, so a mutant is a mistake in the algorithm.
    """

    finite_parameters: ClassVar[Mapping[str, Any]] = {}
    """Parameters with which the protocol comes to rest, so that its state space is finite.

    ``lab mutate`` explores with them, except for those that the user has set.
    """

    extension: ClassVar[str | type] = ""
    """The class of ``lab.tasks.extension.Extension`` that the protocol brings to the interface and the reports.

    Or its place, as ``module:class``: it is loaded only where it is needed, and never by the process of a node.
    """

    writes_text: ClassVar[bool] = False
    """True if logs show the values in its messages by their ``str``, and not as JSON."""

    log_entry: ClassVar[type | None] = None
    """The type of the entries of its logs in stable storage, if logs show them by their ``str``."""

    readings: ClassVar[tuple[Reading, ...]] = ()
    """The places where its text can be read in several ways."""

    costs: ClassVar[tuple[Cost, ...]] = ()
    """The cost of an election by formula, for one or several cases."""

    @classmethod
    def repairs(cls) -> tuple[Repair, ...]:
        """Return the repairs of its text, in the order in which they build on each other."""
        return tuple(vars(klass)["repair"] for klass in reversed(cls.__mro__) if "repair" in vars(klass))

    @classmethod
    def departures(cls, parameters: Mapping[str, Any]) -> dict[str, str]:
        """Return the chosen readings and the repairs, by name, each with the words that it rests on."""
        readings = {each.parameter: each for each in cls.readings}
        chosen = {name: parameters.get(name, each.values[0].name) for name, each in readings.items()}
        return {
            **{name: f"reading {name}={chosen[name]}: {each.rests_on[0]}" for name, each in readings.items()},
            **{each.name: f"{each.kind}, {each.name}: {each.rests_on[0]}" for each in cls.repairs()},
        }

    @classmethod
    def formulas(cls) -> list[Formula]:
        """Return what it costs, for the description of the protocol; of the layer above it first."""
        upper = cls.upper_protocol
        of_upper = upper.formulas() if upper is not None and issubclass(upper, Algorithm) else []
        return [*of_upper, *(Formula(cost.formula, cost.case, cost.source) for cost in cls.costs)]

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Any, nodes: int) -> int:
        """Return the time after the last fault within which that many nodes settle (A2, A4)."""
        return 30 * timing.t_us
