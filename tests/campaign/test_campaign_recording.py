"""A campaign in a file: it goes on from any byte, is made in parts, and its findings are grouped."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from lab.recording.records import Link
from lab.table_files import Row
from lab.worlds.campaign.campaign import Campaign, RunOutcome, run_campaign
from lab.worlds.campaign.campaign_recording import (
    CampaignHeader,
    CampaignRecording,
    CampaignWriter,
    MergeError,
    NotACampaignError,
    describe_differences,
    merge_campaigns,
)
from lab.worlds.campaign.campaign_table import FindingGroups, table_of
from lab.worlds.campaign.finding import ShrunkFinding
from lab.worlds.campaign.schedule import Schedule, ScheduledFault
from lab.worlds.campaign.trial import SearchGoal
from lab.worlds.loading.targets import load_protocol
from tests.campaign.trials import base_of, learn_sooner, plan
from tests.profile import amount

RUNS = amount(quick=12, soak=2_000)
"""The schedules of the first 8, in the profile ``soak`` 32, are drawn before anything is known."""
RUNS_IN_PARTS = amount(quick=8, soak=2_000)
CUTS = amount(quick=2, soak=20)


@pytest.fixture(scope="module", autouse=True)
def guided_sooner() -> Iterator[None]:
    """So that few runs are enough."""
    with pytest.MonkeyPatch.context() as patch:
        learn_sooner(patch)
        yield


def _campaign(runs: int = RUNS, parts: int = 1, systematic: int = 0, guided: bool = True) -> Campaign:
    """Return a campaign that finds something, over few nodes; nearly all of its runs are guided."""
    bully = load_protocol("bully")
    wanted = plan(bully, "kill", *(() if systematic else ("pause",)), nodes=(2, 3))
    goal = SearchGoal("" if systematic else "A1.1")
    return Campaign("bully", base_of(bully), wanted, goal, 1, runs, guided, systematic, parts, shrinks_all=True)


def _make(campaign: Campaign, path: Path, part: int = 0, workers: int = 1) -> list[RunOutcome]:
    """Make a campaign in this file, or go on with it; return the outcomes, in the order in which they came."""
    begun = path.exists()
    writer = (
        CampaignWriter.resume(path) if begun else CampaignWriter.begin(path, CampaignHeader.of(campaign, part))
    )
    with closing(writer):
        outcomes = []
        made = writer.recording.outcomes()
        for outcome in run_campaign(campaign, workers, part=part, made=made):
            outcomes.append(outcome)
            if len(outcomes) > len(writer.recording):
                writer.append(outcome)
    return outcomes


def _table(path: Path) -> list[Row]:
    with closing(CampaignRecording(path)) as recording:
        return list(table_of(recording).rows)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[RunOutcome]]:
    """The campaign, made without an interruption."""
    path = tmp_path_factory.mktemp("whole") / "whole.jsonl"
    return path, _make(_campaign(), path)


def test_the_file_has_what_was_made(whole: tuple[Path, list[RunOutcome]], tmp_path: Path) -> None:
    """Each line is the outcome, whole; two workers write the same, but for the times."""
    path, outcomes = whole
    with closing(CampaignRecording(path)) as recording:
        runs = list(recording.runs())
    assert [run.run for run in runs] == list(range(1, RUNS + 1))
    assert [run.outcome for run in runs] == outcomes
    found = [outcome for outcome in outcomes if outcome.found]
    assert found
    assert all((outcome.counterexample is not None) == outcome.found for outcome in outcomes)
    assert any(outcome.struck for outcome in outcomes)
    assert _make(_campaign(), tmp_path / "two.jsonl", workers=2) == outcomes
    assert _table(tmp_path / "two.jsonl") == _table(path)


def _cuts(data: bytes) -> Iterator[int]:
    """Yield places at which a file can end when its program is killed: anywhere after the header."""
    rng = Random("cuts")
    for _ in range(CUTS):
        yield rng.randint(data.index(b"\n") + 1, len(data))


def test_it_goes_on_from_any_byte(whole: tuple[Path, list[RunOutcome]], tmp_path: Path) -> None:
    """The runs of a line that was cut off are made again; guided drawing gives the same schedules."""
    path, outcomes = whole
    data = path.read_bytes()
    for number, cut in enumerate(_cuts(data)):
        rest = tmp_path / f"{number}.jsonl"
        rest.write_bytes(data[:cut])
        with closing(CampaignRecording(rest)) as recording:
            assert recording.size + recording.torn == cut
        assert _make(_campaign(), rest) == outcomes
        assert _table(rest) == _table(path)


def test_a_tree_goes_on(tmp_path: Path) -> None:
    """A systematic campaign, whose runs follow from others."""
    campaign = _campaign(runs=amount(quick=20, soak=40), systematic=2)
    outcomes = _make(campaign, tmp_path / "tree.jsonl")
    lines = (tmp_path / "tree.jsonl").read_bytes().splitlines(keepends=True)
    for made in (0, 1, 17):
        rest = tmp_path / f"{made}.jsonl"
        rest.write_bytes(b"".join(lines[: 1 + made]))
        assert _make(campaign, rest) == outcomes


@pytest.mark.parametrize("guided", [True, False])
def test_parts_made_apart(tmp_path: Path, guided: bool) -> None:
    """Two halves, the second made first, have the table of the whole; so has a merger that is finished later."""
    campaign = _campaign(runs=RUNS_IN_PARTS + 1, parts=2, guided=guided)
    _make(campaign, tmp_path / "whole.jsonl")
    halves = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    for part in (2, 1):
        _make(campaign, halves[part - 1], part)
    _merge(halves, tmp_path / "merged.jsonl")
    assert _table(tmp_path / "merged.jsonl") == _table(tmp_path / "whole.jsonl")
    halves[0].write_bytes(b"".join(halves[0].read_bytes().splitlines(keepends=True)[:3]))
    _merge(halves[::-1], tmp_path / "later.jsonl")
    with closing(CampaignRecording(tmp_path / "later.jsonl")) as recording:
        assert len(recording) < RUNS_IN_PARTS
    _make(campaign, tmp_path / "later.jsonl")
    assert _table(tmp_path / "later.jsonl") == _table(tmp_path / "whole.jsonl")


def _merge(paths: list[Path], out: Path) -> None:
    with ExitStack() as stack:
        merge_campaigns([stack.enter_context(closing(CampaignRecording(path))) for path in paths], out)


def test_what_does_not_fit(whole: tuple[Path, list[RunOutcome]], tmp_path: Path) -> None:
    """Each difference is named; only the user's paths, the date and the part may differ."""
    header = CampaignHeader.of(_campaign())
    same = replace(header, began="2000-01-01T00:00:00+00:00", part=1)
    assert describe_differences(header, same) == []
    campaign = header.campaign
    assert isinstance(campaign, Campaign)
    for other, text in (
        (replace(campaign, seed=2), "the seed is 1 there, and 2 here"),
        (replace(campaign, parts=2), "the number of parts is 1 there, and 2 here"),
        (replace(campaign, guided=False), "the way of drawing is guided there, and blind here"),
        (replace(campaign, plan=replace(campaign.plan, gaps=False)), "the plan of its schedules is another one"),
    ):
        assert describe_differences(header, replace(header, campaign=other)) == [text]
    _make(replace(_campaign(3), seed=2), tmp_path / "other.jsonl")
    with pytest.raises(MergeError, match=r"are not of one campaign: the seed is 1 there, and 2 here"):
        _merge([whole[0], tmp_path / "other.jsonl"], tmp_path / "merged.jsonl")


