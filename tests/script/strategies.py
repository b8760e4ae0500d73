"""Hypothesis strategies for statements of the language: everything that ``parse`` can return."""

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from lab.script import predicates as p
from lab.script import values as v
from lab.script.commands import (
    FASTEST,
    SLOWEST,
    Cancel,
    Caption,
    Heal,
    Inject,
    LinkFault,
    LinkSet,
    NodeCommand,
    Nodes,
    Partition,
    ProtocolCommandLine,
    Slow,
    SlowDisk,
    WorldCommand,
)
from lab.script.statements import (
    CAUSES,
    After,
    At,
    BeforeMessage,
    Every,
    Expect,
    ExpectThroughout,
    ExpectViolation,
    OnMessage,
    OnStatus,
    OnStore,
    Statement,
    Trigger,
    When,
    covers_whole_run,
)
from lab.script.vocabulary import described_states, vocabulary

NUMBERS = st.integers(1, 5)
WHO = NUMBERS | st.sampled_from(("all", "any", "coordinator"))
TIMES = st.integers(0, 3_000_000) | st.sampled_from((0, 1, 1500, 300_000, 1_000_000, 90_000_000))
SHARES = st.sampled_from((0.0, 0.005, 0.07, 0.3, 0.29, 1.0)) | st.floats(0, 1).map(abs)
ELECTION_KINDS = st.sampled_from(("AreYouUp", "EnterElection", "NewState", "SetCoordinator"))
LINKS = st.tuples(NUMBERS, NUMBERS) | st.just((None, None))


def _nodes() -> st.SearchStrategy[Nodes]:
    words = st.lists(st.sampled_from(("all", "coordinator", "coordinators")), max_size=2).map(tuple)
    nodes = st.builds(Nodes, st.lists(NUMBERS, max_size=3).map(tuple), words)
    return nodes.filter(lambda named: named.ids or named.words)


def _links() -> st.SearchStrategy[LinkSet]:
    return st.builds(LinkSet, NODES) | st.builds(LinkSet, NODES, NODES, st.booleans())


NODES = _nodes()
LINK_SETS = _links()


def _faults() -> st.SearchStrategy[LinkFault]:
    def fault(verb: Any, **more: Any) -> st.SearchStrategy[LinkFault]:
        return st.builds(LinkFault, st.just(verb), LINK_SETS, **more)

    kinds = {"kinds": st.lists(ELECTION_KINDS, max_size=2).map(tuple)}
    return st.one_of(
        fault("delay", us=TIMES, jitter_us=TIMES, **kinds),
        fault("lose", probability=SHARES, **kinds),
        fault("duplicate", us=TIMES, probability=SHARES, **kinds),
        fault("reorder", us=TIMES, probability=SHARES, **kinds),
        fault("hold", **kinds),
        fault("cut"),
    )


def _of_world() -> st.SearchStrategy[WorldCommand]:
    def command(verb: Any, **more: Any) -> st.SearchStrategy[WorldCommand]:
        return st.builds(WorldCommand, st.just(verb), **more)

    return st.one_of(
        command("freeze"),
        command("go"),
        command("speed", factor=st.none() | st.floats(SLOWEST, FASTEST)),
        command("step", count=st.integers(1, 100)),
        command("choose", count=st.integers(1, 9)),
        command("deliver", source=NUMBERS, node=NUMBERS, kind=st.just("") | ELECTION_KINDS),
        command("fire", node=NUMBERS),
    )


WORLD_COMMANDS = _of_world()
COMMANDS = st.one_of(
    st.builds(NodeCommand, st.sampled_from(("kill", "restart", "pause", "resume", "wipe", "tear", "flip")), NODES),
    st.builds(NodeCommand, st.just("unwrite"), NODES, st.integers(1, 100)),
    st.builds(Slow, NODES, TIMES, TIMES),
    st.builds(SlowDisk, NODES, TIMES),
    _faults(),
    st.builds(Heal, st.none() | LINK_SETS, st.sampled_from(("heal", "release"))),
    st.builds(Heal, LINK_SETS, st.just("join")),
    st.builds(Cancel),
    st.builds(Partition, st.lists(NODES, min_size=1, max_size=3).map(tuple)),
    st.builds(Inject, NUMBERS, NUMBERS, ELECTION_KINDS, st.sampled_from(("{}", '{"a": [1, "}"]}', '{ "#": 2 }'))),
    st.builds(
        ProtocolCommandLine,
        NODES,
        st.just("publish"),
        st.lists(st.sampled_from(("a", "b|c", "3%", ":")), max_size=2).map(tuple),
    ),
    st.builds(ProtocolCommandLine, st.none() | NODES, st.sampled_from(("publish", "refuse"))),
    st.builds(
        ProtocolCommandLine,
        st.none() | NODES,
        st.sampled_from(("transfer", "withdraw", "transactions")),
        st.lists(st.sampled_from(("100", "12.50", "savings", "at", "20/s", ":")), max_size=3).map(tuple),
    ),
    st.builds(
        Caption, st.sampled_from(("say", "mark")), st.sampled_from(("x", "4 leads # now: 3->1 (all)", "ä ’ {"))
    ),
)


