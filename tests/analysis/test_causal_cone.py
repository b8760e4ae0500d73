"""The causal past and future of a record: against a brute-force closure, and against the vector clocks."""

from random import Random

import pytest

from lab.analysis.causal_cone import Future, Happened, happened_in, past_of
from lab.analysis.causality import Causality, Clock
from lab.kernel import Fired, Received, Step
from lab.protocols import Algorithm, Bully, InvitationElection
from lab.recording.records import Injected, Process, Record
from tests.harness import T_US, Rig

SEEDS = range(6)
_PROTOCOLS: tuple[type[Algorithm], ...] = (Bully, InvitationElection)


def _run(seed: int) -> list[Record]:
    """A run that is struck at random: nodes die, stand still and come back, messages are lost and duplicated."""
    chance = Random(f"cone/{seed}")
    protocol = chance.choice(_PROTOCOLS)
    rig = Rig(range(1, 5), protocol=protocol, jitter_us=9_000, seed=seed).started()
    rig.do("duplicate all 20%", "lose all 10%")
    for _ in range(6):
        rig.run(chance.randrange(1, 6) * T_US)
        node = chance.randrange(1, 5)
        process = rig.cluster.nodes[node].process
        rig.do(
            {"killed": "restart", "paused": "resume"}.get(process, chance.choice(("kill", "pause"))) + f" {node}"
        )
    rig.run(3 * T_US)
    return rig.records


def _happened(records: list[Record]) -> list[Happened]:
    found = (happened_in(number, record) for number, record in enumerate(records))
    return [each for each in found if each is not None]


def _future(happened: list[Happened], record: int) -> set[int]:
    future = Future(record)
    added = {each.record for each in happened if future.observe(each)}
    assert added == future.records
    return added


def _closure(records: list[Record]) -> dict[int, frozenset[int]]:
    """What happened before each record, itself included: by the definition, edge for edge, over and over."""
    happened = {n: r for n, r in enumerate(records) if isinstance(r, Step | Process)}
    before: dict[int, set[int]] = {number: {number} for number in happened}
    for late, effect in happened.items():
        for early, cause in happened.items():
            if early < late and _leads_to(cause, effect):
                before[late].add(early)
    changed = True
    while changed:
        changed = False
        for number, known in before.items():
            more = known.union(*(before[each] for each in known))
            changed |= more != known
            before[number] = more
    return {number: frozenset(known) for number, known in before.items()}


def _leads_to(cause: Step | Process, effect: Step | Process) -> bool:
    if cause.node == effect.node:
        return True
    if not isinstance(effect, Step):
        return False
    if isinstance(effect.input, Received) and isinstance(cause, Step):
        named = (effect.input.source, effect.input.serial)
        return any((cause.node, message.serial) == named for message in cause.sent)
    died = isinstance(cause, Process) and cause.event in ("killed", "failed")
    return isinstance(effect.input, Fired) and died


@pytest.mark.parametrize("seed", SEEDS)
def test_the_cones_are_the_closure_of_happens_before(seed: int) -> None:
    """Of every record of a random run, the past and the future both."""
    records = _run(seed)[:260]
    happened, before = _happened(records), _closure(records)
    for number in before:
        assert past_of(happened, number) == before[number]
        after = frozenset(other for other, known in before.items() if number in known)
        assert _future(happened, number) == after


@pytest.mark.parametrize("seed", SEEDS)
def test_the_past_is_what_the_clocks_of_the_judge_know(seed: int) -> None:
    """For every node, the last of its records in the past is the one that the vector clock names."""
    records = _run(seed)
    nodes = (1, 2, 3, 4)
    causality = Causality(nodes)
    carried: dict[tuple[int, int], Clock] = {}
    happened = _happened(records)
    looked_at = set(Random(f"records/{seed}").sample([each.record for each in happened], 60))
    for each in happened:
        if each.heard in carried:
            causality.received(each.node, carried[each.heard])
        if each.fired:
            causality.fired(each.node)
        clock = causality.stamp(each.node, each.record)
        carried.update(dict.fromkeys(each.sent, clock))
        if each.died:
            causality.died(each.node, each.record)
        if each.record in looked_at:
            past = past_of(happened, each.record)
            last = {other.node: other.record for other in happened if other.record in past}
            assert tuple(last.get(node, 0) for node in nodes) == clock


def test_a_forged_message_has_no_past() -> None:
    """Nobody sent it: what its receiver did before is all that led to it."""
    rig = Rig((1, 2, 3)).started()
    rig.settle()
    rig.do("inject 1->2 AreYouUp")
    rig.run(T_US // 10)
    records = rig.records
    injected = next(n for n, record in enumerate(records) if isinstance(record, Injected))
    taken = next(
        n
        for n, record in enumerate(records)
        if n > injected
        and isinstance(record, Step)
        and isinstance(record.input, Received)
        and record.input.serial < 0
    )
    happened = _happened(records)
    before = max(each.record for each in happened if each.node == 2 and each.record < taken)
    assert past_of(happened, taken) == past_of(happened, before) | {taken}


def test_a_record_at_no_node_has_neither() -> None:
    """A command, or a message that was lost, is in nobody's past."""
    happened = [Happened(1, 0, 1), Happened(3, 0, 2)]
    assert past_of(happened, 2) == frozenset()
    assert _future(happened, 2) == set()
