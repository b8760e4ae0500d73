"""The prose of the bully in Tanenbaum's version, sentence by sentence (section 3.3.1)."""

from lab.protocols.bully_tanenbaum import TanenbaumText
from lab.protocols.departures import TANENBAUM
from lab.protocols.transcription import SAME, Passage, Transcription

__all__ = ["BULLY_TANENBAUM"]

_STATUS = "the text has no statuses (M2)"
_TASK = "the task continues (M7)"
_ADMITTED = "for admit_before_normal: a node that just waits to be admitted by the winner holds none"
_HEARD = "at any moment: a handler"
_FOLLOWS = "it follows; assertion highest"
_PASSAGES = (
    Passage(
        "section 3.3.1",
        ("started", "election", "await_winner", "become_coordinator", "on_election", "on_coordinator", "follow"),
        (
            (
                "If a process that was previously down comes back up, it holds an election",
                "self.begin(self.election)",
            ),
            (
                "1. P sends an ELECTION message to all processes with higher numbers",
                "oks = await self.ask_all(self.higher, ELECTION(), within=self.t_us, enough=1)",
            ),
            ("Upon getting the first of these responses, 4 knows that its job is over", SAME),
            ("3. If one of the higher-ups answers, it takes over", "if oks:"),
            (
                "It just sits back and waits to see who the winner will be",
                "await self.await_winner()",
            ),
            ("P's job is done", "return"),
            ("2. If no one responds, P wins the election and becomes coordinator", "self.coordinator = self.id"),
            (
                "If there is state information to be collected from disk or elsewhere to pick up where the old "
                "coordinator left off, 6 must now do what is needed",
                "self._define(frozenset())",
            ),
            ("It announces its victory by sending all processes a message", "for peer in self.peers:"),
            (
                "When it is ready to take over, 6 announces this by sending a COORDINATOR message to all running "
                "processes",
                "self.send(peer, COORDINATOR())",
            ),
            (
                "telling them that starting immediately it is the new coordinator",
                "await self.become_coordinator()",
            ),
            ("The receiver then holds an election, unless it is already holding one", "self.begin(self.election)"),
            (
                "When such a message arrives, the receiver sends an OK message back to the sender to indicate "
                "that he is alive and will take over",
                "return OK()",
            ),
            ("Eventually, all processes give up but one", "self.stop(self.election, self.check)"),
            ("and that one is the new coordinator", "self.coordinator = sender"),
            (
                "When 4 gets this message, it can now continue with the operation it was trying to do when it "
                "discovered that 7 was dead, but using 6 as the coordinator this time",
                "self.follow()",
            ),
        ),
        {
            "self.stop(self.ask_coordinator, self.check)": "one procedure at a time may elect",
            "self._step_down()": _STATUS,
            "self.coordinator = None": "it follows nobody until it knows the winner",
            "self.status = Status.NORMAL": _STATUS,
            "self.resume_processing()": _TASK,
            "if self.status is not Status.ELECTION or self.coordinator is None:": _ADMITTED,
            "self.restart(self.ask_coordinator)": "from now on it notices if the winner is silent (T1)",
        },
        {
            "a process can get an ELECTION message from one of its lower-numbered colleagues": _HEARD,
            "If it happens to be the highest-numbered process currently running, it will win the election and "
            "take over the coordinator's job": _FOLLOWS,
            "Thus the biggest guy in town always wins": _FOLLOWS,
            "If process 7 is ever restarted, it will just send all the others a COORDINATOR message and bully "
            "them into submission": "it follows: the highest of all asks nobody (T4)",
        },
    ),
    Passage(
        "section 3.3.1",
        ("ask_coordinator",),
        (
            (
                "When a process notices",
                "answer = await self.ask(self.coordinator, self._question(), within=self.t_us)",
            ),
            ("that the coordinator is no longer responding to requests", "if answer is None:"),
            ("it initiates an election", "self.begin(self.election)"),
        ),
        {
            "assert self.coordinator is not None": "for the types",
            "elif answer.definition is not None:": "the answer brings the Definition (F2)",
            "self._adopt(answer.definition)": "the answer brings the Definition (F2)",
        },
    ),
)

_HEARTBEATS = "the text leaves open how a silent coordinator is noticed: members ask it"
BULLY_TANENBAUM = Transcription(
    TANENBAUM,
    TanenbaumText,
    _PASSAGES,
    {
        "heartbeats": "messages that are hidden, if wanted",
        "Parameters": _HEARTBEATS,
        "version": "the version of the Definition (B10)",
        "_ask_every_us": _HEARTBEATS,
        "_step_down": _STATUS,
        "_question_due_us": _HEARTBEATS,
        "_adopt": "the Definition comes with an answer (F2)",
        "on_are_you_there": "those that ask are the members (F2)",
        "_check_due_us": "a member that no longer asks has no share of the task (F2)",
        "check": "a member that no longer asks has no share of the task (F2)",
        "_define": "the Definition lists the members (F2)",
        "_question": "the question brings the state of the task, and its version (B10)",
    },
)
