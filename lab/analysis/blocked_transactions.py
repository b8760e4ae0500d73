"""Why is it blocked? Each open transaction as of a record, and since when and why it is open."""

from msgspec import Struct

from lab.analysis.bank_state import Bank, Case, bank_in, has_bank, open_at
from lab.analysis.blocking_reasons import Why
from lab.analysis.situation import Situation
from lab.protocols.transaction import Transaction
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.recording.snapshot import NodeState

__all__ = ["Stuck", "blocked_in", "blocked_since_us", "stuck_of"]


class Stuck(Struct, frozen=True):
    """An open transaction as of a record, and the ``sentences`` that say why it is open, the gravest first."""

    case: Case
    sentences: tuple[str, ...]

    @property
    def transaction(self) -> Transaction:
        """Its name."""
        return self.case.transaction

    @property
    def blocked_us(self) -> int | None:
        """Since when a participant that is up has known that it has to wait, though it asked everybody."""
        told = [each.told for each in self.case.standings if each.is_up and each.told is not None]
        return min((each.blocked_us for each in told if each.blocked_us is not None), default=None)

    @property
    def since_us(self) -> int | None:
        """Since when it is what it is, to the first of those that are up."""
        return min((each.told.since_us for each in self.case.standings if each.told is not None), default=None)

    @property
    def locks(self) -> tuple[str, ...]:
        """The accounts that it keeps from others."""
        return tuple(name for each in self.case.standings for name in each.locks)

    @property
    def turned_away(self) -> tuple[Transaction, ...]:
        """The transactions that found one of these locks, and were refused."""
        told = [each.told for each in self.case.standings if each.told is not None]
        return tuple(sorted({other for each in told for other in each.turned_away}))


def blocked_since_us(view: NodeState) -> int | None:
    """Since when this node has known that it has to wait, though it asked everybody; None if it does not."""
    return min((each.blocked_us for each in open_at(view) if each.blocked_us is not None), default=None)


def blocked_in(cluster: ClusterState, header: Header) -> tuple[Stuck, ...]:
    """Every transaction that somebody is not done with at that record: first what is blocked, and for longest."""
    return stuck_of(bank_in(cluster, header), cluster, header) if has_bank(header) else ()


def stuck_of(bank: Bank, cluster: ClusterState, header: Header) -> tuple[Stuck, ...]:
    """The same, where the bank as of that record is known already."""
    by_majority = header.protocol.election is not None  # who is elected ends what a coordinator left behind
    found = (Stuck(case, tuple(Why(Situation(case, cluster, by_majority)).sentences())) for case in bank.cases)
    return tuple(sorted(found, key=_patience))


def _patience(stuck: Stuck) -> tuple[bool, int]:
    return stuck.blocked_us is None, stuck.blocked_us or 0
