"""Diagnose the open transactions as of a record: since when and why each is open."""

from msgspec import Struct

from lab.analysis.bank_state import Bank, TransactionOverview, bank_in, has_bank, open_at
from lab.analysis.blocking_reasons import BlockingReasons
from lab.analysis.situation import Situation
from lab.protocols.transaction import Transaction
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.recording.snapshot import NodeState

__all__ = ["TransactionDiagnosis", "blocked_since_us", "diagnose_bank", "diagnose_open_transactions"]


class TransactionDiagnosis(Struct, frozen=True):
    """An open transaction as of a record, and the ``sentences`` that explain why it is open, the gravest first."""

    overview: TransactionOverview
    sentences: tuple[str, ...]

    @property
    def transaction(self) -> Transaction:
        return self.overview.transaction

    @property
    def blocked_us(self) -> int | None:
        """Earliest time since which a live participant is blocked, having asked all others; None if none is."""
        reported = [
            each.reported
            for each in self.overview.participant_states
            if each.is_alive and each.reported is not None
        ]
        return min((each.blocked_us for each in reported if each.blocked_us is not None), default=None)

    @property
    def since_us(self) -> int | None:
        """Earliest time at which a live participant entered its present state."""
        return min(
            (each.reported.since_us for each in self.overview.participant_states if each.reported is not None),
            default=None,
        )

    @property
    def locks(self) -> tuple[str, ...]:
        """The accounts that the transaction locks."""
        return tuple(name for each in self.overview.participant_states for name in each.locks)

    @property
    def turned_away(self) -> tuple[Transaction, ...]:
        """The transactions that were refused because of these locks."""
        reported = [each.reported for each in self.overview.participant_states if each.reported is not None]
        return tuple(sorted({other for each in reported for other in each.turned_away}))


def blocked_since_us(view: NodeState) -> int | None:
    """Return the time since which this node is blocked although it has asked all others, or None."""
    return min((each.blocked_us for each in open_at(view) if each.blocked_us is not None), default=None)


def diagnose_open_transactions(cluster: ClusterState, header: Header) -> tuple[TransactionDiagnosis, ...]:
    """Return a diagnosis of each open transaction: those blocked longest first, those not blocked last."""
    return diagnose_bank(bank_in(cluster, header), cluster, header) if has_bank(header) else ()


def diagnose_bank(bank: Bank, cluster: ClusterState, header: Header) -> tuple[TransactionDiagnosis, ...]:
    """Return the same as ``diagnose_open_transactions`` for a bank that is already known."""
    by_majority = header.protocol.election is not None  # a newly elected coordinator terminates open transactions
    found = (
        TransactionDiagnosis(
            overview, tuple(BlockingReasons(Situation(overview, cluster, by_majority)).sentences())
        )
        for overview in bank.open_transactions
    )
    return tuple(sorted(found, key=_urgency))


def _urgency(stuck: TransactionDiagnosis) -> tuple[bool, int]:
    return stuck.blocked_us is None, stuck.blocked_us or 0
