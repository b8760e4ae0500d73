"""The bank on the screen: the panes, and the view of accounts and open transactions."""

import re
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len

from lab.glyphs import glyphs_for
from lab.kernel import Timing
from lab.protocols import Bully, ThreePhaseCommit, TwoPhaseCommit, stacked
from lab.recording.records import Link
from lab.recording.writer import Writer
from lab.styles import ThemeStyles
from lab.tasks.bank.bank_extension import BankExtension
from lab.tasks.extension import NodeText
from lab.tui.player import Player
from lab.tui.source import FileSource
from lab.tui.views.lines_view import RenderedView
from lab.tui.views.views import Views
from lab.tui.widgets.node_panes import log_pieces
from lab.tui.widgets.status_lines import title_text
from lab.worlds.loading.config import RunConfig
from tests.harness import T_US, Rig
from tests.tui.recorded import BLOCKED_US, SHIPPED, blocked_run
from tests.tui.seen import Seen, attached, replay, replay_in_sizes, served

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A blocked transaction of three nodes."""
    return blocked_run().write(tmp_path / "blocked.jsonl")


def _words(text: str) -> str:
    """Return the text of the screen without line breaks."""
    return " ".join(text.split())


def _from_transaction(seen: Seen, transaction: str) -> str:
    """Return the view's text from the first transaction on, without line breaks."""
    rows = seen.view.split("\n")
    left = next(row.index(f"{transaction} ■") for row in rows if f"{transaction} ■" in row)
    return _words("\n".join(row[left:] for row in rows))


def test_the_bank_takes_the_place_of_the_log(recording: Path) -> None:
    """``b`` shows it and hides it. At each size it has the reason for blocking, the locks and the total."""

    async def test(seen: Seen) -> None:
        seen.player.seek(BLOCKED_US)
        await seen.press("t")
        await seen.until(lambda: "3.1 ■ blocked for " in seen.text, "the transaction")
        for text in ("1 and 2 are uncertain: they voted YES,", "comes back", "its locks rejected 2.1"):
            assert text in _from_transaction(seen, "3.1")
        assert "350 less than at first, while 3.1 is open" in seen.text
        assert "◆ 3.1" in seen.text
        assert "3 ? uncertain" in seen.text
        assert "killed" in seen.text
        await seen.press("t")
        assert not seen.run.query_one("#bank").display
        assert "back to the log" in seen.message

    replay_in_sizes(test, SIZES, recording)


def test_blocked_time_advances_with_the_time_shown(recording: Path) -> None:
    """The seconds follow the instant shown, not the last record."""

    async def test(seen: Seen) -> None:
        seen.player.seek(BLOCKED_US)
        await seen.press("t")
        await seen.until(lambda: "blocked for 1.8 s" in seen.text, "as of then")
        seen.player.seek(BLOCKED_US + 500_000)
        await seen.until(lambda: "blocked for 2.3 s" in seen.text, "half a second later")

    replay(test, recording)


def test_after_the_decision_the_money_is_conserved(recording: Path) -> None:
    async def test(seen: Seen) -> None:
        await seen.press("t", "end")
        await seen.until(lambda: "no open transaction" in seen.text, "nothing open")
        assert "✓ conserved" in seen.text
        assert "total 3,000" in _words(seen.text)

    replay(test, recording)


def test_missing_money_is_a_warning(recording: Path) -> None:
    """The recording was edited."""
    edited = recording.read_text("utf-8").replace('"opening":1000', '"opening":900')
    assert edited == recording.read_text("utf-8"), "the opening is not in the header unless it was set"
    path = recording.with_name("poor.jsonl")
    lines = recording.read_text("utf-8").replace('["savings",100000]', '["savings",99900]')
    path.write_text(lines, "utf-8")

    async def test(seen: Seen) -> None:
        await seen.press("t", "end")
        await seen.until(lambda: "✗ 1 less than at first" in seen.text, "a dollar is missing")

    replay(test, path)


