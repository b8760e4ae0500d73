"""The signs of the diagram, in Unicode and ASCII. Every colour is accompanied by a sign."""

from msgspec import Struct

from lab.glyphs import Glyphs

__all__ = ["Signs", "signs_for"]


class Signs(Struct, frozen=True):
    """The signs. ``lane`` is a node's line by status, downwards and to the right; ``other`` is for other statuses.

    ``heads`` are arrow heads to the left, right, up and down; ``late`` are those of timed-out messages. ``joints``
    are where messages leave a line: to one side, to the other, to both.
    """

    lane: dict[str, tuple[str, str]]
    other: tuple[str, str]
    heads: dict[str, str]
    late: dict[str, str]
    joints: dict[str, str]
    lost: str
    held: str
    flying: str
    delayed: str
    up: str
    band: tuple[str, str]
    density: tuple[str, str, str]
    across: tuple[str, str]
    tick: tuple[str, str]
    quiet: str

    @property
    def joined(self) -> frozenset[str]:
        """The signs of lines that messages can leave."""
        lines = (*(self.lane[status] for status in ("Election", "Reorganization")), self.other)
        return frozenset(sign for pair in lines for sign in pair)


_UNICODE = Signs(
    {
        "Election": ("╏", "╍"),
        "Reorganization": ("┇", "┅"),
        "Down": ("┊", "┈"),
        "paused": ("║", "═"),
        "killed": (" ", " "),
        "failed": (" ", " "),
        "absent": (" ", " "),
    },
    ("┃", "━"),
    {"left": "◀", "right": "▶", "up": "▲", "down": "▼"},
    {"left": "◁", "right": "▷", "up": "△", "down": "▽"},
    {"left": "┫", "right": "┣", "up": "┻", "down": "┳", "both": "╋"},
    "×",
    "‖",
    "•",
    "!",
    "○",
    ("┊", "┈"),
    ("─", "━", "░"),
    ("─", "│"),
    ("┤", "┴"),
    "⋮",
)
_ASCII = Signs(
    {
        "Election": (":", "-"),
        "Reorganization": (";", "_"),
        "Down": (".", "."),
        "paused": ("H", "="),
        "killed": (" ", " "),
        "failed": (" ", " "),
        "absent": (" ", " "),
    },
    ("|", "-"),
    {"left": "<", "right": ">", "up": "^", "down": "v"},
    {"left": "(", "right": ")", "up": "'", "down": ","},
    {"left": "+", "right": "+", "up": "+", "down": "+", "both": "+"},
    "x",
    "=",
    "o",
    "!",
    "o",
    (":", "."),
    ("-", "=", "#"),
    ("-", "|"),
    ("+", "+"),
    ":",
)


def signs_for(glyphs: Glyphs) -> Signs:
    """Return the signs that match these glyphs."""
    return _ASCII if glyphs.arrow.isascii() else _UNICODE
