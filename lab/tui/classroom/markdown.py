"""Render the Markdown of exercises as styled lines: paragraphs, lists, code, emphasis. Links are plain text."""

from collections.abc import Iterator, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console
from rich.style import Style
from rich.text import Text

from lab.text import sanitize
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["markdown_lines", "pieces_of", "wrap"]

_LEAST_ROOM = 10
_OPENS = {"strong_open": Style(bold=True), "em_open": Style(italic=True)}


@cache
def _console() -> Console:
    return Console(color_system=None)


def wrap(text: Text, width: int) -> list[Text]:
    """Return the text wrapped to lines of this width."""
    return list(text.wrap(_console(), max(_LEAST_ROOM, width)))


def pieces_of(text: Text) -> list[Piece]:
    """Return a line as pieces of one style each."""
    if not text.spans:  # without spans, Rich ignores the base style
        return [(text.plain, _console().get_style(text.style))]
    return [(segment.text, segment.style or Style()) for segment in text.render(_console())]


def markdown_lines(markdown: str, width: int, theme_styles: ThemeStyles) -> list[Text]:
    """Render Markdown as lines of this width; HTML is shown as plain text."""
    return list(_Renderer(width, theme_styles).of(MarkdownIt("commonmark", {"html": False}).parse(markdown)))


class _Renderer:
    """Renders blocks. ``_margins`` has, for each enclosing block, the indent of the first and of later lines."""

    def __init__(self, width: int, theme_styles: ThemeStyles) -> None:
        self._width = width
        self._theme_styles = theme_styles
        self._margins: list[tuple[str, str]] = []
        self._counts: list[int | None] = []

    def of(self, tokens: Sequence[Token]) -> Iterator[Text]:
        is_first = True
        for token in tokens:
            if token.type in ("bullet_list_open", "ordered_list_open"):
                self._counts.append(int(token.attrs.get("start", 1)) if token.tag == "ol" else None)
            elif token.type in ("bullet_list_close", "ordered_list_close"):
                self._counts.pop()
            elif token.type == "list_item_open":
                self._begin_item()
            elif token.type == "blockquote_open":
                self._margins.append(("  ", "  "))
            elif token.type in ("list_item_close", "blockquote_close"):
                self._margins.pop()
            elif token.type in ("inline", "fence", "code_block"):
                if not is_first and not token.hidden and not self._is_tight(token):
                    yield Text()
                is_first = False
                yield from self._block(token)

    def _is_tight(self, token: Token) -> bool:
        """Return whether the block is a list item, which has no blank line before it."""
        return bool(self._counts) and token.type == "inline"

    def _begin_item(self) -> None:
        count = self._counts[-1]
        sign = f"{self._theme_styles.glyphs.dot} " if count is None else f"{count}. "
        if count is not None:
            self._counts[-1] = count + 1
        self._margins.append((sign, " " * len(sign)))

    def _block(self, token: Token) -> Iterator[Text]:
        if token.type == "inline":
            lines = wrap(self._inline(token.children or []), self._room)
        else:
            code = [sanitize(line) for line in token.content.rstrip("\n").split("\n")]
            lines = [Text(f"  {line}", self._theme_styles.code) for line in code]
        for line in lines:
            yield Text.assemble("".join(first for first, _ in self._margins), line)
            self._margins = [(rest, rest) for _, rest in self._margins]

    @property
    def _room(self) -> int:
        return self._width - sum(len(first) for first, _ in self._margins)

    def _inline(self, tokens: Sequence[Token]) -> Text:
        text, styles = Text(), [Style()]
        for token in tokens:
            if token.type in _OPENS:
                styles.append(styles[-1] + _OPENS[token.type])
            elif token.type in ("strong_close", "em_close"):
                styles.pop()
            elif token.type == "code_inline":
                text.append(sanitize(token.content), styles[-1] + self._theme_styles.code)
            elif token.type == "softbreak":
                text.append(" ")
            elif token.type == "hardbreak":
                text.append("\n")
            elif token.type == "link_close":
                pass
            elif token.type == "link_open":
                text.append(f"{sanitize(str(token.attrs.get('href', '')))} ", DIM)
            else:
                text.append(sanitize(token.content), styles[-1])
        return text
