"""Schedules of crashes that three-phase commit survives, and mutants that do not.

Six nodes; node 6 leads, and has every other node send 10 to the savings, so that all six are participants.
"""

from collections.abc import Callable, Mapping

from lab.kernel import procedure
from lab.protocols import stacked
from lab.protocols.bully import Bully
from lab.protocols.ledger import Part
from lab.protocols.three_phase import (
    FIRST,
    InDoubtTransaction,
    PreCommit,
    StateAnswer,
    ThreePhaseCommit,
    next_state,
)
from lab.protocols.transaction import DECIDED, Plan, Round, State, Transaction
from tests.harness import Rig

__all__ = ["MUTANTS", "Schedule", "log_of", "reach", "six"]

_S = 1_000_000
Schedule = Callable[[Rig], None]


def six(task: type[ThreePhaseCommit] = ThreePhaseCommit) -> Rig:
    """Return six nodes, of which the highest leads and is given collect; it commits with everyone alive."""
    protocol = stacked(task, Bully)
    parameters = protocol.Parameters(commit_after="everyone_alive")
    rig = Rig(range(1, 7), protocol=protocol, latency_us=10_000, parameters=parameters).started()
    rig.run_until_agreed()
    rig.run(_S // 10)
    rig.do("tell 6 collect 10 savings")
    return rig


def log_of(rig: Rig, node: int) -> list[str]:
    """Return the kinds of a node's log entries."""
    return [entry["what"] for entry in rig.cluster.nodes[node].state["log"]]


def reach(rig: Rig, what: str, *nodes: int) -> None:
    """Run until these entries are in the logs of these nodes."""
    rig.run_until(lambda: all(what in log_of(rig, node) for node in nodes), 60 * _S, f"{what} at {nodes}")


def _kill(rig: Rig, *nodes: int) -> None:
    for node in nodes:
        rig.kill(node)


def _restart(rig: Rig, *nodes: int) -> None:
    for node in nodes:
        rig.restart(node)
    rig.run(20 * _S)


def _committed_with_one(rig: Rig) -> None:
    """Node 1 alone becomes commitable; 6 commits and dies before anybody learns it; 2 to 5 restart."""
    rig.run_until(lambda: bool(rig.sent("PreCommit")), 10 * _S, "PreCommit")
    _kill(rig, 2, 3, 4, 5)
    rig.do("lose 6->1 Commit 100%", "on send Commit 6->1: kill 6")
    reach(rig, "committed", 6)
    rig.run(_S)
    rig.do("heal")
    _restart(rig, 2, 3, 4, 5)
    _restart(rig, 6)


def _alone_with_the_uncertain(rig: Rig) -> None:
    """Node 1 alone is commitable when 6 dies. Node 2 is alone for a while; then all others are up, without 2."""
    rig.do("on send PreCommit 6->1: kill 6")
    reach(rig, "precommit", 1)
    _kill(rig, 1, 3, 4, 5)
    rig.run(20 * _S)
    _kill(rig, 2)
    _restart(rig, 1, 3, 4, 5)
    _restart(rig, 2, 6)


def _all_commitable(rig: Rig) -> None:
    """6 dies when all are commitable, before it has decided; the others decide."""
    reach(rig, "precommit", 1, 2, 3, 4, 5)
    _kill(rig, 6)
    rig.run(20 * _S)
    _restart(rig, 6)


def _decided_and_silent(rig: Rig) -> None:
    """6 commits, and dies before anybody learns it."""
    rig.do(*(f"lose 6->{node} Commit 100%" for node in range(1, 6)), "on send Commit 6->1: kill 6")
    reach(rig, "committed", 6)
    rig.run(20 * _S)
    rig.do("heal")
    _restart(rig, 6)


def _decided_at_once(rig: Rig) -> None:
    """6 dies when it has decided, and nothing that it sent since the votes arrives."""
    rig.do(*(f"lose 6->{node} PreCommit Commit 100%" for node in range(1, 6)))
    rig.do("on send PreCommit 6->1: kill 6")
    rig.run(20 * _S)
    rig.do("heal")
    _restart(rig, 6)


def _one_was_commitable(rig: Rig) -> None:
    """Node 1 alone is commitable when it and 6 die; the others abort; 1 restarts."""
    rig.do("on send PreCommit 6->1: kill 6")
    reach(rig, "precommit", 1)
    _kill(rig, 1)
    rig.run(20 * _S)
    _restart(rig, 1)
    _restart(rig, 6)


class _Rule4BeforeRule3(ThreePhaseCommit):
    @staticmethod
    def next_state(replies: Mapping[int, StateAnswer], participants: int) -> State | None:
        uncertain = [answer for answer in replies.values() if answer.state is State.UNCERTAIN]
        return State.ABORTABLE if 2 * len(uncertain) > participants else next_state(replies, participants)


class _MajorityOfTheReachable(ThreePhaseCommit):
    @staticmethod
    def next_state(replies: Mapping[int, StateAnswer], participants: int) -> State | None:
        return next_state(replies, len(replies))

    async def _bring_to(self, state: State, in_doubt: InDoubtTransaction, attempt: Round = FIRST) -> bool:
        await super()._bring_to(state, in_doubt, attempt)
        return True


class _CoordinatorAbortsAfterPreCommit(ThreePhaseCommit):
    def recover(self, part: Part) -> None:
        """Recover as in two-phase commit."""
        if part.begun:
            self._decide(part.transaction, False)
        super().recover(part)


class _CommitableAbortsByItself(ThreePhaseCommit):
    @procedure
    async def terminate(self, transaction: Transaction) -> None:
        """Ask nobody."""
        if self._part(transaction).state not in DECIDED:
            self._decide(transaction, False)


class _CommitableCommitsAfterACrash(ThreePhaseCommit):
    def recover(self, part: Part) -> None:
        """Ask nobody."""
        if part.state is State.COMMITABLE:
            self._decide(part.transaction, True)
        super().recover(part)


class _CommitsWithoutWaiting(ThreePhaseCommit):
    @procedure
    async def coordinate(self, plan: Plan) -> None:
        """Send PreCommit and decide at once."""
        transaction = plan.transaction
        agreed = await self._is_agreed(plan)
        if agreed:
            for node in self._others(self._part(transaction).participants):
                self.send(node, PreCommit(transaction, Round(0, self.id)))
        self._decide(transaction, agreed)
        self.begin(self.announce_outcome, key=transaction)


class _LeaderAbortsUnasked(ThreePhaseCommit):
    @staticmethod
    def next_state(replies: Mapping[int, StateAnswer], participants: int) -> State | None:
        return State.ABORTED


class _CrashedCountAsUncertain(ThreePhaseCommit):
    def recover(self, part: Part) -> None:
        """Forget the crash."""
        super().recover(part)
        self.crashed_in = ()


def _all_but_one_crashed(rig: Rig) -> None:
    """6 commits alone, all others being down, and dies; they restart without it."""
    rig.run_until(lambda: bool(rig.sent("PreCommit")), 10 * _S, "PreCommit")
    _kill(rig, 1, 2, 3, 4, 5)
    reach(rig, "committed", 6)
    _kill(rig, 6)
    rig.run(_S)
    _restart(rig, 1, 2, 3, 4, 5)
    _restart(rig, 6)


MUTANTS: tuple[tuple[type[ThreePhaseCommit], Schedule], ...] = (
    (_Rule4BeforeRule3, _committed_with_one),
    (_MajorityOfTheReachable, _alone_with_the_uncertain),
    (_CoordinatorAbortsAfterPreCommit, _all_commitable),
    (_CommitableAbortsByItself, _decided_and_silent),
    (_CommitableCommitsAfterACrash, _one_was_commitable),
    (_CommitsWithoutWaiting, _decided_at_once),
    (_LeaderAbortsUnasked, _decided_and_silent),
    (_CrashedCountAsUncertain, _all_but_one_crashed),
)
