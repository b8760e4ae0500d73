"""The built-in assertions, numbered as in the sources (rules from A1.1 on), and the nine assumptions.

They are declared as a user's own properties are; see ``lab.properties.declarations`` for the kinds.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from lab.histories.workloads import WORKLOADS
from lab.kernel import Log, Timing
from lab.properties.declarations import (
    Assertion,
    Assumption,
    Counterexample,
    Memory,
    Outcome,
    agreement,
    assumption,
    eventually,
    invariant,
    leads_to,
    over_history,
)
from lab.properties.states import GlobalState, LocalState, plain_entries
from lab.protocols.accounts import format_cents
from lab.recording.snapshot import NodeState

Keyed = tuple[Hashable, Hashable] | None
"""(key, value); None for a node that an agreement does not concern."""


def is_led(node: NodeState) -> bool:
    """Return whether the node is in Reorganization or Normal: it has a coordinator."""
    return node.status in ("Reorganization", "Normal")


def describe_state(node: NodeState) -> str:
    """Return the local state in words."""
    if "status" not in node.state:
        return _describe_fields(node)
    if not is_led(node) or node.coordinator is None:
        return node.status
    version = node.definition_version if node.status == "Normal" else 0
    group = f" in group {node.group[0]}.{node.group[1]}" if node.group else ""
    return f"{node.status} under {node.coordinator}{group}" + (f", definition {version}" if version else "")


def _describe_fields(node: NodeState) -> str:
    """Return the fields of a node without a Status."""
    fields = ", ".join(f"{name} {_short(value)}" for name, value in node.state.items())
    return f"{{{fields}}}" if fields else "Down"


def _short(value: object) -> str:
    if isinstance(value, Log):
        return _short_log(value)
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _short_log(log: Log[object]) -> str:
    """Return the last entries of a log, which decide: ``[…, yes 2.2, commit 2.1]``."""
    shown: list[str] = []
    for place in range(len(log) - 1, -1, -1):
        text = _short(log[place])
        if shown and sum(map(len, shown)) + len(text) > _LONGEST_LOG:
            return f"[{', '.join(['…', *shown])}]"
        shown.insert(0, text)
    return f"[{', '.join(shown)}]"


_LONGEST_VALUE = 20
_LONGEST_LOG = 40


# assumptions by name


@assumption
def no_failure_yet(state: GlobalState) -> Outcome:
    """No node has failed or been paused since the run began, and no assumption 1 to 9 was ever broken."""
    if state.failures:
        return "a node has failed"
    if any(view.process == "paused" for view in state.nodes.values()):
        return "a node is paused"
    broken = ", ".join(map(str, sorted(state.ever_broken)))
    return not broken or f"broken at some time: {broken}"


@assumption
def all_nodes_connected(state: GlobalState) -> Outcome:
    """All nodes are running, and no link is cut."""
    down = sorted(set(state.ids) - state.running.keys())
    if down:
        return f"node {down[0]} is not running"
    return not state.cut or "a link is cut"


BUILT_IN_ASSUMPTIONS: tuple[Assumption, ...] = (no_failure_yet, all_nodes_connected)
"""The assumptions beside the nine on which a property may rely, by name."""


# elections


@agreement(
    id="A1.1", short="one coordinator", concerned="in Reorganization or Normal", reads=("status", "coordinator")
)
def one_coordinator(node: LocalState) -> Keyed:
    """Any two nodes in Reorganization or Normal have the same Coordinator."""
    return ("", node.coordinator) if is_led(node) else None


@agreement(id="A1.2", short="one definition", concerned="Normal", reads=("status", "definition"))
def one_definition(node: LocalState) -> Keyed:
    """Any two nodes in Normal have the same Definition."""
    if node.status != "Normal":
        return None
    try:
        return "", msgspec.json.encode(node.state.get("definition"), order="deterministic")
    except RecursionError:
        return None  # a recording may nest it just deeply enough to be decoded


@eventually(
    id="A2",
    short="elects in time",
    statement="with no further failure, in a bounded time some node is Normal and its own Coordinator, and every "
    "other running node is Normal under it",
    met="agreed",
    reads=("status", "coordinator"),
)
def elects_in_time(state: GlobalState) -> Outcome:
    """All running nodes are Normal under one of them."""
    running = tuple(state.running.values())
    return _all_agree([running] if running else [])


def _all_agree(groups: Iterable[tuple[LocalState, ...]], same_group: bool = False) -> Outcome:
    """Judge whether the nodes of each set are Normal under one of them; None if there are no nodes."""
    found: Outcome = None
    disagreeing: list[LocalState] = []
    for nodes in groups:
        found = True
        if not _agree(nodes, same_group):
            disagreeing += nodes
    if not disagreeing:
        return found
    return Counterexample("the nodes have not agreed", tuple(node.id for node in disagreeing))


def _agree(nodes: tuple[LocalState, ...], same_group: bool) -> bool:
    """Return whether the nodes are Normal under one of them and, if required, in one group."""
    leader, leader_is_here = nodes[0].coordinator, False
    for node in nodes:
        if node.status != "Normal" or node.coordinator != leader:
            return False
        leader_is_here = leader_is_here or node.id == leader
    return leader_is_here and not (same_group and len({node.group for node in nodes}) > 1)


@eventually(
    id="highest",
    short="the highest leads",
    statement="with no further failure, in a bounded time the highest running node leads",
    reads=("status", "coordinator"),
)
def highest_leads(state: GlobalState) -> Outcome:
    """Judge whether the nodes that agree follow the highest of them (rules B4, T4 and R3)."""
    running = tuple(state.running.values())
    if _all_agree([running] if running else []) is not True:
        return None  # A2 is about these
    highest = max(node.id for node in running)
    leader = next(node.id for node in running if node.leads)
    return leader == highest or Counterexample(f"{leader} leads, and {highest} is running", (leader, highest))


@invariant(id="M7", short="works while Normal", reads=("status", "processing"), relies_on=())
def works_while_normal(state: GlobalState) -> Outcome:
    """Each node performs its task while it is Normal, and in no other status."""
    is_judged = False
    wrong: list[LocalState] = []
    for node in state:
        works, may_work = node.state.get("processing") is True, node.status == "Normal"
        is_judged |= works or may_work
        if works != may_work:
            wrong.append(node)
    if not wrong:
        return is_judged or None
    described = " and ".join(
        f"{node.id} {'performs a task' if node.state.get('processing') is True else 'is idle'} in {node.status}"
        for node in wrong
    )
    return Counterexample(described, tuple(node.id for node in wrong))


@over_history(
    id="B10",
    short="definitions get newer",
    noun="definition",
    done="adopted",
    marked=True,
    reads=("status", "definition"),
)
def definitions_get_newer(adopted: Memory, before: LocalState, after: LocalState) -> Outcome:
    """Each node that becomes Normal under another Definition than its last one adopts a newer one."""
    definition = after.state.get("definition")
    if after.status != "Normal" or definition is None:
        return None
    version, known = after.definition_version, adopted.get(after.id)
    if known == version and before.state.get("definition") == definition:
        return None
    if known is not None and version <= known:
        text = f"{after.id} adopts another definition of version {version} after one of version {known}"
        return Counterexample(text, (after.id,), shown_by=(after.id,))
    adopted.note(after.id, version, after, f"the node that adopts version {version}")
    return True


@over_history(
    id="newer",
    short="definitions get newer while up",
    noun="definition",
    done="adopted",
    reads=("status", "definition"),
)
def definitions_get_newer_while_up(adopted: Memory, before: LocalState, after: LocalState) -> Outcome:
    """Each node that becomes Normal under another Definition than its last one since its start adopts a newer one.

    For protocols that keep no version in stable storage: after a crash, a node may adopt any version again.
    """
    if not after.definition_version:
        adopted.pop(after.id, None)  # it has started anew
    found: Outcome = definitions_get_newer(adopted, before, after)
    return found


def _notice_us(timing: Timing, parameters: Mapping[str, Any], settles_us: int) -> int:
    """Return the time for the next question to the coordinator, and for its answer; both timers may be late."""
    every_us = parameters.get("ask_every_us")
    asks_us = every_us if isinstance(every_us, int) and every_us > 0 else timing.t_us
    return asks_us + timing.t_us + 2 * timing.tp_us


@leads_to(
    id="notices",
    short="notices in time",
    noun="crashed coordinator",
    done="given up",
    reads=("status", "coordinator", "outbox"),
    within=_notice_us,
)
def crashes_are_noticed(state: GlobalState) -> Iterator[Counterexample]:
    """Every node that follows a crashed coordinator notices that with its next question, and leaves it.

    A member of a ring asks nothing while it has messages to pass on.
    """
    for node in state.running.values():
        leader = node.coordinator
        if is_led(node) and leader in state.ids and leader not in state.nodes and not _list_of(node, "outbox"):
            yield Counterexample(f"{node.id} follows {leader}, which has crashed", (node.id,))


def _spread_us(timing: Timing, parameters: Mapping[str, Any], settles_us: int) -> int:
    """Return the time to elect, and then for a question that is under way, and for another one."""
    return settles_us + 2 * _notice_us(timing, parameters, settles_us)


@eventually(
    id="spreads",
    short="definitions spread",
    statement="with no further failure, in a bounded time all running nodes have the same Definition, and are its "
    "members",
    reads=("status", "coordinator", "definition"),
    within=_spread_us,
)
def definitions_spread(state: GlobalState) -> Outcome:
    """Judge the nodes that agree on a coordinator: what it defines, they learn with their questions."""
    running = tuple(state.running.values())
    if _all_agree([running] if running else []) is not True:
        return None  # A2 is about these
    leader = next(node for node in running if node.leads)
    newest = leader.state.get("definition")
    behind = [node.id for node in running if node.state.get("definition") != newest]
    if behind:
        return Counterexample(f"{behind[0]} has not the Definition of {leader.id}", (behind[0], leader.id))
    members = newest.get("members") if isinstance(newest, dict) else None
    there = sorted(node.id for node in running)
    if isinstance(members, list | tuple) and list(members) == there:
        return True
    return Counterexample(f"the members of the Definition are {members}, and {there} are running", (leader.id,))


@invariant(
    id="defined",
    short="definitions of the coordinator",
    reads=("status", "coordinator", "definition"),
    relies_on=(),
)
def definition_of_the_coordinator(state: GlobalState) -> Outcome:
    """Each Normal node has a Definition of its coordinator, and is one of its members."""
    is_judged = False
    for node in state:
        if node.status != "Normal":
            continue
        is_judged = True
        definition = node.state.get("definition")
        by = definition.get("coordinator") if isinstance(definition, dict) else None
        if by != node.coordinator:
            text = f"{node.id} is Normal under {node.coordinator}, with a Definition of {_short(by)}"
            return Counterexample(text, (node.id,))
        if node.id not in _definition_list(node, "members"):
            return Counterexample(f"{node.id} is Normal, and no member of its Definition", (node.id,))
    return is_judged or None


@over_history(
    id="stages",
    short="stages in order",
    noun="stage",
    done="entered",
    reads=("status", "coordinator", "halted", "up"),
    relies_on=(),
)
def stages_in_order(entered: Memory, before: LocalState, after: LocalState) -> Outcome:
    """Each node enters Reorganization from Election, under the node that has halted it, and then becomes Normal.

    A coordinator that no other node follows has nobody to wait for between the stages.
    """
    if (before.status, before.coordinator) == (after.status, after.coordinator) or not is_led(after):
        return None
    if after.state.get("halted") != after.coordinator:
        text = f"{after.id} follows {after.coordinator}, halted by {_short(after.state.get('halted'))}"
        return Counterexample(text, (after.id,))
    stage = "Reorganization" if after.status == "Normal" else "Election"
    waits = after.coordinator != after.id or after.state.get("up")
    if waits and before.status != stage:
        return Counterexample(f"{after.id} enters {after.status} from {before.status}", (after.id,))
    return True


# elections of groups


@agreement(
    id="A3.1",
    short="one coordinator per group",
    concerned="in Reorganization or Normal in a group",
    marked=True,
    reads=("status", "coordinator", "group"),
)
def one_coordinator_per_group(node: LocalState) -> Keyed:
    """Any two nodes in Reorganization or Normal in the same Group have the same Coordinator."""
    return (node.group, node.coordinator) if is_led(node) and node.group else None


@agreement(
    id="A3.2",
    short="one definition per group",
    concerned="Normal in a group",
    marked=True,
    reads=("status", "definition", "group"),
)
def one_definition_per_group(node: LocalState) -> Keyed:
    """Any two nodes in Normal in the same Group have the same Definition."""
    definition = one_definition.value_of(node)
    return (node.group, definition[1]) if definition is not None and node.group else None


@eventually(
    id="A4",
    short="merges in time",
    statement="with no further failure, in a bounded time, in any set of running nodes that can all talk to each "
    "other, and to no others, some node is Normal and its own Coordinator, and all are Normal under it in the "
    "same Group",
    met="agreed",
    despite_cuts=True,
    reads=("status", "coordinator", "group"),
)
def merges_in_time(state: GlobalState) -> Outcome:
    """All running nodes that can talk to each other are Normal under one of them, in one group."""
    running = state.running
    return _all_agree((tuple(running[node] for node in group) for group in state.groups()), same_group=True)


@over_history(id="A5", short="identifiers are new", noun="group", done="entered", marked=True, reads=("group",))
def identifiers_are_new(formed: Memory, before: LocalState, after: LocalState) -> Outcome:
    """No group identifier is used a second time, by any node, across any crash."""
    group = after.group
    if group is None or group == before.group or group[0] != after.id:
        return None
    return formed.claim(f"group {group[0]}.{group[1]}")


# transactions


_OUTCOMES = {"committed": "commits", "aborted": "aborts"}
"""The verb for each kind of log entry that decides a transaction."""


@over_history(id="A6", short="one outcome", noun="transaction", done="decided", marked=True, reads=("log",))
def one_outcome(outcomes: Memory, before: LocalState, after: LocalState) -> Outcome:
    """No transaction is committed at one node and aborted at another."""
    found: Outcome = None
    for transaction, kind, _ in _new_entries(before, after):
        if kind not in _OUTCOMES or (transaction, kind) in outcomes:
            continue
        outcomes.note((transaction, kind), True, after, f"the node that {_OUTCOMES[kind]} {transaction}")
        both = [(transaction, each) for each in _OUTCOMES]
        if all(each in outcomes for each in both):
            committed, aborted = map(outcomes.node_of, both)
            text = f"transaction {transaction} is committed at {committed} and aborted at {aborted}"
            return Counterexample(text, shown_by=tuple(both))
        found = True
    return found


@over_history(id="A7", short="all voted YES", noun="transaction", done="decided", marked=True, reads=("log",))
def all_voted_yes(votes: Memory, before: LocalState, after: LocalState) -> Outcome:
    """No node that voted NO commits, and what is committed has the vote YES of every participant."""
    found: Outcome = None
    touched: dict[str, None] = {}
    for transaction, kind, entry in _new_entries(before, after):
        touched[transaction] = None
        yes, no = (("YES", transaction, after.id), ("NO", transaction, after.id))
        _note_participants(votes, transaction, entry)
        if kind == "prepared" and yes not in votes and no not in votes:
            votes.note(yes, True, after, f"the node that votes YES on {transaction}")
        elif kind == "aborted" and yes not in votes and no not in votes:
            votes.note(no, True, after, f"the node that votes NO on {transaction}")
        if kind == "committed":
            votes.setdefault(("committing", transaction), set()).add(after.id)
            if ("committed", transaction) not in votes:
                votes.note(("committed", transaction), True, after, f"the node that commits {transaction}")
        if kind in _OUTCOMES and ("decided", transaction) not in votes:
            votes["decided", transaction] = found = True
    for transaction in touched:
        committed, reported = ("committed", transaction), ("reported", transaction)
        if committed not in votes or reported in votes:
            continue
        # the node that led its termination may have had no part in it, and no vote
        concerned = votes.get(("participants", transaction)) or votes["committing", transaction]
        missing = next((node for node in sorted(concerned) if ("YES", transaction, node) not in votes), None)
        if missing is not None:
            votes[reported] = True
            no = ("NO", transaction, missing)
            how = "voted NO" if no in votes else "has not voted YES"
            text = f"transaction {transaction} is committed at {votes.node_of(committed)}, and {missing} {how}"
            return Counterexample(text, shown_by=(committed, no) if no in votes else (committed,))
    return found


_STATES = {"precommit": "commitable", "preabort": "abortable"}
"""The state of a participant after each kind of log entry between its vote and the decision."""

Attempt = tuple[int, int]
"""The number and the leader of an attempt to end a transaction."""
_COORDINATORS = (0, 0)
"""The attempt of the transaction's own coordinator."""


