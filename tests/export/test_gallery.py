"""The figures of the guide are those that are drawn now, and each is on its page."""

import pytest

from lab.guide.contents import find_page
from tests.export.gallery import FIGURES, FOLDER, draw


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_up_to_date(name: str) -> None:
    """``python -m tests.export.gallery`` makes them anew."""
    assert draw(name) == (FOLDER / f"figure-{name}.svg").read_text("utf-8")


def test_each_figure_is_in_the_guide() -> None:
    text = find_page("figures").text
    assert {path.stem for path in FOLDER.iterdir()} == {f"figure-{name}" for name in FIGURES}
    for name in FIGURES:
        assert f"recordings/figures/figure-{name}.svg" in text
