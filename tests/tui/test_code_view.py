"""The code view: where each node waits in the source, and the lines that the last step executed."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import lab
from lab.analysis.inspection import LastStep, LastSteps
from lab.glyphs import glyphs_for
from lab.kernel import Fired, Step
from lab.recording.reader import open_recording
from lab.recording.records import Link
from lab.replay.line_trace import installed_protocol, trace_lines
from lab.replay.source_listing import Listing
from lab.styles import ThemeStyles
from lab.tui.views.code_view import CodeView, colour_lines, wrap_lines
from lab.worlds.loading.config import RunConfig
from tests.harness import TIMING
from tests.profile import sampled
from tests.tui.hostile import hostile_recording
from tests.tui.recorded import SHIPPED, written
from tests.tui.seen import Seen, attached, replay, replay_in_sizes, served

RECORDINGS = SHIPPED.parent
SCENARIOS = RECORDINGS / "scenarios"
TASK = SCENARIOS / "3pc-a-partition-breaks-it.jsonl"
CLEAR = glyphs_for({"LANG": "C.UTF-8"})


def _view(seen: Seen) -> CodeView:
    return seen.of("#code", CodeView)


def _rows(seen: Seen) -> list[str]:
    view = _view(seen)
    return [view.render_line(y).text for y in range(view.size.height)]


def _marked(seen: Seen) -> dict[int, str]:
    """Return the node numbers before the visible lines, by line of the listing."""
    view = _view(seen)
    places = range(view.scroll_offset.y, min(len(view._rows), view.scroll_offset.y + view._height))
    rows = {place: view.render_line(place - view.scroll_offset.y + len(view._head)).text for place in places}
    width = view._nodes_width
    return {view._rows[place].line: text[:width].strip() for place, text in rows.items() if text[:width].strip()}


def _shaded(seen: Seen) -> set[int]:
    """Return the visible lines marked as executed."""
    view = _view(seen)
    places = range(view.scroll_offset.y, min(len(view._rows), view.scroll_offset.y + view._height))
    at = view._nodes_width + 5
    return {
        view._rows[place].line
        for place in places
        if view.render_line(place - view.scroll_offset.y + len(view._head)).text[at] in (CLEAR.whole, "|")
    }


def _number_of(path: Path, wanted: Callable[[Step], bool]) -> int:
    lines = open_recording(path)
    found = next(n for n, record in enumerate(lines.records()) if isinstance(record, Step) and wanted(record))
    lines.close()
    return found


def _lines_run(path: Path, number: int) -> tuple[int, ...]:
    lines = open_recording(path)
    running = trace_lines(lines, number, installed_protocol(lines.header.protocol))
    while True:
        try:
            next(running)
        except StopIteration as end:
            lines.close()
            found: tuple[int, ...] = end.value
            return found


async def _until_traced(seen: Seen) -> None:
    """Wait until the executed lines are known, or the reason why they are not."""
    await seen.until(lambda: (ran := _view(seen)._ran) is not None and (ran.is_exact or ran.why), "what ran")


# the text


def _text(source: str, width: int, waited: frozenset[int] = frozenset()) -> list[str]:
    rows = wrap_lines(colour_lines(source.split("\n"), ThemeStyles(CLEAR)), width, 10, waited)
    return ["".join(text for text, _ in row.pieces) for row in rows]


def test_long_lines_break_at_blanks() -> None:
    """The rest is indented, and nothing is lost."""
    source = "    answers = await self.ask_all(self.peers, AreYouNormal(), within=self.t_us)"
    assert _text(source, 100) == [source]
    assert _text(source, 60) == [
        "    answers = await self.ask_all(self.peers, AreYouNormal(), ",
        "            within=self.t_us)",
    ]
    assert "".join(_text("x" * 100, 30)).replace(" ", "") == "x" * 100


def test_letters_of_two_cells_count_as_two() -> None:
    """In a row of thirty there are half as many, also after letters of one cell."""
    first, second, *_ = _text("x" * 10 + "漢" * 30, 30)
    assert first == "x" * 10 + "漢" * 10
    assert set(second.strip()) == {"漢"}


def test_room_is_left_for_waiting_times() -> None:
    """Only at the end of lines at which nodes can wait."""
    source = "await self.sleep(1, 'a while')"
    assert _text(source, 35) == [source]
    assert _text(source, 35, frozenset({1})) == ["await self.sleep(1, 'a ", "        while')"]


def test_colouring_does_not_change_the_text() -> None:
    """Control characters are escaped, tabs become blanks, lines stay lines."""
    source = 'def f():\n\treturn "a" # b\n"""\nno\n"""\n\x1b[2J\n(\n'
    styles = ThemeStyles(CLEAR)
    lines = colour_lines(source.split("\n"), styles)
    texts = ["".join(text for text, _ in line) for line in lines]
    assert texts == ["def f():", '    return "a" # b', '"""', "no", '"""', "\\x1b[2J", "(", ""]
    named = {text: style for line in lines for text, style in line}
    assert named["return"].color is not None
    assert named["f"].bold
    styles.dark = False
    assert dict(colour_lines(source.split("\n"), styles)[1])["return"] != named["return"]


def test_text_beyond_the_limit_is_not_coloured() -> None:
    source = "\n".join(["x = 'a'  # " + "b" * 90] * 2500)
    lines = colour_lines(source.split("\n"), ThemeStyles(CLEAR))
    assert len(lines) == 2500
    assert len(lines[0]) > 1
    assert len(lines[-1]) == 1
    assert {"".join(text for text, _ in line) for line in lines} == {"x = 'a'  # " + "b" * 90}


# the view


def test_it_shows_where_the_node_of_the_record_waits() -> None:
    """With its number, the time left, the file, the function and the rules."""
    number = _number_of(SHIPPED, lambda step: any(wait.procedure == "check" for wait in step.began))

    async def test(seen: Seen) -> None:
        seen.player.go(number)
        await seen.press("c")
        cluster = seen.player.cluster()
        listing = Listing(seen.source.store.header.protocol)
        node = seen.source.store.record(number)
        assert isinstance(node, Step)
        wait = cluster.nodes[node.node].waits[0]
        line = listing.line_of(wait)
        assert line is not None
        assert str(node.node) in _marked(seen)[line].split()
        head = _rows(seen)[0]
        assert head.startswith(" bully.py  check B3  ")
        assert f"node {node.node} waits for AreYouNormal answers" in head
        left = (wait.until_us or 0) - seen.player.now_us
        assert any(row.rstrip().endswith(f" {node.node}: {left / 1e6:.1f} s") for row in _rows(seen))

    replay_in_sizes(test, [(80, 24), (120, 40), (200, 60)])


def test_several_nodes_on_one_line_are_shown_together() -> None:
    """The selected one is highlighted."""

    async def test(seen: Seen) -> None:
        seen.player.seek(1_400_000)
        await seen.press("2", "c")
        waits = {n: view.waits for n, view in seen.player.cluster().nodes.items()}
        together = [n for n in waits if any(wait.procedure.startswith("terminate") for wait in waits[n])]
        assert together == [1, 2, 3]
        view = _view(seen)
        line = view._listing.line_of(waits[2][0])
        assert line is not None
        assert _marked(seen)[line] == "1 2 3"
        assert _rows(seen)[0].startswith(" three_phase.py  terminate")
        row = next(
            view.render_line(y) for y in range(2, view.size.height) if "1 2 3" in view.render_line(y).text[:5]
        )
        reversed_ = [segment.text for segment in row if segment.style is not None and segment.style.reverse]
        assert reversed_ == ["2"]
        assert any("1-3: 0.3 s" in text for text in _rows(seen))

    replay(test, TASK)


def test_the_executed_lines_are_exact_once_time_stops() -> None:
    """For a handler, and for a procedure between two waits."""
    for wanted in (
        lambda step: step.changed.get("halted") not in (None, step.node),
        lambda step: step.input == Fired("election") and bool(step.began),
    ):
        number = _number_of(SHIPPED, wanted)
        expected = set(_lines_run(SHIPPED, number))
        assert expected

        async def test(seen: Seen, number: int = number, expected: set[int] = expected) -> None:
            seen.player.go(number)
            await seen.press("c")
            await _until_traced(seen)
            ran = _view(seen)._ran
            assert ran is not None
            assert ran.is_exact
            await seen.press("enter")
            await seen.until(lambda: _shaded(seen), "the lines that ran are in sight")
            visible = {
                row.line for row in _view(seen)._rows[_view(seen).scroll_offset.y :][: len(_rows(seen)) - 2]
            }
            assert _shaded(seen) == expected & visible
            assert set(ran.lines) == expected
            assert f"node {ran.node} executed in record {number}: {len(expected)} lines" in _rows(seen)[1]

        replay(test)


def test_a_selected_node_s_own_last_step_is_shaded() -> None:
    """However long ago it was."""

    async def test(seen: Seen) -> None:
        seen.player.go(120)
        await seen.press("5", "c")
        await _until_traced(seen)
        found = LastSteps(seen.source.store).at(120, 5)
        ran = _view(seen)._ran
        assert found is not None
        assert ran is not None
        assert (ran.number, ran.node) == (found.number, 5)
        assert "node 5 is killed" in _rows(seen)[0]
        await seen.press("4")
        await seen.until(lambda: "node 4 waits" in _rows(seen)[0], "node 4 is followed")

    replay(test)


def test_enter_switches_between_the_wait_and_the_executed_lines() -> None:
    """After scrolling, Enter returns to them."""
    number = _number_of(TASK, lambda step: step.input == Fired("check"))

    async def test(seen: Seen) -> None:
        seen.player.go(number)
        await seen.press("c")
        await _until_traced(seen)
        view = _view(seen)
        ran, waiting = view._ran, {line for line, all_ in view._waiting.items() if all_[0].is_selected}
        assert ran is not None
        place = view._place_of[ran.lines[0]]

        def sees(line: int) -> bool:
            return view.scroll_offset.y <= view._place_of[line] < view.scroll_offset.y + view.size.height - 2

        assert any(sees(line) for line in waiting)
        await seen.press("pageup", "pageup", "up")
        left = view.scroll_offset.y
        await seen.pilot.pause(0.3)
        assert view.scroll_offset.y == left
        await seen.press("enter")
        await seen.until(lambda: sees(ran.lines[0]), f"row {place} is in sight")
        await seen.press("enter")
        await seen.until(lambda: any(map(sees, waiting)), "the wait is in sight")
        await seen.press("pagedown", "down", "up")
        assert view.scroll_offset.y > left

    replay(test, TASK, (80, 24))


def test_nothing_is_traced_during_playback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step is traced only after it has been shown for a while."""
    looked: list[int] = []

    async def test(seen: Seen) -> None:
        await seen.press("c")
        find = _view(seen)._tracer.find

        async def noted(found: LastStep) -> None:
            looked.append(found.number)
            await find(found)

        monkeypatch.setattr(_view(seen)._tracer, "find", noted)
        seen.player.go(10)
        for _ in range(30):
            seen.player.step(1)
            seen.run.draw()
        assert looked == []
        assert "the executed lines appear when time stops" in _rows(seen)[1]
        await _until_traced(seen)
        assert len(looked) == 1
        await seen.pilot.pause(0.3)
        assert len(looked) == 1

    replay(test)


