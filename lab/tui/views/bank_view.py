"""The bank view: the accounts and their total, the open transactions, and why each is open."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.strip import Strip
from textual.widget import Widget

from lab.analysis.bank_state import Account, Bank, ParticipantState, bank_in
from lab.analysis.blocked_transactions import TransactionDiagnosis, diagnose_bank
from lab.analysis.split_outcomes import SplitOutcome, split_outcomes
from lab.protocols.accounts import format_cents
from lab.protocols.transaction import DECIDED
from lab.recording.records import Header
from lab.text import sanitize
from lab.tui.nodes.bank_text import state_pieces
from lab.tui.run.cursor import Cursor
from lab.tui.terminal.fitting import Piece, fit
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.units import format_count

__all__ = ["BankView"]

_BOLD = Style(bold=True)
_GAP = 4
_SIDE_BY_SIDE_WIDTH = 112
"""The least columns for accounts beside the transactions; with fewer, they stand above."""
_LEAST_HEIGHT = 10
"""With fewer lines than this, all participants of a transaction share a line."""
_AMOUNT = 11


class BankView(Widget, can_focus=True):
    """The bank as of a record. Waiting times advance with the time shown.

    Accounts and transactions scroll; the total stays visible.
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
        self._theme_styles = theme_styles
        self._header = header
        self._record = -1
        self._now_us = 0
        self._bank = Bank((), (), 0, 0)
        self._stuck: tuple[TransactionDiagnosis, ...] = ()
        self._splits: tuple[SplitOutcome, ...] = ()
        self._top = self._last_top = 0
        self._drawn: object = None
        self._lines: list[list[Piece]] = []

    def show(self, cursor: Cursor) -> None:
        cluster, now_us = cursor.cluster, cursor.now_us
        if cluster.record != self._record:
            self._record = cluster.record
            self._bank = bank_in(cluster, self._header)
            self._stuck = diagnose_bank(self._bank, cluster, self._header)
            self._splits = split_outcomes(cluster)
        elif not self._stuck or now_us == self._now_us:
            return
        self._now_us = now_us
        self.refresh()

    def activate(self) -> None:
        """Do nothing."""

    def action_scroll(self, by: int) -> None:
        self._top = max(0, min(self._top + by, self._last_top))
        self.refresh()

    def action_scroll_page(self, pages: int) -> None:
        """Scroll by half a screen."""
        self.action_scroll(pages * max(1, self.size.height // 2))

    def render_line(self, y: int) -> Strip:
        drawn = self._record, self._now_us, self.size, self._theme_styles.dark, self._top
        if drawn != self._drawn:
            self._drawn, self._lines = drawn, self._build_lines()
        width, base = self.size.width, self.rich_style
        pieces = self._lines[y] if y < len(self._lines) else []
        return Strip([Segment(text, base + style) for text, style in fit(pieces, width)], width)

    def _build_lines(self) -> list[list[Piece]]:
        width, height = self.size.width, self.size.height
        self._last_top = 0
        if width < _SIDE_BY_SIDE_WIDTH:
            head = [*self._split_rows(width), self._total()]
            lines = [*self._transactions(width), *self._account_summary(width)]
            return [*head, *self._scrolled(lines, height - len(head), "line")]
        head, accounts, foot = self._accounts()
        left = [*head, *self._scrolled(accounts, height - len(head) - len(foot), "account"), *foot]
        each = self._width_of(left)
        right_width = width - each - _GAP
        head, lines = list(self._split_rows(right_width)), list(self._transactions(right_width))
        right = [*head, *self._scrolled(lines, height - len(head), "line")]
        nothing: list[Piece] = []
        pairs = zip_longest(left, right, fillvalue=nothing)
        return [[*fit(one, each), (" " * _GAP, Style()), *other] for one, other in pairs]

    @staticmethod
    def _width_of(lines: list[list[Piece]]) -> int:
        return max((sum(len(text) for text, _ in line) for line in lines), default=0)

    def _scrolled(self, lines: list[list[Piece]], height: int, noun: str) -> list[list[Piece]]:
        """Return the lines that fit, from the scroll position on; the last one counts those below."""
        last_top = max(0, len(lines) - max(1, height))
        self._last_top = max(self._last_top, last_top)
        if self._top >= last_top:
            return lines[last_top:]
        end = self._top + max(0, height - 1)
        return [*lines[self._top : end], [(f"and {format_count(len(lines) - end, f'more {noun}')} (PgDn)", DIM)]]

    # the accounts

    def _accounts(self) -> tuple[list[list[Piece]], list[list[Piece]], list[list[Piece]]]:
        """Return the table's head, its accounts, and its totals."""
        names = (account.name for account in self._bank.accounts)
        widest = max(map(len, (*names, "handed out")))
        blank = " " * 6
        head: list[Piece] = [(f"{'account':{widest}}  node{'balance':>{_AMOUNT}}  locked by", DIM)]
        foot: list[list[Piece]] = [
            [(self._theme_styles.glyphs.rest * (widest + 6 + _AMOUNT), DIM)],
            [(f"{'total':{widest}}{blank}{self._amount(self._bank.total):>{_AMOUNT}}", _BOLD)],
            [(f"{'handed out':{widest}}{blank}{self._amount(self._bank.cash_out):>{_AMOUNT}}", Style())],
            self._conservation(),
        ]
        return [head], [self._account(account, widest) for account in self._bank.accounts], foot

    def _account(self, account: Account, widest: int) -> list[Piece]:
        return [
            (f"{account.name:{widest}}", _BOLD if account.is_alive else DIM),
            (f"  {account.node:>4}", Style()),
            (f"{self._amount(account.cents):>{_AMOUNT}}", self._balance(account)),
            (f"  {self._lock(account)}", self._theme_styles.warning),
            ("" if account.is_alive else f"{'  ' if account.lock else ''}{account.node} is down", DIM),
        ]

    def _account_summary(self, width: int) -> Iterator[list[Piece]]:
        """Yield the accounts in short, as many on a line as fit."""
        line: list[Piece] = []
        for account in self._bank.accounts:
            piece: list[Piece] = [
                (f"{account.name} ", Style() if account.is_alive else DIM),
                (format_cents(account.cents), self._balance(account)),
                (f" {self._lock(account)}" if account.lock else "", self._theme_styles.warning),
            ]
            if line and self._width_of([[*line, *piece]]) > width:
                yield line
                line = []
            line += [*piece, ("  ", Style())]
        yield line

    def _total(self) -> list[Piece]:
        total = f"total {format_cents(self._bank.total)}, handed out {format_cents(self._bank.cash_out)}: "
        return [(total, _BOLD), *self._conservation()]

    def _amount(self, cents: int) -> str:
        """Return an amount, padded so that decimal points align if any account holds cents."""
        text = format_cents(cents)
        has_cents = any(account.cents % 100 for account in self._bank.accounts)
        return f"{text}   " if has_cents and not cents % 100 else text

    def _balance(self, account: Account) -> Style:
        return self._theme_styles.warning if account.lock else _BOLD if account.is_alive else DIM

    def _lock(self, account: Account) -> str:
        return "" if account.lock is None else f"{self._theme_styles.glyphs.lock} {account.lock}"

    def _conservation(self) -> list[Piece]:
        """Return whether the total is unchanged; while transactions are open, by how much it differs."""
        missing, marks = self._bank.missing, self._theme_styles.glyphs.marks
        if not missing:
            return [(f"{marks['met']} conserved", self._theme_styles.mark("met"))]
        less = f"{format_cents(abs(missing))} {'less' if missing > 0 else 'more'} than at first"
        if self._stuck:
            several = len(self._stuck) > 1
            what = f"{len(self._stuck)} are" if several else f"{self._stuck[0].transaction} is"
            return [(f"{less}, while {what} open", self._theme_styles.mark("election"))]
        return [(f"{marks['unmet']} {less}", self._theme_styles.warning)]

    # the transactions

    def _split_rows(self, width: int) -> Iterator[list[Piece]]:
        """Yield the transactions that are committed at some nodes and aborted at others."""
        for split in self._splits:
            where = f"committed at {_names(split.committed)}, aborted at {_names(split.aborted)}"
            text = f"{split.transaction} {self._theme_styles.glyphs.marks['unmet']} {where}"
            yield from ([(line, self._theme_styles.warning)] for line in wrap(text, max(20, width)))

    def _transactions(self, width: int) -> Iterator[list[Piece]]:
        """Yield the open transactions in detail. Several that are decided share a line."""
        if not self._stuck:
            yield [("no open transaction", DIM)]
        decided = [stuck for stuck in self._stuck if _is_decided(stuck)]
        detailed = [stuck for stuck in self._stuck if stuck not in decided]
        yield from self._detail_rows(detailed if len(decided) > 1 else [*detailed, *decided], width)
        if len(decided) > 1:
            if detailed and self.size.height >= _LEAST_HEIGHT:
                yield []
            yield [(_decided_summary(decided), DIM)]

    def _detail_rows(self, detailed: Sequence[TransactionDiagnosis], width: int) -> Iterator[list[Piece]]:
        is_low = self.size.height < _LEAST_HEIGHT
        for place, stuck in enumerate(detailed):
            if place and not is_low:
                yield []
            yield self._head(stuck)
            for number, sentence in enumerate(stuck.sentences[: 1 if is_low else None]):
                for line in wrap(sanitize(sentence, 1000), max(20, width - 2)):
                    yield [(f"  {line}", _BOLD if not number else DIM)]
            if is_low:
                yield [
                    piece
                    for participant in stuck.overview.participant_states
                    for piece in self._short_participant(participant)
                ]
            else:
                yield from (
                    self._participant_row(participant) for participant in stuck.overview.participant_states
                )

    def _head(self, stuck: TransactionDiagnosis) -> list[Piece]:
        theme_styles = self._theme_styles
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
            detailed = f"  its locks rejected {', '.join(map(str, stuck.turned_away))}"
            pieces.append((detailed, theme_styles.mark("election")))
        return pieces

    def _participant_row(self, participant: ParticipantState) -> list[Piece]:
        theme_styles, view, wait = self._theme_styles, participant.view, participant.wait
        pieces: list[Piece] = [(f"  {participant.node:>2} ", _BOLD)]
        pieces += fit(state_pieces(participant.part.state.value, theme_styles), 12)
        if view.process != "running":
            pieces.append(
                (f"  {theme_styles.glyph(view.process)} {view.process}", theme_styles.status(view.process))
            )
        if participant.reported is not None:
            pieces.append((f"  {self._seconds(participant.reported.since_us)}", Style()))
        if participant.locks:
            held = ", ".join(sanitize(name, 20) for name in participant.locks)
            pieces.append((f"  {theme_styles.glyphs.lock} {held}", theme_styles.warning))
        if wait is not None:
            peers = f" from {' '.join(map(str, wait.peers))}" if wait.peers else ""
            pieces.append((f"  waits for {sanitize(wait.what, 60)}{peers}", DIM))
        return pieces

    def _short_participant(self, participant: ParticipantState) -> list[Piece]:
        down = "" if participant.view.process == "running" else f" {participant.view.process}"
        return [
            (f"  {participant.node} ", _BOLD),
            *state_pieces(participant.part.state.value, self._theme_styles),
            (down, self._theme_styles.status(participant.view.process)),
        ]

    def _seconds(self, since_us: int) -> str:
        return f"{max(0, self._now_us - since_us) / 1e6:.1f} s"


def _is_decided(stuck: TransactionDiagnosis) -> bool:
    """Return whether every participant that waits knows the decision, and only others have yet to learn it."""
    states = [each.part.state in DECIDED for each in stuck.overview.participant_states]
    open_at = [
        each.part.state in DECIDED for each in stuck.overview.participant_states if each.reported is not None
    ]
    return any(states) and all(open_at)


def _decided_summary(decided: Sequence[TransactionDiagnosis]) -> str:
    participant_states = [each for stuck in decided for each in stuck.overview.participant_states]
    unaware = sorted({each.node for each in participant_states if each.part.state not in DECIDED})
    if not unaware:
        return f"{len(decided)} decided, not acknowledged by all"
    have = "has" if len(unaware) == 1 else "have"
    return f"{len(decided)} decided; {_names(unaware)} {have} not learnt the decision"


def _names(nodes: Sequence[int]) -> str:
    *first, last = map(str, nodes)
    return f"{', '.join(first)} and {last}" if first else last
