"""What one iteration moves, by pair of servers and by link, as a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from topoopt.base.units import format_bytes
from topoopt.pages.page import Page, Section, Tile
from topoopt.pages.plan_traffic import heatmap
from topoopt.pages.rows import facts, joined, number, table
from topoopt.pages.words import counted
from topoopt.routing import LaidTraffic
from topoopt.workloads import Traffic

SHOWN = 10


def laid_traffic_page(laid: LaidTraffic) -> Page:
    """Return how much is moved, the busiest pairs and links, and a map of all pairs."""
    demand, pairs, links = laid.traffic, laid.pairs(), laid.links()
    transfers = sum(1 for pair in pairs if pair["mp_bytes"])
    moved = {
        "strategy": laid.strategy,
        "AllReduce": allreduce_words(demand),
        "model parallel": f"{format_bytes(demand.mp_bytes)} between {transfers} ordered pairs",
    }
    all_pairs = heatmap("traffic", "Bytes from server to server", laid.mp_bytes + laid.allreduce_bytes)
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
        sections=(
            Section("moved", "What is moved", "", (facts(moved), all_pairs)),
            _busiest("pairs", pairs, sizes),
            _busiest("links", links, [link["bytes"] for link in links]),
        ),
        key_numbers={
            "link_bytes_max": busiest,
            "mp_bytes": demand.mp_bytes,
            "allreduce_bytes": demand.allreduce_bytes,
        },
        remark=f"on {demand.servers} servers: what one iteration moves",
    )


def allreduce_words(demand: Traffic) -> str:
    """Return the bytes of the AllReduces, in how many groups, and what of them goes over the wire."""
    groups = counted(len(demand.allreduce), "group")
    wire = format_bytes(demand.allreduce_wire_bytes)
    return f"{format_bytes(demand.allreduce_bytes)} in {groups}, {wire} on the wire"


def _busiest(ends: str, rows: Sequence[Mapping[str, Any]], sizes: Sequence[float]) -> Section:
    mean = sum(sizes) / len(sizes) if sizes else 0.0
    busiest = table(
        f"Busiest {ends}",
        sorted(joined(ends=rows, size=sizes), key=lambda row: -row["size"])[:SHOWN],
        number("from", "ends.src"),
        number("to", "ends.dst"),
        number("bytes", "size", format_bytes),
    )
    remark = f"of {len(rows)}; mean {format_bytes(mean)}"
    return Section(f"busiest-{ends}", f"Busiest {ends}", "", (busiest,), remark)
