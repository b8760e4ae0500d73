"""The readings of the bully's listings, and the repairs: the words that they rest on, and what fails otherwise.

What is said to hold was explored: three nodes, two kills and a restart, in the model of time *prompt*.
"""

from lab.protocols.departures import CHOW_JOHNSON, NOTES_1982, Quotation, Reading, Repair, Value

__all__ = ["READINGS", "REFUSE_LOWER_LEADER", "RETRY_IF_NO_TAKEOVER", "STEP_DOWN_FOR_HIGHER"]

_LEAVES = Quotation(CHOW_JOHNSON, "listing 10.20", "If highest = False return()")
_IN_TURN = Quotation(
    CHOW_JOHNSON,
    "listing 10.20",
    "For every lower-priority processor p send(p,Enter_Election) [wait up to T seconds for (EE_answer)",
)
_RESTARTS = Quotation(NOTES_1982, "step 3.2", "otherwise, i will restart the election protocol")

_HALTING = Reading(
    "halting",
    "does stage 2 wait for the answer of a node before it sends to the next?",
    (_IN_TURN,),
    (
        Value(
            "in_order",
            "yes: the loop sends and waits, node after node, the highest first",
            "All assertions hold; each dead node costs T",
        ),
        Value(
            "at_once",
            "no: it sends to all, and waits once",
            "All assertions hold with all repairs, but A1.1 fails without refuse_lower_leader, with crashes "
            "alone: a node that a higher leader has halted is halted by a lower one that comes late, and follows "
            "it",
        ),
    ),
)
_SILENCE = Reading(
    "silence",
    "what does a node in Election do if the leader of that election is silent?",
    (
        Quotation(CHOW_JOHNSON, "listing 10.18", "if State = Normal or State = Reorganization … Election()"),
        _RESTARTS,
    ),
    (
        Value(
            "elects",
            "it holds an election, as the notes have it for a node that has left an election to a higher one",
            "All assertions hold",
        ),
        Value(
            "waits",
            "nothing: the listing has no such case",
            "A2 fails: if that leader crashes, the node stays in Election for ever",
            "bully-leader-dies",
        ),
    ),
)
_ANSWERING = Reading(
    "answering",
    "does a node answer SetCoordinator and NewState that come too late for it to do what they say?",
    (
        Quotation(
            CHOW_JOHNSON,
            "listing 10.21",
            "if State = Election and halted = newleader … State = Reorganization; send(sender,SC_answer)",
        ),
    ),
    (
        Value("if_taken", "no: it answers for what it has done", "All assertions hold"),
        Value(
            "always",
            "yes: the answers stand outside the if",
            "All assertions hold with all repairs. If nodes are halted at once, A1.2 and A2 fail without "
            "refuse_lower_leader: a leader counts on a node that does not follow it",
        ),
    ),
)
READINGS = (_HALTING, _SILENCE, _ANSWERING)

RETRY_IF_NO_TAKEOVER = Repair(
    "retry_if_no_takeover",
    "gap",
    "a node that leaves an election to a higher one waits for it to take over, and elects again if it does not",
    "the higher node crashes right after its answer. The node that asked it, if it is Down, stays so for ever: "
    "listing 10.18 begins an election only in Normal and Reorganization",
    "A2",
    ("bully-higher-dies",),
    (_LEAVES, _RESTARTS),
)
STEP_DOWN_FOR_HIGHER = Repair(
    "step_down_for_higher",
    "beyond the promise",
    "a node that leaves an election to a higher one does not stay Normal: a coordinator steps down at once, "
    "another node if nobody takes over",
    "a coordinator is paused (assumption 9) while another is elected, and resumes. Its Check finds nothing wrong, "
    "as all answer that they are Normal, not under whom. The other one leaves each election to it: two lead for "
    "ever. Or the other one is dead, and its members follow the dead for ever",
    "A2",
    ("bully-paused-wakes", "bully-follows-the-dead"),
    (
        _LEAVES,
        Quotation(CHOW_JOHNSON, "listing 10.21", "if State = Normal, send(sender,AYN_answer; True)"),
        Quotation(NOTES_1982, "theorem 1", "satisfies Assertion 1-2 as long as Assumption 1-9 holds"),
    ),
)
REFUSE_LOWER_LEADER = Repair(
    "refuse_lower_leader",
    "one reading",
    "if all lower nodes are halted at once, a node that a higher leader has halted does not let a lower one halt "
    "it: for 2·T, and as long as it is in Election",
    "with halting=at_once, a leader does not wait until the nodes between it and another one are halted. A lower "
    "leader that is not yet halted gets a node that the higher one counts on",
    "A1.1",
    ("bully-two-leaders",),
    (_IN_TURN, Quotation(CHOW_JOHNSON, "listing 10.21", "halted = newleader")),
)
