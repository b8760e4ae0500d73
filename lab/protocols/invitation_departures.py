"""The readings of the invitation's listings, and the repairs: the words they rest on, and what fails otherwise."""

from lab.protocols.departures import CHOW_JOHNSON, LECTURE_NOTES, Quotation, Reading, Repair, Value

__all__ = [
    "ACCEPT_LONGER",
    "IGNORE_OWN_INVITATION",
    "MISS_MEMBERS",
    "READINGS",
    "STOP_THREADS",
]

_JOINS = Quotation(CHOW_JOHNSON, "listing 10.27", "if accepted is False invoke Recovery() State = Reorganization")
_WAIT = Reading(
    "wait",
    "how long does a coordinator wait that has found others?",
    (
        Quotation(CHOW_JOHNSON, "listing 10.23", "Wait for a time inversely proportional to your priority"),
        Quotation(
            LECTURE_NOTES,
            "the invitation algorithm",
            "there is no reason for the highest-priority processor to delay. But the lowest priority processor "
            "might want to delay for a long time",
        ),
    ),
    (
        Value(
            "by_rank",
            "2·T for each higher node: the listing read loosely, as the lecture notes explain it, so that no two "
            "wait for nearly the same time",
            "All assertions hold; the lowest of n nodes waits for 2(n − 1)·T",
        ),
        Value(
            "T/priority",
            "T divided by the priority",
            "A4 fails: 27 and 26 begin to merge at nearly the same time, each has left Normal when the other's "
            "invitation comes, and ignores it; this repeats for ever",
            "invitation-starves",
        ),
        Value(
            "100T/priority",
            "a longer time divided by the priority: the text leaves the constant open",
            "26 and 27 merge, as they wait for 0.14·T apart; but node 1 waits for 100·T",
        ),
    ),
)
_HEARD = Reading(
    "heard",
    "what must a participant hear from its coordinator?",
    (
        Quotation(
            CHOW_JOHNSON,
            "before listing 10.24",
            "If a node does not hear from its coordinator for a long period of time, the coordinator might have "
            "failed",
        ),
        Quotation(CHOW_JOHNSON, "listing 10.24", "send(Coordinator,AreYouThere; Group)"),
    ),
    (
        Value(
            "group",
            "a message of its group: so it asks whenever the timeout has passed since the last answer",
            "All assertions hold",
        ),
        Value(
            "any",
            "any message of that node",
            "A4 fails: coordinators send Checks to all nodes, so a participant that missed the formation of a new "
            "group still hears its coordinator, and stays for ever in a group that no longer exists",
            "invitation-left-behind",
        ),
    ),
)
_REFUSED = Reading(
    "refused",
    "where does joining end, if the coordinator has refused?",
    (_JOINS,),
    (
        Value("returns", "in Recovery, which leaves the node Normal", "All assertions hold"),
        Value(
            "goes_on",
            "in Reorganization, as the next line has it",
            "A4 fails: the node is its own coordinator in Reorganization, where nothing ever happens again. M7 "
            "fails as well: it performs its task there, as Recovery has resumed it",
            "invitation-refused",
        ),
    ),
)
READINGS = (_WAIT, _HEARD, _REFUSED)

STOP_THREADS = Repair(
    "stop_threads",
    "gap",
    "an invitation stops the thread that asks the coordinator, and a Check that waits before Merge with outdated "
    "Others",
    "the old coordinator's answer “no” comes during joining: the node recovers, and a moment later its Accept is "
    "accepted. It is its own coordinator in Reorganization, where nothing ever happens again",
    "A4",
    ("invitation-two-threads",),
    (
        Quotation(
            CHOW_JOHNSON,
            "before listing 10.27",
            "Since a node must be able to respond to Invitation messages at any time, these messages are handled "
            "by their own thread",
        ),
        Quotation(CHOW_JOHNSON, "listing 10.24", "If is_coordinator = False Recovery()"),
    ),
)
ACCEPT_LONGER = Repair(
    "accept_longer",
    "beyond the promise",
    "a coordinator collects Accepts for Tm + Tp more than T: an invitation takes so much longer to a member whose "
    "coordinator forwards it",
    "the Accept of such a member may come too late, and the member is turned away, though every message was in "
    "time; it is invited again",
    "",
    ("invitation-too-late",),
    (Quotation(CHOW_JOHNSON, "listing 10.26", "Wait for T seconds | Answers are collected by the Monitor"),),
)
MISS_MEMBERS = Repair(
    "miss_members",
    "beyond the promise",
    "a coordinator forms a new group if a member is silent for the timeout",
    "a coordinator looks for other coordinators, not for its members: a dead node stays a member, and its share "
    "of the task stays undone",
    "spreads",
    ("invitation-dead-member",),
    (Quotation(CHOW_JOHNSON, "listing 10.23", "for every other node P, send(P,AreYouCoordinator)"),),
)
IGNORE_OWN_INVITATION = Repair(
    "ignore_own_invitation",
    "beyond the promise",
    "a node ignores its own invitation",
    "a node may forward an invitation to the node that sent it. If that takes long enough, the sender enters a "
    "group that it had formed and left. The text promises that no two groups have the same number; whether a node "
    "may come back to one it does not say",
    "A5",
    ("invitation-own-group",),
    (
        Quotation(CHOW_JOHNSON, "listing 10.27", "for each P in Upset send(P,Invitation; Coordinator,Group)"),
        Quotation(CHOW_JOHNSON, "before listing 10.22", "the same group number is never used twice"),
    ),
)