def _values() -> st.SearchStrategy[Any]:
    attributes = st.builds(
        v.Attribute, WHO, st.sampled_from(("status", "coordinator", "group", "version", "leads", "process", "up"))
    )
    counts = st.one_of(
        st.builds(v.Count, st.sampled_from(("live", "groups", "coordinators", "faults", "messages"))),
        st.builds(v.Count, st.just("messages"), ELECTION_KINDS),
        st.builds(
            lambda what, kind, link: v.Count(what, kind, *link),
            st.sampled_from(("flying", "held")),
            st.just("") | ELECTION_KINDS,
            LINKS,
        ),
    )
    quantities = st.builds(v.Quantity, st.sampled_from(vocabulary().quantities))
    balances = st.builds(v.Quantity, st.just("balance"), st.sampled_from(("savings", "account4-2")))
    numbers = st.builds(v.Number, st.integers(0, 99) | st.sampled_from((Decimal("0.00"), Decimal("12.50"))))
    return st.recursive(
        numbers | attributes | counts | quantities | balances,
        lambda inner: st.builds(v.Arithmetic, st.sampled_from("+-*/"), inner, inner),
        max_leaves=4,
    )


def _predicates() -> st.SearchStrategy[Any]:
    words = st.builds(
        v.Text, st.sampled_from(("Normal", "Election", "true", "false", "none", "running", "absent"))
    )
    operators = st.sampled_from(("==", "!=", "<", "<=", ">", ">="))
    leaves = st.one_of(
        st.builds(p.Compare, operators, VALUES, VALUES),
        st.builds(p.Compare, st.sampled_from(("==", "!=")), VALUES, words),
        st.builds(p.Compare, st.sampled_from(("==", "!=")), words, VALUES),
        st.builds(p.Is, WHO, st.sampled_from(tuple(described_states()))),
        st.builds(p.Suspects, NUMBERS, NUMBERS),
        st.builds(p.LinkIs, NUMBERS, NUMBERS),
    )

    def several(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.builds(p.Not, inner) | st.builds(p.And, parts) | st.builds(p.Or, parts)

    return st.recursive(leaves, several, max_leaves=5)


VALUES = _values()
PREDICATES = _predicates()
EXPECTATIONS = st.one_of(
    st.builds(Expect, PREDICATES, st.none() | TIMES),
    st.builds(ExpectThroughout, PREDICATES, st.booleans()),
    st.builds(
        ExpectViolation,
        st.sampled_from(("A1.1", "A3", "raises")),
        st.sampled_from(("", *CAUSES)),
    ),
    st.builds(ExpectViolation, st.sampled_from(("", "A1.1", "raises")), none=st.just(True)),
)
TRIGGERS = st.one_of(
    st.builds(At, TIMES),
    st.builds(After, TIMES),
    st.builds(When, PREDICATES),
    st.builds(
        lambda moment, kind, link, nth: OnMessage(moment, kind, link[0], link[1], nth),
        st.sampled_from(("send", "deliver", "drop")),
        ELECTION_KINDS,
        LINKS,
        st.integers(1, 4),
    ),
    st.builds(
        lambda moment, kind, link, nth: BeforeMessage(moment, kind, link[0], link[1], nth),
        st.sampled_from(("send", "deliver")),
        ELECTION_KINDS,
        LINKS,
        st.integers(1, 4),
    ),
    st.builds(OnStore, NUMBERS | st.just("any"), st.integers(1, 4)),
    st.builds(
        OnStatus, NUMBERS | st.just("any"), st.sampled_from(("Down", "Election", "Reorganization", "Normal"))
    ),
)
EVERY = st.builds(Every, st.integers(10_000, 3_000_000))


@st.composite
def scripted(draw: st.DrawFn) -> Statement:
    """A line; of ``text`` and ``source`` there is nothing in it."""
    triggers: list[Trigger] = draw(st.lists(TRIGGERS, max_size=3))
    command = draw(COMMANDS | EXPECTATIONS | WORLD_COMMANDS)
    alone = isinstance(command, ExpectViolation) or (isinstance(command, WorldCommand) and command.verb == "step")
    if alone:
        triggers = []
    elif draw(st.booleans()) and not isinstance(command, Expect | ExpectThroughout):
        triggers.append(draw(EVERY))
    first = triggers[0] if triggers else None
    must = isinstance(first, After) or (first is None and not covers_whole_run(command))
    return Statement(command, "", "", tuple(triggers), must or (not alone and draw(st.booleans())))
