"""The listings of the bully, line by line (Chow & Johnson 1997, listings 10.17 to 10.21)."""

from lab.protocols.bully import BullyListing
from lab.protocols.departures import CHOW_JOHNSON
from lab.protocols.transcription import SAME, Passage, Transcription

__all__ = ["BULLY"]

_TASK = "the task of the group continues (M7)"
_PASSAGES = (
    Passage(
        "listing 10.17",
        ("halted",),
        (("Identity of the processor that notified you of the current election", "halted: int | None = None"),),
    ),
    Passage(
        "before listing 10.18",
        ("_silence_ends_us",),
        (
            (
                "An election is initiated … if a node does not hear from the coordinator",
                "leader = self.coordinator",
            ),
            ("for a suspiciously long time", "return self.heard_us(leader) + self.timeout_us"),
        ),
        {
            "if self.status is Status.ELECTION:": "reading: silence",
            'leader = self.halted if self.parameters.silence == "elects" else None': "reading: silence",
            "if leader is None or leader == self.id:": "a node does not wait for itself",
            "return None": "never",
        },
    ),
    Passage(
        "listing 10.18",
        ("coordinator_timeout", "started", "recovery"),
        (
            (
                "if State = Normal or State = Reorganization",
                "if self.status in (Status.NORMAL, Status.REORGANIZATION):",
            ),
            (
                "send(Coordinator,AreYouUp), timeout=T",
                "answer = await self.ask(self.coordinator, AreYouUp(), within=self.t_us)",
            ),
            ("wait until Coordinator sends (AYU_answer), timeout=T", "if answer is not None:"),
            ("On timeout Election()", "self.begin(self.election)"),
            ("Recovery()", "self.recovery()"),
            ("State = Down", "self.status = Status.DOWN"),
            ("Election()", "self.begin(self.election)"),
        ),
        {
            "assert self.coordinator is not None": "for the types",
            "return": "the coordinator is there",
        },
    ),
    Passage(
        "listing 10.19",
        ("_check_due_us", "check"),
        (
            (
                "if State = Normal and Coordinator=Self",
                "return self.begun_us(self.check) + self.check_us if self.leads else None",
            ),
            (
                "for every other node j, send(j,AreYouNormal)",
                "replies = await self.ask_all(self.peers, AreYouNormal(), within=self.t_us)",
            ),
            ("wait until j sends (AYN_answer; status), timeout=T", SAME),
            ("or j ∉ Up", "strangers = replies.keys() - self.up"),
            (
                "if (j ∈ Up and status=False)",
                "astray = [node for node, answer in replies.items() if not answer.normal]",
            ),
            ("Election()", "self.begin(self.election)"),
        ),
        {
            "silent = self.up - replies.keys()": "the prose: “or that a processor in the group has failed” (B3)",
            "if silent or strangers or astray:": "the three cases together",
        },
    ),
    Passage(
        "listing 10.20",
        ("is_highest", "election", "halt_lower"),
        (
            (
                "highest = True; For every higher-priority processor p send(p,AreYouUp)",
                "replies = await self.ask_all(self.higher, AreYouUp(), within=self.t_us, enough=1)",
            ),
            ("AYU_answer (sender): highest = False", "return not replies"),
            ("If highest = False return()", "if not highest:"),
            ("State = Election", "self.status = Status.ELECTION"),
            ("halted = Self", "self.halted = self.id"),
            ("Up = {}", "self.up = frozenset()"),
            ("EE_answer (sender): Up = Up ∪ {sender}", "self.up = frozenset(entered)"),
            ("Coordinator = Self", "self.coordinator = self.id"),
            ("State = Reorganization", "self.status = Status.REORGANIZATION"),
            (
                "for each p in Up send(p,Set_Coordinator; Self)",
                "followers = await self.ask_all(sorted(self.up), SetCoordinator(), within=self.t_us)",
            ),
            ("if num_answers < |Up|", "if len(followers) < len(self.up):"),
            ("Election() return()", "self.restart(self.election)"),
            (
                "for each p in Up send(p,New_State; Definition)",
                "informed = await self.ask_all(sorted(self.up), NewState(self.definition), within=self.t_us)",
            ),
            ("if num_answers < |Up|", "if len(informed) < len(self.up):"),
            ("Election() return()", "self.restart(self.election)"),
            ("State = Normal", "self.status = Status.NORMAL"),
            ("For every lower-priority processor p", "for node in reversed(self.lower):"),
            (
                "send(p,Enter_Election) [wait up to T seconds for (EE_answer)",
                "answer = await self.ask(node, EnterElection(), within=self.t_us)",
            ),
            ("EE_answer (sender)", "entered[node] = answer"),
        ),
        {
            "self.stop(self.check, self.coordinator_timeout)": "one procedure at a time may elect",
            "highest = await self.is_highest()": "stage 1 is a method",
            "return": "as the text",
            "self.stop_processing()": "B5",
            "entered = await self.halt_lower()": "stage 2 is a method",
            "self._define(entered)": "the Definition of the new group (B10)",
            "self.resume_processing()": _TASK,
            'if self.parameters.halting == "at_once":': "reading: halting",
            "return await self.ask_all(self.lower, EnterElection(), within=self.t_us)": "reading: halting",
            "entered: dict[int, EnterElectionAnswer] = {}": "the answers, whose reports are needed (B10)",
            "if answer is not None:": "an answer has come",
            "return entered": "the answers",
        },
    ),
    Passage(
        "listing 10.21",
        ("on_are_you_up", "on_are_you_normal", "on_enter_election", "on_set_coordinator", "on_new_state"),
        (
            ("send(sender,AYU_answer)", "return AreYouUpAnswer()"),
            (
                "if State = Normal, send(sender,AYN_answer; True) else send(sender,AYN_answer; False)",
                "return AreYouNormalAnswer(self.status is Status.NORMAL)",
            ),
            ("State = Election", "self.status = Status.ELECTION"),
            ("stop_processing()", "self.stop_processing()"),
            (
                "stop the election procedure if it is executing",
                "self.stop(self.election, self.check, self.coordinator_timeout)",
            ),
            ("halted = sender", "self.halted = sender"),
            ("send(sender,EE_answer)", "return EnterElectionAnswer(self.report(), self.version)"),
            (
                "if State = Election and halted = newleader",
                "if self.status is Status.ELECTION and self.halted == sender:",
            ),
            ("Coordinator = newleader", "self.coordinator = sender"),
            ("State = Reorganization", "self.status = Status.REORGANIZATION"),
            ("send(sender,SC_answer)", "return SetCoordinatorAnswer()"),
            (
                "if Coordinator = sender and state = Reorganization",
                "if self.coordinator == sender and self.status is Status.REORGANIZATION:",
            ),
            ("Definition = newdef", "self.definition = message.definition"),
            ("State = Normal", "self.status = Status.NORMAL"),
            ("Send (NS_answer)", "return NewStateAnswer()"),
        ),
        {
            'elif self.parameters.answering == "if_taken":': "reading: answering",
            "return None": "reading: answering",
            "self.version = message.definition.version": "versions only grow (B10)",
            "self.up = frozenset(message.definition.members) - {self.id}": "the members, for the task",
            "self.resume_processing()": _TASK,
        },
    ),
)

BULLY = Transcription(
    CHOW_JOHNSON,
    BullyListing,
    _PASSAGES,
    {
        "heartbeats": "messages that are hidden, if wanted",
        "Parameters": "the readings, and the times that the text leaves open",
        "version": "the version of the Definition (B10)",
        "_define": "the Definition of the new group (B10)",
    },
)
