"""What became of transactions: outcomes, messages, writes, blocked nodes and locks, on records made by hand."""

from typing import Any, Literal

import msgspec
from msgspec import Raw

from lab.analysis.commit_history import CommitLog, Commits, Held, Purpose, Transacted
from lab.kernel import Fired, Message, Step
from lab.protocols.transaction import Transaction
from lab.recording.records import Process, Record

_T = [3, 1]
_PARTICIPANTS = [1, 2, 3]


def _commits(*records: Record | None, now_us: int = 1_000) -> Commits:
    log = CommitLog(("Ping", "Pong"))
    for node in _PARTICIPANTS:
        log.observe(Process(0, node, "started", 1))
    for record in records:
        log.observe(record)
    return log.commits(now_us)


def _step(at_us: int, node: int, *entries: str, **changed: Any) -> Step:
    """A step that logs these entries about the transaction."""
    logged = [_entry(what) for what in entries]
    return Step(at_us, node, 1, Fired("x"), changed, logged={"log": logged} if logged else {})


def _entry(what: str) -> dict[str, Any]:
    with_all = what in ("begin", "prepared")
    return {"what": what, "transaction": _T} | ({"participants": _PARTICIPANTS} if with_all else {})


def _sends(
    at_us: int, source: int, target: int, kind: str, serial: int, answers: int = 0, body: Any = None
) -> Step:
    sent = Message(source, target, serial, kind, Raw(msgspec.json.encode(body or {})), answers)
    return Step(at_us, source, 1, Fired("x"), sent=(sent,))


def _asked(source: int, target: int, kind: str, answer: str, serial: int) -> tuple[Step, Step]:
    """A request about the transaction, and its answer."""
    request = _sends(20, source, target, kind, serial, body={"transaction": _T})
    return request, _sends(21, target, source, answer, serial + 500, serial)


def _open(
    state: str, blocked_us: int | None = None, transaction: list[int] | None = None
) -> dict[Literal["open"], list[dict[str, Any]]]:
    shown = {"transaction": transaction or _T, "state": state, "since_us": 0, "participants": _PARTICIPANTS}
    return {"open": [shown | ({} if blocked_us is None else {"blocked_us": blocked_us})]}


def _only(commits: Commits) -> Transacted:
    (one,) = commits.transactions
    return one


def test_from_the_command_to_the_last_that_knows() -> None:
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
    """From then on nobody can commit; it is not known before all others have logged it."""
    one = _only(_commits(_step(10, 3, "begin"), _step(20, 1, "aborted"), _step(30, 3, "aborted")))
    assert (one.outcome, one.decided_us, one.known_us) == ("aborted", 20, None)
    assert (one.voted, one.is_committed) == (False, False)


def test_what_is_not_decided_is_open() -> None:
    """It may have been prepared everywhere."""
    one = _only(_commits(_step(10, 3, "begin"), *(_step(20, node, "prepared") for node in (1, 2, 3))))
    assert (one.outcome, one.decided_us, one.known_us, one.writes) == (None, None, None, 4)


def test_one_step_is_one_forced_write() -> None:
    """However much it logs; of what began before the recording, nothing is counted."""
    one = _only(_commits(_step(5, 1, "prepared"), _step(10, 3, "begin", "prepared"), _step(20, 3)))
    assert one.writes == 1


def test_messages_are_told_apart() -> None:
    """The protocol's own, the work, what acknowledges the outcome, what asks for it, and what is about nothing."""
    commits = _commits(
        _step(10, 3, "begin"),
        *_asked(3, 1, "Perform", "Performed", 1),
        *_asked(3, 1, "Prepare", "Vote", 2),
        *_asked(3, 1, "PreCommit", "PreAcknowledged", 3),
        *_asked(3, 1, "Commit", "Acknowledged", 4),
        *_asked(1, 2, "OutcomeOf", "Outcome", 5),
        _sends(30, 1, 2, "Orphaned", 6, body={"orphan": {"transaction": _T, "participants": _PARTICIPANTS}}),
        _sends(30, 1, 2, "AreYouUp", 7),
        _sends(31, 2, 1, "Yes", 8, 7),
        _sends(32, 1, 2, "Ping", 9),
        _sends(33, 2, 1, "Pong", 10, 9),
        _sends(34, 2, 1, "Yes", 11, 4711),
    )
    expected: dict[Purpose, int] = {"own": 5, "work": 2, "acknowledgement": 1, "termination": 3, "election": 2}
    assert commits.messages == expected
    assert _only(commits).messages == 5