def test_panes_show_balances_transactions_and_log(recording: Path) -> None:
    """The log is shown of a dead node too."""

    async def test(seen: Seen) -> None:
        seen.player.seek(BLOCKED_US)
        await seen.press("home", "end")
        seen.player.seek(BLOCKED_US)
        await seen.until(lambda: "savings 900 ◆3.1" in seen.text, "a locked balance")
        assert "1 ■ Blocked" in seen.text
        assert "3.1 ? uncertain 2.3 s, blocked" in seen.text
        assert "log prepared 3.1" in seen.text
        assert "log begin 3.1, prepared 3.1" in seen.text, "that of 3, which is dead"
        assert "inquire_and_wait 3.1" in seen.text
        await seen.press("end")
        assert "nothing is open" in seen.text
        assert "moneymarket 1,000" in seen.text

    replay(test, recording)


def test_rows_show_balance_and_transaction(tmp_path: Path) -> None:
    path = blocked_run(5).write(tmp_path / "five.jsonl")

    async def test(seen: Seen) -> None:
        seen.player.seek(BLOCKED_US)
        await seen.until(lambda: "savings 900 ◆5.1" in seen.text, "a locked balance")
        assert "5.1 ? uncertain" in seen.text
        assert "■ Blocked" in seen.text
        assert "log prepared" not in seen.text

    replay(test, path, (80, 24))


def test_a_list_of_many(tmp_path: Path) -> None:
    """One line for each node, if boxes would be too high."""
    path = blocked_run(12).write(tmp_path / "twelve.jsonl")

    async def test(seen: Seen) -> None:
        seen.player.seek(BLOCKED_US)
        await seen.until(lambda: "savings 900 ◆12.1 " in seen.text, "a locked balance")
        assert "12.1 ? uncertain 2." in seen.text

    replay(test, path, (120, 24))


def test_a_long_log_shows_its_newest_entries() -> None:
    text = _text_of(blocked_run())
    assert text.log is not None
    assert text.log[-1] == "aborted 3.1"
    for width in (20, 30, 40, 80):
        ((shown, _),) = log_pieces(text, width)
        assert shown.endswith(text.log[-1])
        assert cell_len(shown) <= width
        assert shown.startswith("log … ") == (width < 80)


def test_a_node_that_votes_no_next_is_labelled() -> None:
    """Until it has voted."""
    rig = Rig((1, 2, 3), protocol=TwoPhaseCommit).started()
    rig.do("tell 2 refuse")
    rig.run(1)
    text = _text_of(rig)
    assert "".join(text for text, _ in text.state) == "checking 1,000  votes NO next"
    assert "".join(text for text, _ in text.work) == "nothing is open"
    assert "".join(text for text, _ in log_pieces(text, 40)) == "the log is empty"


def _text_of(rig: Rig) -> NodeText:
    """Return what the bank adds to the pane of node 2."""
    styles = ThemeStyles(glyphs_for({"LC_ALL": "C.UTF-8"}))
    text = BankExtension(rig.header).describe_node(rig.cluster.nodes[2], rig.now_us, styles)
    assert text is not None
    return text


def test_three_phase_commit_has_its_coordinator_too(tmp_path: Path) -> None:
    """It runs above an election; the sentence tells what a majority could do."""
    rig = Rig(range(1, 6), protocol=stacked(ThreePhaseCommit, Bully)).started()
    rig.run_until_agreed()
    rig.do("on deliver Vote 1->5: kill 5", "on deliver Vote 1->5: kill 2", "tell 5 withdraw 350")
    rig.run(60 * T_US)
    path = rig.write(tmp_path / "three.jsonl")

    async def test(seen: Seen) -> None:
        await seen.press("end", "t")
        await seen.until(lambda: "5.1 ■ blocked for " in seen.text, "the transaction")
        assert "2 is dead; decided when 5 comes back, or when a majority" in _from_transaction(seen, "5.1")
        assert "savings 900 ◆5.1" in seen.text
        assert "coordinator 4" in seen.text

    replay(test, path, (200, 60))


