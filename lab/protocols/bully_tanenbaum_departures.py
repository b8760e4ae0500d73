"""The reading of the bully in Tanenbaum's version, and the repairs: the words they rest on, and what fails."""

from lab.protocols.departures import TANENBAUM, Quotation, Reading, Repair, Value

__all__ = [
    "ADMIT_BEFORE_NORMAL",
    "CHECK_STRANGERS",
    "OVERRULE_LOWER_WINNER",
    "READINGS",
    "RETRY_IF_NO_WINNER",
]

_GOAL = Quotation(
    TANENBAUM,
    "section 3.3",
    "ensure that when an election starts, it concludes with all processes agreeing on who the new coordinator is "
    "to be",
)
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

_GIVE_UP = Quotation(TANENBAUM, "section 3.3.1", "Eventually, all processes give up but one")
_BIGGEST = Quotation(TANENBAUM, "section 3.3.1", "Thus the biggest guy in town always wins")

READINGS = (
    Reading(
        "responding",
        "which node responds to the request of a process that takes it for the coordinator?",
        (_NOTICES,),
        (
            Value(
                "coordinator",
                "one that takes itself for the coordinator; any other is silent",
                "All assertions hold",
            ),
            Value(
                "any_node",
                "any that is up",
                "All assertions hold with all repairs, but A2 fails without overrule_lower_winner, or without "
                "check_strangers: who follows a node that has been overruled by then does so for ever. So two "
                "follow each other, if one comes up just as the other has won",
                "bully-tanenbaum-crossing",
            ),
        ),
    ),
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
    (_GOAL, _WINS, _ANNOUNCES),
)
OVERRULE_LOWER_WINNER = Repair(
    "overrule_lower_winner",
    "one reading",
    "a node that gets COORDINATOR from a lower one holds an election",
    "a node comes up just after a lower one has sent it ELECTION: it gets COORDINATOR while it holds its own "
    "election, gives that up, and follows the lower one for ever. The text can be read so that a node finishes "
    "its own election: then it wins",
    "highest",
    ("bully-tanenbaum-lower-leads",),
    (_GIVE_UP, _BIGGEST),
)
CHECK_STRANGERS = Repair(
    "check_strangers",
    "beyond the promise",
    "a coordinator asks nodes that are no members whether they are up, as in Garcia-Molina's Check; if one is, it "
    "holds an election",
    "after a partition (assumption 8) both coordinators lead for ever",
    "A2",
    ("bully-tanenbaum-partition-heals",),
    (_NOTICES,),
)
