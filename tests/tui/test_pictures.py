"""The pictures of the guide are those of the interface as it is, and each is on a page."""

import pytest

from lab.guide.contents import all_pages
from tests.tui.pictures import FOLDER, PICTURES, RECORDINGS, draw


@pytest.mark.parametrize("name", list(PICTURES))
def test_a_picture_is_up_to_date(name: str) -> None:
    """``python -m tests.tui.pictures`` makes them anew."""
    assert draw(name) == (FOLDER / f"{name}.svg").read_text("utf-8")


def test_each_picture_is_shown_in_the_guide() -> None:
    texts = "\n".join(page.text for page in all_pages())
    assert {path.stem for path in FOLDER.iterdir()} == PICTURES.keys()
    for name in PICTURES:
        assert f"recordings/pictures/{name}.svg" in texts
    assert not [*RECORDINGS.glob("*.svg")]
