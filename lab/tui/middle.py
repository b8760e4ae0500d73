"""What is below the nodes: the log of messages, or a view that takes its place for a while."""

from textual.widgets import ContentSwitcher

from lab.journal import Cluster
from lab.text import sanitize
from lab.tui.bankview import BankView
from lab.tui.dialogs import RecordDialog
from lab.tui.fieldview import FieldView
from lab.tui.groupview import GroupView
from lab.tui.logrows import LogRows
from lab.tui.look import Look
from lab.tui.messagelog import MessageLog
from lab.tui.panes import NodePanes
from lab.tui.scriptview import ScriptView
from lab.tui.source import Source

__all__ = ["Middle"]

_View = MessageLog | GroupView | ScriptView | FieldView | BankView
_LOG = "log"
_SAID = {
    _LOG: "the log again",
    "groups": "the history of groups; Enter goes to the record of a line, g back to the log",
    "script": "the script; Enter goes to the record of a line, s back to the log",
    "bank": "the bank: accounts, locks, what is open and why; b back to the log",
    "map": "the map of the field: filled is surveyed, ▶ is being surveyed, pale is not yet; m back to the log",
}


class Middle(ContentSwitcher):
    """``message_log`` is drawn while no other view is. Each of those is named as the action that turns to it."""

    DEFAULT_CSS = "Middle { height: 1fr; }"

    def __init__(self, look: Look, source: Source) -> None:
        self.message_log = MessageLog(look, LogRows(source.lines, source.is_live))
        self._lines = source.lines
        self._views: dict[str, _View] = {
            _LOG: self.message_log,
            "groups": GroupView(look, source.lines.header, source.groups),
            "script": ScriptView(look, source),
            "map": FieldView(look, source.lines.header, source.groups),
            "bank": BankView(look, source.lines.header),
        }
        super().__init__(*self._views.values(), initial=_LOG)

    def show(self, cluster: Cluster, now_us: int) -> None:
        """Draw what is seen as of that record, at that instant."""
        if isinstance(self._shown, BankView):
            self._shown.show(cluster, now_us)
        else:
            self._shown.show(cluster)

    def turn_to(self, view: str) -> str:
        """Put that view in the place of the log, or the log back in its place; what there is to say of it."""
        self.current = _LOG if self.current == view else view
        (self.screen.query_one(NodePanes) if self.current == _LOG else self._shown).focus()
        return _SAID[self.current]

    @property
    def rows(self) -> LogRows:
        """The rows of the log."""
        return self.message_log.rows

    def open_cursor(self) -> None:
        """Open what is under the cursor of what is seen."""
        self._shown.open_cursor()

    def on_message_log_opened(self, message: MessageLog.Opened) -> None:
        """A line of the log was opened."""
        line = message.line
        self.app.push_screen(RecordDialog(self._lines, line.record, sanitize(line.text, 300)))

    @property
    def _shown(self) -> _View:
        return self._views[self.current or _LOG]