def test_runs_that_differ_are_not_merged(whole: tuple[Path, list[RunOutcome]], tmp_path: Path) -> None:
    """A run that two files have must be the same in both."""
    lines = whole[0].read_bytes().splitlines(keepends=True)
    (tmp_path / "copy.jsonl").write_bytes(b"".join(lines[:3]))
    _merge([tmp_path / "copy.jsonl", whole[0]], tmp_path / "merged.jsonl")
    assert _table(tmp_path / "merged.jsonl") == _table(whole[0])
    (tmp_path / "copy.jsonl").write_bytes(b"".join(lines[:2]) + lines[2].replace(b'"steps":', b'"steps":1'))
    with pytest.raises(MergeError, match="run 2 is not the same in "):
        _merge([whole[0], tmp_path / "copy.jsonl"], tmp_path / "again.jsonl")


@pytest.mark.parametrize(
    ("edit", "output"),
    [
        (lambda lines: [], "its first line is not whole"),
        (lambda lines: [lines[0][:-1]], "its first line is not whole"),
        (lambda lines: [b"{}\n"], "not a campaign"),
        (lambda lines: [lines[0].replace(b'"format":1', b'"format":2')], "has format 2"),
        (lambda lines: [lines[0].replace(b'"parts":1', b'"parts":9999999999')], "was edited: it has no such part"),
        (lambda lines: [lines[0].replace(b'"seed":1,"runs"', b'"seed":1,"runs":-1,"old"')], "was edited: "),
        (lambda lines: [*lines[:3], b"mine\n", *lines[3:]], "line 4 is no run"),
        (lambda lines: [*lines[:3], *lines[4:]], "was edited: run 3 is missing before run 4"),
        (lambda lines: [*lines, lines[-1]], "was edited: "),
    ],
)
def test_files_that_are_no_campaign(
    whole: tuple[Path, list[RunOutcome]], tmp_path: Path, edit: Callable[[list[bytes]], list[bytes]], output: str
) -> None:
    """What is wrong is said, and where."""
    path = tmp_path / "edited.jsonl"
    path.write_bytes(b"".join(edit(whole[0].read_bytes().splitlines(keepends=True))))
    with pytest.raises(NotACampaignError, match=output):
        CampaignRecording(path)


