"""A6, A7, A8 and the end of every transaction, on records by hand: what breaks each, and what nearly does."""

from typing import Any, Self

import pytest

from lab.kernel import Fired, Started, Step
from lab.properties import account
from lab.recording.records import encode
from tests.properties.recorded import WITHIN_US, Records, judged, said
from tests.recording.test_mutations import ODD

PROMISES = ("A6", "A7", "A8", "ends")
RELIES_ON: dict[str, tuple[int, ...]] = dict.fromkeys(PROMISES, (4,))
T = [3, 1]
BEGIN = {"what": "begin", "transaction": T, "participants": [1, 2, 3]}
PREPARED = {"what": "prepared", "transaction": T, "participants": [1, 2, 3]}
COMMITTED = {"what": "committed", "transaction": T}
ABORTED = {"what": "aborted", "transaction": T}
OPEN = [{"transaction": T, "state": "uncertain", "since_us": 0}]


class Book(Records):
    """Nodes with an account each, that write logs."""

    def __init__(self, **info: Any) -> None:
        super().__init__(**{"promises": PROMISES, "relies_on": RELIES_ON, **info})
        for node in (1, 2, 3):
            self.holds(node, 1000)

    def write(self, node: int, *entries: Any, **changed: Any) -> Self:
        """A step of the node puts these into its log."""
        self.add(Step(self.at_us, node, 1, Fired("timer"), changed, logged={"log": [*entries]}))
        return self

    def holds(self, node: int, dollars: int, **changed: Any) -> Self:
        """That is in its account now."""
        balances = [[f"account{node}", dollars * 100]]
        self.add(Step(self.at_us, node, 1, Fired("timer"), {"balances": balances, **changed}))
        return self

    def prepared(self, *nodes: int) -> Self:
        """They have voted YES, and it is open at them."""
        for node in nodes:
            self.write(node, *([BEGIN, PREPARED] if node == 3 else [PREPARED]), open=OPEN)
        return self


# A6


def test_A6_committed_here_and_aborted_there() -> None:
    """A6: the outcomes of two nodes differ, however long one has known it before the other."""
    book = Book().prepared(1, 2, 3).write(3, COMMITTED)
    book.after(5000).write(1, COMMITTED).write(2, ABORTED)
    (violation,) = book.violations
    assert said([violation]) == [("A6", (3, 2), [])]
    assert violation.text == "transaction 3.1 is committed at 3 and aborted at 2"
    assert [state.record for state in violation.states] == [10, 12]
    assert violation.record == 12
    assert [moment.record for moment in account(book.records, violation)] == [10, 12]


def test_A6_the_other_way_round() -> None:
    """A6: first aborted, then committed."""
    assert said(Book().prepared(1, 2, 3).write(2, ABORTED).write(3, COMMITTED).violations) == [("A6", (3, 2), [])]


def test_A6_is_said_once_of_a_transaction() -> None:
    """A6: of three nodes the first two that differ."""
    book = Book().prepared(1, 2, 3).write(3, COMMITTED).write(2, ABORTED).write(1, ABORTED)
    assert said(book.violations) == [("A6", (3, 2), [])]


def test_A6_all_the_same() -> None:
    """A6: all commit; of another transaction with the same number all abort."""
    book = Book().prepared(1, 2, 3)
    for node in (1, 2, 3):
        book.write(node, COMMITTED).write(node, {"what": "aborted", "transaction": [2, 1]})
    assert book.violations == []


def test_A6_is_not_forgotten_by_a_crash() -> None:
    """A6: what is in the log of a node that is down is decided all the same, and comes back with it."""
    book = Book().prepared(1, 2, 3).write(3, COMMITTED)
    book.process(3, "killed").write(2, ABORTED)
    assert said(book.violations) == [("A6", (3, 2), [])]
    log = [BEGIN, PREPARED, COMMITTED]
    book = Book().prepared(1, 2, 3).write(3, COMMITTED)
    book.process(3, "killed").process(3, "started")
    book.add(Step(0, 3, 2, Started({"log": log}, 2, 1), {"balances": [["account3", 100_000]]}))
    assert book.violations == []
    assert said(book.write(2, ABORTED).violations) == [("A6", (3, 2), [])]


def test_A6_after_a_wipe() -> None:
    """A6 relies on assumption 4: what a node decided is lost with its log."""
    book = Book().prepared(1, 2, 3).write(3, COMMITTED)
    book.process(2, "killed").process(2, "wiped").write(2, ABORTED)
    assert said(book.violations) == [("A6", (3, 2), [4])]


# A7


