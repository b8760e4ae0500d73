"""The assertions about transactions: violations and near misses."""

from typing import Any, ClassVar, Self

import pytest

import lab
from lab.kernel import Fired, Started, Step, procedure
from lab.properties import assertions
from lab.properties.verdicts import Verdict
from lab.properties.witness import explain_violation
from lab.protocols import Algorithm, Bully, TwoPhaseCommit, stacked
from lab.protocols.e3pc import EnhancedThreePhaseCommit
from lab.protocols.three_phase import InDoubtTransaction, ThreePhaseCommit
from lab.protocols.transaction import Plan, State, Transaction
from lab.recording.records import encode
from lab.units import format_us
from tests.harness import T_US, Rig
from tests.properties.recorded import WITHIN_US, Records, judged, summaries
from tests.recording.test_mutations import ODD

PROMISES = ("A6", "A7", "A8", "ends")
OF_TERMINATION = ("quorum", "attempts")
RELIES_ON: dict[str, tuple[int, ...]] = dict.fromkeys(PROMISES, (4,))
T = [3, 1]
BEGIN = {"what": "begin", "transaction": T, "participants": [1, 2, 3]}
PREPARED = {"what": "prepared", "transaction": T, "participants": [1, 2, 3]}
COMMITTED = {"what": "committed", "transaction": T}
ABORTED = {"what": "aborted", "transaction": T}
OPEN = [{"transaction": T, "state": "uncertain", "since_us": 0}]


class Ledger(Records):
    """Nodes with an account each, that write logs."""

    def __init__(self, **info: Any) -> None:
        super().__init__(**{"promises": PROMISES, "relies_on": RELIES_ON, **info})
        for node in (1, 2, 3):
            self.holds(node, 1000)

    def write(self, node: int, *entries: Any, **changed: Any) -> Self:
        """Add a step of the node that logs these entries."""
        self.add(Step(self.at_us, node, 1, Fired("timer"), changed, logged={"log": [*entries]}))
        return self

    def holds(self, node: int, dollars: int, **changed: Any) -> Self:
        """Set the balance of its account."""
        balances = [[f"account{node}", dollars * 100]]
        self.add(Step(self.at_us, node, 1, Fired("timer"), {"balances": balances, **changed}))
        return self

    def prepared(self, *nodes: int) -> Self:
        """Let them vote YES; the transaction is open at them."""
        for node in nodes:
            self.write(node, *([BEGIN, PREPARED] if node == 3 else [PREPARED]), open=OPEN)
        return self


# A6


def test_A6_two_outcomes() -> None:
    """A6: the outcomes of two nodes differ, however long one has known it before the other."""
    book = Ledger().prepared(1, 2, 3).write(3, COMMITTED)
    book.after(5000).write(1, COMMITTED).write(2, ABORTED)
    (violation,) = book.violations
    assert summaries([violation]) == [("A6", (3, 2), [])]
    assert violation.text == "transaction 3.1 is committed at 3 and aborted at 2"
    assert [state.record for state in violation.states] == [10, 12]
    assert violation.record == 12
    assert [moment.record for moment in explain_violation(book.records, violation)] == [10, 12]


def test_A6_the_other_way_round() -> None:
    """A6: first aborted, then committed."""
    assert summaries(Ledger().prepared(1, 2, 3).write(2, ABORTED).write(3, COMMITTED).violations) == [
        ("A6", (3, 2), [])
    ]


def test_A6_is_reported_once_for_a_transaction() -> None:
    """A6: of three nodes the first two that differ."""
    book = Ledger().prepared(1, 2, 3).write(3, COMMITTED).write(2, ABORTED).write(1, ABORTED)
    assert summaries(book.violations) == [("A6", (3, 2), [])]


def test_A6_equal_outcomes() -> None:
    """A6: all commit; another transaction with the same number is aborted by all."""
    book = Ledger().prepared(1, 2, 3)
    for node in (1, 2, 3):
        book.write(node, COMMITTED).write(node, {"what": "aborted", "transaction": [2, 1]})
    assert book.violations == []


