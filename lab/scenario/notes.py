"""What of a recording is not in the scenario that was made from it, and what was not in the recording itself."""

from collections.abc import Iterator

from lab.scenario.searching import Found
from lab.scenario.story import Story
from lab.units import format_us

__all__ = ["notes_on"]

_MOST = 10
"""So many commands are named."""


def notes_on(story: Story, found: Found, is_needless: bool) -> Iterator[str]:
    """Each in a line for the user. ``is_needless``: what was ``found`` could be shrunk to no command at all."""
    kept = {line.given for line in found.draft.lines}
    idle = [*story.idle, *(given.command for given in story.given if given not in kept)]
    names = [*dict.fromkeys(idle)]
    if names:
        more = [f"and {len(names) - _MOST} more"] if len(names) > _MOST else []
        yield f"left out, as it changed or touched nothing: {', '.join([*names[:_MOST], *more])}"
    if story.is_cut:
        start = "last command" if story.given else "start"
        yield f"what came more than {format_us(story.long_us)} after the {start} is no effect of it, and left out"
    if is_needless:
        yield "not shrunk: the same comes of no command at all, so all of them are kept"
    if story.gaps:
        yield (
            f"line {story.gaps[0] + 1} of the recording cannot be read, or takes a message that no line before it "
            f"sends, so lines are missing; lab verify FILE says more"
        )
    if not story.ended:
        yield (
            "the recording has no end, as its run was cut off or goes on; it is taken as far as it goes, "
            "and what is expected may be a state on the way"
        )
