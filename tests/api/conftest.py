"""A protocol of a user's own, with a bug: the first version on the page *your own protocol*."""

import re
from pathlib import Path

import pytest

from lab.guide.contents import find_page

_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def my_election(tmp_path: Path) -> Path:
    """``my_election.py``: the node that returns leads while the others still follow another."""
    path = tmp_path / "my_election.py"
    first_version, _, _ = find_page("your-own-protocol").text.partition("## Repair it")
    path.write_text("\n\n".join(_PYTHON.findall(first_version)), "utf-8")
    return path
