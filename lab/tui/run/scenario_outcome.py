"""The scenario of a run, as its recording holds it: its purpose, and whether the run passed it.

Nothing of the scenario is run, and its protocol is not loaded: a recording may come from a stranger.
"""

from collections.abc import Sequence

from lab.glyphs import Glyphs
from lab.recording.records import Header
from lab.scenario.head import as_key, read_head, split_scenario
from lab.scenario.report import ScenarioFinding, ScriptChecker
from lab.script import CommandError, read_script
from lab.text import sanitize
from lab.worlds.settings import SettingError, positive

__all__ = ["course_of", "format_outcome", "scenario_purpose"]

_LONGEST_SHOWS = 1000
_LONGEST_WHY = 150


def scenario_purpose(header: Header) -> str:
    """Return the text of the scenario's ``shows`` entry, or an empty string."""
    shows = read_head(split_scenario(header.scenario)[0]).values.get("shows", "")
    return sanitize(" ".join(shows.split()), _LONGEST_SHOWS)


def course_of(header: Header) -> ScriptChecker | None:
    """Return the checker of the run's scenario, or None.

    None: the run has no scenario, or its script cannot be read here, or the run is a branch. A branch goes another
    way than its scenario.
    """
    head, script, first = split_scenario(header.scenario)
    ends = read_head(head).values.get("for")
    if ends is None or header.parent is not None:
        return None
    try:
        return ScriptChecker(read_script(script, first=first), positive("for", ends, as_key), header)
    except (CommandError, SettingError):
        return None


def format_outcome(findings: Sequence[ScenarioFinding], glyphs: Glyphs) -> str:
    """Return whether the scenario passed, and if not, the first line that failed and why."""
    if not findings:
        return f"{glyphs.marks['met']} passed"
    first, *others = findings
    where = f"line {first.line}" if first.line else f"expected: {first.expected}"
    more = f" (and {len(others)} more)" if others else ""
    return f"{glyphs.marks['unmet']} FAILED, {where}: {sanitize(first.was, _LONGEST_WHY)}{more}"
