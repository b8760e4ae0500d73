"""Shell completion: names of protocols, scenarios, exercises and export formats."""

__all__ = ["complete_exercise", "complete_format", "complete_scenario", "complete_target"]


def complete_exercise(incomplete: str) -> list[tuple[str, str]]:
    """Return the built-in exercises with their titles."""
    from lab.exercises.exercise_library import all_exercises  # noqa: PLC0415 - keeps completion fast
    from lab.exercises.reading import ExerciseError  # noqa: PLC0415

    try:
        return [(each.name, each.title) for each in all_exercises() if each.name.startswith(incomplete)]
    except ExerciseError:
        return []


def complete_format(incomplete: str) -> list[tuple[str, str]]:
    """Return the formats of ``lab export`` with their descriptions."""
    from lab.tui.saving.export_formats import ALL_FORMATS  # noqa: PLC0415 - keeps completion fast

    return [(each.name, each.help) for each in ALL_FORMATS if each.name.startswith(incomplete)]


def complete_scenario(incomplete: str) -> list[tuple[str, str]]:
    """Return the built-in scenarios with their titles."""
    from lab.scenario.file import ScenarioError, read_scenario  # noqa: PLC0415 - keeps completion fast
    from lab.scenario.library import shipped  # noqa: PLC0415

    found = []
    for path in shipped():
        if path.stem.startswith(incomplete):
            try:
                title = read_scenario(path).title
            except ScenarioError:
                title = ""
            found.append((path.stem, title))
    return found


def complete_target(incomplete: str) -> list[tuple[str, str]]:
    """Return the built-in protocols, tasks and scenarios."""
    from lab.protocols import PROTOCOLS, TASKS  # noqa: PLC0415

    named = sorted({**PROTOCOLS, **TASKS}.items())
    found = [
        (name, (protocol.__doc__ or "").partition("\n")[0])
        for name, protocol in named
        if name.startswith(incomplete)
    ]
    return found + complete_scenario(incomplete)