@over_history(
    id="quorum",
    short="a majority decides",
    statement="no transaction commits before more than half of its participants were commitable in one attempt, "
    "or aborts, once one was commitable, before more than half were abortable in one attempt",
    noun="transaction",
    done="decided by a majority",
    marked=True,
    reads=("log",),
)
def majority_decides(states: Memory, before: LocalState, after: LocalState) -> Outcome:
    """Judge the first decision of each transaction: any two majorities meet, and so A6 follows (P4, P6, P7)."""
    found: Outcome = None
    for transaction, kind, entry in _new_entries(before, after):
        if ("decided", transaction) in states:
            continue
        participants = _note_participants(states, transaction, entry)
        if kind in _STATES:
            states.setdefault((kind, transaction), {}).setdefault(_attempt(entry), set()).add(after.id)
        elif kind in _OUTCOMES:
            states["decided", transaction] = True
            of_kind = {each: states.pop((each, transaction), {}) for each in _STATES}
            if kind == "aborted" and not of_kind["precommit"]:
                continue  # for a vote NO, or one that is missing
            needed = "precommit" if kind == "committed" else "preabort"
            most = max((len(nodes & participants) for nodes in of_kind[needed].values()), default=0)
            if 2 * most <= len(participants):
                text = f"{most} of its {len(participants)} participants were {_STATES[needed]} in one attempt"
                return Counterexample(f"{after.id} {_OUTCOMES[kind]} {transaction}, though {text}", (after.id,))
            found = True
    return found


