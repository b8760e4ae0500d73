"""Sum up the outcomes of mutants: by rule, by cause of death, and as a score."""

from collections.abc import Iterable
from statistics import median_low

from msgspec import Struct

from lab.worlds.mutation.mutants import Mutant
from lab.worlds.mutation.mutation_campaign import MutantOutcome


class RuleScore(Struct):
    """The numbers of mutants of a rule. ``made`` are those that can be loaded; ``survived`` includes unreached."""

    made: int = 0
    killed: int = 0
    equivalent: int = 0
    survived: int = 0
    unreached: int = 0
    invalid: int = 0


class Killer(Struct, frozen=True):
    """A cause of death: the number of mutants, and the median of the number of runs that it took."""

    by: str
    mutants: int
    runs_median: int


class MutationScore:
    """The sums over the mutants tested so far. ``rules`` are in the order given, ``total`` is the sum of them."""

    def __init__(self, rules: Iterable[str]) -> None:
        self.rules = {rule: RuleScore() for rule in rules}
        self.total = RuleScore()
        self.tested: list[tuple[Mutant, MutantOutcome]] = []

    def add(self, mutant: Mutant, outcome: MutantOutcome) -> None:
        """Add the outcome of a mutant."""
        self.tested.append((mutant, outcome))
        for score in (self.rules[mutant.rule], self.total):
            score.made += outcome.result != "invalid"
            score.killed += outcome.result == "killed"
            score.equivalent += outcome.result == "equivalent"
            score.survived += outcome.result in ("survived", "unreached")
            score.unreached += outcome.result == "unreached"
            score.invalid += outcome.result == "invalid"

    @property
    def percent(self) -> float | None:
        """The score: the share of those killed, of all but the equivalent ones; None if there are no others."""
        of = self.total.made - self.total.equivalent
        return 100 * self.total.killed / of if of else None

    @property
    def killers(self) -> list[Killer]:
        """The causes of death, the most frequent first."""
        runs: dict[str, list[int]] = {}
        for _, outcome in self.tested:
            if outcome.result == "killed":
                runs.setdefault(outcome.by, []).append(outcome.runs)
        found = [Killer(by, len(each), median_low(each)) for by, each in runs.items()]
        return sorted(found, key=lambda killer: (-killer.mutants, killer.by))

    def of(self, *results: str) -> list[tuple[Mutant, MutantOutcome]]:
        """Return the mutants with these results."""
        return [(mutant, outcome) for mutant, outcome in self.tested if outcome.result in results]
