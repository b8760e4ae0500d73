"""A grid of cells with text, and with lines finer than a cell; and the diagram's signs, in Unicode and ASCII.

Lines are braille dots, or strokes in ASCII. Text covers lines. Every cell knows the object that it was drawn
for, so that a click finds it, and whose lines pass it, so that a label finds a place next to them. Every colour is
accompanied by a sign.
"""

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style

from lab.glyphs import Glyphs
from lab.styles import DIM, Line

_BRAILLE = 0x2800
_DOT = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_PLAIN = Style()
_FLAT, _STEEP = 0.4, 2.5
_SEVERAL = object()
"""The group of a cell with lines of several groups."""

Spot = tuple[int, int, int]
"""A cell, and 1 if a text begins at it, or -1 if it ends."""


class Canvas:
    """A grid of ``width`` by ``height`` cells; ``fine`` draws lines in braille. Drawing is clipped to the grid."""

    def __init__(self, width: int, height: int, fine: bool) -> None:
        self.width = width
        self.height = height
        self._fine = fine
        self._text = [[""] * width for _ in range(height)]
        self._is_text = [[False] * width for _ in range(height)]
        self._dots = [[0] * width for _ in range(height)]
        self._styles = [[_PLAIN] * width for _ in range(height)]
        self._owners: list[list[object]] = [[None] * width for _ in range(height)]
        self._groups: list[list[object]] = [[None] * width for _ in range(height)]

    def put(self, x: int, y: int, text: str, style: Style, owner: object = None) -> None:
        if not 0 <= y < self.height:
            return
        for letter in text:
            wide = cell_len(letter) if not letter.isascii() else 1
            if wide == 0 or not (x >= 0 and x + wide <= self.width):
                x += wide
                continue
            for place in range(x, x + wide):
                self._text[y][place] = letter if place == x else ""
                self._is_text[y][place] = True
                self._styles[y][place] = style
                self._owners[y][place] = owner
            x += wide

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        style: Style,
        owner: object,
        group: object,
        gaps: bool = False,
    ) -> None:
        """Draw a line between two points, in cells from the upper left corner; with ``gaps``, a dashed one.

        The lines of a ``group`` may be covered by its label.
        """
        (x0, y0), (x1, y1) = start, end
        across, down = (2, 4) if self._fine else (1, 1)
        count = max(1, round(max(abs(x1 - x0) * across, abs(y1 - y0) * down)))
        stroke = "" if self._fine else _stroke(x1 - x0, y1 - y0)
        step_x, step_y = (x1 - x0) * across / count, (y1 - y0) * down / count
        first_x, first_y, columns, rows = x0 * across, y0 * down, self.width * across, self.height * down
        x, y, is_text = -1, -1, False
        for place in range(count + 1):
            if gaps and place % 4 >= 2:
                continue
            at_x, at_y = int(first_x + step_x * place), int(first_y + step_y * place)
            if not (0 <= at_x < columns and 0 <= at_y < rows):
                continue
            if at_x // across != x or at_y // down != y:
                x, y = at_x // across, at_y // down
                is_text = self._is_text[y][x]
                if not is_text:
                    self._text[y][x], self._styles[y][x], self._owners[y][x] = stroke, style, owner
                    before = self._groups[y][x]
                    self._groups[y][x] = group if before is None or before is group else _SEVERAL
            if not (stroke or is_text):
                self._dots[y][x] |= _DOT[at_y % 4][at_x % 2]

    def room(self, spot: Spot, most: int, group: object = None, over: str = "") -> int:
        """Return how many cells a text may take from a cell on, at most ``most``.

        It covers no lines but those of its ``group``, and no text but the letters ``over``. It stays a cell apart
        from other lines and words.
        """
        x, y, way = spot
        if not 0 <= y < self.height:
            return 0
        texts, is_text, groups = self._text[y], self._is_text[y], self._groups[y]
        for count in range(most):
            at = x + way * count
            if not 0 <= at < self.width:
                return count
            letter = texts[at]
            if is_text[at]:
                if not letter or letter not in over:
                    return max(0, count - 1) if letter.isalnum() or letter == "…" else count
            elif groups[at] is not None and groups[at] is not group:
                return max(0, count - 1)
        return most

    def is_free(self, x: int, y: int, width: int) -> bool:
        """Return whether these cells are in the grid and not covered by text; they may hold lines."""
        if not (0 <= y < self.height and x >= 0 and x + width <= self.width):
            return False
        return not any(self._is_text[y][x : x + width])

    def is_blank(self, x: int, y: int, width: int) -> bool:
        """Return whether these cells are in the grid and hold neither text nor lines."""
        return self.is_free(x, y, width) and not (
            any(self._dots[y][x : x + width]) or any(self._text[y][x : x + width])
        )

    def fill_blank(self, x: int, y: int, letter: str, style: Style) -> None:
        """Write a letter into a cell if it is blank. Lines and other text may still replace it."""
        if self.is_blank(x, y, 1):
            self._text[y][x] = letter
            self._styles[y][x] = style

    def dim(self, x: int, y: int) -> None:
        if self._styles[y][x] is not _PLAIN:
            self._styles[y][x] += DIM

    def clear(self, x: int, y: int) -> None:
        self._text[y][x], self._dots[y][x], self._is_text[y][x], self._owners[y][x] = "", 0, False, None

    def letter(self, x: int, y: int) -> str:
        return self._text[y][x]

    def style(self, x: int, y: int) -> Style:
        return self._styles[y][x]

    def owner(self, x: int, y: int) -> object:
        """Return the object that the cell, or one next to it, was drawn for."""
        for near in (x, x - 1, x + 1):
            if 0 <= y < self.height and 0 <= near < self.width and self._owners[y][near] is not None:
                return self._owners[y][near]
        return None

    def row(self, y: int) -> Line:
        pieces: Line = []
        run, style = "", _PLAIN
        texts, dots, styles, is_text = self._text[y], self._dots[y], self._styles[y], self._is_text[y]
        for x in range(self.width):
            if dots[x] and not is_text[x]:
                letter, here = chr(_BRAILLE + dots[x]), styles[x]
            elif texts[x]:
                letter, here = texts[x], styles[x]
            else:
                letter, here = ("", style) if is_text[x] else (" ", _PLAIN)
            if here is not style and here != style:
                if run:
                    pieces.append((run, style))
                run, style = "", here
            run += letter
        return [*pieces, (run, style)] if run else pieces


