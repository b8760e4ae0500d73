"""The bank view: the accounts and their total, the open transactions, and why each is open."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from rich.style import Style
from rich.text import Text

from lab.protocols.accounts import format_cents
from lab.protocols.transaction import DECIDED
from lab.styles import DIM, Line, Piece, ThemeStyles, fit, width_of
from lab.tasks.bank.bank_state import Account, ParticipantState, bank_in
from lab.tasks.bank.blocking import TransactionDiagnosis, diagnose_bank
from lab.tasks.bank.commit_history import split_outcomes
from lab.tasks.view_frame import ViewFrame
from lab.text import sanitize

_BOLD = Style(bold=True)
_GAP = 4
_SIDE_BY_SIDE_WIDTH = 112
"""The least columns for accounts beside the transactions; with fewer, they stand above."""
_LEAST_HEIGHT = 10
"""With fewer lines than this, all participants of a transaction share a line."""
_AMOUNT = 11


def draw_bank(frame: ViewFrame) -> Text:
    """Draw the accounts beside the open transactions, or above them. Both scroll; the total stays visible."""
    return frame.text(_BankPicture(frame).lines())


class _BankPicture:
    def __init__(self, frame: ViewFrame) -> None:
        self._frame = frame
        self._styles = frame.styles
        self._bank = bank_in(frame.cluster, frame.header)
        self._stuck = diagnose_bank(self._bank, frame.cluster, frame.header)
        self._splits = split_outcomes(frame.cluster)

    def lines(self) -> list[Line]:
        frame, width, height = self._frame, self._frame.width, self._frame.height
        if width < _SIDE_BY_SIDE_WIDTH:
            head = [*self._split_rows(width), self._total()]
            lines = [*self._transactions(width), *self._account_summary(width)]
            return [*head, *frame.scrolled(lines, height - len(head), "line")]
        head, accounts, foot = self._accounts()
        left = [*head, *frame.scrolled(accounts, height - len(head) - len(foot), "account"), *foot]
        each = max(map(width_of, left))
        right_width = width - each - _GAP
        head, lines = list(self._split_rows(right_width)), list(self._transactions(right_width))
        right = [*head, *frame.scrolled(lines, height - len(head), "line")]
        nothing: Line = []
        pairs = zip_longest(left, right, fillvalue=nothing)
        return [[*fit(one, each), (" " * _GAP, Style()), *other] for one, other in pairs]

    # the accounts

    def _accounts(self) -> tuple[list[Line], list[Line], list[Line]]:
        """Return the table's head, its accounts, and its totals."""
        names = (account.name for account in self._bank.accounts)
        widest = max(map(len, (*names, "paid out")))
        blank = " " * 6
        head: Line = [(f"{'account':{widest}}  node{'balance':>{_AMOUNT}}  locked by", DIM)]
        foot: list[Line] = [
            [(self._styles.glyphs.rest * (widest + 6 + _AMOUNT), DIM)],
            [(f"{'total':{widest}}{blank}{self._amount(self._bank.total):>{_AMOUNT}}", _BOLD)],
            [(f"{'paid out':{widest}}{blank}{self._amount(self._bank.cash_out):>{_AMOUNT}}", Style())],
            self._conservation(),
        ]
        return [head], [self._account(account, widest) for account in self._bank.accounts], foot

    def _account(self, account: Account, widest: int) -> Line:
        return [
            (f"{account.name:{widest}}", _BOLD if account.is_alive else DIM),
            (f"  {account.node:>4}", Style()),
            (f"{self._amount(account.cents):>{_AMOUNT}}", self._balance(account)),
            (f"  {self._lock(account)}", self._styles.warning),
            ("" if account.is_alive else f"{'  ' if account.lock else ''}{account.node} is down", DIM),
        ]

    def _account_summary(self, width: int) -> Iterator[Line]:
        """Yield the accounts in short, as many on a line as fit."""
        line: Line = []
        for account in self._bank.accounts:
            piece: Line = [
                (f"{account.name} ", Style() if account.is_alive else DIM),
                (format_cents(account.cents), self._balance(account)),
                (f" {self._lock(account)}" if account.lock else "", self._styles.warning),
            ]
            if line and width_of([*line, *piece]) > width:
                yield line
                line = []
            line += [*piece, ("  ", Style())]
        yield line

    def _total(self) -> Line:
        total = f"total {format_cents(self._bank.total)}, paid out {format_cents(self._bank.cash_out)}: "
        return [(total, _BOLD), *self._conservation()]

    def _amount(self, cents: int) -> str:
        """Return an amount, padded so that decimal points align if any account holds cents."""
        text = format_cents(cents)
        has_cents = any(account.cents % 100 for account in self._bank.accounts)
        return f"{text}   " if has_cents and not cents % 100 else text

    def _balance(self, account: Account) -> Style:
        return self._styles.warning if account.lock else _BOLD if account.is_alive else DIM

    def _lock(self, account: Account) -> str:
        return "" if account.lock is None else f"{self._styles.glyphs.lock} {account.lock}"

    def _conservation(self) -> Line:
        """Return whether the total is unchanged; while transactions are open, by how much it differs."""
        missing, marks = self._bank.missing, self._styles.glyphs.marks
        if not missing:
            return [(f"{marks['met']} conserved", self._styles.mark("met"))]
        less = f"{format_cents(abs(missing))} {'less' if missing > 0 else 'more'} than at first"
        if self._stuck:
            several = len(self._stuck) > 1
            what = f"{len(self._stuck)} are" if several else f"{self._stuck[0].transaction} is"
            return [(f"{less}, while {what} open", self._styles.mark("election"))]
        return [(f"{marks['unmet']} {less}", self._styles.warning)]

    # the transactions

    def _split_rows(self, width: int) -> Iterator[Line]:
        """Yield the transactions that are committed at some nodes and aborted at others."""
        for split in self._splits:
            where = f"committed at {_names(split.committed)}, aborted at {_names(split.aborted)}"
            text = f"{split.transaction} {self._styles.glyphs.marks['unmet']} {where}"
            yield from ([(line, self._styles.warning)] for line in wrap(text, max(20, width)))

    def _transactions(self, width: int) -> Iterator[Line]:
        """Yield the open transactions in detail. Several that are decided share a line."""
        if not self._stuck:
            yield [("no open transaction", DIM)]
        decided = [stuck for stuck in self._stuck if _is_decided(stuck)]
        detailed = [stuck for stuck in self._stuck if stuck not in decided]
        yield from self._detail_rows(detailed if len(decided) > 1 else [*detailed, *decided], width)
        if len(decided) > 1:
            if detailed and self._frame.height >= _LEAST_HEIGHT:
                yield []
            yield [(_decided_summary(decided), DIM)]

    def _detail_rows(self, detailed: Sequence[TransactionDiagnosis], width: int) -> Iterator[Line]:
        is_low = self._frame.height < _LEAST_HEIGHT
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

    def _head(self, stuck: TransactionDiagnosis) -> Line:
        styles = self._styles
        pieces: Line = [(f"{stuck.transaction} ", styles.accent)]
        if stuck.blocked_since_us is not None:
            pieces.append(
                (f"{styles.glyph('Blocked')} blocked for {self._seconds(stuck.blocked_since_us)}", styles.warning)
            )
        else:
            pieces.append(("open" if stuck.since_us is None else f"open, {self._seconds(stuck.since_us)}", DIM))
        if stuck.turned_away:
            detailed = f"  its locks rejected {', '.join(map(str, stuck.turned_away))}"
            pieces.append((detailed, styles.mark("election")))
        return pieces

    def _participant_row(self, participant: ParticipantState) -> Line:
        styles, view, wait = self._styles, participant.view, participant.wait
        pieces: Line = [(f"  {participant.node:>2} ", _BOLD)]
        pieces += fit(state_pieces(participant.part.state.value, styles), 12)
        if view.process != "running":
            pieces.append((f"  {styles.glyph(view.process)} {view.process}", styles.status(view.process)))
        if participant.reported is not None:
            pieces.append((f"  {self._seconds(participant.reported.since_us)}", Style()))
        if participant.locks:
            held = ", ".join(sanitize(name, 20) for name in participant.locks)
            pieces.append((f"  {styles.glyphs.lock} {held}", styles.warning))
        if wait is not None:
            peers = f" from {' '.join(map(str, wait.peers))}" if wait.peers else ""
            pieces.append((f"  waits for {sanitize(wait.what, 60)}{peers}", DIM))
        return pieces

    def _short_participant(self, participant: ParticipantState) -> Line:
        down = "" if participant.view.process == "running" else f" {participant.view.process}"
        return [
            (f"  {participant.node} ", _BOLD),
            *state_pieces(participant.part.state.value, self._styles),
            (down, self._styles.status(participant.view.process)),
        ]

    def _seconds(self, since_us: int) -> str:
        return f"{max(0, self._frame.now_us - since_us) / 1e6:.1f} s"


def state_pieces(state: str, styles: ThemeStyles) -> list[Piece]:
    """Return a participant's state of a transaction as a symbol and a word."""
    return [(f"{styles.glyphs.states.get(state, styles.glyphs.dot)} {state}", styles.state(state))]


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