@over_history(
    id="attempts",
    short="attempts go on",
    statement="each attempt to end a transaction brings all to one state, that of the newest attempt which a "
    "majority of them knew when it joined, and nobody takes part in an attempt older than one which it has joined",
    noun="attempt",
    done="begun",
    marked=True,
    reads=("log",),
)
def attempts_go_on(states: Memory, before: LocalState, after: LocalState) -> Outcome:
    """Judge each attempt by what its participants were when they joined it (P7)."""
    found: Outcome = None
    for transaction, kind, entry in _new_entries(before, after):
        participants, attempt = _note_participants(states, transaction, entry), _attempt(entry)
        entries = states.setdefault(("entries", transaction, after.id), [])
        if kind not in ("joined", *_STATES) or (kind, attempt) in entries:
            continue  # a node that starts again has its whole log anew
        newest = max((joined for each, joined in entries if each == "joined"), default=_COORDINATORS)
        state = next((each for each in reversed(entries) if each[0] in _STATES), ("", _COORDINATORS))
        entries.append((kind, attempt))
        joined = states.setdefault(("joined", transaction, attempt), [])
        does = "joins" if kind == "joined" else f"becomes {_STATES[kind]} in"
        what = f"{after.id} {does} attempt {attempt[0]} of {attempt[1]} to end {transaction}"
        if attempt < newest:
            return Counterexample(f"{what}, after it joined attempt {newest[0]} of {newest[1]}", (after.id,))
        if kind == "joined":
            joined.append(state)
        elif (kind, transaction, attempt) not in states and attempt != _COORDINATORS:
            this, other = ((each, transaction, attempt) for each in (kind, *(_STATES.keys() - {kind})))
            states.note(this, True, after, f"the first that is {_STATES[kind]} in the attempt")
            if other in states:
                text = f"{what}, and {states.node_of(other)} has become {_STATES[other[0]]} in it"
                return Counterexample(text, shown_by=(other, this))
            if not _goes_on(kind, joined, len(participants)):
                return Counterexample(f"{what}, and no majority that joined it lets this follow", (after.id,))
            found = True
    return found


