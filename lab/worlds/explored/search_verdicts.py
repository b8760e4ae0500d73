"""The verdicts of an exploration, in words."""

from lab.properties.assertions import A2, A4, ENDS, HIGHEST, SPREADS
from lab.units import format_count
from lab.worlds.explored.explorer import Explorer

NOT_JUDGED = "not judged"


def describe_verdict(explorer: Explorer, assertion: str) -> str:
    """Return the verdict on an assertion after the search."""
    count = explorer.tally.violated[assertion]
    if not count:
        return _without_violation(explorer, assertion)
    moves = format_count(explorer.count_moves_to(assertion), "move")
    text = f"violated in {format_count(count, 'state')}, the first after {moves}"
    broken = explorer.broken[assertion]
    if not broken:
        return text
    noun = "assumption" if len(broken) == 1 else "assumptions"
    return f"{text}, excused: {noun} {' and '.join(map(str, broken))} broken"


def _without_violation(explorer: Explorer, assertion: str) -> str:
    tally = explorer.tally
    if why := explorer.why_not_judged(assertion):
        return f"{NOT_JUDGED}: {why}"
    lives = assertion in explorer.liveness
    if lives and assertion != ENDS.id and not tally.stopped_by and not explorer.was_met(assertion):
        return f"{NOT_JUDGED}: no running node is left to agree"
    if lives and (tally.stopped_by or not explorer.judges_liveness):
        if not explorer.was_met(assertion):
            return f"{NOT_JUDGED}: it holds in none of these states yet"
        agreed = dict.fromkeys((A2.id, A4.id), "all agree")
        so = {
            **agreed,
            HIGHEST.id: "the highest leads",
            SPREADS.id: "all have one Definition",
            ENDS.id: "no transaction is open with all nodes up",
        }
        return f"{NOT_JUDGED}; but in every state without further events, {so.get(assertion, 'it holds')}"
    is_whole = not tally.stopped_by and not explorer.not_distinguished
    return "holds" if is_whole else f"no violation in {format_count(tally.states, 'state')}"
