"""The history of transactions: outcomes, messages, writes, blocked nodes and locks, on records made by hand."""

from typing import Any, Literal

import msgspec
from msgspec import Raw

from lab.kernel import Fired, Message, Step
from lab.protocols.transaction import Transaction
from lab.recording.records import Process, Record
from lab.tasks.bank.commit_history import BlockedInterval, CommitHistory, CommitLog, Purpose, TransactionHistory

_T = [3, 1]
_PARTICIPANTS = [1, 2, 3]


def _commits(*records: Record | None, now_us: int = 1_000) -> CommitHistory:
    log = CommitLog(("Ping", "Pong"))
    for node in _PARTICIPANTS:
        log.observe(Process(0, node, "started", 1))
    for record in records:
        log.observe(record)
    return log.commits(now_us)


def _step(at_us: int, node: int, *entries: str, **changed: Any) -> Step:
    """Return a step that logs these entries about the transaction."""
    logged = [_entry(what) for what in entries]
    return Step(at_us, node, 1, Fired("x"), changed, logged={"log": logged} if logged else {})


def _entry(what: str) -> dict[str, Any]:
    with_all = what in ("begin", "prepared")
    return {"what": what, "transaction": _T} | ({"participants": _PARTICIPANTS} if with_all else {})


def _sends(
    at_us: int, source: int, target: int, kind: str, serial: int, reply_to: int = 0, body: Any = None
) -> Step:
    sent = Message(source, target, serial, kind, Raw(msgspec.json.encode(body or {})), reply_to)
    return Step(at_us, source, 1, Fired("x"), sent=(sent,))


def _asked(source: int, target: int, kind: str, answer: str, serial: int) -> tuple[Step, Step]:
    """Return a request about the transaction, and the reply."""
    request = _sends(20, source, target, kind, serial, body={"transaction": _T})
    return request, _sends(21, target, source, answer, serial + 500, serial)


def _open(
    state: str, blocked_us: int | None = None, transaction: list[int] | None = None
) -> dict[Literal["open"], list[dict[str, Any]]]:
    shown = {"transaction": transaction or _T, "state": state, "since_us": 0, "participants": _PARTICIPANTS}
    return {"open": [shown | ({} if blocked_us is None else {"blocked_us": blocked_us})]}


def _only(commits: CommitHistory) -> TransactionHistory:
    (one,) = commits.transactions
    return one


def test_the_times_of_a_transaction() -> None:
    """It begins with the coordinator's intent; it is decided at the first entry, and known at the last."""
    one = _only(
        _commits(
            _step(10, 3, "begin"),
            _step(20, 3, "prepared"),
            _step(21, 1, "prepared"),
            _step(22, 2, "prepared"),
            _step(30, 3, "committed"),
            _step(40, 1, "committed"),
            _step(55, 2, "committed"),
            _step(60, 3, "ended"),
        )
    )
    assert (one.began_us, one.outcome, one.decided_us, one.known_us) == (10, "committed", 30, 55)
    assert (one.participants, one.voted, one.is_committed, one.writes) == (2, True, True, 2 * 2 + 4)


def test_a_no_decides() -> None:
    """From then on no node can commit; it is known when all others have logged it."""
    one = _only(_commits(_step(10, 3, "begin"), _step(20, 1, "aborted"), _step(30, 3, "aborted")))
    assert (one.outcome, one.decided_us, one.known_us) == ("aborted", 20, None)
    assert (one.voted, one.is_committed) == (False, False)


def test_an_undecided_transaction_is_open() -> None:
    """It may be prepared everywhere."""
    one = _only(_commits(_step(10, 3, "begin"), *(_step(20, node, "prepared") for node in (1, 2, 3))))
    assert (one.outcome, one.decided_us, one.known_us, one.writes) == (None, None, None, 4)


def test_one_step_is_one_forced_write() -> None:
    """However much it logs; transactions that began before the recording are not counted."""
    one = _only(_commits(_step(5, 1, "prepared"), _step(10, 3, "begin", "prepared"), _step(20, 3)))
    assert one.writes == 1


def test_the_purposes_of_messages() -> None:
    """Own, work, acknowledgement, termination, and none."""
    commits = _commits(
        _step(10, 3, "begin"),
        *_asked(3, 1, "Perform", "Performed", 1),
        *_asked(3, 1, "Prepare", "Vote", 2),
        *_asked(3, 1, "PreCommit", "PreAcknowledged", 3),
        *_asked(3, 1, "Commit", "Acknowledged", 4),
        *_asked(1, 2, "OutcomeOf", "Outcome", 5),
        _sends(30, 1, 2, "InDoubt", 6, body={"in_doubt": {"transaction": _T, "participants": _PARTICIPANTS}}),
        _sends(30, 1, 2, "AreYouUp", 7),
        _sends(31, 2, 1, "Yes", 8, 7),
        _sends(32, 1, 2, "Ping", 9),
        _sends(33, 2, 1, "Pong", 10, 9),
        _sends(34, 2, 1, "Yes", 11, 4711),
    )
    expected: dict[Purpose, int] = {"own": 5, "work": 2, "acknowledgement": 1, "termination": 3, "election": 2}
    assert commits.messages == expected
    assert _only(commits).messages == 5


