"""A recorded campaign in the interface: its findings in groups, and on top the replay of the smallest of one.

Its contents are read once, and described in lines of text: ``CampaignDigest`` is pure.
"""

import asyncio
import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from msgspec import Struct
from rich.style import Style
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import OptionList, Static

from lab.places import keys_file, settings_file
from lab.properties.assertions import ASSERTIONS, ASSUMPTION_NUMBERS, ASSUMPTIONS
from lab.properties.history_verdict import describe_workload, promises_of
from lab.protocols import Algorithm
from lab.recording.reader import NotARecordingError
from lab.styles import DIM, ThemeStyles
from lab.text import UserError, sanitize
from lab.tui.apps.described_list import DescribedListScreen, list_bindings
from lab.tui.apps.runs_app import RunsApp
from lab.tui.source import FileSource
from lab.tui.user_keys import read_user_keys
from lab.tui.views.exercise_view import wrap
from lab.tui.widgets.dialogs import DialogEntry
from lab.units import format_count
from lab.worlds.campaign.campaign import (
    Campaign,
    CampaignTotals,
    line_ranges,
    never_at_once,
    never_delivered,
    unseen_share,
)
from lab.worlds.campaign.campaign_recording import CampaignRecording
from lab.worlds.campaign.campaign_table import (
    CannotRecordError,
    FindingGroup,
    FindingGroups,
    describe_smallest,
    protocol_option,
    record_smallest,
    target_to_record,
)
from lab.worlds.campaign.coverage import coverage_of
from lab.worlds.campaign.exploration import ExplorationCampaign, SetUpOutcome
from lab.worlds.campaign.situations import MAJORITIES
from lab.worlds.loading.targets import load_protocol

_MOST_RUNS = 12
_LONGEST = 4_000


class CampaignDigest(Struct, frozen=True):
    """A campaign with findings: of ``lab check`` with its ``totals``, of ``lab explore`` with its ``set_ups``.

    ``groups`` are those of the findings, failures first. ``took_us``: real time, in microseconds.
    """

    path: Path
    plan: Campaign | ExplorationCampaign
    runs: int
    took_us: int
    began: str
    groups: list[FindingGroup]
    totals: CampaignTotals
    set_ups: list[SetUpOutcome]

    @property
    def title(self) -> str:
        return sanitize(self.plan.base.protocol.title)


def read_campaign(path: Path, progress: Callable[[int], object] = lambda done: None) -> CampaignDigest:
    """Read a campaign of ``lab check`` or ``lab explore``. Raises NotACampaignError, OSError."""
    with closing(CampaignRecording(path)) as recording:
        plan = recording.header.campaign
        assert isinstance(plan, Campaign | ExplorationCampaign)
        groups, totals, set_ups = FindingGroups(), CampaignTotals(), list[SetUpOutcome]()
        for done, run in enumerate(recording.runs(), start=1):
            groups.add(run)
            if isinstance(plan, Campaign):
                totals.add(run.outcome)
            else:
                set_ups.append(run.outcome)
            progress(done)
        began, count, took_us = recording.header.began, len(recording), recording.took_us
    return CampaignDigest(path, plan, count, took_us, began, groups.ranked(), totals, set_ups)


# descriptions


def describe_group(digest: CampaignDigest, number: int, width: int, styles: ThemeStyles) -> Iterator[Text]:
    """Yield the smallest finding of a group, counted from 1, and how to keep its recording."""
    group = digest.groups[number - 1]
    style = styles.warning if group.is_failure else styles.accent
    yield from wrap(Text(sanitize(group.smallest.text), style), width)
    yield Text()
    runs = ", ".join(map(str, group.runs[:_MOST_RUNS]))
    more = f", and {len(group.runs) - _MOST_RUNS:,} more" if len(group.runs) > _MOST_RUNS else ""
    yield from wrap(Text(f"found in {format_count(len(group.runs), 'run')}: {runs}{more}"), width)
    yield Text()
    for line in describe_smallest(group.smallest):
        yield from wrap(Text(sanitize(line)), width)
    yield Text()
    yield from wrap(Text("Enter opens it in the replay. To keep the recording:", DIM), width)
    name = sanitize(str(digest.path))
    own = sanitize(protocol_option(digest.plan))
    yield from wrap(Text(f"lab campaign show {name} --group {number} --out found.jsonl{own}", DIM), width)


