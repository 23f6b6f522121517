"""The page ``docs/simulators.md``: our simulators beside the authors', every difference shown.

In each table the last column may be CPU seconds, which differ from run to run; all others are the same whenever the
page is made, and a test makes some of them again.
"""

from collections.abc import Iterable, Sequence
from statistics import median

from benchmarks.reference_noise import Band
from benchmarks.reference_replay import Replayed
from benchmarks.reference_rows import FluidRow, MicroRow, ReplayRow, percent_off, within

PACKET_TITLES = (
    "graph",
    "fabric",
    "Gb/s",
    "FlexNetPacket, ms",
    "`compat`, ms",
    "off",
    "allowed",
    "ok",
    "without, ms",
    "off",
    "M packet-hops",
    "CPU s",
)
FLOW_TITLES = ("graph", "fabric", "Gb/s", "FlexNetPacket, ms", "flow, ms", "off", "allowed", "ok", "CPU s")
MICRO_TITLES = ("case", "FlexNetPacket, ms", "packet, ps off", "`compat`, ps off", "flow, ps off")
FLUID_TITLES = (
    "model",
    "servers",
    "fabric",
    "links × Gb/s",
    "FlexNet, ms",
    "flow, ms",
    "off",
    "allowed",
    "ok",
)
NOISE_TITLES = ("graph", "fabric", "FlexNetPacket, ms", "fastest", "median", "slowest", "width")
LEFT = ("graph", "fabric", "case", "model", "ok")
CLASS_TITLES = ("model", "rows", "median", "worst", "median without †", "worst without †")


def packet_cells(row: ReplayRow, same: Replayed, free: Replayed) -> list[str]:
    """Return a row of the first table: with the peer's shortcuts, and without."""
    off = percent_off(same.time_ms, row.peer_ms)
    return [
        *_named(row),
        f"{same.time_ms:.4f}",
        percent(off),
        f"{row.packet_percent:g} %",
        ok(within(off, row.packet_percent)),
        f"{free.time_ms:.4f}",
        percent(percent_off(free.time_ms, row.peer_ms)),
        f"{same.packet_hops / 1e6:.2f}",
        f"{same.cpu_s:.2f}",
    ]


def flow_cells(row: ReplayRow, found: Replayed) -> list[str]:
    """Return a row of the second table."""
    off = percent_off(found.time_ms, row.peer_ms)
    return [
        *_named(row),
        f"{found.time_ms:.3f}",
        percent(off),
        f"{row.flow_percent:g} %",
        ok(within(off, row.flow_percent)),
        f"{found.cpu_s:.2f}",
    ]


def class_cells(model: str, found: Iterable[tuple[ReplayRow, Replayed]]) -> list[str]:
    """Return how far the flow simulator is away over all rows of a model."""
    all_rows = [
        (row, abs(percent_off(flow.time_ms, row.peer_ms))) for row, flow in found if row.model == model
    ]
    every = [off for _, off in all_rows]
    clean = [off for row, off in all_rows if not row.timeouts]
    figures = [f"{value:.2f} %" for value in (median(every), max(every), median(clean), max(clean))]
    return [model, str(len(every)), *figures]


def micro_cells(row: MicroRow, packet_ms: float, compat_ms: float, flow_ms: float) -> list[str]:
    """Return a row of the table of closed forms, in whole picoseconds."""
    offs = (round((found - row.peer_ms) * 1e9) for found in (packet_ms, compat_ms, flow_ms))
    return [row.case, f"{row.peer_ms:.9f}", *(f"{off}" for off in offs)]


def fluid_cells(row: FluidRow, found_ms: float) -> list[str]:
    """Return a row of FlexNet's fluid model."""
    off = percent_off(found_ms, row.peer_ms)
    return [
        row.model,
        str(row.servers),
        row.fabric,
        f"{row.degree} × {row.gbps:g}",
        f"{row.peer_ms:g}",
        f"{found_ms:.3f}",
        percent(off),
        f"{row.percent:g} %",
        ok(within(off, row.percent)),
    ]


def noise_cells(band: Band) -> list[str]:
    """Return a row of the table of seeds."""
    return [
        band.row.graph,
        band.row.fabric,
        band.row.peer_ms_text,
        *(
            f"{value:.3f} ({percent(percent_off(value, band.row.peer_ms), 1)})"
            for value in (min(band.times_ms), band.median_ms, max(band.times_ms))
        ),
        f"{band.width_percent:.1f} %",
    ]


def _named(row: ReplayRow) -> list[str]:
    dagger = " †" if row.timeouts else ""
    return [f"{row.graph}{dagger}", row.fabric, f"{row.gbps:g}", row.peer_ms_text]


def percent(value: float, digits: int = 3) -> str:
    """Return a difference with its sign; what rounds to nothing has none."""
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f} %" if rounded else f"{0:.{digits}f} %"


def ok(met: bool) -> str:
    """Return the word of the column."""
    return "yes" if met else "**no**"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; numbers stand to the right."""
    lines = [list(titles), ["---" if title in LEFT else "--:" for title in titles], *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cells(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
