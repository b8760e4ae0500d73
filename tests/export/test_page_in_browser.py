"""The page in a real browser: what stays in sight, the cursor in time, playing, keys, contrast."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import lab
from lab.export.excerpt import Excerpt, ExportOptions, read_excerpt
from lab.export.figure_options import FigureOptions
from lab.export.html_page import write_html
from lab.recording.reader import open_recording
from lab.recording.timeline import Timeline
from tests.export.windows import RECORDINGS, written
from tests.profile import SOAK, sampled
from tests.serve.browser import CHROMIUM, Browser, Chromium

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here: apt-get install chromium")

TWO = RECORDINGS / "two-coordinators.jsonl"
GROUPS = RECORDINGS / "scenarios" / "figure-10-9.jsonl"
_KEYS = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9, "Escape": 27}
_LINE = (
    "const [box, line] = [diagram, document.getElementById('cursor')].map(each => each.getBoundingClientRect());"
)
_VISIBLE = f"(() => {{ {_LINE} return line.top >= box.top && line.bottom <= box.bottom; }})()"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Browser]:
    """A window of 1200 by 800; at the end, no page has complained, nor loaded anything but itself."""
    with Browser(chromium) as opened:
        opened.resize(1200, 800)
        yield opened
        assert opened.complaints == []
        assert {address.partition(":")[0] for address in opened.requested} == {"file"}


def _open(browser: Browser, folder: Path, excerpt: Excerpt) -> None:
    file = folder / "page.html"
    file.write_text(written(write_html, excerpt), "utf-8")
    browser.go_to(file.as_uri())


def _show(browser: Browser, folder: Path, recording: Path = TWO, **options: Any) -> Excerpt:
    """Open the page of a recording."""
    time = options.pop("time", "down")
    with closing(open_recording(recording)) as store:
        excerpt = read_excerpt(store, ExportOptions(time=time, figure=FigureOptions(**options)))
        assert len(excerpt.violations) >= 0  # read before the file is closed
        _open(browser, folder, excerpt)
        return excerpt


def _press(browser: Browser, key: str) -> None:
    for kind in ("rawKeyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=_KEYS[key])


def _emulate(browser: Browser, **features: str) -> None:
    known = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    browser.call("Emulation.setEmulatedMedia", features=known)


def _click(browser: Browser, target: str) -> None:
    """Click the middle of the element that a JavaScript expression returns."""
    x, y = browser.finds(
        f"(() => {{ const it = ({target}).getBoundingClientRect();"
        " return [it.left + it.width / 2, it.top + it.height / 2]; })()"
    )
    browser.click(round(x), round(y))


@pytest.mark.parametrize(
    ("time", "theme"), sampled([("down", "auto"), ("right", "auto"), ("right", "slide"), ("down", "slide")], 2)
)
def test_the_names_and_the_times_stay_visible(browser: Browser, tmp_path: Path, time: str, theme: str) -> None:
    """However far one scrolls, each name is at its lane, and each label of the axis at its line."""
    _show(browser, tmp_path, time=time, theme=theme)
    browser.resize(700, 640)
    panels = browser.finds(
        """(() => {
          const middle = each => { const it = each.getBoundingClientRect();
            return [it.left + it.width / 2, it.top + it.height / 2]; };
          const found = [];
          for (const [x, y] of [[0, 0], [250, 900], [1e6, 1e6]]) {
            diagram.scrollTo(x, y);
            const box = diagram.getBoundingClientRect();
            found.push({
              box: [box.left, box.top, box.right, box.bottom], scrolled: [diagram.scrollLeft, diagram.scrollTop],
              names: [...document.querySelectorAll('.n')].map(middle),
              ticks: [...document.querySelectorAll('.tick')].map(middle),
              lanes: axis.lanes.map((lane, place) => { const body = document.getElementById('body')
                .getBoundingClientRect(); return axis.down ? body.left + lane : body.top + lane; }),
            });
          }
          return found; })()"""
    )
    assert panels[-1]["scrolled"] > [0, 0]
    along, across = (1, 0) if time == "down" else (0, 1)
    for each in panels:
        low, high = each["box"][along], each["box"][along + 2]
        assert len(each["names"]) == 5
        for name, lane in zip(each["names"], each["lanes"], strict=True):
            assert name[across] == pytest.approx(lane, abs=3)
            assert low <= name[along] <= low + 140 < high
        for tick in each["ticks"]:
            assert each["box"][across] <= tick[across] <= each["box"][across] + 110


@pytest.mark.parametrize("recording", [TWO, GROUPS], ids=lambda path: path.stem)
def test_the_table_has_the_state_of_every_node_at_the_cursor(
    browser: Browser, tmp_path: Path, recording: Path
) -> None:
    """At every event, Status, Coordinator and Group are those of the recording after that record."""
    _show(browser, tmp_path, recording)
    shown = browser.finds(
        """moments.map(({record, at}, moment) => { moveCursor(at, moment); return [record,
             [...states.rows].map(row => [...row.cells].map(cell => cell.textContent))]; })"""
    )
    assert len(shown) > 70
    with closing(open_recording(recording)) as store:
        timeline = Timeline(store)
        for record, rows in shown:
            nodes = timeline.at(record).nodes.values()
            assert [row[0] for row in rows] == [f"{node.id}" for node in nodes]
            for row, node in zip(rows, nodes, strict=True):
                has_state = node.process in ("running", "paused")
                group = None if node.group is None else f"{node.group[0]}.{node.group[1]}"
                known = ["–" if each is None or not has_state else f"{each}" for each in (node.coordinator, group)]
                expected = (
                    node.status if node.process == "running" else node.process.replace("absent", "not started")
                )
                assert row[1].removesuffix(" ★") == expected
                assert row[2:] == known[: len(row) - 2]
    assert len(shown[0][1][0]) == (4 if recording == GROUPS else 3)


def test_the_verdicts_are_those_at_the_cursor(browser: Browser, tmp_path: Path) -> None:
    """Not judged at first, then holding so far, violated from the record of the violation on."""
    excerpt = _show(browser, tmp_path)
    first = next(each for each in excerpt.violations if each.assertion == "A1.1")

    def verdict(record: int) -> str:
        browser.finds(f"goToRecord({record})")
        return str(browser.finds("document.querySelector('#verdicts li').textContent"))

    assert verdict(0) == "A1.1 is not judged yet"
    assert verdict(first.record - 1).startswith("A1.1 holds so far: ")
    assert verdict(first.record).startswith("excused: A1.1 under broken assumption")


def test_the_slider_is_reached_and_moved_by_the_keyboard(browser: Browser, tmp_path: Path) -> None:
    """It has a label and says its time; arrows go from event to event, and the cursor comes into sight."""
    excerpt = _show(browser, tmp_path)
    for _ in range(12):
        _press(browser, "Tab")
        assert browser.finds("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        if browser.finds("document.activeElement === slider"):
            break
    assert browser.finds("document.activeElement === slider")
    assert browser.finds("slider.labels[0].textContent") == "Time"
    _press(browser, "ArrowRight")
    second_us = browser.finds("moments[1].at")
    assert browser.finds("[Number(slider.value), slider.getAttribute('aria-valuetext')]") == [
        second_us,
        f"{second_us / 1e6:.3f} seconds",
    ]
    for key, at_us in (("End", excerpt.until_us), ("Home", excerpt.from_us)):
        _press(browser, key)
        assert browser.finds("Number(slider.value)") == at_us
        assert browser.finds(_VISIBLE)
    moved = "slider.value = 4_100_000; slider.dispatchEvent(new Event('input'));"
    browser.finds(f"{moved} 0")
    assert browser.finds("cursor.at") == 4_100_000
    assert browser.finds(_VISIBLE)
    assert browser.finds("document.getElementById('now').textContent") == "4.100"


def test_every_event_can_be_stepped_to(browser: Browser, tmp_path: Path) -> None:
    """Forward to the end and back; the cursor is in sight at each, and every message is shown in full twice."""
    excerpt = _show(browser, tmp_path)
    found = browser.finds(
        f"""(() => {{ const seen = [];
          for (let n = 1; n < moments.length; n++) {{
            step(1);
            seen.push([cursor.at, {_VISIBLE}, details.textContent]);
          }}
          return seen; }})()"""
    )
    assert [at_us for at_us, _, _ in found] == sorted(at_us for at_us, _, _ in found)
    assert all(is_visible for _, is_visible, _ in found)
    everything = "\n".join(text for _, _, text in found)
    texts = browser.finds("messages.map(message => message.text)")
    ended = [edge.end is not None and edge.end.record <= excerpt.last for edge in excerpt.messages]
    for text, has_end in zip(texts, ended, strict=True):
        assert everything.count(text) == 1 + has_end
    browser.type(",,")
    assert browser.finds("cursor.moment === moments.length - 3")


def test_a_click_on_a_message_goes_there_and_shows_it(browser: Browser, tmp_path: Path) -> None:
    """With its text in full; a second click lets go. A click on a note goes to its record, others to a time."""
    excerpt = _show(browser, tmp_path)
    wanted = ("NewState", 4)  # between neighbours, so that no status covers its middle
    number = next(n for n, edge in enumerate(excerpt.messages) if (edge.line.kind, edge.ends[1]) == wanted)
    browser.finds(f"arrows[{number}].scrollIntoView({{block: 'center', inline: 'center'}})")
    _click(browser, f"arrows[{number}].querySelector('.way')")
    assert browser.finds("cursor.at") == excerpt.messages[number].line.at_us
    text = browser.finds("details.textContent")
    assert excerpt.messages[number].line.text in text
    assert f"number {excerpt.messages[number].line.serial}" in text
    assert "causal past" in text
    browser.finds(f"choose({number})")
    assert "causal past" not in browser.finds("details.textContent")
    note = "document.querySelector('.note[data-record]')"
    browser.finds(f"{note}.scrollIntoView({{block: 'center', inline: 'center'}})")
    _click(browser, note)
    assert browser.finds(f"moments[cursor.moment].record === Number({note}.dataset.record)")
    browser.finds("diagram.scrollTo(0, 300)")
    box = browser.finds("(() => { const it = diagram.getBoundingClientRect(); return [it.left, it.top]; })()")
    browser.click(round(box[0]) + 90, round(box[1]) + 200)
    assert browser.finds(
        "Math.abs(timeAt(diagram.scrollTop + 200 - "
        "document.querySelector('.above').offsetHeight) - cursor.at) < 2000"
    )


def test_it_plays_in_recorded_time_and_stops_at_the_end(browser: Browser, tmp_path: Path) -> None:
    """At the speed chosen, in proportion to the reader's time; at the end, play begins anew."""
    excerpt = _show(browser, tmp_path)
    moved = browser.finds(
        """(async () => { const found = [];
          for (const speed of ["0.25", "4"]) {
            goTo(1_000_000); speedList.value = speed; play();
            await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame);
            const [since, began] = [cursor.at, performance.now()];
            await new Promise(done => setTimeout(done, 400));
            await new Promise(requestAnimationFrame);
            found.push((cursor.at - since) / (performance.now() - began) / 1000);
            pause();
          }
          return found; })()"""
    )
    assert moved[0] == pytest.approx(0.25, rel=0.5)
    assert moved[1] == pytest.approx(4, rel=0.5)
    browser.finds("speedList.value = '60'")
    browser.type(" ")
    browser.shows(f"cursor.at === {excerpt.until_us} && !isPlaying()")
    assert browser.finds("document.getElementById('play').textContent") == "▶ Play"
    browser.finds("speedList.value = '0.01'")
    browser.type(" ")
    assert browser.finds("isPlaying() && cursor.at < 1_000_000")
    browser.type(" ")
    assert not browser.finds("isPlaying()")