def _edited(path: Path, **changes: object) -> Path:
    header, _, rest = SHIPPED.read_bytes().partition(b"\n")
    decoded = msgspec.json.decode(header)
    decoded["protocol"] |= changes
    path.write_bytes(msgspec.json.encode(decoded) + b"\n" + rest)
    return path


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"source": open_recording(SHIPPED).header.protocol.source + "\n"},
            "the recorded source differs from the installed",
        ),
        ({"name": "mine.py:Mine"}, "the protocol is not installed"),
        ({"name": "field", "parameters": {"election": [1]}}, "the recorded source differs from the installed one"),
        ({"parameters": {"halting": "perhaps"}}, "re-execution raises ValidationError"),
        ({"parameters": {"halting": "in_order"}}, "differs from its re-execution"),
    ],
    ids=["edited", "own", "election", "parameters", "others"],
)
def test_an_impossible_trace_gives_a_reason_and_an_estimate(
    tmp_path: Path, changes: dict[str, object], why: str
) -> None:
    path = _edited(tmp_path / "edited.jsonl", **changes)
    number = _number_of(path, lambda step: step.changed.get("halted") == 4 and step.node == 1)

    async def test(seen: Seen) -> None:
        seen.player.go(number)
        await seen.press("c")
        await _until_traced(seen)
        ran = _view(seen)._ran
        assert ran is not None
        assert not ran.is_exact
        assert _rows(seen)[1].startswith(f" {CLEAR.whole} node 1 executed in record {number}, approximately: ")
        assert why in _rows(seen)[1]
        function = _view(seen)._listing.named("on_enter_election")[0]
        assert set(range(function.line, function.last + 1)) <= set(ran.lines)

    replay(test, path)