def _goes_on(kind: str, joined: Collection[tuple[str, Attempt]], participants: int) -> bool:
    """Return whether a state follows from what a majority of the participants were when they joined an attempt.

    The newest attempt in which one of them entered a state decides; without any, they become abortable.
    """
    if kind == "preabort" and 2 * sum(not each for each, _ in joined) > participants:
        return True
    newest = max((attempt for each, attempt in joined if each == kind), default=None)
    return newest is not None and 2 * sum(not each or at <= newest for each, at in joined) > participants


def _note_participants(memory: Memory, transaction: str, entry: Mapping[str, Any]) -> set[int]:
    """Return the participants of a transaction, as far as its log entries have named them."""
    participants: set[int] = memory.setdefault(("participants", transaction), set())
    participants.update(_participants(entry))
    return participants


def _attempt(entry: Mapping[str, Any]) -> Attempt:
    match entry.get("round"):
        case [int(number), int(leader)]:
            return number, leader
    return _COORDINATORS


@invariant(id="commits", short="commits if all vote YES", reads=("log",), relies_on=(no_failure_yet,))
def commits_if_all_vote_yes(state: GlobalState) -> Outcome:
    """As long as no node fails, a transaction commits if all its participants vote YES.

    It is judged by commits alone (rule C1): if no transaction ever commits, there is nothing to judge.
    """
    if no_failure_yet(state) is not True:
        return None
    votes = state.derived(_Votes)
    for node in state:
        votes.take_in(node)
    return votes.outcome