def test_A6_is_not_forgotten_by_a_crash() -> None:
    """A6: the log of a node that is down still counts, and comes back with it."""
    book = Ledger().prepared(1, 2, 3).write(3, COMMITTED)
    book.process(3, "killed").write(2, ABORTED)
    assert summaries(book.violations) == [("A6", (3, 2), [])]
    log = [BEGIN, PREPARED, COMMITTED]
    book = Ledger().prepared(1, 2, 3).write(3, COMMITTED)
    book.process(3, "killed").process(3, "started")
    book.add(Step(0, 3, 2, Started({"log": log}, 2, 1), {"balances": [["account3", 100_000]]}))
    assert book.violations == []
    assert summaries(book.write(2, ABORTED).violations) == [("A6", (3, 2), [])]


def test_A6_after_a_wipe() -> None:
    """A6 relies on assumption 4: a node's decision is lost with its log."""
    book = Ledger().prepared(1, 2, 3).write(3, COMMITTED)
    book.process(2, "killed").process(2, "wiped").write(2, ABORTED)
    assert summaries(book.violations) == [("A6", (3, 2), [4])]


# A7


def test_A7_a_missing_vote() -> None:
    """A7: the coordinator commits, and a participant has not voted."""
    (violation,) = Ledger().prepared(1, 3).write(3, COMMITTED).violations
    assert summaries([violation]) == [("A7", (3,), [])]
    assert violation.text == "transaction 3.1 is committed at 3, and 2 has not voted YES"


def test_A7_a_vote_that_comes_later() -> None:
    """A7: at the commit point all votes must be there."""
    assert summaries(Ledger().prepared(1, 3).write(3, COMMITTED).prepared(2).violations) == [("A7", (3,), [])]


def test_A7_a_node_that_voted_NO_commits() -> None:
    """A7, and A6: it aborted, which is the vote NO."""
    violations = Ledger().prepared(1, 3).write(2, ABORTED).write(2, COMMITTED).violations
    assert summaries(violations) == [("A6", (2, 2), []), ("A7", (2, 2), [])]
    assert violations[1].text == "transaction 3.1 is committed at 2, and 2 voted NO"


def test_A7_a_vote_is_final() -> None:
    """A7: NO and then YES is NO; YES and then aborted, by the decision of the coordinator, is not a NO."""
    twice = Ledger().prepared(1, 3).write(2, ABORTED).prepared(2).write(3, COMMITTED)
    assert ("A7", (3, 2), []) in summaries(twice.violations)
    undecided = Ledger().prepared(1, 2, 3).write(2, ABORTED).write(3, ABORTED).write(1, ABORTED)
    assert undecided.violations == []


def test_A7_concerns_participants_alone() -> None:
    """A7: a node without a part may know that it is committed; if none are known, all that commit are."""
    two = {**PREPARED, "participants": [1, 3]}
    book = Ledger().write(3, BEGIN | {"participants": [1, 3]}, two).write(1, two).write(3, COMMITTED)
    assert book.write(2, COMMITTED).violations == []
    assert summaries(Ledger().write(2, COMMITTED).violations) == [("A7", (2,), [])]


# quorum


def entry(what: str, number: int = 0, leader: int = 0) -> dict[str, Any]:
    """Return a log entry of an attempt to end the transaction."""
    return {"what": what, "transaction": T, "round": [number, leader]}


class Terminated(Ledger):
    """Three participants that have all voted YES, and are judged by what their attempts promise."""

    def __init__(self) -> None:
        super().__init__(promises=OF_TERMINATION, relies_on=dict.fromkeys(OF_TERMINATION, (4,)))
        self.prepared(1, 2, 3)

    def join(self, number: int, leader: int, *nodes: int) -> Self:
        """Let the nodes join an attempt."""
        for node in nodes:
            self.write(node, entry("joined", number, leader))
        return self

    def texts(self) -> list[str]:
        """Return the violations in words."""
        return [each.text for each in self.violations]


def test_a_majority_commits() -> None:
    """P6: two of three have to be commitable before the first commits; after that, anybody may."""
    two = Terminated().write(3, entry("precommit")).write(1, entry("precommit"))
    assert two.write(3, COMMITTED).write(2, COMMITTED).violations == []
    one = Terminated().write(3, entry("precommit")).write(3, COMMITTED).write(2, COMMITTED)
    assert one.texts() == ["3 commits 3.1, though 1 of its 3 participants were commitable in one attempt"]
    assert summaries(one.violations) == [("quorum", (3,), [])]
    assert summaries(Terminated().write(3, COMMITTED).violations) == [("quorum", (3,), [])]