def test_A7_a_missing_vote() -> None:
    """A7: the coordinator commits, and a participant has not voted."""
    (violation,) = Book().prepared(1, 3).write(3, COMMITTED).violations
    assert said([violation]) == [("A7", (3,), [])]
    assert violation.text == "transaction 3.1 is committed at 3, and 2 has not voted YES"


def test_A7_a_vote_that_comes_later() -> None:
    """A7: at the commit point all votes must be there."""
    assert said(Book().prepared(1, 3).write(3, COMMITTED).prepared(2).violations) == [("A7", (3,), [])]


def test_A7_who_voted_NO_commits() -> None:
    """A7, and A6: it aborted, and that is the vote NO."""
    violations = Book().prepared(1, 3).write(2, ABORTED).write(2, COMMITTED).violations
    assert said(violations) == [("A6", (2, 2), []), ("A7", (2, 2), [])]
    assert violations[1].text == "transaction 3.1 is committed at 2, and 2 voted NO"


def test_A7_a_vote_is_not_taken_back() -> None:
    """A7: NO and then YES is NO; YES and then aborted, because the coordinator says so, is no NO."""
    twice = Book().prepared(1, 3).write(2, ABORTED).prepared(2).write(3, COMMITTED)
    assert ("A7", (3, 2), []) in said(twice.violations)
    told = Book().prepared(1, 2, 3).write(2, ABORTED).write(3, ABORTED).write(1, ABORTED)
    assert told.violations == []


def test_A7_asks_participants_alone() -> None:
    """A7: who has no part in it may know that it is committed; where nobody said who has, whoever commits has."""
    two = {**PREPARED, "participants": [1, 3]}
    book = Book().write(3, BEGIN | {"participants": [1, 3]}, two).write(1, two).write(3, COMMITTED)
    assert book.write(2, COMMITTED).violations == []
    assert said(Book().write(2, COMMITTED).violations) == [("A7", (2,), [])]


# A8


def test_A8_money_on_its_way_is_not_lost() -> None:
    """A8: it has been taken from one account and is not on the other yet; the transaction is open."""
    book = Book().holds(1, 900, open=OPEN).holds(2, 1100, open=OPEN)
    assert book.holds(1, 900, open=[]).holds(2, 1100, open=[]).violations == []


def test_A8_money_is_lost() -> None:
    """A8: nothing is open any more, and the sum is less; said once, until it changes."""
    book = Book().holds(1, 900, open=OPEN).after(1000).holds(1, 900, open=[]).holds(1, 900, open=[])
    (violation,) = book.violations
    assert said([violation]) == [("A8", (1,), [])]
    assert violation.text == (
        "100 is lost: with no transaction open, all accounts and what was handed out come to 2,900, "
        "at first to 3,000"
    )
    assert said(book.holds(2, 1050).violations)[1:] == [("A8", (1, 2), [])]
    assert len(book.holds(2, 1100).violations) == 2
    assert len(book.holds(2, 1101).violations) == 3


def test_A8_money_from_nowhere() -> None:
    """A8: the sum is more."""
    (violation,) = Book().holds(3, 1250).violations
    assert violation.text.startswith("250 is too much: ")


def test_A8_cash_is_money() -> None:
    """A8: what was handed out counts, and a cent less does not do."""
    assert Book().holds(2, 650, dispensed=350_00).violations == []
    assert said(Book().holds(2, 650, dispensed=349_99).violations) == [("A8", (2,), [])]


def test_A8_counts_who_is_down_as_last_known() -> None:
    """A8: what a dead node held is there; and what was open at it keeps the state from being settled."""
    settled = Book().process(1, "killed").holds(2, 1000)
    assert settled.violations == []
    assert said(settled.holds(2, 900).violations) == [("A8", (2,), [])]
    assert Book().holds(1, 900, open=OPEN).process(1, "killed").holds(2, 1000).violations == []


def test_A8_what_a_crash_undoes() -> None:
    """A8: after the crash the account is as it was before, and nothing is open."""
    book = Book().holds(1, 900, open=OPEN)
    book.process(1, "killed").process(1, "started")
    started = Started({"log": []}, 2, 1)
    lost = Step(0, 1, 2, started, {"balances": [["account1", 900_00]]})
    kept = Step(0, 1, 2, started, {"balances": [["account1", 1000_00]]})
    assert said([*judged([*book.records, lost]).violations]) == [("A8", (1,), [])]
    assert judged([*book.records, kept]).violations == []


# the end of every transaction


