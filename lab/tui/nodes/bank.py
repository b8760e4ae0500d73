"""What a node's pane says of the bank: its balances, its open transactions, and the end of its log."""

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style

from lab.analysis.bank_state import entries_of, share_of
from lab.protocols.accounts import format_cents
from lab.recording.snapshot import NodeState
from lab.text import sanitize
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["BankPane", "OpenHere", "bank_pane", "bank_pieces", "state_pieces"]

_MOST_ENTRIES = 6
_LONGEST_NAME = 20


class OpenHere(Struct, frozen=True):
    """An open transaction, what it is to this node, and for how long."""

    name: str
    state: str
    for_us: int
    is_blocked: bool


class BankPane(Struct, frozen=True):
    """``balances`` are accounts, their cents and who has locked them, ``log`` the last entries, the newest last.

    ``refuses``: it votes NO next.
    """

    balances: tuple[tuple[str, int, str], ...]
    open: tuple[OpenHere, ...]
    log: tuple[str, ...]
    refuses: bool


def bank_pane(view: NodeState, now_us: int) -> BankPane | None:
    """What is to be said of it as of that instant; of one that is down, its log. None: there is no bank."""
    log = tuple(f"{entry.what} {entry.transaction}" for entry in entries_of(view, last=_MOST_ENTRIES + 1))
    share = share_of(view)
    if share is None:
        return BankPane((), (), log, False) if log else None
    locks = {name: str(holder) for name, holder in share.locks}
    return BankPane(
        tuple((sanitize(name, _LONGEST_NAME), cents, locks.get(name, "")) for name, cents in share.balances),
        tuple(
            OpenHere(
                str(each.transaction),
                each.state.value,
                max(0, now_us - each.since_us),
                each.blocked_us is not None,
            )
            for each in share.open
        ),
        log,
        share.refuses,
    )


def bank_pieces(
    pane: BankPane, theme_styles: ThemeStyles, width: int
) -> tuple[list[Piece], list[Piece], list[Piece]]:
    """The balances, the open transactions, and as much of the log's end as fits; each a line."""
    return _balances(pane, theme_styles), _open(pane, theme_styles), _log(pane, width)


def state_pieces(state: str, theme_styles: ThemeStyles) -> list[Piece]:
    """What a transaction is to a participant, as a symbol and a word."""
    return [
        (f"{theme_styles.glyphs.states.get(state, theme_styles.glyphs.dot)} {state}", theme_styles.state(state))
    ]


def _balances(pane: BankPane, theme_styles: ThemeStyles) -> list[Piece]:
    pieces: list[Piece] = []
    for name, cents, lock in pane.balances:
        pieces += [
            (f"{name} ", Style()),
            (format_cents(cents), theme_styles.warning if lock else Style(bold=True)),
        ]
        pieces += [(f" {theme_styles.glyphs.lock}{lock}" if lock else "", theme_styles.warning), ("  ", Style())]
    if pane.refuses:
        pieces.append(("votes NO next", theme_styles.warning))
    return pieces


def _open(pane: BankPane, theme_styles: ThemeStyles) -> list[Piece]:
    pieces: list[Piece] = []
    for each in sorted(pane.open, key=lambda each: not each.is_blocked):
        pieces += [(f"{each.name} ", Style(bold=True)), *state_pieces(each.state, theme_styles)]
        blocked = ", blocked" if each.is_blocked else ""
        pieces += [(f" {each.for_us / 1e6:.1f} s", Style()), (blocked, theme_styles.warning), ("  ", Style())]
    return pieces or [("nothing is open", DIM)]


def _log(pane: BankPane, width: int) -> list[Piece]:
    """The newest entries: what is cut off is what came before."""
    said, more = "", len(pane.log)
    for entry in reversed(pane.log[-_MOST_ENTRIES:]):
        longer = f"{entry}, {said}" if said else entry
        if said and cell_len(longer) > width - len("log … "):
            break
        said, more = longer, more - 1
    return [(f"log {'… ' if more else ''}{said}" if said else "the log is empty", DIM)]