def test_more_than_fits_is_counted(tmp_path: Path) -> None:
    """In a low window, the number of hidden lines is shown."""
    rig = Rig(range(1, 6), protocol=TwoPhaseCommit).started()
    rig.do("on send Vote 1->5: kill 5", "on send Vote 3->4: kill 4")
    rig.do("tell 5 transfer 10 savings checking", "tell 4 transfer 10 moneymarket account4")
    rig.run(20 * T_US)
    path = rig.write(tmp_path / "two.jsonl")

    async def test(seen: Seen) -> None:
        await seen.press("end", "t")
        await seen.until(lambda: "more lines (PgDn)" in seen.text, "what was left out")
        assert "4.1 ■ blocked" in seen.text
        assert "5.1 ■ blocked" not in seen.text
        hidden = int(re.search(r"and (\d+) more lines", seen.text).group(1))  # type: ignore[union-attr]
        await seen.press("down", "down")
        assert f"and {hidden - 2} more lines" in seen.text
        await seen.press(*["pagedown"] * 20)
        assert "more lines" not in seen.text
        assert "account5 1,000" in seen.text, "the last account"
        assert "total " in seen.text
        await seen.press(*["pageup"] * 20)
        assert f"and {hidden} more lines" in seen.text

    replay(test, path, (80, 18))


def test_the_total_is_always_visible(tmp_path: Path) -> None:
    """Accounts that do not fit are counted, and can be scrolled to."""
    rig = Rig(range(1, 31), protocol=TwoPhaseCommit).started()
    path = rig.run(T_US).write(tmp_path / "thirty.jsonl")

    async def test(seen: Seen) -> None:
        await seen.press("end", "t")
        await seen.until(lambda: "✓ conserved" in seen.text, "the bank")
        assert "total 30,000" in _words(seen.text)
        assert "paid out 0" in _words(seen.text)
        bank = seen.of("#bank", RenderedView)
        lines = [bank.render_line(y).text for y in range(bank.size.height)]
        if seen.app.size == (120, 40):
            more = int(re.search(r"and (\d+) more accounts", seen.text).group(1))  # type: ignore[union-attr]
            names = ("savings", "checking", "moneymarket", "account")
            shown = [line for line in lines if line.startswith(names) and "balance" not in line]
            assert len(shown) + more == 30
        await seen.press(*["pagedown"] * 20)
        assert "account30" in seen.text
        assert "total 30,000" in _words(seen.text)

    replay_in_sizes(test, SIZES, path)


def test_split_outcome_is_a_warning(tmp_path: Path) -> None:
    """Only while the logs show it: both sides have decided, and both logs exist."""
    protocol = stacked(ThreePhaseCommit, Bully)
    parameters = protocol.Parameters(commit_after="everyone_alive")
    rig = Rig(range(1, 5), protocol=protocol, latency_us=20_000, parameters=parameters).started()
    rig.run_until_agreed()
    rig.do("when 4.state == commitable: partition 4 | 1 2 3", "tell 4 withdraw 350")
    rig.run(60 * T_US)
    early = rig.write(tmp_path / "early.jsonl")
    rig.do("heal", "kill 4", "wipe 4")
    late = rig.write(tmp_path / "late.jsonl")
    text = "4.1 ✗ committed at 4, aborted at 1, 2 and 3"

    async def split(seen: Seen) -> None:
        await seen.press("t")
        assert "✗ committed" not in seen.text
        await seen.press("end")
        await seen.until(lambda: text in seen.text, "both outcomes")
        assert "350 more than at first" in seen.text

    async def gone(seen: Seen) -> None:
        await seen.press("end", "t")
        await seen.until(lambda: "4 is down" in seen.text or seen.app.size.width != 120, "the log of 4 is gone")
        assert "✗ committed" not in seen.text

    replay_in_sizes(split, SIZES, early)
    replay_in_sizes(gone, SIZES, late)