def _found(nodes: tuple[int, ...], *faults: tuple[int, str, str]) -> ShrunkFinding:
    schedule = Schedule(1, nodes, Link(1_000), tuple(ScheduledFault(*each) for each in faults), 1_000_000)
    return ShrunkFinding("A1.1", (9,), "", schedule)


def test_shapes() -> None:
    """Times, amounts and the number of nodes do not matter; which node it is, counted from the highest, does."""
    assert _found((1, 2), (4_000, "", "pause 2")).shape == "pause n"
    assert _found((1, 2, 6), (0, "", "pause 6")).shape == "pause n"
    assert _found((1, 2, 6), (0, "", "pause 2")).shape == "pause n-1"
    on_message = _found((1, 2, 3), (0, "send Vote 2->3", "kill 1"), (5, "before send Vote", "restart 1"))
    assert on_message.shape == "on send Vote n-1->n kill n-2; before send Vote restart n-2"
    slow = _found((1, 2), (0, "", "delay 1->2 400ms ±100ms"), (0, "", "lose all 30%"))
    assert slow.shape == "delay n-1->n; lose all"
    assert _found((1, 2, 3), (0, "", "partition 1 2 | 3")).shape == "partition n-2 n-1 | n"
    assert _found((1, 2)).shape == "no fault"


def test_groups(whole: tuple[Path, list[RunOutcome]]) -> None:
    """Every finding is in one group; the smallest of a group is no larger than any other in it."""
    groups = FindingGroups()
    with closing(CampaignRecording(whole[0])) as recording:
        runs = {run.run: run.outcome.counterexample for run in recording.runs()}
        for run in recording.runs():
            groups.add(run)
    ranked = groups.ranked()
    assert sorted(run for group in ranked for run in group.runs) == [run for run, found in runs.items() if found]
    assert len(ranked[0].runs) > 1
    for group in ranked:
        found = [each for run in group.runs if (each := runs[run]) is not None]
        assert {each.shape for each in found} == {group.shape}
        assert group.smallest.size == min(each.size for each in found)
