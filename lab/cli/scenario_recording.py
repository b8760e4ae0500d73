"""``lab scenario from``: a recording, written as a scenario."""

import sys
from pathlib import Path

from lab.cli.errors import EXIT_NOT_AS_EXPECTED, UsageError
from lab.cli.files import writable
from lab.cli.progress import progress_line
from lab.recording.reader import NotARecordingError
from lab.scenario.file import SUFFIX
from lab.scenario.head import LONGEST_TITLE
from lab.scenario.recorded import UnfitError, make_scenario
from lab.scenario.writing import Source
from lab.text import sanitize
from lab.worlds.targets import TargetError

__all__ = ["write_scenario"]


def write_scenario(recording: Path, output: Path | None, shrink: bool, title: str, target: str) -> int:
    """Write it to a file, or to standard output; 1 where it comes to something else than the recording."""
    if len(title) > LONGEST_TITLE or "\n" in title or title.isspace():
        raise UsageError(f"--title has {len(title)} characters; write one line of at most {LONGEST_TITLE}")
    file = None if output is None else _new(output)
    source = Source(recording, target, Path.cwd() if file is None else file.parent, title)
    try:
        with progress_line() as tell:
            made = make_scenario(source, shrink, tell)
    except TargetError as error:
        raise UsageError(f"{recording} cannot be run again: {error}") from None
    except (NotARecordingError, UnfitError) as error:
        raise UsageError(str(error)) from None
    if file is None:
        print(made.text, end="")
    else:
        file.write_text(made.text, "utf-8")
        print(sanitize(f"{output}: run it with: lab run {output}"))
    for said in (*made.notes, *made.doubts):
        print(f"lab: {sanitize(said)}", file=sys.stderr)
    return 0 if made.is_same else EXIT_NOT_AS_EXPECTED


def _new(output: Path) -> Path:
    """The file to write, which is not there yet: scenarios are written by hand, too."""
    if output.suffix != SUFFIX:
        raise UsageError(f"--output {output}: a scenario's file ends in {SUFFIX}: -o {output.stem}{SUFFIX}")
    file = writable("--output", output)
    if file.exists():
        raise UsageError(f"--output {output} exists; it is left alone, so name another file")
    return file
