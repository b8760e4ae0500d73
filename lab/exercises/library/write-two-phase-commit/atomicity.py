"""The promises of atomic commit, about logs with the lines *yes 3.1*, *no 3.1*, *commit 3.1* and *abort 3.1*.

3.1 is the first transaction that node 3 has begun. All nodes take part in it.
"""

from collections.abc import Iterator

from lab.properties import Counterexample, GlobalState, LocalState, Memory, Outcome, leads_to, over_history

OUTCOMES = ("commit", "abort")


def new_lines(before: LocalState, after: LocalState) -> Iterator[tuple[str, str]]:
    """Yield the word and the transaction of each new line of a log."""
    for line in after.appended("log", before):
        word, _, transaction = line.partition(" ")
        yield word, transaction


def begun_by(node: LocalState) -> list[str]:
    """Return the transactions that the node has begun."""
    return [f"{node.id}.{number}" for number in range(1, node.begun + 1)]


def outcome_at(node: LocalState, transaction: str) -> str:
    """Return the outcome in the node's log; empty if there is none."""
    return next((each for each in OUTCOMES if f"{each} {transaction}" in node.log), "")


@over_history(relies_on=(3, 4), noun="outcome", done="logged")
def one_outcome(outcomes: Memory, before: LocalState, after: LocalState) -> Outcome:
    """No transaction is committed at one node and aborted at another."""
    found: Outcome = None
    for word, transaction in new_lines(before, after):
        if word not in OUTCOMES:
            continue
        found = True
        if outcomes.get(transaction, word) != word:
            other = outcomes.node_of(transaction)
            text = f"node {after.id} logs '{word} {transaction}', and {other} logged '{outcomes[transaction]}'"
            return Counterexample(text, shown_by=(transaction,))
        if transaction not in outcomes:
            outcomes.note(transaction, word, after, f"the node that logs {word} {transaction}")
    return found


@over_history(relies_on=(3, 4), noun="commit", done="logged")
def all_voted_yes(votes: Memory, before: LocalState, after: LocalState) -> Outcome:
    """Each transaction that a node commits has the vote YES of every node in its log."""
    nodes = votes.setdefault("nodes", [])
    if after.id not in nodes:
        nodes.append(after.id)
    found: Outcome = None
    for word, transaction in new_lines(before, after):
        if word in ("yes", "no"):
            votes[f"{after.id} {transaction}"] = word
        elif word == "commit":
            found = True
            missing = [node for node in nodes if votes.get(f"{node} {transaction}") != "yes"]
            if missing:
                text = f"node {after.id} commits {transaction}, but {missing[0]} has not voted yes"
                return Counterexample(text, (after.id,))
    return found


@over_history(relies_on=(3, 4), noun="vote", done="logged")
def votes_are_free(memory: Memory, before: LocalState, after: LocalState) -> Outcome:
    """A node votes NO if it was asked to refuse, and YES otherwise."""
    found: Outcome = None
    for word, transaction in new_lines(before, after):
        if word in ("yes", "no"):
            found = True
            if (word == "no") != before.refuses:
                text = f"node {after.id} votes {word} on {transaction}, and refuses is {before.refuses}"
                return Counterexample(text, (after.id,))
    return found


@leads_to(within="30T", relies_on=("no_failure_yet",), noun="transaction", done="committed")
def unrefused_commits(state: GlobalState) -> Iterator[Counterexample]:
    """Without a failure, a transaction that no node refuses is committed at all nodes."""
    for transaction in [each for node in state for each in begun_by(node)]:
        if not any(f"no {transaction}" in node.log for node in state):
            for node in state:
                if outcome_at(node, transaction) != "commit":
                    yield Counterexample(f"{transaction} is not committed at {node.id}", (node.id,))


@leads_to(within="30T", relies_on=("all_nodes_connected", 4), noun="transaction", done="decided")
def decides(state: GlobalState) -> Iterator[Counterexample]:
    """When all nodes are up, whoever began a transaction or voted YES on it logs its outcome."""
    for node in state:
        voted = [line.removeprefix("yes ") for line in node.log if line.startswith("yes ")]
        for transaction in dict.fromkeys([*begun_by(node), *voted]):
            if not outcome_at(node, transaction):
                yield Counterexample(f"{transaction} is not decided at {node.id}", (node.id,))


def doubts(state: GlobalState) -> Iterator[tuple[LocalState, str, list[LocalState]]]:
    """Yield each running node in doubt, the transaction, and the running nodes that it can ask."""
    running = [node for node in state if node.process == "running"]
    for node in running:
        for line in node.log:
            transaction = line.removeprefix("yes ")
            if line.startswith("yes ") and not outcome_at(node, transaction):
                yield node, transaction, [other for other in running if state.connected(node.id, other.id)]


@leads_to(within="20T", relies_on=(4,), noun="doubt", done="resolved", despite_cuts=True)
def doubts_end(state: GlobalState) -> Iterator[Counterexample]:
    """No node stays in doubt while another one that it can reach knows the outcome."""
    for node, transaction, others in doubts(state):
        known = next((other.id for other in others if outcome_at(other, transaction)), None)
        if known is not None:
            yield Counterexample(
                f"{node.id} is in doubt about {transaction}, and {known} knows its outcome", (node.id, known)
            )


@leads_to(within="20T", relies_on=(4,), noun="doubt", done="resolved", despite_cuts=True)
def missing_votes_abort(state: GlobalState) -> Iterator[Counterexample]:
    """No node stays in doubt while another one that it can reach has not voted."""
    for node, transaction, others in doubts(state):
        lines = {f"{word} {transaction}" for word in ("yes", "no", *OUTCOMES)}
        free = next((other.id for other in others if lines.isdisjoint(other.log)), None)
        if free is not None:
            yield Counterexample(
                f"{node.id} is in doubt about {transaction}, and {free} has not voted", (node.id, free)
            )