@pytest.mark.parametrize(("source", "size"), [("escapes", (80, 24)), ("words", (200, 60)), ("long", (80, 24))])
def test_a_hostile_recording_is_drawn_and_does_no_harm(tmp_path: Path, source: str, size: tuple[int, int]) -> None:
    """Missing lines, invalid Python, escape sequences: nothing reaches the screen, nothing raises."""
    path = hostile_recording(tmp_path / "hostile.jsonl", source)

    async def test(seen: Seen) -> None:
        await seen.press("c")
        for number in (2, 61, 250):
            seen.player.go(number)
            await seen.press("enter", "pagedown", "down", "pageup", "enter")
            assert all(letter.isprintable() or letter == "\n" for letter in seen.text)
        await seen.press("2", ":theme")
        await _until_traced(seen)
        assert ", approximately" in _rows(seen)[1]

    replay(test, path, size)


def test_a_recording_without_source(tmp_path: Path) -> None:
    """A message says so, and the log stays."""
    path = hostile_recording(tmp_path / "hostile.jsonl", "nothing")

    async def test(seen: Seen) -> None:
        await seen.press("c")
        assert "this recording does not contain the source of its protocol" in seen.message
        assert seen.run.views.chosen == "log"

    replay(test, path)


@pytest.mark.parametrize(
    "name",
    sampled(["token-lost-on-its-way", "same-blocking-crash-2pc", "figure-10-9", "ring-the-starter-dies"], 2),
)
def test_other_protocols(name: str) -> None:
    """The token, two-phase commit, the invitation and the ring, at any record."""
    path = SCENARIOS / f"{name}.jsonl"

    async def test(seen: Seen) -> None:
        await seen.press("c")
        for number in range(3, len(seen.source.store), max(1, len(seen.source.store) // 3)):
            seen.player.go(number)
            await seen.press("enter")
            waits = [wait for view in seen.player.cluster().nodes.values() for wait in view.waits]
            assert all(_view(seen)._listing.line_of(wait) for wait in waits)
        await _until_traced(seen)
        ran = _view(seen)._ran
        assert ran is not None
        assert ran.is_exact

    replay(test, path)


def test_exact_lines_at_the_end_of_a_long_run(tmp_path: Path) -> None:
    path = written(tmp_path / "long.jsonl")

    async def test(seen: Seen) -> None:
        await seen.press("end", "c")
        await _until_traced(seen)
        ran = _view(seen)._ran
        assert ran is not None
        assert ran.is_exact

    replay(test, path)


def test_exact_lines_in_a_live_run(runs: Path) -> None:
    """In a simulated run, with the cursor in its past."""
    out = str(runs.parent / "run.jsonl")
    config = RunConfig("code", "bully", (1, 2, 3), TIMING, {}, Link(), 1, out, world="simulated")

    async def test(seen: Seen) -> None:
        await seen.press("c")
        await seen.until(lambda: len(seen.source.store) > 30, "some records")
        seen.player.go(30)
        await _until_traced(seen)
        ran = _view(seen)._ran
        assert ran is not None
        assert ran.is_exact
        assert _rows(seen)[0].startswith(" bully.py  ")

    with served(config) as ready:
        attached(test, ready.socket)


def test_a_hidden_view_reads_no_source() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("full_stop")
        assert _view(seen)._rows == ()
        assert "_listing" not in vars(_view(seen))

    replay(test)


def test_the_words_of_the_text_are_at_the_head() -> None:
    """Of the reading that the function follows, in its chosen value."""
    two_leaders = RECORDINGS / "holes" / "bully-two-leaders.jsonl"
    halting = _number_of(
        two_leaders,
        lambda step: any(wait.what == "EnterElection answers" and step.node == 3 for wait in step.began),
    )

    async def test(seen: Seen) -> None:
        await seen.press("3", "c")
        seen.player.go(halting)
        words = "reading halting=at_once: Chow & Johnson 1997, listing 10.20: “For every lower-priority"
        await seen.until(lambda: any(words in row for row in _rows(seen)[:4]), "the words")

    replay(test, two_leaders, size=(200, 50))


def test_departures_of_a_listing() -> None:
    """A class that is a repair or a variation, and a function that reads a parameter."""
    listing = Listing(open_recording(RECORDINGS / "holes" / "invitation-starves.jsonl").header.protocol)
    of = {(function.name, function.line): function.departures for function in listing.functions}
    names = {name for name, _ in of}
    assert {"wait_us", "on_invitation", "must_merge"} <= names
    assert ("wait",) in [departures for (name, _), departures in of.items() if name == "wait_us"]
    assert [*filter(None, (departures for (name, _), departures in of.items() if name == "on_invitation"))] == [
        ("stop_threads",),
        ("ignore_own_invitation",),
        ("decline_lower",),
    ]


def test_the_words_of_the_text_are_next_to_the_code() -> None:
    """As many as there is room for, after the line; in full, with their place in the text, if all else fits."""
    number = _number_of(SHIPPED, lambda step: any(wait.procedure == "check" for wait in step.began))
    cited = " Chow & Johnson 1997, listing 10.19: “for every other node j, send(j,AreYouNormal)”"

    async def test(seen: Seen) -> None:
        seen.player.go(number)
        await seen.press("c")
        await seen.until(lambda: any("await self.ask_all" in row for row in _rows(seen)), "the wait")
        rows = _rows(seen)
        is_tall = _view(seen).size.height >= 14
        assert (cited in [row.rstrip() for row in rows]) is is_tall
        (short,) = (row for row in rows if "strangers = replies" in row)
        assert short.rstrip().endswith("strangers = replies.keys() - self.up  “or j ∉ Up”")

    replay_in_sizes(test, [(80, 24), (120, 40), (200, 60)])


def test_the_words_take_only_blanks() -> None:
    """At 80x20 everything is where it is without them."""
    number = _number_of(SHIPPED, lambda step: any(wait.procedure == "check" for wait in step.began))

    async def test(seen: Seen) -> None:
        seen.player.go(number)
        await seen.press("c")
        await _until_traced(seen)
        seen.run.draw()
        quoted = _rows(seen)
        view = _view(seen)
        view._known_words = {name: {} for name in view._known_words}
        seen.run.draw()
        plain = _rows(seen)
        assert any("“" in row for row in quoted)
        assert not any("“" in row for row in plain)
        for row, same in zip(quoted, plain, strict=True):
            assert [(one, two) for one, two in zip(row, same, strict=True) if two not in (" ", one)] == []

    replay(test, SHIPPED, (80, 20))


def test_there_are_no_words_of_a_protocol_that_is_not_installed(tmp_path: Path) -> None:
    """Nor after the first line at which a recorded source differs from the one that was transcribed."""
    source = open_recording(SHIPPED).header.protocol.source
    mine = _edited(tmp_path / "mine.jsonl", name="mine.py:Mine")
    changed = source.replace("strangers = replies.keys() - self.up", "strangers = replies.keys()")
    edited = _edited(tmp_path / "edited.jsonl", source=changed)
    for path, shown in (
        (mine, []),
        (edited, ["answer = await", "replies = await self.ask_all(self.peers, AreYou"]),
    ):

        async def test(seen: Seen, shown: list[str] = shown) -> None:
            await seen.press("c")
            words = _view(seen)._words
            lines = [_view(seen)._listing.lines[line - 1].strip() for line in words]
            assert all(any(line.startswith(each) for line in lines) for each in shown)
            assert bool(words) is bool(shown)
            assert not any(line.startswith(("strangers", "astray")) for line in lines)

        replay(test, path)


def test_each_node_of_a_mixed_cluster_shows_its_own_source(tmp_path: Path) -> None:
    """With the nodes that wait in it, and no others."""
    lab.simulate("bully", 3, role={"3": "ring"}, for_="2s").save(tmp_path / "run.jsonl")

    def waiting(seen: Seen) -> set[int]:
        return {waiter.node for waiters in _view(seen)._waiting.values() for waiter in waiters}

    async def test(seen: Seen) -> None:
        seen.player.seek(20_000)
        await seen.press("1", "c")
        await seen.until(lambda: _rows(seen)[0].startswith(" bully.py"), "the source of node 1")
        assert waiting(seen) == {1, 2}
        await seen.press("3")
        await seen.until(lambda: _rows(seen)[0].startswith(" ring.py"), "the source of node 3")
        assert _view(seen)._listing is seen.source.listing_of(3)
        assert waiting(seen) == {3}
        await _until_traced(seen)

    replay(test, tmp_path / "run.jsonl")
