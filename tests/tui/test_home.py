"""The home screen: its title, and its entries, scenarios among them."""

import asyncio

from textual.widgets import Static

from lab.cli.home import home_entries
from lab.scenario.file import names
from lab.tui.apps.home_app import HomeApp


def test_every_scenario_can_be_run_from_the_home_screen() -> None:
    """By its name, with its title beside it."""
    entries = {words[-1]: (text, words) for group, text, words in home_entries() if group == "scenario"}
    assert list(entries) == names()
    text, words = entries["figure-3-12"]
    assert words == ["run", "figure-3-12"]
    assert text == "figure-3-12: Figure 3-12: 7 has crashed, 4 notices first"


def test_it_states_the_purpose_of_the_laboratory() -> None:
    async def title_text() -> str:
        app = HomeApp([("run", "bully")])
        async with app.run_test(size=(80, 24)):
            return str(app.query_one("#title", Static).render())

    text = asyncio.run(title_text())
    assert "a laboratory for coordinator election and atomic commit" in text
    assert "commit the transactions of a bank" in text
