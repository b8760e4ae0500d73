"""What is said at the end of a run: of its scenario, whether that passed, else why the run ended."""

from lab.glyphs import Glyphs
from lab.tui.run.outcome import outcome_said
from lab.tui.run.player import SAID, Player
from lab.tui.run.source import Source

__all__ = ["Ending"]


class Ending:
    """Tells once when a run ends, and of a recording whenever it stands at its end."""

    def __init__(self, source: Source, player: Player, glyphs: Glyphs) -> None:
        self._source = source
        self._player = player
        self._glyphs = glyphs
        self._is_told = False

    def news(self) -> tuple[str, bool] | None:
        """What there is to say now that was not said yet: (that, whether it is a warning)."""
        attempt = self._source.attempt
        told = attempt.news() if attempt is not None and self._player.live else ""
        is_over = bool(self._source.ended) if self._player.live else self._player.stands_at_end
        said = self._said() if is_over and not self._is_told else None
        self._is_told = is_over and (self._is_told or said is not None)
        return said or ((told, False) if told else None)

    def _said(self) -> tuple[str, bool] | None:
        source = self._source
        if source.attempt is not None and (source.ended or not source.is_live):
            return source.attempt.ending(), not source.attempt.last.is_solved
        findings = source.findings()
        if findings is None and not source.is_live and source.lines.torn:
            return "the recording breaks off here, in the middle of a line", True
        if findings is None:
            return (f"the run is over: {source.ended}; look around, or press q", True) if source.ended else None
        outcome = outcome_said(findings, self._glyphs)
        through = "" if source.marks.found.isdisjoint(SAID) else "N and n go through what was said, "
        return f"the run is over: {outcome}; {through}s shows the script, q quits", bool(findings)
