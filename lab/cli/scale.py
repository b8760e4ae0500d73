"""``lab scale``: measure how the cost of an election grows with the cluster."""

import re
import textwrap
from collections.abc import Iterable
from typing import Annotated

from msgspec import Struct
from typer import Option

from lab.charts import Axis, Chart, Series, decades, whole_numbers
from lab.cli.campaign_file import (
    CampaignFile,
    RecordCampaign,
    ResumeCampaign,
    append,
    describe_file,
    is_own,
    words_of,
)
from lab.cli.chart import print_charts
from lab.cli.chart_svg import draw_charts
from lab.cli.documents import Document, Json, print_json
from lab.cli.options import (
    Picture,
    RequestBound,
    TableFile,
    Targets,
    base_header,
    check_picture,
    check_table_file,
    command,
    find_election,
)
from lab.cli.progress import Progress
from lab.cli.terminal import (
    EXIT_INTERRUPTED,
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    report_width,
)
from lab.kernel import Timing
from lab.output import print_error, print_line, print_remark, print_text
from lab.protocols import Cost
from lab.protocols.cost import Detection
from lab.table_files import Column, Row, Table, json_cell, write_table
from lab.units import first_duplicate, format_us
from lab.worlds.campaign.campaign_recording import CampaignHeader, CampaignRecording, CampaignWriter
from lab.worlds.campaign.scalability import (
    MOST_MESSAGES,
    ClusterMeasurement,
    Measurement,
    ReportMessages,
    ScaleCampaign,
    ScaleCase,
    ScaleRow,
    ScaleStudy,
)
from lab.worlds.interruption import interrupted_between_steps
from lab.worlds.loading.settings import seed_of, timing_of
from lab.worlds.loading.targets import absolute_target

_FEWEST, _MOST = 2, 2_000
_SIZES_OF_ONE = "3,10,30,100,300,1000"
_SIZES_OF_SEVERAL = "3,10,30,100"


class ScaleOptions(Struct, frozen=True):
    """The options of ``lab scale``."""

    protocols: Targets = []
    nodes: Annotated[
        str | None,
        Option(
            metavar="N,N,…",
            help="Cluster sizes, up to 2,000 nodes. "
            r"\[default: 3,10,30,100,300,1000; for several protocols 3,10,30,100]",
        ),
    ] = None
    t: RequestBound = None
    seed: Annotated[
        str, Option(metavar="NUMBER", help="Seed that determines when, between two heartbeats, the crash happens.")
    ] = "1"
    record: RecordCampaign = None
    resume: ResumeCampaign = None
    output: Picture = None
    table: TableFile = None
    json: Json = False


@command(
    epilog="""Examples:\n
    lab scale bully\n
    lab scale bully bully-tanenbaum ring invitation\n
    lab scale bully --nodes 5,50,500 -o bully.svg\n
    lab scale my_election.py:MyElection --nodes 3,10,30 --json\n
    lab scale bully ring --nodes 100,300,1000 --record costs.jsonl\n
    lab scale --resume costs.jsonl"""
)
def scale(options: ScaleOptions) -> int:
    """Measure the cost of an election as the cluster grows.

    The clusters are simulated, and the results are compared with the formulas from the literature. In each cluster
    the coordinator crashes, and the messages of the election are counted, without heartbeats. First, each node
    detects the crash by its own timeout. If the protocol has formulas for a best and a worst case, these are
    measured, too: the nodes detect the crash one after the other, or all at once. Several protocols are measured
    in clusters of the same sizes, and shown side by side.

    Bully with 1,000 nodes takes about half a minute. A best or worst case is skipped if its formula exceeds 10,000
    messages. Ctrl-C stops and shows the results so far.

    With --record, each cluster is kept in a file when it is measured: killed at any moment, the study goes on with
    --resume, and its table is the same. The real time of a cluster is that of the process that measured it.
    """
    file = CampaignFile(options.record, options.resume)
    campaign = _planned(options, file)
    timing, seed = campaign.bases[0].timing, campaign.seed
    check_picture(options.output)
    check_table_file(options.table)
    scales = studies_of(campaign)
    again = _resume_command(options, campaign)
    with file.writing(campaign, again) as writer:
        status = _measure(campaign, scales, writer)
        if writer is not None:
            print_remark(describe_file(writer, again))
    if options.table is not None:
        cases = [(scale, case) for scale in scales for case in scale.cases]
        rows = [_row(*each, row, seed) for each in cases for row in each[1].rows if row.measured is not None]
        write_table(options.table, Table(_COLUMNS, rows))
    if options.json:
        print_json(document_of(campaign, scales))
    measured = [each for each in scales if each.measured]
    if measured and not options.json:
        _show(measured, timing)
    if measured and options.output is not None:
        draw_charts(_charts(measured, timing), options.output, options.json)
    return status


