"""The repairs of the bully in Tanenbaum's version: the words that they rest on, and what fails without each."""

from lab.protocols.departures import TANENBAUM, Quotation, Repair

__all__ = [
    "ADMIT_BEFORE_NORMAL",
    "CHECK_STRANGERS",
    "OVERRULE_LOWER_WINNER",
    "RETRY_IF_NO_WINNER",
]

_WINS = Quotation(TANENBAUM, "section 3.3.1", "If no one responds, P wins the election and becomes coordinator")
_ANNOUNCES = Quotation(
    TANENBAUM,
    "section 3.3.1",
    "It announces its victory by sending all processes a message telling them that starting immediately it is the "
    "new coordinator",
)
_NOTICES = Quotation(
    TANENBAUM,
    "section 3.3.1",
    "When a process notices that the coordinator is no longer responding to requests, it initiates an election",
)

RETRY_IF_NO_WINNER = Repair(
    "retry_if_no_winner",
    "gap",
    "a node that got an OK elects again if there is no winner within 2·T",
    "the winner dies before it has won, and the node waits for ever",
    "A2",
    ("bully-tanenbaum-winner-dies",),
    (Quotation(TANENBAUM, "section 3.3.1", "If one of the higher-ups answers, it takes over. P's job is done"),),
)
ADMIT_BEFORE_NORMAL = Repair(
    "admit_before_normal",
    "beyond the promise",
    "the winner becomes Normal once all nodes have asked it, or after T; the others once it has answered. This "
    "needs no extra messages",
    "the winner leads at once, while others still follow the old coordinator, which may be up: two lead for a "
    "while. The text knows no statuses, and promises only that an election ends in agreement",
    "A1.1",
    ("bully-tanenbaum-no-halt",),
    (_WINS, _ANNOUNCES),
)
OVERRULE_LOWER_WINNER = Repair(
    "overrule_lower_winner",
    "gap",
    "a node that gets COORDINATOR from a lower one holds an election",
    "a node comes up just as a lower one has won: each gets the COORDINATOR of the other, and follows it for ever",
    "A2",
    ("bully-tanenbaum-crossing", "bully-tanenbaum-paused-wakes"),
    (_ANNOUNCES,),
)
CHECK_STRANGERS = Repair(
    "check_strangers",
    "gap",
    "a coordinator asks nodes that are no members whether they are up, as in Garcia-Molina's Check; if one is, it "
    "holds an election",
    "a participant hears last of a winner that has been overruled by then, and waits for it for ever; or it has "
    "missed the last COORDINATOR (assumption 8). And after a partition both coordinators lead for ever",
    "A2",
    ("bully-tanenbaum-left-behind", "bully-tanenbaum-led-astray", "bully-tanenbaum-partition-heals"),
    (_NOTICES,),
)
