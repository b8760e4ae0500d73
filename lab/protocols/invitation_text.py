"""The listings of the invitation, line by line (Chow & Johnson 1997, listings 10.22 to 10.28)."""

from lab.protocols.departures import CHOW_JOHNSON
from lab.protocols.invitation import InvitationListing
from lab.protocols.transcription import Passage, Transcription

__all__ = ["INVITATION"]

_TASK = "the task of the group continues (M7)"
_WAIT = "reading: wait"
_HEARD = "reading: heard"
_PASSAGES = (
    Passage(
        "listing 10.22",
        ("group",),
        (("Identifier of the group that the processor belongs to", "group: Group = Group()"),),
    ),
    Passage(
        "listing 10.23",
        ("_check_due_us", "check", "coordinators_in", "must_merge", "wait_us"),
        (
            (
                "If State = Normal and Coordinator = Self",
                "return self.begun_us(self.check) + self.until_check_us() if self.leads else None",
            ),
            (
                "for every other node P, send(P,AreYouCoordinator); wait up to T",
                "replies = await self.ask_all(self.peers, AreYouCoordinator(), within=self.t_us)",
            ),
            ("Others = {} … Others = Others ∪ sender", "self.others = self.coordinators_in(replies)"),
            ("if Others = {}", "if not self.must_merge():"),
            ("return()", "return"),
            (
                "Wait for a time inversely proportional to your priority",
                'await self.sleep(self.wait_us(), "coordinators of a higher priority")',
            ),
            ("Merge(Others)", "self.begin(self.merge)"),
            (
                "if is_coordinator = True",
                "return frozenset(node for node, answer in replies.items() if answer.is_coordinator)",
            ),
            ("Others = {}", "return bool(self.others)"),
            ("inversely proportional to your priority", "return constant_us // max(1, self.id)"),
        ),
        {
            'if self.parameters.wait == "by_rank":': _WAIT,
            "return 2 * self.t_us * len(self.higher)": _WAIT,
            'constant_us = self.t_us if self.parameters.wait == "T/priority" else 100 * self.t_us': _WAIT,
        },
    ),
    Passage(
        "listing 10.24",
        ("_timeout_due_us", "timeout", "on_lost_coordinator"),
        (
            ("if Coordinator = Self", "if self.coordinator is None or self.coordinator == self.id:"),
            ("Return()", "return None"),
            (
                "send(Coordinator,AreYouThere; Group); wait for AYC_answer, timeout is T",
                "answer = await self.ask(self.coordinator, AreYouThere(self.group), within=self.t_us)",
            ),
            (
                "On timeout, is_coordinator = False … If is_coordinator = False",
                "if answer is None or not answer.is_coordinator:",
            ),
            ("Recovery()", "self.recovery()"),
        ),
        {
            'if self.parameters.heard == "any":': _HEARD,
            "return self.heard_us(self.coordinator) + self.timeout_us": _HEARD,
            "return max(self.begun_us(self.timeout), self.begun_us(self.join)) + self.timeout_us": _HEARD,
            "assert self.coordinator is not None": "for the types",
            "await self.on_lost_coordinator()": "a method, which a variation extends",
        },
    ),
    Passage(
        "listing 10.25",
        ("recovery", "_form_group"),
        (
            ("State = Election", "self.status = Status.ELECTION"),
            ("stop_processing()", "self.stop_processing()"),
            ("State = Reorganization", "self.status = Status.REORGANIZATION"),
            ("Description = (a single node task description)", "self.definition = self._defined([self.report()])"),
            ("State = Normal", "self.status = Status.NORMAL"),
            ("Counter ++", "self.counter += 1"),
            ("Group = (Self | Counter)", "self.group = Group(self.id, self.counter)"),
            ("Coordinator = Self", "self.coordinator = self.id"),
            ("Up = {}", "self.up = frozenset()"),
        ),
        {"self._form_group()": "Merge does the same", "self.resume_processing()": _TASK},
    ),
    Passage(
        "listing 10.26",
        ("merge", "accept_us"),
        (
            ("if Coordinator = self and state = Normal", "if not self.leads:"),
            ("State = Election", "self.status = Status.ELECTION"),
            ("stop_processing()", "self.stop_processing()"),
            ("UpSet = Up", "invited = sorted(self.others | self.up)"),
            ("Counter ++; Group = (Self | Counter); Coordinator = Self; Up = {}", "self._form_group()"),
            ("For each p in Coordinator_set … For each p in Upset", "for node in invited:"),
            ("send(p,Invitation; Self,Group)", "self.send(node, Invitation(self.id, self.group))"),
            (
                "Wait for T seconds | Answers are collected by the Monitor_Election thread",
                'await self.sleep(self.accept_us(), "Accepts")',
            ),
            ("State = Reorganization", "self.status = Status.REORGANIZATION"),
            (
                "For each p in Up send(p,Ready; Group,Definition); wait up to T seconds",
                "replies = await self.ask_all("
                "sorted(self.up), Ready(self.group, self.definition), within=self.t_us)",
            ),
            (
                "if ingroup = True … num_answer ++; If num_answer < |Up|",
                "if sum(answer.in_group for answer in replies.values()) < len(self.up):",
            ),
            ("invoke Recovery()", "self.recovery()"),
            ("else state = Normal", "self.status = Status.NORMAL"),
            ("T seconds", "return self.t_us"),
        ),
        {
            "return": "as the text",
            "self.reports = (self.report(),)": "what the members know of the task (I10)",
            "self.others = frozenset()": "they are invited",
            "self.definition = self._defined(self.reports)": "the Definition of the new group (I10)",
            "self.reports = ()": "they are in the Definition",
            "self.resume_processing()": _TASK,
        },
    ),
    Passage(
        "listing 10.27",
        ("on_invitation", "join"),
        (
            ("If State = Normal", "if self.status is not Status.NORMAL:"),
            ("stop_processing()", "self.stop_processing()"),
            (
                "old_coordinator = Coordinator; Upset = Up",
                "members = self.up if self.coordinator == self.id else frozenset()",
            ),
            ("State = Election", "self.status = Status.ELECTION"),
            (
                "Coordinator = new_coordinator; Group = new_group",
                "self.coordinator, self.group = message.coordinator, message.group",
            ),
            ("if old_coordinator = Self for each P in Upset", "for member in sorted(members):"),
            ("send(P,Invitation; Coordinator,Group)", "self.send(member, message)"),
            ("send(Coordinator, Accept: Group)", "accept = Accept(self.group, self.report())"),
            (
                "wait up to T seconds for an Accept_answer",
                "answer = await self.ask(self.coordinator, accept, within=self.t_us)",
            ),
            ("On timeout, accepted = False; if accepted is False", "if answer is None or not answer.accepted:"),
            ("invoke Recovery()", "self.recovery()"),
            ("State = Reorganization", "self.status = Status.REORGANIZATION"),
        ),
        {
            "return": "the invitation is ignored; reading: refused",
            "self.up = self.others = frozenset()": "those of the old group",
            "self.begin(self.join)": "what waits is a procedure",
            "assert self.coordinator is not None": "for the types",
            'if self.parameters.refused == "returns":': "reading: refused",
        },
    ),
    Passage(
        "listing 10.28",
        ("on_ready", "on_are_you_coordinator", "on_are_you_there", "on_accept"),
        (
            (
                "if Group = new_group and State = Reorganization",
                "if self.group != message.group or self.status is not Status.REORGANIZATION:",
            ),
            ("else send(sender,Ready_answer; False)", "return ReadyAnswer(in_group=False)"),
            ("Description = new_description", "self.definition = message.definition"),
            ("State = Normal", "self.status = Status.NORMAL"),
            ("send(Coordinator,Ready_answer; True, Group)", "return ReadyAnswer(in_group=True)"),
            (
                "if State = Normal and Coordinator = Self send(sender, AYC_answer: True) else … False",
                "return AreYouCoordinatorAnswer(self.leads)",
            ),
            (
                "if Group = old_group and Coordinator = Self and sender in Up",
                "there = self.group == message.group and self.coordinator == self.id and sender in self.up",
            ),
            (
                "send(sender,AYT_answer; True) else send(sender,AYT_answer; False)",
                "return AreYouThereAnswer(there)",
            ),
            (
                "if State = Election and Coordinator = self",
                "forming = self.status is Status.ELECTION and self.coordinator == self.id",
            ),
            ("and Group = new_group", "if not forming or self.group != message.group:"),
            ("else send(sender,accept_answer; False)", "return AcceptAnswer(accepted=False)"),
            ("Up = Up ∪ sender", "self.up |= {sender}"),
            ("send(sender,accept_answer; True)", "return AcceptAnswer(accepted=True)"),
        ),
        {
            "self.up = frozenset(message.definition.members) - {self.id}": "the members, for quick_regroup",
            "self.resume_processing()": _TASK,
            "self.reports = (*self.reports, message.report)": "what it knows of the task (I10)",
        },
    ),
)

INVITATION = Transcription(
    CHOW_JOHNSON,
    InvitationListing,
    _PASSAGES,
    {
        "heartbeats": "messages that are hidden, if wanted",
        "Parameters": "the readings, and the times that the text leaves open",
        "counter": "the Counter of listing 10.25, in stable storage (I1)",
        "others": "the Others of listing 10.23, which Merge reads",
        "reports": "what the members know of the task (I10)",
        "until_check_us": "how often is periodically; a method, which a variation extends",
        "started": "a node that comes up recovers (I2)",
        "_defined": "the Definition of the group (I10)",
    },
)