def describe_tried(digest: CampaignDigest, width: int, styles: ThemeStyles) -> Iterator[Text]:
    """Yield what was run: how much of what was planned, and which faults struck."""
    plan, totals = digest.plan, digest.totals
    planned = f" of {plan.runs:,}" if plan.runs else ""
    if isinstance(plan, ExplorationCampaign):
        yield from _facts(
            [
                ("set-ups", f"{digest.runs:,}{planned}"),
                ("began", digest.began),
                ("took", f"{digest.took_us / 1e6:,.1f} s"),
                ("from", "all nodes Normal" if plan.settled else "the start"),
            ],
            width,
        )
        yield Text()
        for outcome in digest.set_ups:
            yield from _set_up(outcome, width, styles)
        return
    low, high = plan.plan.nodes
    sizes = ", ".join(f"{size} ({count:,})" for size, count in sorted(totals.sizes.items()))
    yield from _facts(
        [
            ("runs", f"{digest.runs:,}{planned}, from seed {plan.seed} on"),
            ("began", digest.began),
            ("took", f"{digest.took_us / 1e6:,.1f} s, for {totals.virtual_us / 1e6:,.0f} s of virtual time"),
            ("steps", f"{totals.steps:,}"),
            ("nodes", f"{low}-{high}; runs by number: {sizes}"),
            ("faults", ", ".join(plan.plan.faults)),
            ("finding", plan.goal.assertion or ("any violation" if plan.goal.strict else "any failure")),
        ],
        width,
    )
    yield Text()
    yield Text("faults injected, and how many had an effect", DIM)
    for kind, count in sorted(totals.faults.items()):
        yield Text(f"  {sanitize(kind):16} {count.faults:>9,} {count.touched:>9,}")


def _set_up(outcome: SetUpOutcome, width: int, styles: ThemeStyles) -> Iterator[Text]:
    extent = f"stopped at {outcome.stopped_at}" if outcome.stopped_at else "explored completely"
    violated = ", ".join(sanitize(each.assertion) for each in outcome.found)
    is_failure = any(not each.broken for each in outcome.found)
    style = styles.warning if is_failure else styles.accent if violated else Style()
    yield from wrap(Text(outcome.set_up.description, style), width)
    found = f"violated: {violated}" if violated else "nothing violated"
    yield from wrap(Text(f"  {format_count(outcome.states, 'state')}, {extent}; {found}", DIM), width)


def describe_judged(digest: CampaignDigest, width: int, styles: ThemeStyles) -> Iterator[Text]:
    """Yield each assertion: by what it was judged, and how often it was violated."""
    promises = promises_of(digest.plan.base)
    judged, violated, excused = _counts(digest)
    for name in dict.fromkeys([*promises, *violated, *excused]):
        runs = judged[name]
        style = styles.warning if violated[name] or (name in promises and not runs) else styles.accent
        known = ASSERTIONS[name].short if name in ASSERTIONS else describe_workload(name)
        short = f"  {known}" if known else ""
        yield from wrap(Text.assemble((sanitize(name), style), (sanitize(short), DIM)), width)
        by = f"judged in {runs:,} of {format_count(digest.runs, 'run')}" if runs else "judged in no run"
        parts = [by]
        parts += [format_count(violated[name], "failure")] if violated[name] else []
        parts += [f"{excused[name]:,} excused"] if excused[name] else []
        parts += ["no violation"] if not violated[name] and not excused[name] else []
        yield from wrap(Text(f"  {'; '.join(parts)}"), width)