class _Votes:
    """The votes and the decisions in the logs of a run, taken in as the logs grow."""

    def __init__(self) -> None:
        self._known: dict[int, LocalState] = {}
        self._participants: dict[str, set[int]] = {}
        self._yes: dict[str, set[int]] = {}
        self._aborted: dict[str, int] = {}
        self.outcome: Outcome = None

    def take_in(self, node: LocalState) -> None:
        """Take in what is new in the log of a node, and whether a transaction aborts that should not."""
        before = self._known.get(node.id)
        self._known[node.id] = node
        touched: dict[str, None] = {}
        for entry in plain_entries(node.state.get("log")) if before is None else node.appended("log", before):
            transaction, kind = _transaction_name(entry), entry.get("what") if isinstance(entry, dict) else ""
            touched[transaction] = None
            if kind in ("begin", "prepared"):
                self._participants.setdefault(transaction, set()).update(_participants(entry))
            if kind == "prepared":
                self._yes.setdefault(transaction, set()).add(node.id)
            elif kind == "aborted":
                self._aborted[transaction] = node.id
            elif kind == "committed" and self.outcome is None:
                self.outcome = True
        for transaction in touched:
            concerned, by = self._participants.get(transaction), self._aborted.get(transaction)
            if by is not None and concerned and concerned <= self._yes.get(transaction, set()):
                self.outcome = Counterexample(f"{by} aborts {transaction}, and all have voted YES", (by,))


