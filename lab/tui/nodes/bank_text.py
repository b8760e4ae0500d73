"""The text about the bank in a node's pane: balances, open transactions, and the end of the log."""

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style

from lab.analysis.bank_state import entries_of, node_bank_state
from lab.protocols.accounts import format_cents
from lab.recording.snapshot import NodeState
from lab.text import sanitize
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles

__all__ = ["BankPane", "LocalTransaction", "bank_pane", "bank_pieces", "state_pieces"]

_MOST_ENTRIES = 6
_LONGEST_NAME = 20


class LocalTransaction(Struct, frozen=True):
    """An open transaction at this node: its state here, and since when."""

    name: str
    state: str
    for_us: int
    is_blocked: bool


class BankPane(Struct, frozen=True):
    """The bank at a node.

    ``balances`` are (account, cents, holder of the lock). ``log`` has the newest entry last. ``refuses``: the node
    votes NO next.
    """

    balances: tuple[tuple[str, int, str], ...]
    open: tuple[LocalTransaction, ...]
    log: tuple[str, ...]
    refuses: bool


def bank_pane(view: NodeState, now_us: int) -> BankPane | None:
    """Return the bank at a node as of ``now_us``. Of a node that is down, only its log; None without a bank."""
    log = tuple(f"{entry.what} {entry.transaction}" for entry in entries_of(view, last=_MOST_ENTRIES + 1))
    share = node_bank_state(view)
    if share is None:
        return BankPane((), (), log, False) if log else None
    locks = {name: str(holder) for name, holder in share.locks}
    return BankPane(
        tuple((sanitize(name, _LONGEST_NAME), cents, locks.get(name, "")) for name, cents in share.balances),
        tuple(
            LocalTransaction(
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
    """Return three lines: the balances, the open transactions, and as much of the log's end as fits."""
    return _balance_pieces(pane, theme_styles), _open_pieces(pane, theme_styles), _log_pieces(pane, width)


def state_pieces(state: str, theme_styles: ThemeStyles) -> list[Piece]:
    """Return a participant's state of a transaction as a symbol and a word."""
    return [
        (f"{theme_styles.glyphs.states.get(state, theme_styles.glyphs.dot)} {state}", theme_styles.state(state))
    ]


def _balance_pieces(pane: BankPane, theme_styles: ThemeStyles) -> list[Piece]:
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


def _open_pieces(pane: BankPane, theme_styles: ThemeStyles) -> list[Piece]:
    pieces: list[Piece] = []
    for each in sorted(pane.open, key=lambda each: not each.is_blocked):
        pieces += [(f"{each.name} ", Style(bold=True)), *state_pieces(each.state, theme_styles)]
        blocked = ", blocked" if each.is_blocked else ""
        pieces += [(f" {each.for_us / 1e6:.1f} s", Style()), (blocked, theme_styles.warning), ("  ", Style())]
    return pieces or [("nothing is open", DIM)]


def _log_pieces(pane: BankPane, width: int) -> list[Piece]:
    """Return the newest entries that fit; older ones are cut off."""
    text, more = "", len(pane.log)
    for entry in reversed(pane.log[-_MOST_ENTRIES:]):
        longer = f"{entry}, {text}" if text else entry
        if text and cell_len(longer) > width - len("log … "):
            break
        text, more = longer, more - 1
    return [(f"log {'… ' if more else ''}{text}" if text else "the log is empty", DIM)]