def test_messages_of_another_coordinator_are_termination() -> None:
    """With the same kinds: PreCommit and Commit of an elected node."""
    commits = _commits(
        _step(10, 3, "begin"),
        *_asked(2, 1, "PreCommit", "PreAcknowledged", 1),
        *_asked(2, 1, "Commit", "Acknowledged", 2),
    )
    assert commits.messages == {"termination": 4}
    assert _only(commits).messages == 0


def test_a_node_is_blocked_from_the_crash_of_the_coordinator_until_it_knows() -> None:
    """The coordinator's return alone does not end it; a node that has not voted is free to abort."""
    commits = _commits(
        _step(10, 1, "prepared", **_open("uncertain")),
        _step(10, 2, **_open("initial")),
        Process(100, 3, "killed", 1),
        Process(300, 3, "started", 2),
        _step(350, 1, "committed", open=[]),
    )
    assert commits.blocked_us == (250,)


def test_the_longest_block() -> None:
    """The transaction, the blocked node, and the nodes that were down meanwhile."""
    both = _open("uncertain")["open"] + _open("uncertain", transaction=[3, 2])["open"]
    commits = _commits(
        _step(10, 1, open=both),
        Process(100, 3, "killed", 1),
        _step(200, 1, open=both[1:]),
        Process(250, 2, "paused", 1),
        _step(300, 1, open=[]),
    )
    assert commits.longest == BlockedInterval(200, 1, Transaction(3, 2), (1, 2, 3), (2, 3))


def test_repeated_notices_are_counted_separately() -> None:
    """To the same node; the formula has one."""
    commits = _commits(
        _step(10, 3, "begin"),
        *_asked(3, 1, "Commit", "Acknowledged", 1),
        *_asked(3, 1, "Commit", "Acknowledged", 2),
        *_asked(3, 2, "Commit", "Acknowledged", 3),
    )
    assert commits.messages == {"own": 2, "again": 1, "acknowledgement": 3}
    assert _only(commits).messages == 2


def test_a_paused_coordinator_blocks_too() -> None:
    """Also nodes that become uncertain meanwhile; a block that lasts is counted up to the end."""
    commits = _commits(Process(100, 3, "paused", 1), _step(200, 1, **_open("commitable")), now_us=500)
    assert commits.blocked_us == (300,)


def test_a_node_that_reports_it_is_blocked() -> None:
    """The coordinator may be beyond a cut."""
    commits = _commits(
        _step(10, 1, **_open("uncertain")),
        _step(60, 1, **_open("uncertain", blocked_us=60)),
        _step(90, 1, **_open("committed", blocked_us=60)),
    )
    assert commits.blocked_us == (30,)


def test_a_node_that_is_down_is_not_blocked() -> None:
    """It is again when it is up and the coordinator is not."""
    commits = _commits(
        _step(10, 1, **_open("uncertain")),
        Process(100, 3, "killed", 1),
        Process(150, 1, "killed", 1),
        Process(400, 1, "started", 2),
        _step(410, 1, **_open("uncertain")),
        now_us=500,
    )
    assert commits.blocked_us == (50, 90)


def test_a_node_with_two_such_transactions_is_blocked_once() -> None:
    """The time of the node is counted, not that of the transactions."""
    both = _open("uncertain")["open"] + _open("uncertain", transaction=[3, 2])["open"]
    commits = _commits(
        _step(10, 1, open=both),
        Process(100, 3, "killed", 1),
        _step(200, 1, open=both[1:]),
        _step(300, 1, open=[]),
    )
    assert commits.blocked_us == (200,)


def test_the_times_of_locks() -> None:
    """For each lock and transaction, as shown by the states of nodes; so not while they are down."""
    first, second = ["savings", _T], ["savings", [3, 2]]
    commits = _commits(
        _step(10, 1, locks=[first]),
        _step(40, 1, locks=[first, ["checking", _T]]),
        _step(100, 1, locks=[second, ["checking", _T]]),
        Process(200, 1, "killed", 1),
        Process(300, 1, "started", 2),
        _step(310, 1, locks=[second]),
        now_us=1_000,
    )
    assert sorted(commits.locked_us) == [90, 100, 160, 690]


def test_values_that_only_share_the_names_are_ignored() -> None:
    """A recording may come from anywhere, with a log of another kind."""
    commits = _commits(
        None,
        Step(1, 1, 1, Fired("x"), {"open": "yes", "locks": 3}, logged={"log": ["begin", {"what": "begin"}]}),
        _sends(2, 1, 2, "Commit", 1, body={"transaction": "none"}),
        _sends(3, 1, 2, "Commit", 2, body=[1]),
    )
    assert commits == CommitHistory((), {"election": 2}, (), ())