def test_half_of_the_participants_are_no_majority() -> None:
    """P4: nor is a node that is none of them a part of it."""
    two = {**PREPARED, "participants": [1, 3]}
    book = Ledger(promises=("quorum",)).write(3, {**BEGIN, "participants": [1, 3]}, two).write(1, two)
    book.write(3, entry("precommit")).write(2, entry("precommit")).write(3, COMMITTED)
    (violation,) = book.violations
    assert violation.text == "3 commits 3.1, though 1 of its 2 participants were commitable in one attempt"


def test_a_majority_aborts_once_one_was_commitable() -> None:
    """P6: before that, anybody may abort for a vote that is missing."""
    assert Terminated().write(1, entry("preabort", 1, 2)).write(2, ABORTED).violations[1:] == []
    begun = Terminated().write(3, entry("precommit")).join(1, 2, 1, 2).write(1, entry("preabort", 1, 2))
    assert begun.write(2, entry("preabort", 1, 2)).write(2, ABORTED).violations == []
    alone = Terminated().write(3, entry("precommit")).join(1, 2, 1, 2).write(1, entry("preabort", 1, 2))
    assert alone.write(1, ABORTED).texts() == [
        "1 aborts 3.1, though 1 of its 3 participants were abortable in one attempt"
    ]


def test_a_majority_is_one_of_a_single_attempt() -> None:
    """P7: what was accepted in two attempts decides nothing."""
    book = Terminated().write(3, entry("precommit")).join(1, 2, 1, 2).write(1, entry("preabort", 1, 2))
    book.join(2, 2, 1, 2).write(2, entry("preabort", 2, 2)).write(2, ABORTED)
    assert summaries(book.violations) == [("quorum", (2,), [])]


# attempts


def test_an_attempt_has_one_state() -> None:
    """P7: its leader may not propose both; the evidence is the first of each."""
    book = Terminated().write(3, entry("precommit")).join(1, 6, 1, 2).write(1, entry("preabort", 1, 6))
    book.join(1, 6, 3)
    assert book.violations == []
    book.write(3, entry("precommit", 1, 6))
    assert book.texts() == ["3 becomes commitable in attempt 1 of 6 to end 3.1, and 1 has become abortable in it"]
    assert summaries(book.violations) == [("attempts", (1, 3), [])]
    assert len(book.write(2, entry("precommit", 1, 6)).violations) == 1


def test_an_attempt_goes_on_from_the_newest() -> None:
    """P7: of a majority that has joined it; whoever has not joined it may have been in a newer one."""
    begun = Terminated().join(1, 1, 1, 2).write(1, entry("preabort", 1, 1)).write(3, entry("precommit"))
    assert begun.join(2, 2, 1, 3).violations == []
    assert Terminated().texts() == []
    for state, violated in (("preabort", 0), ("precommit", 1)):
        book = Terminated().join(1, 1, 1, 2).write(1, entry("preabort", 1, 1)).write(3, entry("precommit"))
        book.join(2, 2, 1, 3).write(3, entry(state, 2, 2))
        assert len(book.violations) == violated, state
    assert book.texts() == [
        "3 becomes commitable in attempt 2 of 2 to end 3.1, and no majority that joined it lets this follow"
    ]
    for state in ("preabort", "precommit"):  # 2 and 3 alone know of no attempt but the coordinator's
        book = Terminated().join(1, 1, 1, 2).write(1, entry("preabort", 1, 1)).write(3, entry("precommit"))
        assert book.join(2, 2, 1, 2, 3).write(3, entry(state, 2, 2)).violations == []


def test_an_attempt_needs_a_majority() -> None:
    """P7: one of three is none, whatever it knows."""
    assert summaries(Terminated().join(1, 1, 1).write(1, entry("preabort", 1, 1)).violations) == [
        ("attempts", (1,), [])
    ]
    commitable = Terminated().write(3, entry("precommit")).join(1, 1, 3).write(3, entry("precommit", 1, 1))
    assert summaries(commitable.violations) == [("attempts", (3,), [])]


