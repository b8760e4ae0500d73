"""The message at the end of a run: whether its scenario passed, or why the run ended."""

from lab.glyphs import Glyphs
from lab.tui.run.player import SCRIPT_MARKS, Player
from lab.tui.run.scenario_outcome import format_outcome
from lab.tui.run.source import Source

__all__ = ["EndNotice"]


class EndNotice:
    """Report the end of a live run once, and the end of a recording each time the cursor arrives there."""

    def __init__(self, source: Source, player: Player, glyphs: Glyphs) -> None:
        self._source = source
        self._player = player
        self._glyphs = glyphs
        self._is_reported = False

    def next_notice(self) -> tuple[str, bool] | None:
        """Return (message, whether it is a warning) if there is something new to report."""
        attempt = self._source.attempt
        progress = attempt.news() if attempt is not None and self._player.live else ""
        is_over = bool(self._source.ended) if self._player.live else self._player.is_at_end
        ending = self._end_text() if is_over and not self._is_reported else None
        self._is_reported = is_over and (self._is_reported or ending is not None)
        return ending or ((progress, False) if progress else None)

    def _end_text(self) -> tuple[str, bool] | None:
        source = self._source
        if source.attempt is not None and (source.ended or not source.is_live):
            return source.attempt.ending(), not source.attempt.last.is_solved
        findings = source.findings()
        if findings is None and not source.is_live and source.store.torn:
            return "the recording is truncated here, in the middle of a line", True
        if findings is None:
            return (f"the run is over: {source.ended}; look around, or press q", True) if source.ended else None
        outcome = format_outcome(findings, self._glyphs)
        through = "" if source.marks.found.isdisjoint(SCRIPT_MARKS) else "n and N visit the captions and marks, "
        return f"the run is over: {outcome}; {through}s shows the script, q quits", bool(findings)