def test_waits_can_be_shortened(browser: Browser, tmp_path: Path) -> None:
    """At a hundredth of the speed, the longest wait takes no more than a second."""
    _show(browser, tmp_path)
    rates = browser.finds(
        """(() => { speedList.value = "0.01"; const both = [];
          for (const shorten of [false, true]) {
            document.getElementById("shorten").checked = shorten;
            both.push(moments.slice(0, -1).map((each, n) => (moments[n + 1].at - each.at) / rate(each.at) / 1e6));
          }
          return both; })()"""
    )
    assert max(rates[0]) > 10
    assert max(rates[1]) == pytest.approx(1)
    assert min(rates[1]) < 0.5


def test_space_belongs_to_what_has_the_focus(browser: Browser, tmp_path: Path) -> None:
    """In the search it is a letter, on a button it presses that button; elsewhere it plays."""
    _show(browser, tmp_path)
    browser.type("/")
    browser.type("3 → 5")
    assert browser.finds("query.value") == "3 → 5"
    assert " of 178 messages" in browser.finds("document.getElementById('count').textContent")
    assert not browser.finds("isPlaying()")
    browser.finds("document.getElementById('next').focus()")
    browser.type(" ")
    assert browser.finds("cursor.moment === 1 && !isPlaying()")


def test_with_less_motion_the_cursor_is_at_events_only(browser: Browser, tmp_path: Path) -> None:
    """It still plays in recorded time, but nothing moves between two events."""
    _emulate(browser, prefers_reduced_motion="reduce")
    excerpt = _show(browser, tmp_path)
    times = browser.finds(
        """(async () => { speedList.value = "4"; const seen = []; play();
          while (isPlaying()) { seen.push(cursor.at); await new Promise(requestAnimationFrame); }
          return [[...new Set(seen)], moments.map(each => each.at), cursor.at]; })()"""
    )
    assert len(times[0]) > 5
    assert set(times[0]) <= set(times[1])
    assert times[2] == excerpt.until_us


