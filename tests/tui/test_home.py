"""The home screen's entries: what can be run, scenarios among it."""

from lab.cli.home import choices
from lab.scenario.library import names


def test_every_scenario_can_be_run_from_the_home_screen() -> None:
    """By its name, with its title beside it."""
    entries = {words[-1]: (said, words) for group, said, words in choices() if group == "scenario"}
    assert list(entries) == names()
    said, words = entries["figure-3-12"]
    assert words == ["run", "figure-3-12"]
    assert said == "figure-3-12: Figure 3-12: 7 has crashed, 4 notices first"