_PLANNING = ("nodes", "t", "seed")
"""The options that say what is to be measured, which a study that is resumed has."""


def _planned(options: ScaleOptions, file: CampaignFile) -> ScaleCampaign:
    resumed = file.header(ScaleCampaign)
    if not options.protocols:
        if resumed is None:
            raise UsageError("name a protocol (lab scale bully), or a study to go on with (--resume FILE)")
        recorded: ScaleCampaign = file.as_recorded(resumed, options, _PLANNING)
        return recorded
    protocols = list(map(find_election, options.protocols))
    for place, each in enumerate(protocols):
        if each in protocols[:place]:
            raise UsageError(f"{each.name} is named twice; name each protocol once: lab scale bully ring")
    timing = timing_of(options.t)
    campaign = ScaleCampaign(
        tuple(map(absolute_target, options.protocols)),
        tuple(base_header(each, 1, timing) for each in protocols),
        _sizes(options.nodes or (_SIZES_OF_ONE if len(protocols) == 1 else _SIZES_OF_SEVERAL)),
        seed_of(options.seed),
    )
    file.check()
    if resumed is not None:
        file.require_fit(resumed, CampaignHeader.of(campaign))
    return campaign


def studies_of(campaign: ScaleCampaign) -> list[ScaleStudy]:
    """Return the studies of the protocols, without any measurement."""
    return [ScaleStudy.of(find_election(target)) for target in campaign.targets]


def _resume_command(options: ScaleOptions, campaign: ScaleCampaign) -> list[str]:
    """Return the command line that goes on with the study, but for the file."""
    if not any(map(is_own, campaign.targets)):
        return ["lab", "scale"]
    return ["lab", "scale", *options.protocols, *words_of(options, _PLANNING)]


def document_of(campaign: ScaleCampaign, scales: list[ScaleStudy]) -> "ScaleDocument":
    """Return the result as a document."""
    return ScaleDocument(campaign.bases[0].timing.t_us, campaign.seed, tuple(map(_document, scales)))


def show_study(recording: CampaignRecording, campaign: ScaleCampaign, as_json: bool) -> None:
    """Print the result of a recorded study so far, as ``lab scale`` does."""
    scales = studies_of(campaign)
    for run in recording.runs():
        scales[campaign.place_of(run.run)[1]].add(run.outcome, run.work_us)
        if run.outcome.failed:
            print_error(f"{scales[campaign.place_of(run.run)[1]].name}: {run.outcome.failed}")
    measured = [each for each in scales if each.measured]
    if as_json:
        print_json(document_of(campaign, scales))
    elif measured:
        _show(measured, campaign.bases[0].timing)
    else:
        print_line("nothing is measured yet")


_COLUMNS = (
    Column("run", "text", "the protocol, the number of nodes, and the case"),
    Column("seed", "integer", "seed that determines when the crash happens"),
    Column("protocol", "text", "protocol"),
    Column("nodes", "integer", "number of nodes"),
    Column("case", "text", "case of the formula; empty without one"),
    Column("noticed", "text", "which nodes detect the crash"),
    Column("coordinator", "integer", "coordinator that was elected"),
    Column("messages", "integer", "messages of the election, without heartbeats"),
    Column("formula", "number", "messages by the formula"),
    Column("virtual_us", "integer", "virtual time from the crash until all nodes are Normal"),
    Column("seconds", "number", "real time that the measurement took"),
    Column("kinds", "json", "messages by kind"),
)


def _row(scale: ScaleStudy, case: ScaleCase, row: ScaleRow, seed: int) -> Row:
    """Return the row of a measurement, which was not skipped."""
    measured = row.measured
    assert measured is not None
    return (
        ", ".join(filter(None, (scale.name, f"{row.nodes} nodes", case.name))),
        seed,
        scale.name,
        row.nodes,
        case.name or None,
        measured.detection,
        measured.coordinator,
        measured.messages,
        None if case.cost is None else float(case.messages(row.nodes)),
        measured.virtual_us,
        round(row.seconds, 3),
        json_cell(measured.kinds),
    )


