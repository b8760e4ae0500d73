"""The reading of three-phase commit: the words it rests on, and what follows from each answer."""

from lab.protocols.departures import LECTURE_NOTES, Quotation, Reading, Value

__all__ = ["READINGS"]

READINGS = (
    Reading(
        "commit_after",
        "which participants must have acknowledged PreCommit, before the coordinator commits?",
        (
            Quotation(LECTURE_NOTES, "recovery, rule 3", "proceed with “the standard plan” to commit"),
            Quotation(
                LECTURE_NOTES,
                "recovery, rule 4",
                "follow this up with a full-fledged ABORT when more than half of the processes are in the "
                "abortable state",
            ),
        ),
        (
            Value(
                "majority",
                "more than half of all, as with ABORT: the rules are those of quorum-based commit (Skeen 1982)",
                "A6 holds whatever is lost, delayed or paused; a coordinator without a majority blocks, and a "
                "majority may block, too",
            ),
            Value(
                "everyone_alive",
                "all that answer in time; the others are presumed to have failed",
                "The first coordinator commits even alone. A6 fails in a partition (assumption 8). With crashes "
                "alone it would fail if rule 4 counted nodes that have crashed uncertain: so it does only if all "
                "participants answer",
            ),
        ),
    ),
)
