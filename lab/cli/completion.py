"""What the shell offers behind commands: names of protocols, scenarios and exercises, formats to export to."""

__all__ = ["complete_exercise", "complete_format", "complete_scenario", "complete_target"]


def complete_exercise(incomplete: str) -> list[tuple[str, str]]:
    """The exercises that come with the program, each with its title."""
    from lab.exercises.library import all_exercises  # noqa: PLC0415 - where it is asked for
    from lab.exercises.reading import ExerciseError  # noqa: PLC0415

    try:
        return [(each.name, each.title) for each in all_exercises() if each.name.startswith(incomplete)]
    except ExerciseError:
        return []


def complete_format(incomplete: str) -> list[tuple[str, str]]:
    """The formats of ``lab export``, each with what it is good for."""
    from lab.tui.saving.formats import ALL_FORMATS  # noqa: PLC0415 - where it is asked for

    return [(each.name, each.help) for each in ALL_FORMATS if each.name.startswith(incomplete)]


def complete_scenario(incomplete: str) -> list[tuple[str, str]]:
    """The scenarios that come with the program, each with its title."""
    from lab.scenario.file import ScenarioError, read_scenario  # noqa: PLC0415 - where it is asked for
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
    """The protocols and tasks of the program, and the scenarios."""
    from lab.protocols import PROTOCOLS, TASKS  # noqa: PLC0415

    named = sorted({**PROTOCOLS, **TASKS}.items())
    found = [
        (name, (protocol.__doc__ or "").partition("\n")[0])
        for name, protocol in named
        if name.startswith(incomplete)
    ]
    return found + complete_scenario(incomplete)