def _counts(digest: CampaignDigest) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return in how many runs each assertion was judged, and how many failures and excused violations it has."""
    violated, excused = Counter[str](), Counter[str]()
    if isinstance(digest.plan, Campaign):
        for (name, broken), times in digest.totals.violations.items():
            (excused if broken else violated)[name] += times
        return digest.totals.judged_runs, violated, excused
    judged = Counter[str]()
    for outcome in digest.set_ups:
        for each in outcome.assertions:
            judged[each.assertion] += each.is_judged
            (excused if each.broken else violated)[each.assertion] += each.violated
    return judged, violated, excused


def describe_reached(
    digest: CampaignDigest, protocol: type[Algorithm] | None, width: int, styles: ThemeStyles
) -> Iterator[Text]:
    """Yield what was never reached; ``protocol`` is None if it is not loaded: what it could reach is not known."""
    totals = digest.totals
    if not isinstance(digest.plan, Campaign):
        ignored = list(dict.fromkeys(each for outcome in digest.set_ups for each in outcome.not_distinguished))
        stopped = [outcome for outcome in digest.set_ups if outcome.stopped_at]
        states = sum(outcome.waiting for outcome in stopped)
        left = f"{format_count(len(stopped), 'set-up')} stopped at a bound, with {states:,} states not followed"
        yield from wrap(Text(left if stopped else "No bound stopped any search."), width)
        for each in ignored:
            yield from wrap(Text(f"not distinguished: {each}", DIM), width)
        return
    once = sum(count == 1 for count in totals.hits.values())
    share = unseen_share(totals)
    facts = [("situations", f"{len(totals.hits):,} reached, {once:,} of them in one run only")]
    if share is not None:
        facts.append(("left", f"about {share:.1%} of those that the next runs meet will be new"))
    facts += [("never connected", each) for each in MAJORITIES if not totals.majorities[each]]
    yield from _facts(facts, width)
    intact = [f"{each} ({ASSUMPTIONS[each]})" for each in ASSUMPTION_NUMBERS if each not in totals.broken]
    yield from _listed("assumptions never broken", intact, width, styles)
    if protocol is None:
        yield Text()
        text = "messages and lines: not known, as no code that a recording names is loaded; add --protocol"
        yield from wrap(Text(text, DIM), width)
        return
    yield from _listed("messages never delivered", never_delivered(totals, protocol), width, styles)
    if totals.states_at_once:
        pairs = never_at_once(totals, protocol)
        yield from _listed("states of a transaction never at once", pairs, width, styles)
    if protocol.node_class is not None:
        return  # executed in a sandbox, where lines are not measured
    coverage = coverage_of(protocol, totals.ways)
    lines = line_ranges(coverage.missed_lines)
    yield from _listed("lines of its file never executed", [lines] if lines else [], width, styles)
    missed = [f"line {line} {'true' if outcome else 'false'}" for line, outcome in coverage.missed_branches]
    yield from _listed("outcomes that conditions never had", missed, width, styles)
    yield from _listed("rules whose code was never executed", coverage.missed_rules, width, styles)


def _listed(head: str, items: Sequence[str], width: int, styles: ThemeStyles) -> Iterator[Text]:
    yield Text()
    yield Text(f"{head}:{'' if items else ' none'}", styles.accent)
    if items:
        yield from wrap(Text(sanitize(", ".join(items), _LONGEST)), width)


def _facts(facts: list[tuple[str, str]], width: int) -> Iterator[Text]:
    name = max(len(each) for each, _ in facts) + 2
    for title, text in facts:
        first, *rest = wrap(Text(sanitize(text, 300)), max(10, width - name))
        yield Text.assemble((f"{title:{name}}", DIM), first)
        yield from (Text.assemble(" " * name, line) for line in rest)


_PARTS = {
    "tried": "what was tried",
    "judged": "what was judged",
    "reached": "what was never reached",
}
_NO_FINDING = "Enter opens a finding; this row is only described"


class CampaignScreen(DescribedListScreen):
    """The findings of a campaign in groups, and what was tried, judged and never reached."""

    DEFAULT_CSS = """
    CampaignScreen FilterableList {
        height: 1fr; text-overflow: ellipsis;
        &:focus { background-tint: $foreground 0%; }
    }
    CampaignScreen #about { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = list_bindings("open the finding")
    HINT = "Enter opens a finding in the replay, letters filter, PgDn scrolls the text"
    ROOM_FOR_COLUMNS = 76

    @dataclass
    class FindingChosen(Message):
        """The user wants to see the smallest finding of the group with this number, from 1."""

        number: int

    def __init__(self, digest: CampaignDigest, protocol: type[Algorithm] | None, styles: ThemeStyles) -> None:
        super().__init__(styles)
        self._digest = digest
        self._protocol = protocol

    # the user

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        row = event.option_id or ""
        if row.isdecimal():
            self.post_message(self.FindingChosen(int(row)))
        else:
            self.message.show(_NO_FINDING)

    # drawing

    def _head(self) -> Text:
        digest, dot = self._digest, self._styles.glyphs.dot
        planned = f" of {digest.plan.runs:,}" if digest.plan.runs else ""
        total = f"{digest.runs:,}{planned} runs {dot} {sanitize(digest.path.name, 40)}"
        return Text.assemble(
            ("lab campaign", "bold"), f" {dot} ", (digest.title, self._styles.accent), f" {dot} {total}"
        )

    def _entries(self) -> Iterator[DialogEntry]:
        digest = self._digest
        found = sum(len(group.runs) for group in digest.groups)
        counted = f": {found:,} in {format_count(len(digest.groups), 'group')}" if found else ""
        yield DialogEntry(Text(f"FINDINGS{counted.upper()}", self._styles.accent), head=True)
        if not found:
            yield DialogEntry(Text("  nothing was found", DIM))
        for number, group in enumerate(digest.groups, start=1):
            style = self._styles.warning if group.is_failure else ""
            broken = ", ".join(map(str, group.smallest.broken))
            excuse = f"excused: {sanitize(broken)}" if broken else "FAILURE"
            row = Text.assemble(f"  {len(group.runs):>5,}x ", (sanitize(group.smallest.assertion), style))
            row.append(f"  {excuse}  ", style or DIM)
            row.append(sanitize(group.shape))
            yield DialogEntry(row, str(number))
        yield DialogEntry(Text("THE CAMPAIGN", self._styles.accent), head=True)
        for row_id, title in _PARTS.items():
            yield DialogEntry(Text(f"  {title}"), row_id)

    def _describe(self, row: str, width: int) -> Iterator[Text]:
        if row.isdecimal():
            return describe_group(self._digest, int(row), width, self._styles)
        if row == "tried":
            return describe_tried(self._digest, width, self._styles)
        if row == "judged":
            return describe_judged(self._digest, width, self._styles)
        if row == "reached":
            return describe_reached(self._digest, self._protocol, width, self._styles)
        return iter(wrap(Text("Nothing is selected: Up, Down or a click select a row.", DIM), width))


