"""``lab scenario from``: write a recording as a scenario."""

import sys
from pathlib import Path

from lab.cli.output_files import writable
from lab.cli.progress import progress_line
from lab.cli.usage_errors import EXIT_NOT_AS_EXPECTED, UsageError
from lab.recording.reader import NotARecordingError
from lab.scenario.file import SUFFIX
from lab.scenario.from_recording import UnsuitableRecordingError, make_scenario
from lab.scenario.head import LONGEST_TITLE
from lab.scenario.writing import ScenarioSource
from lab.text import sanitize
from lab.worlds.targets import TargetError

__all__ = ["write_scenario"]


def write_scenario(recording: Path, output: Path | None, shrink: bool, title: str, target: str) -> int:
    """Write the scenario to a file or standard output; return 1 if its outcome differs from the recording's."""
    if len(title) > LONGEST_TITLE or "\n" in title or title.isspace():
        raise UsageError(f"--title has {len(title)} characters; write one line of at most {LONGEST_TITLE}")
    file = None if output is None else _new(output)
    source = ScenarioSource(recording, target, Path.cwd() if file is None else file.parent, title)
    try:
        with progress_line() as progress:
            made = make_scenario(source, shrink, progress)
    except TargetError as error:
        raise UsageError(f"{recording} cannot be re-executed: {error}") from None
    except (NotARecordingError, UnsuitableRecordingError) as error:
        raise UsageError(str(error)) from None
    if file is None:
        print(made.text, end="")
    else:
        file.write_text(made.text, "utf-8")
        print(sanitize(f"{output}: run it with: lab run {output}"))
    for message in (*made.notes, *made.doubts):
        print(f"lab: {sanitize(message)}", file=sys.stderr)
    return 0 if made.is_same else EXIT_NOT_AS_EXPECTED


def _new(output: Path) -> Path:
    """Return the file to write. Raises UsageError if its suffix is wrong, or if it exists."""
    if output.suffix != SUFFIX:
        raise UsageError(f"--output {output}: name a file that ends in {SUFFIX}: -o {output.stem}{SUFFIX}")
    file = writable("--output", output)
    if file.exists():
        raise UsageError(f"--output {output} exists; name another file")
    return file
