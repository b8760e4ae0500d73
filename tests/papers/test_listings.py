"""The listings of Chow & Johnson (1997), line by line: each line of the text with the line of code that does it.

Every line of the code is cited, in its order, or listed with the reason why the text does not have it: a reading,
a rule of the guide, or bookkeeping. So nothing else is in the class.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lab.protocols import Algorithm
from lab.protocols.bully import BullyListing
from lab.protocols.invitation import InvitationListing

SAME = ""
"""The line of code cited last does this, too."""
TASK = "the task of the group continues (M7)"


class Listing(NamedTuple):
    """A listing, the class and methods that are its code, its ``lines``, and the code that it does not have."""

    number: str
    protocol: type[Algorithm]
    methods: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    added: dict[str, str]

    def __str__(self) -> str:
        return self.number


LISTINGS = (
    Listing(
        "10.18",
        BullyListing,
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
    Listing(
        "10.19",
        BullyListing,
        ("check",),
        (
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
            "silent = self.up - replies.keys()": "a member that is silent for T is missed, too (B3)",
            "if silent or strangers or astray:": "the three cases together",
        },
    ),
    Listing(
        "10.20",
        BullyListing,
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
            "self.resume_processing()": TASK,
            'if self.parameters.halting == "at_once":': "reading: halting",
            "return await self.ask_all(self.lower, EnterElection(), within=self.t_us)": "reading: halting",
            "entered: dict[int, EnterElectionAnswer] = {}": "the answers, whose reports are needed (B10)",
            "if answer is not None:": "an answer has come",
            "return entered": "the answers",
        },
    ),
    Listing(
        "10.21",
        BullyListing,
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
            "self.resume_processing()": TASK,
        },
    ),
    Listing(
        "10.23",
        InvitationListing,
        ("check", "coordinators_in", "must_merge"),
        (
            (
                "for every other node P, send(P,AreYouCoordinator); wait up to T",
                "replies = await self.ask_all(self.peers, AreYouCoordinator(), within=self.t_us)",
            ),
            ("Others = {} … Others = Others ∪ sender", "self.others = self.coordinators_in(replies)"),
            ("If Others = {}", "if not self.must_merge():"),
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
        ),
        {},
    ),
    Listing(
        "10.24",
        InvitationListing,
        ("timeout", "on_lost_coordinator"),
        (
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
            "assert self.coordinator is not None": "for the types",
            "await self.on_lost_coordinator()": "a method, which a variation extends",
        },
    ),
    Listing(
        "10.25",
        InvitationListing,
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
        {"self._form_group()": "Merge does the same", "self.resume_processing()": TASK},
    ),
    Listing(
        "10.26",
        InvitationListing,
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
            "self.resume_processing()": TASK,
        },
    ),
    Listing(
        "10.27",
        InvitationListing,
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
    Listing(
        "10.28",
        InvitationListing,
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
            "self.resume_processing()": TASK,
            "self.reports = (*self.reports, message.report)": "what it knows of the task (I10)",
        },
    ),
)


def _code(listing: Listing) -> Iterator[str]:
    """Yield the lines of code of the methods: each statement, or its head, on one line."""
    for name in listing.methods:
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(vars(listing.protocol)[name])))
        (function,) = ast.parse(source).body
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        body = function.body[1:] if ast.get_docstring(function) else function.body
        yield from _statements(body)


def _statements(body: list[ast.stmt], word: str = "if") -> Iterator[str]:
    for each in body:
        if isinstance(each, ast.If):
            yield f"{word} {ast.unparse(each.test)}:"
            yield from _statements(each.body)
            if each.orelse:
                is_elif = len(each.orelse) == 1 and isinstance(each.orelse[0], ast.If)
                yield from _statements(each.orelse, "elif" if is_elif else "if")
        elif isinstance(each, ast.For):
            yield f"for {ast.unparse(each.target)} in {ast.unparse(each.iter)}:"
            yield from _statements(each.body)
        else:
            yield ast.unparse(each)


def _plain(line: str) -> str:
    """Return a line of code as ``ast.unparse`` writes it."""
    is_head = line.endswith(":")
    statements = ast.parse(f"{line.removeprefix('el')}\n    pass" if is_head else line).body
    return next(_statements(statements, "elif" if line.startswith("elif") else "if"))


@pytest.mark.parametrize("listing", LISTINGS, ids=str)
def test_the_code_is_the_text_line_by_line(listing: Listing) -> None:
    """Each line of the text has its code, in this order; each line of code is cited, or is said to be added."""
    code = list(_code(listing))
    added = {_plain(line) for line in listing.added}
    cited = [_plain(line) for _, line in listing.lines if line != SAME]
    assert [line for line in code if line not in added] == cited
    assert added <= set(code)
    assert all(text for text, _ in listing.lines)