class CampaignApp(RunsApp):
    """The application over the file of a campaign; ``own`` is the user's protocol, to execute findings with.

    ``kept`` is the file of the user's layout settings. Recordings of findings are in a folder that ends with it.
    """

    def __init__(self, path: Path, own: str = "", kept: Path | None = None) -> None:
        super().__init__(kept)
        self._path = path
        self._own = own
        self._folder = tempfile.TemporaryDirectory(prefix="lab-campaign-")
        self._digest: CampaignDigest | None = None
        self._is_opening = False

    def compose(self) -> ComposeResult:
        yield Static(f"reading {sanitize(str(self._path))} …", id="reading", markup=False)

    def on_mount(self) -> None:
        self.run_worker(self._read())

    def on_unmount(self) -> None:
        self._folder.cleanup()

    async def _read(self) -> None:
        total = self.query_one("#reading", Static)
        name = sanitize(self._path.name)

        def progress(done: int) -> None:
            if done % 500 == 0:
                self.call_from_thread(total.update, f"reading {name}: {format_count(done, 'run')} …")

        try:
            digest = await asyncio.to_thread(read_campaign, self._path, progress)
        except (UserError, OSError) as error:
            self.failure = str(error)
            self.exit(return_code=1)
            return
        self._digest = digest
        protocol = None
        with contextlib.suppress(UserError):  # Enter says what is missing
            protocol = load_protocol(target_to_record(digest.plan, self._own))
        await self.push_screen(CampaignScreen(digest, protocol, self.theme_styles))

    @on(CampaignScreen.FindingChosen)
    def open_finding(self, message: CampaignScreen.FindingChosen) -> None:
        """Execute the smallest finding of a group again, and show its recording, unless that is going on."""
        if not self._is_opening:
            self._is_opening = True
            self._open_finding(message.number)

    @work
    async def _open_finding(self, number: int) -> None:
        digest = self._digest
        screen = self.screen
        assert digest is not None
        assert isinstance(screen, CampaignScreen)
        smallest = digest.groups[number - 1].smallest
        path = Path(self._folder.name, f"{digest.plan.base.protocol.name}-{smallest.assertion}-{number}.jsonl")
        screen.message.show("executing the finding again …")
        try:
            target = target_to_record(digest.plan, self._own)
            await asyncio.to_thread(record_smallest, digest.plan, smallest, target, path)
            source = FileSource(path)
        except (CannotRecordError, NotARecordingError, OSError) as error:
            screen.message.show(f"it cannot be opened: {error}", warn=True)
            return
        finally:
            self._is_opening = False
        await self._push_run(source, None, path.name, None)


def show_campaign(path: Path, own: str = "") -> int:
    """Show a campaign of ``lab check`` or ``lab explore``, and return the exit status."""
    return CampaignApp(path, own, settings_file()).show(read_user_keys(keys_file()))