def _measure(campaign: ScaleCampaign, scales: list[ScaleStudy], writer: CampaignWriter | None) -> int:
    """Measure all protocols, cluster by cluster; drop a protocol whose nodes do not agree."""
    status = 0
    dropped: set[int] = set()
    recorded = [] if writer is None else list(writer.recording.runs())
    for run in recorded:
        place = campaign.place_of(run.run)[1]
        scales[place].add(run.outcome, run.work_us)
        if run.outcome.failed:
            print_error(f"{scales[place].name}: {run.outcome.failed}")
            status = EXIT_NOT_AS_EXPECTED
            dropped.add(place)
    try:
        with Progress("measuring", "message") as progress, interrupted_between_steps():
            work = _Work(progress, len(scales) * sum(nodes**2 for nodes in campaign.sizes))
            for number in range(len(recorded) + 1, campaign.runs + 1):
                nodes, place = campaign.place_of(number)
                scale, report = scales[place], work.begin(scales[place].name, nodes)
                found, took_us = ClusterMeasurement(nodes), list[int]()
                if place not in dropped:
                    found, took_us = scale.measure(nodes, campaign.bases[0].timing, campaign.seed, report)
                scale.add(found, took_us)
                if writer is not None:
                    append(writer, found, took_us)
                if found.failed:
                    with progress.hidden():
                        print_error(f"{scale.name}: {found.failed}")
                    status = EXIT_NOT_AS_EXPECTED
                    dropped.add(place)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return status


class _Work:
    """All measurements. One takes about as long as the square of its nodes; ``total`` is the sum of these."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total = progress, total
        self._messages, self._done = 0, 0.0

    def begin(self, name: str, nodes: int) -> ReportMessages:
        """Return what reports the progress in the next cluster."""
        messages_before, done_before = self._messages, self._done
        self._done = done_before + nodes**2

        def report(messages: int, share: float) -> None:
            self._messages = messages_before + messages
            done = done_before + share * nodes**2
            self._progress(self._messages, f"{name}, {nodes:,} nodes", done / self._total)

        return report


def _sizes(text: str) -> tuple[int, ...]:
    if re.fullmatch(r"\d{1,9}(,\d{1,9})*", text.replace(" ", "")) is None:
        raise UsageError(f"--nodes {text}: write numbers separated by commas: --nodes 3,10,30")
    sizes = sorted(map(int, text.split(",")))
    if (twice := first_duplicate(sizes)) is not None:
        raise UsageError(f"--nodes {text}: {twice} is named twice; name each size once")
    for size in sizes:
        if not _FEWEST <= size <= _MOST:
            raise UsageError(f"--nodes {text}: {size} is out of range; write numbers from {_FEWEST} to {_MOST}")
    return tuple(sizes)


# the document


class FormulaSummary(Struct, frozen=True):
    """A formula and its source; ``noticed``: which nodes detect the crash, None if that is not measured."""

    case: str
    formula: str
    source: str
    noticed: Detection | None


class MeasuredElection(Struct, frozen=True):
    """An election. ``formula`` is the value of its case's formula, 0 without one; ``seconds`` are of real time."""

    nodes: int
    noticed: Detection
    coordinator: int
    messages: int
    virtual_us: int
    kinds: dict[str, int]
    case: str
    formula: float
    formulas: tuple[float, ...]
    seconds: float


class ScaledProtocol(Struct, frozen=True):
    """The elections of one protocol, and the formulas to compare them with."""

    protocol: str
    formulas: tuple[FormulaSummary, ...]
    elections: tuple[MeasuredElection, ...]


class ScaleDocument(Document, frozen=True):
    """The cost of an election in growing clusters."""

    t_us: int
    seed: int
    protocols: tuple[ScaledProtocol, ...]


def _document(scale: ScaleStudy) -> ScaledProtocol:
    costs = scale.protocol.costs
    return ScaledProtocol(
        scale.name,
        tuple(FormulaSummary(cost.case, cost.formula, cost.source, cost.detection) for cost in costs),
        tuple(
            MeasuredElection(
                row.measured.nodes,
                row.measured.detection,
                row.measured.coordinator,
                row.measured.messages,
                row.measured.virtual_us,
                row.measured.kinds,
                case.name,
                case.messages(row.nodes),
                tuple(cost.messages(row.nodes) for cost in costs),
                round(row.seconds, 3),
            )
            for case in scale.cases
            for row in case.rows
            if row.measured is not None
        ),
    )