def test_nobody_returns_to_an_older_attempt() -> None:
    """P7: who has joined an attempt has promised that."""
    book = Terminated().join(1, 1, 1, 2).join(2, 3, 1, 2).write(1, entry("preabort", 1, 1))
    assert book.texts() == ["1 becomes abortable in attempt 1 of 1 to end 3.1, after it joined attempt 2 of 3"]
    late = Terminated().join(2, 3, 1, 2).join(1, 1, 1)
    assert late.texts() == ["1 joins attempt 1 of 1 to end 3.1, after it joined attempt 2 of 3"]


def test_a_node_that_starts_again_has_done_nothing_anew() -> None:
    """Its log has what it was before it joined an attempt, too."""
    book = Terminated().write(3, entry("precommit")).join(1, 2, 3, 1)
    log = [BEGIN, PREPARED, entry("precommit"), entry("joined", 1, 2)]
    book.process(3, "killed").process(3, "started").add(Step(0, 3, 2, Started({"log": log}, 2, 1), {}))
    assert book.violations == []


# A8


def test_A8_money_in_transit_is_not_lost() -> None:
    """A8: it was taken from one account and is not on the other yet; the transaction is open."""
    book = Ledger().holds(1, 900, open=OPEN).holds(2, 1100, open=OPEN)
    assert book.holds(1, 900, open=[]).holds(2, 1100, open=[]).violations == []


def test_A8_money_is_lost() -> None:
    """A8: nothing is open any more, and the sum is less; reported once, until it changes."""
    book = Ledger().holds(1, 900, open=OPEN).after(1000).holds(1, 900, open=[]).holds(1, 900, open=[])
    (violation,) = book.violations
    assert summaries([violation]) == [("A8", (1,), [])]
    assert violation.text == (
        "100 is lost: with no transaction open, all accounts and the cash paid out add up to 2,900, "
        "at first to 3,000"
    )
    assert summaries(book.holds(2, 1050).violations)[1:] == [("A8", (1, 2), [])]
    assert len(book.holds(2, 1100).violations) == 2
    assert len(book.holds(2, 1101).violations) == 3


def test_A8_money_from_nowhere() -> None:
    """A8: the sum is more."""
    (violation,) = Ledger().holds(3, 1250).violations
    assert violation.text.startswith("250 is too much: ")


def test_A8_cash_is_money() -> None:
    """A8: cash paid out counts, and a missing cent is found."""
    assert Ledger().holds(2, 650, cash_out=350_00).violations == []
    assert summaries(Ledger().holds(2, 650, cash_out=349_99).violations) == [("A8", (2,), [])]


def test_A8_a_dead_node_counts_as_last_known() -> None:
    """A8: its money counts; and a transaction open at it keeps the state from being settled."""
    settled = Ledger().process(1, "killed").holds(2, 1000)
    assert settled.violations == []
    assert summaries(settled.holds(2, 900).violations) == [("A8", (2,), [])]
    assert Ledger().holds(1, 900, open=OPEN).process(1, "killed").holds(2, 1000).violations == []


def test_A8_a_crash_undoes_changes() -> None:
    """A8: after the crash the account is as before, and nothing is open."""
    book = Ledger().holds(1, 900, open=OPEN)
    book.process(1, "killed").process(1, "started")
    started = Started({"log": []}, 2, 1)
    lost = Step(0, 1, 2, started, {"balances": [["account1", 900_00]]})
    kept = Step(0, 1, 2, started, {"balances": [["account1", 1000_00]]})
    assert summaries([*judged([*book.records, lost]).violations]) == [("A8", (1,), [])]
    assert judged([*book.records, kept]).violations == []


# the end of every transaction


def test_ends_in_time() -> None:
    """Within the bound, from the begin of the transaction or from the last fault."""
    book = Ledger().holds(1, 1000, open=OPEN).after(WITHIN_US)
    assert book.fires(1).violations == []
    (violation,) = book.after(1).fires(1).fires(2).violations
    assert summaries([violation]) == [("ends", (1,), [])]
    assert violation.text == "transaction 3.1 is still open, since 0s"