_CONTRASTS = """(() => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => numbers(colour).slice(0, 3).map(each => each / 255)
    .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, n) => sum + each * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = each => { for (; each; each = each.parentElement) {
    const colour = getComputedStyle(each).backgroundColor;
    if ((numbers(colour)[3] ?? 1) > 0) return colour; } };
  document.querySelectorAll("details").forEach(each => { each.open = true; });
  goToRecord(200);
  const found = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const it = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || it.closest("script, title, option")) continue;
    const colour = it.closest("svg") ? getComputedStyle(it).fill : getComputedStyle(it).color;
    const [low, high] = [light(colour), light(ground(it))].sort((one, other) => one - other);
    found[colour + " on " + ground(it)] = (high + 0.05) / (low + 0.05);
  }
  return found; })()"""


@pytest.mark.parametrize(
    ("theme", "scheme"), sampled([("auto", "light"), ("light", "dark"), ("auto", "dark"), ("dark", "light")], 2)
)
def test_every_text_has_contrast(browser: Browser, tmp_path: Path, theme: str, scheme: str) -> None:
    """WCAG AA asks for 4.5; a theme that was asked for does not depend on the system."""
    _emulate(browser, prefers_color_scheme=scheme)
    _show(browser, tmp_path, theme=theme)
    found = browser.finds(_CONTRASTS)
    assert len(found) > 8
    assert {colours: ratio for colours, ratio in found.items() if ratio < 4.5} == {}
    is_dark = (scheme if theme == "auto" else theme) == "dark"
    ground = browser.finds("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(22, 24, 28)" if is_dark else "rgb(255, 255, 255)")