def _new_entries(before: LocalState, after: LocalState) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the transaction, the kind and the whole of each new entry of a log."""
    for entry in after.appended("log", before):
        transaction, kind = _transaction_name(entry), entry.get("what") if isinstance(entry, dict) else None
        if transaction and isinstance(kind, str):
            yield transaction, kind, entry


def _participants(entry: Mapping[str, Any]) -> list[int]:
    participants = entry.get("participants")
    return [each for each in participants if isinstance(each, int)] if isinstance(participants, list) else []


@over_history(
    id="A8",
    short="no cent is lost",
    statement="whenever no transaction is open, all accounts and the cash paid out add up to the opening total",
    noun="settled state",
    done="reached",
    marked=True,
    reads=("balances", "open"),
)
def no_cent_is_lost(money: Memory, before: LocalState, after: LocalState) -> Outcome:
    """Judge the total in each settled state: no transaction is open, and one was open before.

    A node that is down counts with its last accounts. Money is in transit only while a transaction is open.
    """
    was, now = ([node.state.get(name) for name in ("balances", "cash_out", "open")] for node in (before, after))
    if was == now:
        return None
    opening = money.setdefault("opening", {})
    if was[:2] != now[:2] or after.id not in opening:
        cents = _cents(after)
        opening.setdefault(after.id, cents)
        if money.get(("now", after.id)) != cents:
            shows = f"a node with {format_cents(cents)}, cash paid out included"
            money.note(("now", after.id), cents, after, shows)
    unsettled = money.setdefault("unsettled", set())
    (unsettled.add if _open_transactions(after) else unsettled.discard)(after.id)
    if unsettled:
        money["begun"] = True
        return None
    first, total = sum(opening.values()), sum(money["now", node] for node in opening)
    was_off, money["difference"] = money.get("difference", 0), total - first
    if total == first:
        return True if "begun" in money else None
    if total - first == was_off:
        return None  # it was reported
    word = "lost" if total < first else "too much"
    text = (
        f"{format_cents(abs(total - first))} is {word}: with no transaction open, all accounts and the cash "
        f"paid out add up to {format_cents(total)}, at first to {format_cents(first)}"
    )
    changed = [node for node in sorted(opening) if money["now", node] != opening[node]]
    return Counterexample(text, shown_by=tuple(("now", node) for node in changed))


def _cents(node: NodeState) -> int:
    """Return the money of a node: its accounts, and the cash it has paid out."""
    cash_out = node.state.get("cash_out")
    handed_out = cash_out if isinstance(cash_out, int) and abs(cash_out) < MOST_CENTS else 0
    return sum(cents for _, cents in _accounts(node)) + handed_out


@invariant(id="solvent", short="no overdraft", marked=True, reads=("balances", "locks"), relies_on=(4,))
def solvent(state: GlobalState) -> Outcome:
    """No account is below zero at any node."""
    debts = [(node.id, name, cents) for node in state for name, cents in _accounts(node) if cents < 0]
    if not debts:
        is_used = any(node.state.get("locks") for node in state)  # by a transaction, which alone can overdraw
        return True if is_used else None
    described = " and ".join(f"{_short(name)} of {node} has {format_cents(cents)}" for node, name, cents in debts)
    return Counterexample(described, tuple(dict.fromkeys(node for node, _, _ in debts)))


def _accounts(node: NodeState) -> Iterator[tuple[str, int]]:
    """Yield the accounts of a node, in cents."""
    balances = node.state.get("balances")
    for held in balances if isinstance(balances, list | tuple) else ():
        match held:
            case [str(name), int(cents)] if abs(cents) < MOST_CENTS:
                yield name, cents


MOST_CENTS = 10**15
"""Larger numbers in a recording are not amounts."""


@leads_to(
    id="ends",
    short="ends in time",
    statement="with no further failure, in a bounded time no transaction is open at any node, once all nodes are "
    "up and can talk to each other",
    noun="transaction",
    done="ended",
    settles=True,
    marked=True,
    reads=("open",),
    relies_on=(4, all_nodes_connected),  # it is judged only when all other assumptions have long held
)
def transactions_end(state: GlobalState) -> Iterator[Counterexample]:
    """Every transaction ends."""
    nodes: dict[str, list[int]] = {}
    for node in state:
        for transaction in _open_transactions(node):
            nodes.setdefault(transaction, []).append(node.id)
    for transaction, places in nodes.items():
        yield Counterexample(f"transaction {transaction} is still open", tuple(places))


@leads_to(
    id="nonblocking",
    short="does not block",
    statement="with no further failure, in a bounded time each transaction is decided at all nodes that are up, "
    "if more than half of its participants are up, and none is commitable beside an abortable one",
    noun="transaction",
    done="decided",
    settles=True,
    marked=True,
    reads=("open",),
    relies_on=(4,),  # it is judged only when all other assumptions have long held
)
def majorities_decide(state: GlobalState) -> Iterator[Counterexample]:
    """Every transaction is decided by a majority that is up (rules C3, P5), but for the case of rule P7."""
    undecided: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for node in state.running.values():
        for entry in _list_of(node, "open"):
            name = _transaction_name(entry)
            if name and entry.get("state") not in ("committed", "aborted"):
                undecided.setdefault(name, []).append((node.id, entry))
    for name, entries in undecided.items():
        participants = {each for _, entry in entries for each in _nodes_in(entry, "participants")}
        states = {str(entry.get("state")) for _, entry in entries}
        is_majority = 2 * len(participants & state.running.keys()) > len(participants)
        if (is_majority or not participants) and not {"commitable", "abortable"} <= states:
            text = f"transaction {name} is undecided, though most of its participants are up"
            yield Counterexample(text, tuple(node for node, _ in entries))


def _nodes_in(entry: Mapping[str, Any], name: str) -> Sequence[int]:
    """Return the ids in a list of an entry; empty if there is none."""
    found = entry.get(name)
    return [each for each in found if isinstance(each, int)] if isinstance(found, list | tuple) else []


def _open_transactions(node: NodeState) -> list[str]:
    """Return the names of the transactions that are open at a node."""
    opened = node.state.get("open")
    names = map(_transaction_name, opened if opened and isinstance(opened, list | tuple) else ())
    return [name for name in names if name]


def _transaction_name(entry: object) -> str:
    """Return the name of the transaction that an entry of a list or a log is about; empty if it is about none."""
    match entry:
        case {"transaction": [int(coordinator), int(number)]}:
            return f"{coordinator}.{number}"
    return ""


@invariant(id="shows", short="shows what is undecided", reads=("status", "open"), relies_on=())
def shows_what_is_undecided(state: GlobalState) -> Outcome:
    """Each node shows that it is Blocked, or Uncertain, exactly while a transaction is so; if none is open, Idle.

    By rules C2 and C4, a participant is uncertain from its vote YES on; it is blocked if nobody whom it can ask
    knows the decision.
    """
    is_judged = False
    for node in state:
        if node.status == "Down":
            continue  # it has made no step yet
        opened = [each for each in _list_of(node, "open") if isinstance(each, dict)]
        is_judged |= bool(opened)
        uncertain = (each for each in opened if each.get("state") == "uncertain")
        if any(each.get("blocked_us") is not None for each in opened):
            shown = "Blocked"
        elif any(not _transaction_name(each).startswith(f"{node.id}.") for each in uncertain):
            shown = "Uncertain"
        else:
            shown = "Working" if opened else "Idle"
        if node.status != shown:
            return Counterexample(f"{node.id} shows {node.status}, and is {shown}", (node.id,))
    return is_judged or None


def _list_of(node: NodeState, name: str) -> Sequence[Any]:
    """Return a list in the state of a node; empty if there is none."""
    found = node.state.get(name)
    return found if isinstance(found, list | tuple) else ()


# surveys and tokens


@over_history(
    id="A9", short="one publication", noun="edition", done="published", marked=True, reads=("published",)
)
def one_publication(published: Memory, before: LocalState, after: LocalState) -> Outcome:
    """Each edition of the survey is published by at most one operation, ever."""
    # the newest edition that the node knows, and the operation that published it, by its state
    match after.state.get("published"):
        case [int(edition), int(node), int(number)] if edition > 0:
            key = f"edition {edition}"
            is_first = key not in published
            found = published.claim(key, f"operation {number} of {node}")
            return found if is_first or isinstance(found, Counterexample) else None
    return None


@leads_to(
    id="editions",
    short="editions spread",
    statement="with no further failure, in a bounded time all nodes know each edition of the survey, and none is "
    "pledged to an operation, once all nodes are up and can talk to each other",
    noun="edition",
    done="learned",
    marked=True,
    reads=("published", "pledge"),
    relies_on=(4, all_nodes_connected),  # it is judged only when all other assumptions have long held
    within=lambda timing, parameters, settles_us: settles_us + 20 * timing.t_us,
)
def editions_spread(state: GlobalState) -> Iterator[Counterexample]:
    """Every member learns each edition, and every vote for one is followed by the decision (rule F4).

    The decision is resent every 5T and asked for every 3T; twice as often as needed, and no timer is that late.
    """
    known = {node.id: _edition_of(node) for node in state}
    newest = max(known.values(), default=0)
    for node in state:
        if known[node.id] < newest:
            yield Counterexample(f"{node.id} does not know edition {newest}", (node.id,))
        match node.state.get("pledge"):
            case [int(edition), int(at), int(number)]:
                text = f"{node.id} is still pledged to operation {number} of {at} for edition {edition}"
                yield Counterexample(text, (node.id,))


def _edition_of(node: NodeState) -> int:
    """Return the newest edition that the node knows; 0 if it knows none."""
    match node.state.get("published"):
        case [int(edition), *_]:
            return edition
    return 0


@invariant(id="surveys", short="surveys its share", reads=("status", "definition", "surveying"), relies_on=())
def surveys_its_share(state: GlobalState) -> Outcome:
    """Each node surveys only while it is Normal, and only regions that its Definition gives it."""
    surveying = [(node, node.state.get("surveying")) for node in state]
    at_work = [(node, region) for node, region in surveying if isinstance(region, int)]
    for node, region in at_work:
        if node.status != "Normal":
            return Counterexample(f"{node.id} surveys region {region} in {node.status}", (node.id,))
        shared_out = _definition_list(node, "regions")
        if not 0 <= region < len(shared_out) or shared_out[region] != node.id:
            text = f"{node.id} surveys region {region}, which its Definition does not give it"
            return Counterexample(text, (node.id,))
    return bool(at_work) or None


@invariant(id="shares", short="all regions are shared out", reads=("status", "definition"), relies_on=())
def all_regions_are_shared_out(state: GlobalState) -> Outcome:
    """In the Definition of each Normal node, every region is given to one of the members."""
    is_judged = False
    for node in state:
        shared_out, members = (_definition_list(node, name) for name in ("regions", "members"))
        if node.status != "Normal" or not shared_out:
            continue
        is_judged = True
        strangers = [each for each in shared_out if each not in members]
        if strangers:
            text = f"the Definition of {node.id} gives a region to {_short(strangers[0])}, which is no member"
            return Counterexample(text, (node.id,))
    return is_judged or None


def _definition_list(node: NodeState, name: str) -> Sequence[Any]:
    """Return a list in the Definition of a node; empty if there is none."""
    definition = node.state.get("definition")
    found = definition.get(name) if isinstance(definition, dict) else None
    return found if isinstance(found, list | tuple) else ()


def _joined_us(timing: Timing, parameters: Mapping[str, Any], settles_us: int) -> int:
    """Return the time to find a coordinator, and then for two readings with their reports, each timer late."""
    reading_us = parameters.get("reading_every_us")
    takes_us = reading_us if isinstance(reading_us, int) and reading_us > 0 else timing.t_us
    return settles_us + 2 * (takes_us + timing.t_us + 2 * timing.tp_us)


@leads_to(
    id="joins",
    short="results are joined",
    noun="result",
    done="joined",
    reads=("status", "coordinator", "survey"),
    within=_joined_us,
)
def results_are_joined(state: GlobalState) -> Iterator[Counterexample]:
    """Every result of the survey that a member knows, its coordinator gets to know in a bounded time."""
    leaders = {node.id: _survey_of(node) for node in state.running.values() if node.leads}
    for node in state.running.values():
        if node.status != "Normal" or node.leads or node.coordinator not in leaders:
            continue
        number, done = _survey_of(node)
        known_number, known = leaders[node.coordinator]
        if number > known_number:
            yield Counterexample(f"{node.coordinator} does not know survey {number} of {node.id}", (node.id,))
        elif number == known_number and done != known:
            for region, by in enumerate(done):
                if by != _NOBODY and (region >= len(known) or known[region] == _NOBODY):
                    text = (
                        f"{node.coordinator} does not know region {region} of survey {number}, as {node.id} does"
                    )
                    yield Counterexample(text, (node.id,))


@over_history(
    id="counts",
    short="readings are counted",
    statement="each node counts each of its readings once; and no node knows more results than readings, or "
    "counts other duplicates than the difference",
    noun="reading",
    done="counted",
    reads=("survey", "first_reading_us", "duplicates", "definition"),
    relies_on=(),
)
def readings_are_counted(counted: Memory, before: LocalState, after: LocalState) -> Outcome:
    """Work that is done twice is counted, and no result comes from nowhere (rule F3).

    Each incarnation of a node counts from its own first reading on.
    """
    made = _readings_of(after)
    if not made:
        return None
    own = after.id, after.state.get("first_reading_us")
    known, now = counted.get(own, 0), made.get(own, 0)  # type: ignore[arg-type]  # None is in no count
    counted[own] = now
    if not known <= now <= known + 1:
        return f"{after.id} counts {now} readings of its own after {known}"
    number, done = _survey_of(after)
    regions = len(_definition_list(after, "regions") or done)
    duplicates = sum(made.values()) - (number - 1) * regions - sum(by != _NOBODY for by in done)
    if duplicates < 0:
        return f"{after.id} knows {-duplicates} results more than readings"
    if after.state.get("duplicates") != duplicates:
        return f"{after.id} counts {_short(after.state.get('duplicates'))} duplicates of {duplicates}"
    return True


def _readings_of(node: NodeState) -> dict[tuple[int, int], int]:
    """Return the readings that the node knows of, by the node that made them and the time of its first one."""
    survey = node.state.get("survey")
    counts = survey.get("made") if isinstance(survey, dict) else None
    found = {}
    for made in counts if isinstance(counts, list | tuple) else ():
        match made:
            case [int(maker), int(since_us), int(readings)]:
                found[maker, since_us] = readings
    return found


_NOBODY = -1
"""The node that has surveyed a region which none has, as a survey records it."""


def _survey_of(node: NodeState) -> tuple[int, Sequence[Any]]:
    """Return the number of the survey that the node is at, and who surveyed each region in it."""
    survey = node.state.get("survey")
    if not isinstance(survey, dict):
        return 1, ()
    number, done = survey.get("number", 1), survey.get("done", ())
    return number if isinstance(number, int) else 1, done if isinstance(done, list | tuple) else ()


@agreement(id="K1", short="one token", concerned="Inside or Holding", marked=True, reads=("status",))
def one_token(node: LocalState) -> Keyed:
    """At most one node holds the token, in every consistent state."""
    return ("token", node.id) if node.status in ("Inside", "Holding") else None


@leads_to(
    id="K2",
    short="requests are served",
    noun="request",
    done="served",
    reads=("status",),
    relies_on=(no_failure_yet,),
)
def requests_are_served(state: GlobalState) -> Iterator[Counterexample]:
    """Every request for the token is served as long as no node fails."""
    for node in state:
        if node.status == "Waiting":
            yield Counterexample(f"{node.id} waits for the token", (node.id,))


@invariant(id="idle", short="idle nodes do not queue", reads=("status", "guess", "next"), relies_on=())
def idle_nodes_do_not_queue(state: GlobalState) -> Outcome:
    """No node that is Idle takes itself for the last in the queue, or has a next one.

    By the text of section 10.1, a node is the last in the queue from its request on, until it hears of another; it
    forgets the next one as it passes the token on.
    """
    idle = [node for node in state if node.status == "Idle" and "guess" in node.state]
    queued = [node.id for node in idle if node.state["guess"] == node.id or node.state.get("next") is not None]
    if not queued:
        return bool(idle) or None
    return Counterexample(f"{queued[0]} is Idle, and in the queue", (queued[0],))


def _stay_us(timing: Timing, parameters: Mapping[str, Any], settles_us: int) -> int:
    """Return the time inside the critical section, with a timer that is as late as it may be."""
    hold_us = parameters.get("hold_us")
    return (hold_us if isinstance(hold_us, int) and hold_us > 0 else timing.t_us) + timing.tp_us


@leads_to(id="leaves", short="leaves in time", noun="stay", done="ended", reads=("status",), within=_stay_us)
def stays_end(state: GlobalState) -> Iterator[Counterexample]:
    """Every node leaves its critical section in time."""
    for node in state:
        if node.status == "Inside":
            entry = node.state.get("entries")  # it may leave and enter again in one step
            yield Counterexample(f"{node.id} is inside its critical section (entry {entry})", (node.id,))


# every protocol

RAISES = Assertion("raises", "no node fails because of an error in its own code", short="no error raised")


A1_1, A1_2, A2, HIGHEST, M7, STAGES, B10, NEWER, NOTICES, SPREADS, DEFINED, A3_1, A3_2, A4, A5 = (
    one_coordinator,
    one_definition,
    elects_in_time,
    highest_leads,
    works_while_normal,
    stages_in_order,
    definitions_get_newer,
    definitions_get_newer_while_up,
    crashes_are_noticed,
    definitions_spread,
    definition_of_the_coordinator,
    one_coordinator_per_group,
    one_definition_per_group,
    merges_in_time,
    identifiers_are_new,
)
A6, A7, QUORUM, ATTEMPTS, A8, SOLVENT, COMMITS, SHOWS, ENDS, NONBLOCKING = (
    one_outcome,
    all_voted_yes,
    majority_decides,
    attempts_go_on,
    no_cent_is_lost,
    solvent,
    commits_if_all_vote_yes,
    shows_what_is_undecided,
    transactions_end,
    majorities_decide,
)
A9, EDITIONS, SURVEYS, SHARES, JOINS, COUNTS, K1, K2, IDLE, LEAVES = (
    one_publication,
    editions_spread,
    surveys_its_share,
    all_regions_are_shared_out,
    results_are_joined,
    readings_are_counted,
    one_token,
    requests_are_served,
    idle_nodes_do_not_queue,
    stays_end,
)


class _Assertions(dict[str, Assertion]):
    """The assertions by id; of another name, a workload's, or one whose code is not loaded in this process."""

    def __missing__(self, name: str) -> Assertion:
        return valid_history(name) if name in WORKLOADS else unloaded(name)