# the report

_NOTHING = "-"
_NOT_MEASURED = "not measured"
_REMARK = (
    "Heartbeats are not counted. Messages and their handling take no time here: the virtual time is the sum of "
    "the timeouts."
)
_LEFT_OUT = f" Cases with more than {MOST_MESSAGES:,} messages by their formula are not measured."

Cells = list[list[str]]


def _show(scales: list[ScaleStudy], timing: Timing) -> None:
    """Print tables, formulas and charts of the measured protocols."""
    width = report_width()
    one = len(scales) == 1
    name = f"{scales[0].name}: " if one else ""
    print_line(f"{name}cost of an election, from the crash of the coordinator until all nodes are Normal")
    for title, rows in _tables_of_one(scales[0], timing) if one else _tables_of_several(scales, timing):
        print_line()
        if title:
            print_text(textwrap.fill(title, width))
        print_text(_aligned(rows))
    left_out = any(row.measured is None for scale in scales for case in scale.cases for row in case.rows)
    print_line()
    print_text(textwrap.fill(_REMARK + (_LEFT_OUT if left_out else ""), width))
    print_line()
    for scale in scales:
        if not one:
            print_line(scale.name + ("" if scale.protocol.costs else ": no formula to compare with"))
        _print_formulas(scale, width)
    print_charts(_charts(scales, timing))


def _print_formulas(scale: ScaleStudy, width: int) -> None:
    for cost in scale.protocol.costs:
        source = cost.source.replace(" − ", _unbroken(" − "))  # keep differences on one line
        text = f"{cost.formula:>17}  {cost.case}: {source}"
        print_text(textwrap.fill(text, width, subsequent_indent=" " * 19))


def _tables_of_one(scale: ScaleStudy, timing: Timing) -> list[tuple[str, Cells]]:
    """Return a table for each case; with a title if there are several."""
    return [(case.name if len(scale.cases) > 1 else "", _table_of(case, timing)) for case in scale.cases]


def _table_of(case: ScaleCase, timing: Timing) -> Cells:
    expected = [] if case.cost is None else [case.cost.formula, "ratio"]
    other_costs = [cost.formula for cost in case.other_costs]
    rows = [["nodes", "messages", *expected, *other_costs, "virtual", "in T", "real"]]
    for row in case.rows:
        counted, ratio, in_t = _result_cells(case, row, timing)
        expected = [] if case.cost is None else [_count(case.messages(row.nodes)), ratio]
        other_costs = [_count(cost.messages(row.nodes)) for cost in case.other_costs]
        virtual = _NOTHING if row.measured is None else format_us(round(row.measured.virtual_us, -3))
        real = _NOTHING if row.measured is None else f"{row.seconds:.1f} s"
        rows.append([_count(row.nodes), counted, *expected, *other_costs, virtual, in_t, real])
    return rows


def _tables_of_several(scales: list[ScaleStudy], timing: Timing) -> list[tuple[str, Cells]]:
    best, worst = [scale.best() for scale in scales], [scale.worst() for scale in scales]
    tables = {"the only case": best} if best == worst else {"best case": best, "worst case": worst}
    return [
        (f"{title}: {_formulas(scales, cases)}", _side_by_side(scales, cases, timing))
        for title, cases in tables.items()
    ]


def _formulas(scales: list[ScaleStudy], cases: list[ScaleCase]) -> str:
    parts = [
        _unbroken(f"{case.cost.formula} of {scale.name}")
        for scale, case in zip(scales, cases, strict=True)
        if case.cost is not None
    ]
    return ", ".join(parts) or "no formula"


def _side_by_side(scales: list[ScaleStudy], cases: list[ScaleCase], timing: Timing) -> Cells:
    """Return a table with messages, ratio to the formula, and time of each protocol."""
    rows = [["nodes", *(title for scale in scales for title in (scale.name, "ratio", "in T"))]]
    for nodes in sorted({row.nodes for case in cases for row in case.rows}):
        cells = [_count(nodes)]
        for case in cases:
            found = next((row for row in case.rows if row.nodes == nodes), None)
            cells += [_NOTHING] * 3 if found is None else _result_cells(case, found, timing)
        rows.append(cells)
    return rows


