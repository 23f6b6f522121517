"""What one iteration moves, by pair of servers and by link, as a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from topoopt.report.chart import HeatmapChart
from topoopt.report.page import Facts, Page, Section, Table, Tile
from topoopt.report.plan_traffic import heatmap
from topoopt.report.words import counted
from topoopt.routing import LaidTraffic
from topoopt.units import format_bytes

SHOWN = 10


def laid_traffic_page(laid: LaidTraffic) -> Page:
    """Return how much is moved, the busiest pairs and links, and a map of all pairs."""
    demand, pairs, links = laid.traffic, laid.pairs(), laid.links()
    transfers = sum(1 for pair in pairs if pair["mp_bytes"])
    facts = (
        ("strategy", laid.strategy),
        (
            "AllReduce",
            f"{format_bytes(demand.allreduce_bytes)} in {counted(len(demand.allreduce), 'group')}, "
            f"{format_bytes(demand.allreduce_wire_bytes)} on the wire",
        ),
        ("model parallel", f"{format_bytes(demand.mp_bytes)} between {transfers} ordered pairs"),
    )
    sizes = [pair["allreduce_bytes"] + pair["mp_bytes"] for pair in pairs]
    busiest = float(laid.link_bytes.max(initial=0.0))
    return Page(
        "traffic",
        laid.model,
        f"An iteration moves {format_bytes(sum(sizes))} between servers; the busiest link carries "
        f"{format_bytes(busiest)}.",
        (
            Tile("AllReduce", format_bytes(demand.allreduce_wire_bytes), "on the wire"),
            Tile("Model parallel", format_bytes(demand.mp_bytes)),
            Tile("Busiest link", format_bytes(busiest)),
        ),
        (),
        (
            Section("moved", "What is moved", "", (Facts("", facts), _map(laid))),
            _busiest("pairs", pairs, sizes),
            _busiest("links", links, [link["bytes"] for link in links]),
        ),
        {"link_bytes_max": busiest, "mp_bytes": demand.mp_bytes, "allreduce_bytes": demand.allreduce_bytes},
        remark=f"on {demand.servers} servers: what one iteration moves",
    )


def _map(laid: LaidTraffic) -> HeatmapChart:
    return heatmap("traffic", "Bytes from server to server", laid.mp_bytes + laid.allreduce_bytes)


def _busiest(ends: str, rows: Sequence[Mapping[str, Any]], sizes: Sequence[float]) -> Section:
    order = sorted(range(len(rows)), key=lambda index: -sizes[index])[:SHOWN]
    mean = sum(sizes) / len(sizes) if sizes else 0.0
    columns = ("from", "to", "bytes")
    cells = tuple((str(rows[i]["src"]), str(rows[i]["dst"]), format_bytes(sizes[i])) for i in order)
    table = Table(f"Busiest {ends}", columns, cells, columns)
    remark = f"of {len(rows)}; mean {format_bytes(mean)}"
    return Section(f"busiest-{ends}", f"Busiest {ends}", "", (table,), remark)
