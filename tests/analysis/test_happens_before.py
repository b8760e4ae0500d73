"""The causal past and future of a record, against a brute-force closure and against vector clocks."""

from random import Random

import pytest

from lab.analysis.causality import CausalEvent, CausalFuture, Causality, Clock, causal_event, causal_past
from lab.kernel import Fired, Received, Step
from lab.protocols import Algorithm, Bully, InvitationElection
from lab.recording.records import Injected, Process, Record
from tests.harness import T_US, Rig

SEEDS = range(6)
_PROTOCOLS: tuple[type[Algorithm], ...] = (Bully, InvitationElection)


def _run(seed: int) -> list[Record]:
    """Run with random faults: nodes are killed, paused and restarted, messages are lost and duplicated."""
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


def _events(records: list[Record]) -> list[CausalEvent]:
    found = (causal_event(number, record) for number, record in enumerate(records))
    return [each for each in found if each is not None]


def _future(events: list[CausalEvent], record: int) -> set[int]:
    future = CausalFuture(record)
    added = {each.record for each in events if future.observe(each)}
    assert added == future.records
    return added


def _closure(records: list[Record]) -> dict[int, frozenset[int]]:
    """Compute happens-before for every record by its definition, edge by edge, to a fixed point."""
    events = {n: r for n, r in enumerate(records) if isinstance(r, Step | Process)}
    before: dict[int, set[int]] = {number: {number} for number in events}
    for late, effect in events.items():
        for early, cause in events.items():
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
def test_past_and_future_are_the_closure_of_happens_before(seed: int) -> None:
    """Of every record of a random run."""
    records = _run(seed)[:260]
    events, before = _events(records), _closure(records)
    for number in before:
        assert causal_past(events, number) == before[number]
        after = frozenset(other for other, known in before.items() if number in known)
        assert _future(events, number) == after


@pytest.mark.parametrize("seed", SEEDS)
def test_the_past_matches_the_vector_clocks(seed: int) -> None:
    """For every node, the last of its records in the past is the one in the vector clock."""
    records = _run(seed)
    nodes = (1, 2, 3, 4)
    causality = Causality(nodes)
    carried: dict[tuple[int, int], Clock] = {}
    events = _events(records)
    looked_at = set(Random(f"records/{seed}").sample([each.record for each in events], 60))
    for each in events:
        if each.received in carried:
            causality.received(each.node, carried[each.received])
        if each.fired:
            causality.fired(each.node)
        clock = causality.stamp(each.node, each.record)
        carried.update(dict.fromkeys(each.sent, clock))
        if each.crashed:
            causality.crashed(each.node, each.record)
        if each.record in looked_at:
            past = causal_past(events, each.record)
            last = {other.node: other.record for other in events if other.record in past}
            assert tuple(last.get(node, 0) for node in nodes) == clock


def test_a_forged_message_has_no_past() -> None:
    """Only what its receiver did before happened before."""
    rig = Rig((1, 2, 3)).started()
    rig.run_until_agreed()
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
    events = _events(records)
    before = max(each.record for each in events if each.node == 2 and each.record < taken)
    assert causal_past(events, taken) == causal_past(events, before) | {taken}


def test_a_record_at_no_node_has_neither() -> None:
    """A command, or the loss of a message, has no causal past."""
    events = [CausalEvent(1, 0, 1), CausalEvent(3, 0, 2)]
    assert causal_past(events, 2) == frozenset()
    assert _future(events, 2) == set()