def valid_history(workload: str) -> Assertion:
    """Return the assertion that a correct system can give its clients such a history."""
    statement = f"the history of the clients is valid ({WORKLOADS[workload].does})"
    return Assertion(workload, statement, short="valid history", relies_on=())


def unloaded(name: str) -> Assertion:
    """Return what stands for a property whose code is not loaded: it is never judged."""
    return Assertion(name, f"{name}, whose code is not loaded", short="")


BUILT_IN: tuple[Assertion, ...] = (
    *(A1_1, A1_2, A2, HIGHEST, A3_1, A3_2, A4, A5, M7, STAGES, B10, NEWER, NOTICES, SPREADS, DEFINED),
    *(A6, A7, QUORUM, ATTEMPTS, A8, SOLVENT, COMMITS, SHOWS, NONBLOCKING),
    *(A9, EDITIONS, SURVEYS, SHARES, JOINS, COUNTS, K1, K2, IDLE, LEAVES, ENDS, RAISES),
)
ASSERTIONS: dict[str, Assertion] = _Assertions({each.id: each for each in BUILT_IN})
"""All assertions by id, in order: the built-in ones, then those that this process was told to load from files."""


ASSUMPTION_NUMBERS = (1, 2, 3, 4, 5, 6, 7, 8, 9)
ASSUMPTIONS: dict[int | str, str] = {
    1: "all nodes run the same algorithm",
    2: "the local system works",
    3: "no message appears that was not sent",
    4: "stable storage is permanent and atomic",
    5: "a failed node halts",
    6: "a message reaches its receiver whole",
    7: "messages arrive in order",
    8: "messages arrive within Tm",
    9: "nodes answer within Tp",
    **{each.id: each.statement for each in BUILT_IN_ASSUMPTIONS},
}
"""The assumptions by number; then, by name, the built-in ones, and those loaded from files."""