def test_undecided_transactions_come_before_decided_ones(tmp_path: Path) -> None:
    """First the blocked ones, then the undecided; decided ones share a line."""
    rig = Rig(range(1, 6), protocol=TwoPhaseCommit).started()
    rig.do("lose 1->5 Acknowledged 100%")
    for _ in range(2):
        rig.do("tell 5 transfer 10 savings checking")
        rig.run(3 * T_US)
    rig.do("on send Vote 1->5: kill 1", "tell 5 transfer 10 savings checking")
    rig.run(10 * T_US)
    rig.do("on send Vote 2->4: kill 4", "tell 4 transfer 10 checking moneymarket")
    rig.run(10 * T_US)
    path = rig.write(tmp_path / "some.jsonl")

    async def test(seen: Seen) -> None:
        await seen.press("end", "t")
        await seen.until(lambda: "4.1 ■ blocked for" in seen.text, "what is blocked")
        assert "5.1 " not in seen.view.partition("4.1 ■ blocked")[2]
        await seen.press(*["pagedown"] * 20)
        assert "3 decided; 1 has not learnt the decision" in seen.text

    replay_in_sizes(test, SIZES, path)


def test_without_utf8(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every symbol has an ASCII form."""
    monkeypatch.setenv("LC_ALL", "C")

    async def test(seen: Seen) -> None:
        seen.player.seek(BLOCKED_US)
        await seen.press("t")
        await seen.until(lambda: "3.1 # blocked for " in seen.text, "the transaction")
        assert "1 ? uncertain" in seen.text
        assert "savings 900 #3.1" in seen.text
        assert seen.text.isascii()

    replay(test, recording)


def test_a_run_without_a_bank() -> None:
    """A message says how to see one."""

    async def test(seen: Seen) -> None:
        await seen.press("t")
        assert seen.message == "bully has no bank; try lab run 2pc or lab run 3pc"
        assert seen.of("Views", Views).chosen == "log"

    replay(test, SHIPPED)


def test_a_live_run_unblocks_after_a_restart(runs: Path) -> None:
    recording = str(runs.parent / "run.jsonl")
    config = RunConfig(
        *("sim", "2pc", (1, 2, 3), Timing(40_000, 20_000), {}, Link(10_000, 5_000), 7, recording),
        commands=("on send Vote 1->3: kill 3", "at 100ms tell 3 withdraw 350"),
        world="simulated",
    )

    async def test(seen: Seen) -> None:
        await seen.press("t")
        await seen.until(lambda: "3.1 ■ blocked for " in seen.text, "blocked")
        await seen.until(lambda: re.search(r"3\.1 ■ blocked for [1-9]", seen.text), "and longer")
        await seen.press("3", "r")
        await seen.until(lambda: "no open transaction" in seen.text, "decided")
        assert "✓ conserved" in seen.text

    with served(config) as ready:
        attached(test, ready.socket)


def test_the_title_uses_singular_and_round_units(tmp_path: Path) -> None:
    one = Rig((1,), protocol=TwoPhaseCommit).started()
    header = one.header
    styles = ThemeStyles(glyphs_for())
    for nodes, timing, text in (
        ((1,), Timing(250_000, 500_000), "T 1 s · 1 node · one"),
        ((1, 2), Timing(50_000, 20_000), "T 120 ms · 2 nodes · one"),
    ):
        path = tmp_path / "title.jsonl"
        Writer(path, msgspec.structs.replace(header, nodes=nodes, timing=timing)).close()
        source = FileSource(path)
        player = Player(source.store, source.marks, live=False)
        assert title_text(source, player, 0, "one", styles).plain.endswith(text)
        source.close()
        path.unlink()