def _result_cells(case: ScaleCase, row: ScaleRow, timing: Timing) -> list[str]:
    """Return the messages, their ratio to the formula, and the virtual time in T."""
    measured = row.measured
    if measured is None:
        return [_NOT_MEASURED, _NOTHING, _NOTHING]
    return [_count(measured.messages), _ratio(case, measured), f"{measured.virtual_us / timing.t_us:.2f}"]


def _ratio(case: ScaleCase, measured: Measurement) -> str:
    expected = case.messages(measured.nodes)
    return f"{measured.messages / expected:.3f}" if expected > 0 else _NOTHING


def _unbroken(text: str) -> str:
    return text.replace(" ", "\xa0")


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _aligned(rows: Cells) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


# charts

_CURVE_POINTS = 200


def _charts(scales: list[ScaleStudy], timing: Timing) -> tuple[Chart, Chart]:
    """Return the charts of the messages in all cases, and of the virtual time in the first case.

    In the other cases the time is an artefact of how the detection is controlled.
    """
    sizes = tuple(sorted({each.nodes for scale in scales for each in scale.measured}))
    name = f"{scales[0].name}: " if len(scales) == 1 else ""
    counted = [
        each
        for each in (_series_of_one(scales[0], sizes) if name else _series_of_several(scales, sizes))
        if each.points
    ]
    in_t = [_times(scale, timing, place) for place, scale in enumerate(scales)]
    nodes = Axis("nodes", sizes, logarithmic=True)
    counts = [y for series in counted for _, y in series.points] or [1]
    longest = max((y for series in in_t for _, y in series.points), default=1)
    return (
        Chart(
            f"{name}messages of an election",
            nodes,
            Axis("messages", decades(max(1, min(counts)), max(counts)), logarithmic=True),
            tuple(counted),
            lines=26,
            height=440,
        ),
        Chart(
            f"{name}virtual time of an election, in T = {format_us(timing.t_us)}",
            nodes,
            Axis("virtual time, T", whole_numbers(longest), logarithmic=False),
            tuple(in_t),
            lines=16,
            height=280,
        ),
    )


def _series_of_one(scale: ScaleStudy, sizes: tuple[int, ...]) -> list[Series]:
    """Return the series of one protocol: a colour for each case, points and curve, and for each extra formula."""
    alone = [cost for cost in scale.protocol.costs if cost not in [case.cost for case in scale.cases]]
    counted, curves = [], []
    for hue, case in enumerate(scale.cases):
        counted.append(_points(f"measured: {case.name}" if case.name else "measured", case.measured, hue))
        if case.cost is not None:
            curves.append(_curve(case.cost, case.name, sizes, hue))
    curves += [_curve(cost, cost.case, sizes, hue) for hue, cost in enumerate(alone, len(scale.cases))]
    return [*counted, *curves]


def _series_of_several(scales: list[ScaleStudy], sizes: tuple[int, ...]) -> list[Series]:
    """Return the series of several protocols: a colour for each protocol, points and curves."""
    counted = [_points(scale.name, scale.measured, hue) for hue, scale in enumerate(scales)]
    curves = [
        _curve(case.cost, scale.name, sizes, hue)
        for hue, scale in enumerate(scales)
        for case in scale.cases
        if case.cost is not None
    ]
    return [*counted, *curves]


def _points(label: str, measured: list[Measurement], hue: int) -> Series:
    return Series(label, _drawable((each.nodes, each.messages) for each in measured), hue=hue)


def _curve(cost: Cost, label: str, sizes: tuple[int, ...], hue: int) -> Series:
    first, last = sizes[0], sizes[-1]
    between = [first * (last / first) ** (step / _CURVE_POINTS) for step in range(_CURVE_POINTS + 1)]
    points = _drawable((n, cost.messages(n)) for n in between)
    return Series(f"{cost.formula}, {label}", points, curve=True, hue=hue)


def _drawable(points: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    # the axis is logarithmic, and two nodes may need no messages
    return tuple((nodes, messages) for nodes, messages in points if messages > 0)


def _times(scale: ScaleStudy, timing: Timing, hue: int) -> Series:
    measured = scale.cases[0].measured
    return Series(scale.name, tuple((each.nodes, each.virtual_us / timing.t_us) for each in measured), hue=hue)