def test_ends_in_time() -> None:
    """Bounded by the time it takes to settle, from where it was opened, or from the last fault."""
    book = Book().holds(1, 1000, open=OPEN).after(WITHIN_US)
    assert book.fires(1).violations == []
    (violation,) = book.after(1).fires(1).fires(2).violations
    assert said([violation]) == [("ends", (1,), [])]
    assert violation.text == "transaction 3.1 is still open at 1, though nothing has gone wrong since 0s"


def test_ends_is_asked_anew_after_a_fault() -> None:
    """The time begins with the last fault, and a fault in force forbids to ask."""
    book = Book().holds(1, 1000, open=OPEN).after(WITHIN_US // 2)
    cut = book.fault("partition", 8, links=((1, 2),))
    book.after(9 * WITHIN_US).fires(1).lift(cut).after(WITHIN_US).fires(1)
    assert book.violations == []
    assert said(book.after(1).fires(1).violations) == [("ends", (1,), [])]


def test_ends_is_asked_when_all_are_back() -> None:
    """A participant may wait for one that is down for as long as that is down."""
    book = Book().prepared(1, 2)
    book.process(3, "killed").after(9 * WITHIN_US).fires(1).process(3, "started").after(WITHIN_US).fires(1)
    assert book.violations == []
    assert said(book.after(1).fires(1).violations) == [("ends", (1, 2), [])]


def test_ends_asks_of_each_transaction() -> None:
    """Under load there is always one open, but none for long; one that was begun early and stays is found."""
    book = Book()
    for number in range(2, 12):
        book.after(WITHIN_US // 2).holds(1, 1000, open=[{"transaction": [1, number]}])
    assert book.violations == []
    late = Book()
    for number in range(2, 5):
        late.after(WITHIN_US // 2).holds(1, 1000, open=[*OPEN, {"transaction": [1, number]}])
    assert said(late.after(1).fires(1).violations) == [("ends", (1,), [])]


def test_no_fault_is_an_excuse_for_what_never_ends() -> None:
    """When it is asked, all has long been whole, but for what a wipe has mixed up for ever."""
    book = Book(relies_on={})
    book.lift(book.fault("delay", 8)).holds(1, 1000, open=OPEN).after(WITHIN_US + 1).fires(1)
    assert said(book.violations) == [("ends", (1,), [])]
    wiped = Book(relies_on={}).process(2, "killed").process(2, "wiped").process(2, "started")
    wiped.holds(1, 1000, open=OPEN).after(WITHIN_US + 1).fires(1)
    assert said(wiped.violations) == [("ends", (1,), [4])]


def test_what_was_broken_is_whole_again_when_nothing_is_open() -> None:
    """Without an election it is the transactions that come to rest: what one of then leads to may still show."""

    def book(is_open: bool) -> Book:
        book = Book(relies_on={}, promises=("A6",))
        book.lift(book.fault("delay", 8))
        book.holds(1, 1000, open=OPEN if is_open else []).after(WITHIN_US + 1).fires(1)
        return book.prepared(1, 2, 3).write(3, COMMITTED).write(2, ABORTED)

    assert said(book(is_open=True).violations) == [("A6", (3, 2), [8])]
    assert said(book(is_open=False).violations) == [("A6", (3, 2), [])]


# of anybody's making


def test_rubbish_for_a_log_raises_nothing() -> None:
    """A recording may come from anybody."""
    for odd in (*ODD, 10**4299, -(10**4299)):
        book = Book()
        for entry in (odd, {"what": odd}, {"transaction": odd}, {**PREPARED, "participants": odd}):
            book.write(1, entry)
        book.write(1, {**COMMITTED, "transaction": [odd, odd]}, {**PREPARED, "participants": [odd, 1]})
        for state in ({"balances": odd}, {"balances": [odd, ["a", odd]]}, {"dispensed": odd}, {"open": [odd]}):
            book.holds(2, 1000, **state).holds(2, 1000, open=[{"transaction": odd}], dispensed=0)
        book.add(Step(0, 1, 1, Fired("timer"), logged={"log": odd if isinstance(odd, list) else []}))
        assert encode(judged(book.records).violations) is not None


@pytest.mark.parametrize("promised", PROMISES)
def test_only_what_is_promised_is_judged(promised: str) -> None:
    """Of a run that breaks all four, each protocol hears of its own."""
    book = Book(promises=(promised,)).prepared(1, 3).write(3, COMMITTED, open=[]).write(1, ABORTED, open=[])
    book.holds(2, 1).holds(1, 1000, open=OPEN).after(2 * WITHIN_US).fires(1)
    assert {violation.assertion for violation in book.violations} == {promised}