def test_what_another_than_its_coordinator_says_ends_it() -> None:
    """The same kinds of messages: PreCommit and Commit of the one that was elected."""
    commits = _commits(
        _step(10, 3, "begin"),
        *_asked(2, 1, "PreCommit", "PreAcknowledged", 1),
        *_asked(2, 1, "Commit", "Acknowledged", 2),
    )
    assert commits.messages == {"termination": 4}
    assert _only(commits).messages == 0


def test_a_node_is_blocked_from_the_death_of_the_coordinator_until_it_knows() -> None:
    """Not ended by the coordinator's return alone; a node that has not voted is free to abort."""
    commits = _commits(
        _step(10, 1, "prepared", **_open("uncertain")),
        _step(10, 2, **_open("initial")),
        Process(100, 3, "killed", 1),
        Process(300, 3, "started", 2),
        _step(350, 1, "committed", open=[]),
    )
    assert commits.blocked_us == (250,)


def test_what_blocked_for_longest() -> None:
    """The transaction, the node that waited, and who was down meanwhile: this is what could not be asked."""
    both = _open("uncertain")["open"] + _open("uncertain", transaction=[3, 2])["open"]
    commits = _commits(
        _step(10, 1, open=both),
        Process(100, 3, "killed", 1),
        _step(200, 1, open=both[1:]),
        Process(250, 2, "paused", 1),
        _step(300, 1, open=[]),
    )
    assert commits.longest == Held(200, 1, Transaction(3, 2), (1, 2, 3), (2, 3))


def test_the_outcome_told_again_is_counted_apart() -> None:
    """To the same node; the formula has it once."""
    commits = _commits(
        _step(10, 3, "begin"),
        *_asked(3, 1, "Commit", "Acknowledged", 1),
        *_asked(3, 1, "Commit", "Acknowledged", 2),
        *_asked(3, 2, "Commit", "Acknowledged", 3),
    )
    assert commits.messages == {"own": 2, "again": 1, "acknowledgement": 3}
    assert _only(commits).messages == 2


def test_a_coordinator_that_stands_still_blocks_too() -> None:
    """And whoever becomes uncertain meanwhile; what lasts at the end is counted until then."""
    commits = _commits(Process(100, 3, "paused", 1), _step(200, 1, **_open("commitable")), now_us=500)
    assert commits.blocked_us == (300,)


def test_a_node_that_says_so_is_blocked() -> None:
    """The coordinator may be beyond a cut."""
    commits = _commits(
        _step(10, 1, **_open("uncertain")),
        _step(60, 1, **_open("uncertain", blocked_us=60)),
        _step(90, 1, **_open("committed", blocked_us=60)),
    )
    assert commits.blocked_us == (30,)


def test_a_node_that_is_down_is_not_blocked() -> None:
    """It is again when it is up, and the coordinator is not."""
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
    """Its time is counted, and not that of the transactions."""
    both = _open("uncertain")["open"] + _open("uncertain", transaction=[3, 2])["open"]
    commits = _commits(
        _step(10, 1, open=both),
        Process(100, 3, "killed", 1),
        _step(200, 1, open=both[1:]),
        _step(300, 1, open=[]),
    )
    assert commits.blocked_us == (200,)


def test_how_long_locks_are_held() -> None:
    """Each by each transaction; as nodes show it, so not while they are down."""
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


def test_what_has_only_the_names_is_passed_over() -> None:
    """A recording may come from anybody, and have a log of another sort."""
    commits = _commits(
        None,
        Step(1, 1, 1, Fired("x"), {"open": "yes", "locks": 3}, logged={"log": ["begin", {"what": "begin"}]}),
        _sends(2, 1, 2, "Commit", 1, body={"transaction": "none"}),
        _sends(3, 1, 2, "Commit", 2, body=[1]),
    )
    assert commits == Commits((), {"election": 2}, (), ())
