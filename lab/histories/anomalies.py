"""Anomalies of transactions, and the consistency models that each rules out.

The names of cycles are those of Adya (1999) and of Adya, Liskov & O'Neil (2000), for dependencies of three kinds:
*ww*, a transaction overwrites the version of another; *wr*, it reads that version; *rw*, it overwrites a version
that another has read (an anti-dependency). Elle (Kingsbury & Alvaro 2020) finds them in what clients saw, and with
them anomalies that are no cycles: dirty updates, garbage reads, incompatible orders. *Lost update* is that of
Berenson et al. (1995); *G-nonadjacent*, a cycle in which no two rw stand together, rules out snapshot isolation by
the theorem of Cerone & Gotsman (2018); *internal* is their axiom INT, which snapshot isolation and all above it
have.
With an order of sessions (a client's transactions follow each other) or of real time among the dependencies of the
cycle, the same anomalies get the suffix ``-process`` or ``-real-time``, and rule out the models that keep this
order.
"""

from typing import Literal, get_args

from lab.histories.results import Finding

ConsistencyModel = Literal[
    "read uncommitted",
    "read committed",
    "snapshot isolation",
    "serializable",
    "strong session serializable",
    "strict serializable",
]
MODELS: tuple[ConsistencyModel, ...] = get_args(ConsistencyModel)
"""The models, each of which allows less than the one before it."""

WEAKEST_RULED_OUT: dict[str, ConsistencyModel] = {
    "garbage read": "read uncommitted",
    "duplicate element": "read uncommitted",
    "G0": "read uncommitted",
    "G1a": "read committed",
    "G1b": "read committed",
    "G1c": "read committed",
    "dirty update": "read committed",
    "incompatible order": "read committed",
    "future read": "read committed",
    "internal": "snapshot isolation",
    "lost update": "snapshot isolation",
    "G-single": "snapshot isolation",
    "G-nonadjacent": "snapshot isolation",
    "G2-item": "serializable",
    "lost append": "strict serializable",
}
"""The weakest model that each anomaly rules out; with it, all after it in ``MODELS``."""
_SUFFIXES: dict[str, ConsistencyModel] = {
    "-process": "strong session serializable",
    "-real-time": "strict serializable",
}


class Anomaly(Finding, frozen=True):
    """An anomaly, in words, and the transactions that show it."""

    @property
    def rules_out(self) -> ConsistencyModel:
        """The weakest model that it rules out."""
        for suffix, model in _SUFFIXES.items():
            if self.kind.endswith(suffix):
                return model
        return WEAKEST_RULED_OUT[self.kind]

    def violates(self, model: ConsistencyModel) -> bool:
        """Return whether the model does not allow it."""
        return MODELS.index(self.rules_out) <= MODELS.index(model)

    def __str__(self) -> str:
        return f"{self.kind}: {self.text} (rules out {self.rules_out})"
