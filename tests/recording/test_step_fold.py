"""Steps by change: folded, they give the whole state and all waits of the node after each step."""

from contextlib import suppress
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec import Struct, convert, json
from msgspec.structs import replace

from lab.analysis.group_history import GroupLog
from lab.analysis.history import History
from lab.kernel import Node, Step, Wait, as_lists
from lab.kernel.edits import Piece
from lab.kernel.plain import plain
from lab.kernel.step import EVERY_WAIT
from lab.properties.judge import Judge
from lab.protocols import CURRICULUM, TASKS, TwoPhaseCommit, find_protocol
from lab.recording.log_lines import count_lines, lines_of
from lab.recording.records import decode, decode_format_1, encode
from lab.recording.step_fold import StepFold
from lab.script.predicates import Suspicions
from lab.script.scope import CommandError
from lab.tasks.bank.commit_history import CommitLog
from lab.worlds.campaign.situations import SituationReader
from tests.harness import Rig
from tests.profile import amount
from tests.worlds.random_faults import random_commands

RUN_US = amount(quick=4_000_000, soak=8_000_000)
STEPS = amount(quick=500, soak=1_000_000)
"""The most steps of a run that are looked at: each is written and read with the whole state of its node."""


class Whole(Struct, frozen=True):
    """A step, and the state and the waits of its node after it, taken from the node itself."""

    step: Step
    state: dict[str, Any]
    waits: tuple[Wait, ...]


def run(name: str, nodes: int, seed: int, faults: int, election: str = "bully") -> list[Whole]:
    """Return the steps of a run with random faults; whole as they are seen in the nodes."""
    protocol = find_protocol(name, {"election": election} if name in TASKS else {})
    is_bank = "transactions" in protocol.commands
    parameters = convert({"accounts": 100} if is_bank else {}, protocol.Parameters)
    rig = Rig(range(1, nodes + 1), protocol=protocol, jitter_us=4_000, seed=seed, parameters=parameters)
    found: list[Whole] = []

    def watch() -> None:
        step = rig.records[-1]
        if not isinstance(step, Step):
            return
        node = rig.incarnations[step.node].node
        assert isinstance(node, Node)
        state = {name: plain(value) for name, value in node.protocol.values().items()}
        found.append(Whole(step, state, node.waits()))

    rig.watchers.append(watch)
    for line in random_commands(Random(seed), protocol, faults, RUN_US // 1000):
        with suppress(CommandError, AssertionError):  # the protocol has no such message, or it changes nothing
            rig.do(line)
    if is_bank:
        rig.do("at 1s tell all transactions 40 at 200/s")
    rig.started().run(RUN_US)
    return found


RUNS = some.builds(
    run,
    some.sampled_from(CURRICULUM),
    some.integers(5, 14),
    some.integers(0, 10_000),
    some.integers(0, 12),
    some.sampled_from(("bully", "invitation", "ring")),
)


def _json(value: Any) -> bytes:
    return json.encode(value)


@settings(max_examples=amount(quick=4, soak=12), deadline=None)
@given(RUNS)
def test_the_fold_gives_what_the_node_has(steps: list[Whole]) -> None:
    """All protocols, of five to fourteen nodes, with random faults: every field and every wait, byte for byte."""
    fold = StepFold()
    states: dict[int, dict[str, Any]] = {}
    for each in steps[:STEPS]:
        step = decode(encode(each.step))
        assert isinstance(step, Step)
        states[step.node] = step.state_after(fold.state_before(step))
        fold.apply(step)
        assert fold.waits(step.node) == each.waits
        if not step.failed:
            state = as_lists(states[step.node])
            assert _json({name: state[name] for name in each.state}) == _json(each.state)


@settings(max_examples=amount(quick=3, soak=8), deadline=None)
@given(RUNS)
def test_a_whole_step_gives_the_change(steps: list[Whole]) -> None:
    """A step is made whole, written as format 1 has it, and read: its change is what the node wrote."""
    fold, again, other = StepFold(), StepFold(), StepFold()
    for each in steps[:STEPS]:
        whole = fold.whole(each.step)
        assert whole.began == each.waits
        assert (whole.edits, whole.stored_edits, whole.ended, whole.answered) == ({}, {}, (EVERY_WAIT,), "")
        fields = json.decode(encode(whole))
        waits = fields.pop("began", None)
        del fields["ended"]
        read = decode_format_1(encode(fields if waits is None else {**fields, "waits": waits}))
        assert isinstance(read, Step)
        assert encode(read) == encode(whole)
        change = again.change_of(read)
        assert encode(other.whole(change)) == encode(whole)
        if change.ended != (EVERY_WAIT,):
            assert len(encode(change)) <= len(encode(each.step))


def test_the_runs_have_answers_and_edits() -> None:
    """Otherwise they would show nothing."""
    steps = [each.step for name in ("bully", "3pc") for each in run(name, 6, 1, 0)]
    assert any(step.answered for step in steps)
    assert any(step.ended for step in steps)
    assert any(step.edits for step in steps)


def test_a_step_of_a_foreign_recording_is_folded() -> None:
    """Edits of what is no list, answers to no wait, the end of no procedure."""
    step = run("bully", 5, 1, 0)[-1].step
    fold = StepFold()
    odd = replace(
        step,
        edits={"status": (), "nothing": ()},
        stored_edits={"version": ()},
        ended=("nothing", EVERY_WAIT),
        answered="nothing",
        began=(),
    )
    fold.apply(odd)
    assert fold.waits(step.node) == ()
    assert fold.whole(odd).changed["nothing"] == []


ABSURD = some.one_of(some.integers(-5, 12), some.sampled_from((-(10**30), 10**30, 2**63, -(2**63))))
FIELDS = some.sampled_from(
    ("status", "coordinator", "group", "up", "definition", "open", "locks", "log", "version")
)
EDITS = some.dictionaries(
    FIELDS,
    some.lists(some.builds(Piece, ABSURD, ABSURD, some.lists(some.integers(), max_size=3)), max_size=3).map(tuple),
)
PROCEDURES = some.sampled_from(("check", "election", "*", "nothing"))


@settings(max_examples=amount(quick=15, soak=60), deadline=None)
@given(some.data())
def test_foreign_edits_harm_no_reader(data: some.DataObject) -> None:
    """Steps with absurd edits and waits, of a bank: every fold goes on, and lists stay as short as the lines."""
    rig = Rig((1, 2, 3), protocol=TwoPhaseCommit).started()
    rig.do("tell 3 transactions 5")
    rig.run(1_500_000)
    records = list(rig.records)
    for number in data.draw(some.lists(some.integers(1, len(records) - 1), min_size=1, max_size=8)):
        step = records[number]
        if isinstance(step, Step):
            records[number] = replace(
                step,
                edits=data.draw(EDITS),
                stored_edits=data.draw(EDITS),
                ended=tuple(data.draw(some.lists(PROCEDURES, max_size=2))),
                answered=data.draw(PROCEDURES),
            )
    history = History(rig.header)
    folds = Judge(rig.header), GroupLog(), Suspicions(), CommitLog(()), SituationReader(TwoPhaseCommit, True)
    fold = StepFold()
    for number, record in enumerate(records):
        read = decode(encode(record))
        history.observe(read)
        for each in folds:
            each.observe(read)
        assert len(lines_of(number, read)) == count_lines(read)
        if isinstance(read, Step):
            assert encode(fold.whole(read))
    longest = [value for view in history.cluster.nodes.values() for value in view.state.values()]
    assert max(len(value) for value in longest if isinstance(value, list)) < 200
    assert folds[0].verdicts()