def test_every_control_has_a_role_and_a_name(browser: Browser, tmp_path: Path) -> None:
    """As a screen reader has them."""
    _show(browser, tmp_path)
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    # versions of the browser differ in the blanks around a name
    named = {
        (each["role"]["value"], each.get("name", {}).get("value", "").strip()) for each in nodes if "role" in each
    }
    assert named >= {
        ("slider", "Time"),
        ("button", "▶ Play"),
        ("button", "Previous event"),
        ("button", "Next event"),
        ("combobox", "Speed"),
        ("combobox", "Go to"),
        ("checkbox", "Shorten waits"),
        ("searchbox", "Search messages"),
        ("region", "Space-time diagram"),
        ("complementary", "The run at this time"),
        ("columnheader", "Status"),
        ("rowheader", "5"),
    }
    assert not {role for role, name in named if role in ("slider", "button", "combobox", "checkbox") and not name}


@pytest.mark.parametrize(
    ("count", "most_bytes", "is_shaded"),
    sampled([(40, 2_000_000, True), (12, 600_000, False)], 2),
    ids=sampled(["forty", "twelve"], 2),
)
def test_a_minute_of_many_nodes(
    browser: Browser, tmp_path: Path, count: int, most_bytes: int, is_shaded: bool
) -> None:
    """The page stays small; every message can be stepped to, drawn or not; all nodes are in the table.

    The profile ``quick`` takes a third of the minute, and asks for a smaller page.
    """
    third_s = 20 if SOAK else 7
    script = (f"at {third_s}s kill {count}",)
    run = lab.simulate("bully", nodes=count, seed=1, script=script, for_=f"{3 * third_s}s")
    run.save(tmp_path / "run.jsonl")
    excerpt = _show(browser, tmp_path, tmp_path / "run.jsonl")
    assert (tmp_path / "page.html").stat().st_size < most_bytes * (1 if SOAK else 0.7)
    assert browser.finds("messages.length") == len(excerpt.messages)
    assert browser.finds("arrows.some(each => each === null)") is is_shaded
    assert browser.finds("states.rows.length") == count
    chosen = "chapterList.selectedIndex = 1 + run.chapters.findIndex(each => each[2].startsWith('kill'))"
    browser.finds(f"{chosen}; chapterList.dispatchEvent(new Event('change'));")
    assert browser.finds("[...states.rows].at(-1).cells[1].textContent") == "killed"
    assert browser.finds(_VISIBLE)
    browser.type("..")
    assert browser.finds("cursor.at") > third_s * 1_000_000


def test_title_and_caption_are_on_the_page(browser: Browser, tmp_path: Path) -> None:
    _show(browser, tmp_path, title="Node 5 <is> paused", caption="And wakes up.")
    assert browser.finds("document.querySelector('h1').textContent") == "Node 5 <is> paused"
    assert browser.finds("document.querySelector('.caption').textContent") == "And wakes up."
    assert "Node 5 <is> paused" in browser.finds("document.title")
