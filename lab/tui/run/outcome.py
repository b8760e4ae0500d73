"""The scenario that a run is of, as its recording holds it: what it is to show, and whether it came out so.

None of it is run, nor is its protocol looked for: a recording may be anybody's.
"""

from collections.abc import Sequence

from lab.glyphs import Glyphs
from lab.recording.records import Header
from lab.scenario.head import as_key, read_head, split_scenario
from lab.scenario.report import Course, Finding
from lab.script import CommandError, read_script
from lab.text import sanitize
from lab.worlds.settings import SettingError, positive

__all__ = ["course_of", "outcome_said", "shown_by"]

_LONGEST_SHOWS = 1000
_LONGEST_WHY = 150


def shown_by(header: Header) -> str:
    """What the scenario says that it shows; nothing where the run is of none."""
    shows = read_head(split_scenario(header.scenario)[0]).values.get("shows", "")
    return sanitize(" ".join(shows.split()), _LONGEST_SHOWS)


def course_of(header: Header) -> Course | None:
    """What watches the scenario in the run; None where it is of none, or of one that is not understood here.

    A branch goes another way than its scenario.
    """
    head, script, first = split_scenario(header.scenario)
    ends = read_head(head).values.get("for")
    if ends is None or header.parent is not None:
        return None
    try:
        return Course(read_script(script, first=first), positive("for", ends, as_key), header)
    except (CommandError, SettingError):
        return None


def outcome_said(findings: Sequence[Finding], glyphs: Glyphs) -> str:
    """Whether the scenario passed; if not, at which line first, and why."""
    if not findings:
        return f"{glyphs.marks['met']} passed"
    first, *others = findings
    where = f"line {first.line}" if first.line else f"expected: {first.expected}"
    more = f" (and {len(others)} more)" if others else ""
    return f"{glyphs.marks['unmet']} FAILED, {where}: {sanitize(first.was, _LONGEST_WHY)}{more}"
