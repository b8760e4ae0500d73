"""Search and filter: colours of the prompt, steps from hit to hit, filtered rows."""

from pathlib import Path

from lab.recording.log_lines import LogLine, lines_of
from lab.tui.views.group_view import GroupView
from lab.tui.views.log_view import MessageLog
from lab.tui.widgets.key_lines import TabLine
from lab.tui.widgets.prompts import SearchLine, complete_query
from tests.tui.grouped import partitioned_file
from tests.tui.seen import Seen, replay

NODES = (1, 2, 3)
KINDS = ("AreYouUp", "AreYouUpAnswer", "NewState")


def _line(seen: Seen) -> SearchLine:
    return seen.of("SearchLine", SearchLine)


def _log(seen: Seen) -> MessageLog:
    return seen.of("#log", MessageLog)


def _note(seen: Seen) -> str:
    return seen.of("TabLine", TabLine)._note


def _all_lines(seen: Seen) -> list[LogLine]:
    hidden = seen.run.views.rows.hidden_kinds
    lines = seen.source.store
    return [
        line
        for number, record in enumerate(lines.records())
        if record is not None
        for line in lines_of(number, record)
        if line.kind not in hidden
    ]


async def _searched(seen: Seen, text: str, key: str = "slash") -> None:
    await seen.press(key)
    await seen.type(text)
    await seen.press("enter")
    await seen.until(lambda: text in _note(seen) and "…" not in _note(seen), "all is counted")


def test_it_is_green_where_something_is_found_and_red_where_nothing_is_or_can_be() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("slash")
        assert "node:3" in seen.message, "what can be typed"
        await seen.type("NewState")
        await seen.until(lambda: _line(seen).has_class("good"), "it is green")
        count = sum(line.kind.startswith("NewState") for line in _all_lines(seen))
        await seen.until_message(f"{count} lines found")
        await seen.type("zz")
        await seen.until(lambda: _line(seen).has_class("bad"), "it is red")
        await seen.until_message("nothing matches")
        await seen.press("ctrl+u")
        await seen.type("kind:NewStat")
        await seen.until_message("unknown kind of message NewStat")
        assert _line(seen).has_class("bad")
        await seen.press("escape")
        assert not _line(seen).is_open
        assert seen.run.search.active is None

    replay(test)


def test_n_and_N_go_from_hit_to_hit_in_order_and_back() -> None:
    """The cursor in time goes to the record, the log's cursor to the line; Esc restores the keys."""

    async def test(seen: Seen) -> None:
        await _searched(seen, "kind:EnterElection")
        hits = [line for line in _all_lines(seen) if line.kind == "EnterElection"]
        for number, hit in enumerate(hits[:12], 1):
            assert seen.player.number == hit.record
            found = _log(seen).under_cursor
            assert found is not None
            assert found[0] == hit
            assert _note(seen) == f"/kind:EnterElection: hit {number} of {len(hits)}"
            await seen.press("n")
        for hit in reversed(hits[:12]):
            await seen.press("N")
            assert seen.player.number == hit.record
        await seen.press("N")
        await seen.until_message("no hit before this one")
        await seen.press("end", "N")
        assert seen.player.number == hits[-1].record
        await seen.press("n")
        await seen.until_message("no hit after this one")
        await seen.press("escape")
        await seen.until_message("the search is over")
        assert _note(seen) == ""
        words = {action.word for action in seen.run.actions()}
        assert "next-mark" not in words, "there are no captions in this recording"

    replay(test)


def test_a_search_from_the_end_begins_with_the_last_hit() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("end")
        await _searched(seen, "AreYouUp")
        hits = [line for line in _all_lines(seen) if "AreYouUp" in line.kind]
        assert seen.player.number == hits[-1].record

    replay(test)


def test_a_filter_shows_matching_lines_and_their_count() -> None:
    """As of the cursor in time; an empty query shows all lines."""

    async def test(seen: Seen) -> None:
        await _searched(seen, "node:3 -what:message", "ampersand")
        wanted = [line for line in _all_lines(seen) if line.source == 3 and line.what != "message"]
        for where in ("end", "home"):
            await seen.press(where)
            number, rows = seen.player.number, seen.run.views.rows
            shown = [line for line in wanted if line.record <= number]
            found = [rows.row(index, number) for index in range(len(shown) + 1)]
            assert [row[0] for row in found if row is not None] == shown
            total = sum(line.record <= number for line in _all_lines(seen))
            assert _note(seen) == f"filter: node:3 -what:message, {len(shown)} of {total}"
        await seen.press("ampersand")
        assert _line(seen).value == "node:3 -what:message"
        await seen.press("ctrl+u", "enter")
        assert seen.run.views.rows.filter is None
        assert _note(seen) == ""

    replay(test)