def test_the_bound_of_ends_restarts_after_a_fault() -> None:
    """And it is not judged while a fault is in force."""
    book = Ledger().holds(1, 1000, open=OPEN).after(WITHIN_US // 2)
    cut = book.fault("partition", 8, links=((1, 2),))
    book.after(9 * WITHIN_US).fires(1).lift(cut).after(WITHIN_US).fires(1)
    assert book.violations == []
    assert summaries(book.after(1).fires(1).violations) == [("ends", (1,), [])]


def test_ends_is_judged_when_all_nodes_are_up() -> None:
    """A participant may wait for a dead one for as long as that is down."""
    book = Ledger().prepared(1, 2)
    book.process(3, "killed").after(9 * WITHIN_US).fires(1).process(3, "started").after(WITHIN_US).fires(1)
    assert book.violations == []
    assert summaries(book.after(1).fires(1).violations) == [("ends", (1, 2), [])]


def test_ends_concerns_each_transaction() -> None:
    """Under load one is always open, but none for long; an old one that stays open is found."""
    book = Ledger()
    for number in range(2, 12):
        book.after(WITHIN_US // 2).holds(1, 1000, open=[{"transaction": [1, number]}])
    assert book.violations == []
    late = Ledger()
    for number in range(2, 5):
        late.after(WITHIN_US // 2).holds(1, 1000, open=[*OPEN, {"transaction": [1, number]}])
    assert summaries(late.after(1).fires(1).violations) == [("ends", (1,), [])]


def test_no_fault_excuses_a_transaction_that_never_ends() -> None:
    """When it is judged, all assumptions have long held, except after a wipe."""
    book = Ledger(relies_on={})
    book.lift(book.fault("delay", 8)).holds(1, 1000, open=OPEN).after(WITHIN_US + 1).fires(1)
    assert summaries(book.violations) == [("ends", (1,), [])]
    wiped = Ledger(relies_on={}).process(2, "killed").process(2, "wiped").process(2, "started")
    wiped.holds(1, 1000, open=OPEN).after(WITHIN_US + 1).fires(1)
    assert summaries(wiped.violations) == [("ends", (1,), [4])]


def test_assumptions_hold_again_when_nothing_is_open() -> None:
    """Without an election, the transactions must come to rest: earlier faults may still show effects."""

    def book(is_open: bool) -> Ledger:
        book = Ledger(relies_on={}, promises=("A6", "ends"))
        book.lift(book.fault("delay", 8))
        book.holds(1, 1000, open=OPEN if is_open else []).after(WITHIN_US + 1).fires(1)
        return book.prepared(1, 2, 3).write(3, COMMITTED).write(2, ABORTED)

    assert summaries(book(is_open=True).violations) == [("ends", (1,), []), ("A6", (3, 2), [8])]
    assert summaries(book(is_open=False).violations) == [("A6", (3, 2), [])]


# of anybody's making


def test_malformed_logs_raise_nothing() -> None:
    """A recording may come from anywhere."""
    for odd in (*ODD, 10**4299, -(10**4299)):
        book = Ledger(promises=(*PROMISES, *OF_TERMINATION))
        for written in (odd, {"what": odd}, {"transaction": odd}, {**PREPARED, "participants": odd}):
            book.write(1, written)
        for what in ("joined", "precommit", "preabort"):
            book.write(1, {"what": what, "transaction": T, "round": odd})
            book.write(2, {"what": what, "transaction": T, "round": [odd, 1]})
        book.write(1, {**COMMITTED, "transaction": [odd, odd]}, {**PREPARED, "participants": [odd, 1]})
        for state in ({"balances": odd}, {"balances": [odd, ["a", odd]]}, {"cash_out": odd}, {"open": [odd]}):
            book.holds(2, 1000, **state).holds(2, 1000, open=[{"transaction": odd}], cash_out=0)
        book.add(Step(0, 1, 1, Fired("timer"), logged={"log": odd if isinstance(odd, list) else []}))
        assert encode(judged(book.records).violations) is not None


@pytest.mark.parametrize("promised", [*PROMISES, *OF_TERMINATION])
def test_only_what_is_promised_is_judged(promised: str) -> None:
    """Of a run that violates all of them, each protocol is judged by its own promises."""
    book = Ledger(promises=(promised,)).prepared(1, 3).write(1, entry("preabort", 1, 1))
    book.write(3, COMMITTED, open=[]).write(1, ABORTED, open=[])
    book.holds(2, 1).holds(1, 1000, open=OPEN).after(2 * WITHIN_US).fires(1)
    assert {violation.assertion for violation in book.violations} == {promised}


# commits, shows


class RefusesAll(TwoPhaseCommit):
    """C1: the coordinator aborts whatever the votes are."""

    @procedure
    async def coordinate(self, plan: Plan) -> None:
        await self._is_agreed(plan)
        self._decide(plan.transaction, False)
        self.begin(self.announce_outcome, key=plan.transaction)


class ShowsNothing(TwoPhaseCommit):
    """C2: a node that is uncertain does not show it."""

    def _update_status(self) -> None:
        pass


def _transferred(protocol: type[TwoPhaseCommit], *lines: str) -> dict[str, Verdict]:
    rig = Rig([1, 2, 3], protocol=protocol).started()
    rig.do("tell 3 transfer 100 savings checking", *lines)
    rig.run(40 * T_US)
    return {each.assertion: each for each in judged(rig.records).verdicts()}


def test_commits_and_shows_hold() -> None:
    """Also while a participant is blocked, as its coordinator has crashed."""
    found = _transferred(TwoPhaseCommit, "at 5s tell 3 collect 10 checking", "at 5s on deliver Vote 2->3 kill 3")
    assert [found[name].word for name in ("commits", "shows")] == ["holds", "holds"]
    assert found["commits"].evidence.count >= 3


def test_all_vote_yes_and_the_coordinator_aborts() -> None:
    """After a failure votes may be missing, so nothing is judged any more; nor is it without a commit."""
    first = _transferred(RefusesAll)["commits"].first
    assert first is not None
    assert first.is_failure
    assert first.text.endswith(" aborts 3.1, and all have voted YES")
    info: dict[str, Any] = {"promises": ("commits",), "relies_on": {"commits": ("no_failure_yet",)}}
    assert summaries(Ledger(**info).prepared(1, 2, 3).write(3, ABORTED).violations) == [("commits", (3,), [])]
    failed = Ledger(**info).prepared(1, 2, 3).process(2, "killed").write(3, ABORTED)
    assert not failed.violations
    assert not Ledger(**info).prepared(1, 3).write(2, ABORTED).write(3, ABORTED).violations
    assert [each.word for each in judged(Ledger(**info).prepared(1, 3).records).verdicts()] == ["not judged"]


def test_a_transaction_is_judged_at_the_same_cost_however_many_there_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each property goes through what is new in the logs: at most so many entries for each that was written."""
    seen: list[object] = []
    name_of = assertions._transaction_name

    def counted(entry: object) -> str:
        seen.append(entry)
        return name_of(entry)

    monkeypatch.setattr(assertions, "_transaction_name", counted)
    costs = []
    for count in (20, 80):
        rig = Rig([1, 2, 3], protocol=TwoPhaseCommit).started()
        rig.do(f"tell 3 transactions {count} at 5/s")
        rig.run(count * 200_000 + 40 * T_US)
        seen.clear()
        found = {each.assertion: each for each in judged(rig.records).verdicts()}
        assert found["commits"].word == "holds"
        costs.append(len(seen) / count)
    assert costs[1] <= 1.1 * costs[0]


def test_a_violation_costs_the_same_however_many_messages_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all that are held, the oldest is named, and no other is put into words."""
    durations: list[int] = []

    def counted(us: int) -> str:
        durations.append(us)
        return format_us(us)

    monkeypatch.setattr("lab.properties.judge.format_us", counted)
    costs = []
    for seconds in (60, 240):
        lines = ["at 2s hold 1<->5", "every 10s: pause 4", "every 13s: resume 4"]
        run = lab.simulate("bully", 5, script=lines, for_=f"{seconds}s")
        durations.clear()
        found = sum(verdict.excused for verdict in run.verdicts)
        assert found > 3
        costs.append(len(durations) / found)
    assert costs[1] <= 2 * costs[0]


def test_a_node_that_does_not_show_that_it_is_uncertain() -> None:
    """The first state that is shown wrongly."""
    first = _transferred(ShowsNothing)["shows"].first
    assert first is not None
    assert first.is_failure
    assert first.text.endswith(" shows Idle, and is Working")


@pytest.mark.parametrize(
    ("opened", "shown"),
    [
        ([], "Idle"),
        ([{"transaction": [1, 7], "state": "uncertain"}], "Working"),
        ([{"transaction": [3, 1], "state": "initial"}], "Working"),
        (OPEN, "Uncertain"),
        ([*OPEN, {"transaction": [2, 1], "state": "initial", "blocked_us": 5}], "Blocked"),
    ],
)
def test_what_a_node_is_to_show(opened: list[Any], shown: str) -> None:
    """A coordinator decides itself, so it is not uncertain of its own transactions."""
    for status in ("Idle", "Working", "Uncertain", "Blocked"):
        records = Records(promises=("shows",))
        records.add(Step(0, 1, 1, Fired("timer"), {"status": status, "open": opened}))
        wrong = [] if status == shown else [f"1 shows {status}, and is {shown}"]
        assert [each.text for each in records.violations] == wrong


# nonblocking


class BlocksAsTwoPhase(TwoPhaseCommit):
    """P5 is promised by a protocol whose participants wait for their coordinator."""

    promises: ClassVar[tuple[str, ...]] = (*TwoPhaseCommit.promises, "nonblocking")


class LeadsNothing(ThreePhaseCommit):
    """P2: the elected coordinator does not lead the termination."""

    @procedure
    async def lead_termination(self, in_doubt: InDoubtTransaction) -> None:
        pass


class WaitsForCoordinator(ThreePhaseCommit):
    """C3: a participant that has not voted does not abort by itself."""

    async def _moves_on(self, transaction: Transaction, state: State, within_us: int) -> bool:
        return await self.until(lambda: self._part(transaction).state is not state, "the next state")


def _coordinator_dies(protocol: type[Algorithm], kind: str) -> Verdict:
    """Return the verdict on nonblocking if the coordinator crashes for good as a message of a kind arrives."""
    rig = Rig([1, 2, 3, 4], protocol=protocol).started()
    rig.do("at 5s tell 4 withdraw 350", f"at 5s on deliver {kind} 4->1 kill 4")
    rig.run(60_000_000)
    return next(each for each in judged(rig.records).verdicts() if each.assertion == "nonblocking")


@pytest.mark.parametrize("kind", ["Perform", "Prepare", "PreCommit", "Commit"])
@pytest.mark.parametrize("protocol", [ThreePhaseCommit, EnhancedThreePhaseCommit])
def test_P5_a_majority_decides_without_its_coordinator(protocol: type[ThreePhaseCommit], kind: str) -> None:
    found = _coordinator_dies(stacked(protocol, Bully), kind)
    assert (found.word, found.evidence.noun, found.evidence.count) == ("holds", "transaction", 1)


@pytest.mark.parametrize(
    ("protocol", "kind"),
    [
        (BlocksAsTwoPhase, "Prepare"),
        (stacked(LeadsNothing, Bully), "PreCommit"),
        (stacked(WaitsForCoordinator, Bully), "Perform"),
    ],
)
def test_a_majority_that_waits_for_its_coordinator(protocol: type[Algorithm], kind: str) -> None:
    first = _coordinator_dies(protocol, kind).first
    assert first is not None
    assert first.is_failure
    assert first.text.startswith("transaction 4.1 is undecided, though most of its participants are up, since 5")


@pytest.mark.parametrize(
    ("states", "up", "is_owed"),
    [
        (("uncertain", "uncertain"), (1, 2), True),
        (("commitable", "uncertain"), (1, 2), True),
        (("commitable", "abortable"), (1, 2), False),  # rule P7
        (("uncertain",), (1,), False),  # no majority
        (("committed", "committed"), (1, 2), False),  # its coordinator only waits for acknowledgements
    ],
)
def test_P7_what_a_majority_owes(states: tuple[str, ...], up: tuple[int, ...], is_owed: bool) -> None:
    info: dict[str, Any] = {
        "promises": ("nonblocking",),
        "relies_on": {"nonblocking": (4,)},
    }
    book = Ledger(**info)
    for node in {1, 2, 3} - {*up}:
        book.process(node, "killed")
    for node, state in zip(up, states, strict=True):
        book.holds(node, 1000, open=[{"transaction": T, "state": state, "since_us": 0, "participants": [1, 2, 3]}])
    book.after(9 * WITHIN_US).fires(1)
    assert bool(book.violations) == is_owed
