"""The bank, in the place of the log: the accounts and their total, the open transactions, and why each is open."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.strip import Strip
from textual.widget import Widget

from lab.analysis.bank_state import Account, Bank, Standing, bank_in
from lab.analysis.blocked_transactions import Stuck, stuck_of
from lab.analysis.split_outcomes import Split, splits_in
from lab.protocols.accounts import format_cents
from lab.protocols.transaction import DECIDED
from lab.recording.records import Header
from lab.text import sanitize
from lab.tui.nodes.bank import state_pieces
from lab.tui.run.cursor import Cursor
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.units import count_of

__all__ = ["BankView"]

_BOLD = Style(bold=True)
_GAP = 4
_BESIDE = 112
"""From so many columns on the accounts are beside the transactions, else above them."""
_LEAST_HEIGHT = 10
"""With fewer lines than this, each transaction has one line for all its participants."""
_AMOUNT = 11


class BankView(Widget, can_focus=True):
    """``show`` draws the bank as of a record, and of an instant: how long somebody has waited by then.

    Accounts and transactions are scrolled, where there is no room for them; the total stays.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "scroll(-1)"),
        ("down", "scroll(1)"),
        ("pageup", "scroll_page(-1)"),
        ("pagedown", "scroll_page(1)"),
    ]

    DEFAULT_CSS = "BankView { height: 1fr; padding: 0 1; }"

    def __init__(self, theme_styles: ThemeStyles, header: Header) -> None:
        super().__init__(id="bank")
        self._look = theme_styles
        self._header = header
        self._record = -1
        self._now_us = 0
        self._bank = Bank((), (), 0, 0)
        self._stuck: tuple[Stuck, ...] = ()
        self._splits: tuple[Split, ...] = ()
        self._top = self._last_top = 0
        self._drawn: object = None
        self._lines: list[list[Piece]] = []

    def show(self, moment: Cursor) -> None:
        """Draw the bank."""
        cluster, now_us = moment.cluster, moment.now_us
        if cluster.record != self._record:
            self._record = cluster.record
            self._bank = bank_in(cluster, self._header)
            self._stuck = stuck_of(self._bank, cluster, self._header)
            self._splits = splits_in(cluster)
        elif not self._stuck or now_us == self._now_us:
            return
        self._now_us = now_us
        self.refresh()

    def open_cursor(self) -> None:
        """There is nothing to open."""

    def action_scroll(self, by: int) -> None:
        """Move by so many lines."""
        self._top = max(0, min(self._top + by, self._last_top))
        self.refresh()

    def action_scroll_page(self, pages: int) -> None:
        """Move by about what fits on the screen."""
        self.action_scroll(pages * max(1, self.size.height // 2))

    def render_line(self, y: int) -> Strip:
        """A line of the accounts, of the transactions, or of both."""
        drawn = self._record, self._now_us, self.size, self._look.dark, self._top
        if drawn != self._drawn:
            self._drawn, self._lines = drawn, self._all_lines()
        width, base = self.size.width, self.rich_style
        pieces = self._lines[y] if y < len(self._lines) else []
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    def _all_lines(self) -> list[list[Piece]]:
        width, height = self.size.width, self.size.height
        self._last_top = 0
        if width < _BESIDE:
            head = [*self._parted(width), self._total()]
            lines = [*self._transactions(width), *self._accounts_in_short(width)]
            return [*head, *self._seen(lines, height - len(head), "line")]
        head, accounts, foot = self._accounts()
        left = [*head, *self._seen(accounts, height - len(head) - len(foot), "account"), *foot]
        each = self._width_of(left)
        beside = width - each - _GAP
        head, lines = list(self._parted(beside)), list(self._transactions(beside))
        right = [*head, *self._seen(lines, height - len(head), "line")]
        nothing: list[Piece] = []
        pairs = zip_longest(left, right, fillvalue=nothing)
        return [[*fit(one, each), (" " * _GAP, Style()), *other] for one, other in pairs]

    @staticmethod
    def _width_of(lines: list[list[Piece]]) -> int:
        return max((sum(len(text) for text, _ in line) for line in lines), default=0)

    def _seen(self, lines: list[list[Piece]], height: int, noun: str) -> list[list[Piece]]:
        """So many of the lines, from the one on to which it is scrolled; the last says how many are below."""
        last_top = max(0, len(lines) - max(1, height))
        self._last_top = max(self._last_top, last_top)
        if self._top >= last_top:
            return lines[last_top:]
        end = self._top + max(0, height - 1)
        return [*lines[self._top : end], [(f"and {count_of(len(lines) - end, f'more {noun}')} (PgDn)", DIM)]]

    # the accounts

    def _accounts(self) -> tuple[list[list[Piece]], list[list[Piece]], list[list[Piece]]]:
        """The head of the table, the accounts, and below them what they come to."""
        names = (account.name for account in self._bank.accounts)
        widest = max(map(len, (*names, "handed out")))
        blank = " " * 6
        head: list[Piece] = [(f"{'account':{widest}}  node{'balance':>{_AMOUNT}}  locked by", DIM)]
        foot: list[list[Piece]] = [
            [(self._look.glyphs.rest * (widest + 6 + _AMOUNT), DIM)],
            [(f"{'total':{widest}}{blank}{self._amount(self._bank.total):>{_AMOUNT}}", _BOLD)],
            [(f"{'handed out':{widest}}{blank}{self._amount(self._bank.dispensed):>{_AMOUNT}}", Style())],
            self._conserved(),
        ]
        return [head], [self._account(account, widest) for account in self._bank.accounts], foot

    def _account(self, account: Account, widest: int) -> list[Piece]:
        return [
            (f"{account.name:{widest}}", _BOLD if account.is_up else DIM),
            (f"  {account.node:>4}", Style()),
            (f"{self._amount(account.cents):>{_AMOUNT}}", self._balance(account)),
            (f"  {self._lock(account)}", self._look.warning),
            ("" if account.is_up else f"{'  ' if account.lock else ''}{account.node} is down", DIM),
        ]

    def _accounts_in_short(self, width: int) -> Iterator[list[Piece]]:
        """As many accounts a line as fit."""
        line: list[Piece] = []
        for account in self._bank.accounts:
            piece: list[Piece] = [
                (f"{account.name} ", Style() if account.is_up else DIM),
                (format_cents(account.cents), self._balance(account)),
                (f" {self._lock(account)}" if account.lock else "", self._look.warning),
            ]
            if line and self._width_of([[*line, *piece]]) > width:
                yield line
                line = []
            line += [*piece, ("  ", Style())]
        yield line

    def _total(self) -> list[Piece]:
        total = f"total {format_cents(self._bank.total)}, handed out {format_cents(self._bank.dispensed)}: "
        return [(total, _BOLD), *self._conserved()]

    def _amount(self, cents: int) -> str:
        """With its point below the others', where an account holds cents."""
        text = format_cents(cents)
        has_cents = any(account.cents % 100 for account in self._bank.accounts)
        return f"{text}   " if has_cents and not cents % 100 else text

    def _balance(self, account: Account) -> Style:
        return self._look.warning if account.lock else _BOLD if account.is_up else DIM

    def _lock(self, account: Account) -> str:
        return "" if account.lock is None else f"{self._look.glyphs.lock} {account.lock}"

    def _conserved(self) -> list[Piece]:
        """Whether all is there; while transactions are open, how much is on its way."""
        missing, marks = self._bank.missing, self._look.glyphs.marks
        if not missing:
            return [(f"{marks['met']} conserved", self._look.mark("met"))]
        less = f"{format_cents(abs(missing))} {'less' if missing > 0 else 'more'} than at first"
        if self._stuck:
            several = len(self._stuck) > 1
            what = f"{len(self._stuck)} are" if several else f"{self._stuck[0].transaction} is"
            return [(f"{less}, while {what} open", self._look.mark("election"))]
        return [(f"{marks['unmet']} {less}", self._look.warning)]

    # the transactions

    def _parted(self, width: int) -> Iterator[list[Piece]]:
        """What is committed here and aborted there."""
        for split in self._splits:
            where = f"committed at {_names(split.committed)}, aborted at {_names(split.aborted)}"
            said = f"{split.transaction} {self._look.glyphs.marks['unmet']} {where}"
            yield from ([(line, self._look.warning)] for line in wrap(said, max(20, width)))

    def _transactions(self, width: int) -> Iterator[list[Piece]]:
        """Each with what there is to know of it; those that are decided in one line, if they are several."""
        if not self._stuck:
            yield [("no transaction is open", DIM)]
        decided = [stuck for stuck in self._stuck if _is_decided(stuck)]
        told = [stuck for stuck in self._stuck if stuck not in decided]
        yield from self._in_full(told if len(decided) > 1 else [*told, *decided], width)
        if len(decided) > 1:
            if told and self.size.height >= _LEAST_HEIGHT:
                yield []
            yield [(_decided_said(decided), DIM)]

    def _in_full(self, told: Sequence[Stuck], width: int) -> Iterator[list[Piece]]:
        is_low = self.size.height < _LEAST_HEIGHT
        for place, stuck in enumerate(told):
            if place and not is_low:
                yield []
            yield self._head(stuck)
            for number, sentence in enumerate(stuck.sentences[: 1 if is_low else None]):
                for line in wrap(sanitize(sentence, 1000), max(20, width - 2)):
                    yield [(f"  {line}", _BOLD if not number else DIM)]
            if is_low:
                yield [piece for standing in stuck.case.standings for piece in self._in_short(standing)]
            else:
                yield from (self._standing(standing) for standing in stuck.case.standings)

    def _head(self, stuck: Stuck) -> list[Piece]:
        theme_styles = self._look
        pieces: list[Piece] = [(f"{stuck.transaction} ", theme_styles.accent)]
        if stuck.blocked_us is not None:
            pieces.append(
                (
                    f"{theme_styles.glyph('Blocked')} blocked for {self._seconds(stuck.blocked_us)}",
                    theme_styles.warning,
                )
            )
        else:
            pieces.append(("open" if stuck.since_us is None else f"open, {self._seconds(stuck.since_us)}", DIM))
        if stuck.turned_away:
            told = f"  its locks turned away {', '.join(map(str, stuck.turned_away))}"
            pieces.append((told, theme_styles.mark("election")))
        return pieces

    def _standing(self, standing: Standing) -> list[Piece]:
        theme_styles, view, wait = self._look, standing.view, standing.wait
        pieces: list[Piece] = [(f"  {standing.node:>2} ", _BOLD)]
        pieces += fit(state_pieces(standing.part.state.value, theme_styles), 12)
        if view.process != "running":
            pieces.append(
                (f"  {theme_styles.glyph(view.process)} {view.process}", theme_styles.status(view.process))
            )
        if standing.told is not None:
            pieces.append((f"  {self._seconds(standing.told.since_us)}", Style()))
        if standing.locks:
            held = ", ".join(sanitize(name, 20) for name in standing.locks)
            pieces.append((f"  {theme_styles.glyphs.lock} {held}", theme_styles.warning))
        if wait is not None:
            peers = f" of {' '.join(map(str, wait.peers))}" if wait.peers else ""
            pieces.append((f"  waits for {sanitize(wait.what, 60)}{peers}", DIM))
        return pieces

    def _in_short(self, standing: Standing) -> list[Piece]:
        down = "" if standing.view.process == "running" else f" {standing.view.process}"
        return [
            (f"  {standing.node} ", _BOLD),
            *state_pieces(standing.part.state.value, self._look),
            (down, self._look.status(standing.view.process)),
        ]

    def _seconds(self, since_us: int) -> str:
        return f"{max(0, self._now_us - since_us) / 1e6:.1f} s"


def _is_decided(stuck: Stuck) -> bool:
    """Whether all that wait for something of it know what came of it: some others have yet to hear."""
    states = [each.part.state in DECIDED for each in stuck.case.standings]
    open_at = [each.part.state in DECIDED for each in stuck.case.standings if each.told is not None]
    return any(states) and all(open_at)


def _decided_said(decided: Sequence[Stuck]) -> str:
    standings = [each for stuck in decided for each in stuck.case.standings]
    unaware = sorted({each.node for each in standings if each.part.state not in DECIDED})
    if not unaware:
        return f"{len(decided)} decided, which not all have acknowledged"
    have = "has" if len(unaware) == 1 else "have"
    return f"{len(decided)} decided, of which {_names(unaware)} {have} yet to hear"


def _names(nodes: Sequence[int]) -> str:
    """``1, 2 and 3``."""
    *first, last = map(str, nodes)
    return f"{', '.join(first)} and {last}" if first else last