def test_heartbeats_are_shown_or_hidden_under_a_filter_too() -> None:
    async def test(seen: Seen) -> None:
        await _searched(seen, "from:5 what:message", "ampersand")
        await seen.press("end")
        for _ in range(3):
            lines = [line for line in _all_lines(seen) if (line.source, line.what) == (5, "message")]
            await seen.until(lambda: f", {len(lines)} of" in _note(seen), f"{len(lines)} lines")  # noqa: B023
            await seen.press(":heartbeats")

    replay(test)


def test_a_search_under_a_filter_finds_what_is_shown() -> None:
    async def test(seen: Seen) -> None:
        await _searched(seen, "to:4", "ampersand")
        await _searched(seen, "AreYouUp")
        hits = [line for line in _all_lines(seen) if line.target == 4 and "AreYouUp" in line.kind]
        assert _note(seen).startswith(f"/AreYouUp: hit 1 of {len(hits)}  filter: to:4,")
        found = _log(seen).under_cursor
        assert found is not None
        assert found[0] == hits[0]

    replay(test)


def test_the_first_hit_is_visible() -> None:
    """Though the log had no line before; a filter that comes later may hide it."""

    async def test(seen: Seen) -> None:
        await seen.press("home")
        await _searched(seen, "NewState")
        assert _note(seen).startswith("/NewState: hit 1 of ")
        assert any("NewState" in row and "→" in row for row in seen.text.splitlines())
        await _searched(seen, "Election", "ampersand")
        assert _note(seen).startswith("/NewState: 0 hits  filter: Election,")

    replay(test, size=(80, 24))


def test_a_predicate_finds_the_lines_of_the_records_at_which_it_holds() -> None:
    async def test(seen: Seen) -> None:
        await _searched(seen, "when coordinators == 2")
        leading = [sum(view.leads for view in seen.player.cluster().nodes.values())]
        await seen.press("comma")
        leading.append(sum(view.leads for view in seen.player.cluster().nodes.values()))
        assert leading == [2, 1]

    replay(test)


def test_the_word_takes_a_query_on_the_command_line() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("colon")
        await seen.type("filter what:status")
        await seen.press("enter")
        await seen.until(lambda: _note(seen).startswith("filter: what:status,"), "the filter is on")
        await seen.press("colon")
        await seen.type("search nod:3")
        await seen.press("enter")
        await seen.until_message("unknown field nod")

    replay(test)


def test_in_the_history_of_groups_a_text_is_sought_there(tmp_path: Path) -> None:
    async def test(seen: Seen) -> None:
        await seen.press("end", "g")
        view = seen.of("#groups", GroupView)
        await seen.press("slash")
        await seen.type("killed")
        await seen.until(lambda: _line(seen).has_class("good"), "it is green")
        await seen.press("enter")
        place = view.cursor
        assert place is not None
        assert "killed" in view.texts()[place] + view.texts()[min(place + 1, len(view.texts()) - 1)]
        assert "/killed: hit 1 of" in _note(seen)
        await seen.press("escape")
        assert seen.run.search.active is None

    replay(test, partitioned_file(tmp_path / "parted.jsonl"))


def test_what_is_typed_is_completed() -> None:
    for typed, expected in (
        ("", None),
        ("ki", "kind:"),
        ("kind:New", "kind:NewState"),
        ("-fa", "-fate:"),
        ("node:3 what:st", "node:3 what:status"),
        ("link:2->", "link:2->1"),
        ('fate:"t', 'fate:"timed out"'),
        ("node:3 when 4 norm", "node:3 when 4 normal"),
        ("zz", None),
        ("node:3 ", None),
    ):
        assert next(iter(complete_query(typed, [], NODES, KINDS)), None) == expected, typed
    assert complete_query("no", ["node:2 fate:lost"], NODES, KINDS)[0] == "node:2 fate:lost"
