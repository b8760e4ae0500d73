"""The prose of the ring, sentence by sentence (Tanenbaum 1995, section 3.3.2)."""

from lab.protocols.departures import TANENBAUM
from lab.protocols.ring import RingText
from lab.protocols.transcription import Passage, Transcription

__all__ = ["RING"]

_ALONE = "if all others are silent, the message is back at once"
_QUEUE = "a message waits until the one before it is acknowledged (7)"
_STATUS = "the text has no statuses (M2)"
_NOTICES = "the text leaves open how a silent coordinator is noticed: members ask it"
_MEMBERS = "COORDINATOR goes to the members of the new ring"
_TASK = "the Definition of the task, from what the members report (F2, B10)"
_PASSAGES = (
    Passage(
        "section 3.3.2",
        ("ring_order", "ask_coordinator", "election", "new_election"),
        (
            (
                "We assume that the processes are physically or logically ordered, so that each process knows who "
                "its successor is",
                "return (*self.higher, *self.lower)",
            ),
            (
                "When any process notices",
                "answer = await self.ask(self.coordinator, AreYouThere(self.report()), within=self.t_us)",
            ),
            ("that the coordinator is not functioning", "if answer is None:"),
            ("it builds an ELECTION message", "self.begin(self.election)"),
            ("it builds an ELECTION message", "message = self.new_election()"),
            ("and sends the message to its successor", "self.pass_on(message)"),
            ("an ELECTION message containing its own process number", "return ELECTION((self.id,))"),
        ),
        {
            "assert self.coordinator is not None": "for the types",
            "elif answer.definition is not None and self.is_news(answer.definition):": _TASK,
            "self.adopt(answer.definition)": _TASK,
            "self.enter(message)": _STATUS,
        },
        {
            "Each of these builds an ELECTION message and starts circulating it": "it follows (R4)",
        },
    ),
    Passage(
        "section 3.3.2",
        ("send_outbox", "successor", "route_to"),
        (
            (
                "sends the message to its successor",
                "passed = await self.ask(successor, first.message, within=self.t_us)",
            ),
            ("If the successor is down, the sender skips over the successor", "self.skip(successor)"),
            (
                "and goes to the next member along the ring, or the one after that, until a running process is "
                "located",
                "return next((peer for peer in route if peer in ring and peer not in outgoing.silent), None)",
            ),
            ("the next member along the ring", "return self.ring_order"),
        ),
        {
            "while self.outbox:": _QUEUE,
            "first = self.outbox[0]": _QUEUE,
            "successor = self.successor(first)": "the next that was not silent",
            "if successor is None:": _ALONE,
            "self.outbox = self.outbox[1:]": _QUEUE,
            "self.outbox, alone = self.outbox[1:], first.silent >= {*self.peers}": _ALONE,
            "if alone and isinstance(first.message, ELECTION) and self.is_back(first.message):": _ALONE,
            "self.on_return(first.message)": _ALONE,
            "continue": _QUEUE,
            "if passed is not None:": "an acknowledgement shows that the successor is up (R2)",
            "message = outgoing.message": "for short",
            "ring = message.members if isinstance(message, COORDINATOR) else self.ring_order": _MEMBERS,
            "route = self.route_to(message.starter)": "a method, which a repair extends",
        },
    ),
    Passage(
        "section 3.3.2",
        ("on_election", "is_back", "extended", "on_return", "proclaim", "on_coordinator", "follow", "lead"),
        (
            (
                "Eventually, the message gets back to the process that started it all",
                "if self.is_back(message):",
            ),
            ("At that point", "self.on_return(message)"),
            ("At each step", "self.pass_on(self.extended(message))"),
            (
                "That process recognizes this event when it receives an incoming message containing its own "
                "process number",
                "return message.starter == self.id or "
                '(self.parameters.back_at == "listed" and self.id in message.members)',
            ),
            (
                "the sender adds its own process number to the list in the message",
                "return replace(message, members=(*message.members, self.id))",
            ),
            ("At that point", "self.proclaim(message)"),
            (
                "the message type is changed to COORDINATOR",
                "coordinator = COORDINATOR(members, message.number, message.met)",
            ),
            ("and circulated once again", "self.pass_on(coordinator)"),
            ("When this message has circulated once, it is removed", "if message.starter != self.id:"),
            ("circulated once again", "self.pass_on(message)"),
            ("this time to inform everyone else", "self.follow(message)"),
            ("who the members of the new ring are", "self.up = frozenset(message.members) - {self.id}"),
            (
                "who the coordinator is (the list member with the highest number)",
                "self.coordinator = max(message.members)",
            ),
            ("and everyone goes back to work", "self.redefine([])"),
        ),
        {
            "self.enter(message)": _STATUS,
            "return Passed()": "the acknowledgement, without which a successor counts as down (R2)",
            "members = message.members[message.members.index(self.id):]": "reading: back_at",
            "self.follow(coordinator)": "the starter is in the new ring, too",
            "self.leave()": "it is no longer in the old ring",
            "self.status = Status.REORGANIZATION": _STATUS,
            "self.begin(self.lead if self.coordinator == self.id else self.ask_coordinator)": _NOTICES,
            "self.reported = frozenset()": _TASK,
        },
        {
            "Eventually, both messages will go all the way around, and both 2 and 5 will convert them into "
            "COORDINATOR messages, with exactly the same members and in the same order": "it follows, if no node "
            "comes or goes meanwhile (R4); the order is that of the ring, from another node on",
            "When both have gone around again, both will be removed": "it follows (R4)",
            "It does no harm to have extra messages circulating; at most it wastes a little bandwidth": "not so: "
            "see the repairs ask_skipped and number_elections",
        },
    ),
)

RING = Transcription(
    TANENBAUM,
    RingText,
    _PASSAGES,
    {
        "heartbeats": "messages that are hidden, if wanted",
        "Parameters": "reading: back_at",
        "outbox": _QUEUE,
        "reported": _TASK,
        "started": "a node that comes up is in no ring (R6)",
        "enter": _STATUS,
        "leave": _STATUS,
        "pass_on": _QUEUE,
        "skip": _QUEUE,
        "_question_due_us": _NOTICES,
        "is_news": _TASK,
        "on_are_you_there": _TASK,
        "redefine": _TASK,
        "least_version": _TASK,
        "adopt": _TASK,
    },
)
