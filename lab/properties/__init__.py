"""Check assertions over records: verdicts, violations, and explanations of them.

Files of the user's import the kinds of properties and the states that they are about from here.
"""

from lab.properties.declarations import (
    Counterexample,
    Memory,
    Outcome,
    agreement,
    assumption,
    eventually,
    invariant,
    leads_to,
    over_history,
    pairwise,
)
from lab.properties.states import GlobalState, LocalState

__all__ = [
    "Counterexample",
    "GlobalState",
    "LocalState",
    "Memory",
    "Outcome",
    "agreement",
    "assumption",
    "eventually",
    "invariant",
    "leads_to",
    "over_history",
    "pairwise",
]
