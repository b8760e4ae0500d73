"""The reading of Tanenbaum's ring, and the repairs: the words they rest on, and what fails without each."""

from lab.protocols.departures import TANENBAUM, Quotation, Reading, Repair, Value

__all__ = [
    "ASK_SKIPPED",
    "CHECK_RING",
    "CIRCULATE_ONCE",
    "NUMBER_ELECTIONS",
    "READINGS",
    "RETRY_IF_NO_COORDINATOR",
]

_GOAL = Quotation(
    TANENBAUM,
    "section 3.3",
    "ensure that when an election starts, it concludes with all processes agreeing on who the new coordinator is "
    "to be",
)
_BACK = Quotation(
    TANENBAUM,
    "section 3.3.2",
    "That process recognizes this event when it receives an incoming message containing its own process number",
)
_ONCE = Quotation(TANENBAUM, "section 3.3.2", "When this message has circulated once, it is removed")
_SKIPS = Quotation(
    TANENBAUM,
    "section 3.3.2",
    "If the successor is down, the sender skips over the successor and goes to the next member along the ring",
)
_EXTRA = Quotation(TANENBAUM, "section 3.3.2", "It does no harm to have extra messages circulating")
_NOTICES = Quotation(
    TANENBAUM,
    "section 3.3.2",
    "When any process notices that the coordinator is not functioning, it builds an ELECTION message",
)

READINGS = (
    Reading(
        "back_at",
        "which node takes an ELECTION that contains its own number for one that is back, and turns it into "
        "COORDINATOR?",
        (_BACK,),
        (
            Value("starter", "only the node that started it all", "All assertions hold"),
            Value(
                "listed",
                "any node in the list: it takes those listed from itself on for the ring",
                "All assertions hold. If the starter has died, its successor ends the election, without "
                "circulate_once; but a COORDINATOR whose starter has died circulates for ever all the same",
            ),
        ),
    ),
)
RETRY_IF_NO_COORDINATOR = Repair(
    "retry_if_no_coordinator",
    "gap",
    "a node that has waited for COORDINATOR for the time of two circulations elects anew",
    "a node acknowledges a message and dies before it has passed it on: all that wait for it wait for ever",
    "A2",
    ("ring-message-lost",),
    (_SKIPS,),
)
ASK_SKIPPED = Repair(
    "ask_skipped",
    "gap",
    "ELECTION becomes COORDINATOR only if the nodes that it skipped are silent still",
    "two nodes come up, and each is skipped by the election of the other: there are two lists, and two lead",
    "A1.1",
    ("ring-skipped",),
    (_GOAL, _SKIPS, _EXTRA),
)
NUMBER_ELECTIONS = Repair(
    "number_elections",
    "gap",
    "elections are numbered. A node follows the COORDINATOR of the highest election that it has passed on, if no "
    "node on its way was in a higher one",
    "two ELECTIONs circulate, and the highest node dies in between: it is in only one of the lists, and some "
    "nodes follow the one COORDINATOR, some the other",
    "A1.1",
    ("ring-two-lists",),
    (_GOAL, _EXTRA),
)
CIRCULATE_ONCE = Repair(
    "circulate_once",
    "gap",
    "nobody passes a message on past its starter, or a second time",
    "the starter of a message dies, and the message circulates for ever. Where messages are slow, such messages "
    "delay each further election, and it is in vain",
    "A2",
    ("ring-starter-dies",),
    (_ONCE, _BACK),
)
CHECK_RING = Repair(
    "check_ring",
    "beyond the promise",
    "a coordinator elects if a member of its ring no longer asks, or a node outside it is up",
    "members notice a silent coordinator, but no coordinator notices a silent member: after a partition "
    "(assumption 8) there are two rings, for ever",
    "A2",
    ("ring-two-rings",),
    (_NOTICES,),
)