def _stroke(across: float, down: float) -> str:
    """Return the ASCII stroke for a slope. Cells are about twice as high as wide."""
    if abs(down) <= _FLAT * abs(across) / 2:
        return "-"
    if abs(down) >= _STEEP * abs(across):
        return "|"
    return "\\" if (across > 0) == (down > 0) else "/"


# signs


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
    idle: str

    @property
    def joined(self) -> frozenset[str]:
        """The signs of lines that messages can leave."""
        lines = (*(self.lane[status] for status in ("Election", "Reorganization")), self.other)
        return frozenset(sign for pair in lines for sign in pair)

    @property
    def strokes(self) -> str:
        """The signs of a node's line where its status stays the same, if time flows down."""
        return "".join(down for down, _ in (*self.lane.values(), self.other)).replace(" ", "")


_NONE = dict.fromkeys(("killed", "failed", "absent"), (" ", " "))
_UNICODE = Signs(
    lane={
        "Election": ("╏", "╍"),
        "Reorganization": ("┇", "┅"),
        "Down": ("┊", "┈"),
        "paused": ("║", "═"),
        **_NONE,
    },
    other=("┃", "━"),
    heads={"left": "◀", "right": "▶", "up": "▲", "down": "▼"},
    late={"left": "◁", "right": "▷", "up": "△", "down": "▽"},
    joints={"left": "┫", "right": "┣", "up": "┻", "down": "┳", "both": "╋"},
    lost="×",
    held="‖",
    flying="•",
    delayed="!",
    up="○",
    idle="⋮",
    band=("┊", "┈"),
    density=("─", "━", "░"),
    across=("─", "│"),
    tick=("┤", "┴"),
)
_ASCII = Signs(
    lane={"Election": (":", "-"), "Reorganization": (";", "_"), "Down": (".", "."), "paused": ("H", "="), **_NONE},
    other=("|", "-"),
    heads={"left": "<", "right": ">", "up": "^", "down": "v"},
    late={"left": "(", "right": ")", "up": "'", "down": ","},
    joints=dict.fromkeys(("left", "right", "up", "down", "both"), "+"),
    lost="x",
    held="=",
    flying="o",
    delayed="!",
    up="o",
    idle=":",
    band=(":", "."),
    density=("-", "=", "#"),
    across=("-", "|"),
    tick=("+", "+"),
)


def signs_for(glyphs: Glyphs) -> Signs:
    return _ASCII if glyphs.arrow.isascii() else _UNICODE
