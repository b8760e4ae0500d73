"""The command palette (Ctrl+P): every action that is available now, found by any of its letters, with its key."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from lab.tui.actions import Action


class ActionTarget(Protocol):
    """A screen whose actions the palette offers."""

    def actions(self) -> Sequence[Action]:
        """Return the actions that are available now."""

    def action_do(self, word: str, rest: str = "") -> None:
        """Perform the action with this word."""


class ActionProvider(Provider):
    """Offers the actions of the screen on which the palette was opened."""

    @property
    def _target(self) -> ActionTarget:
        return cast(ActionTarget, self.screen)

    async def discover(self) -> Hits:
        """Yield all actions, in the order of the table."""
        for action in self._target.actions():
            yield DiscoveryHit(Content(_label(action)), self._call(action), _label(action), action.help)

    async def search(self, query: str) -> Hits:
        """Yield the actions whose word or help matches, the best first."""
        matcher = self.matcher(query)
        for action in self._target.actions():
            by_word, by_help = matcher.match(action.word), matcher.match(action.help) / 2
            if score := max(by_word, by_help):
                shown = matcher.highlight(action.word) + Content(_key(action))
                yield Hit(score, shown, self._call(action), _label(action), action.help)

    def _call(self, action: Action) -> Callable[[], None]:
        return partial(self._target.action_do, action.word)


def _key(action: Action) -> str:
    return f"   {action.shown}" if action.shown else ""


def _label(action: Action) -> str:
    return f"{action.word}{_key(action)}"
