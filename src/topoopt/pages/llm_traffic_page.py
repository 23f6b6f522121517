"""Page of the traffic of a transformer's training, between ranks and between servers: tables and heat maps."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from topoopt.base.answers import fields_of
from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.units import format_bytes
from topoopt.pages.chart import HeatmapChart
from topoopt.pages.page import Notes, Page, Section, Table, Tile
from topoopt.pages.report_files import draw_charts, write_report
from topoopt.pages.tables import Entries, counted, facts, number, table, text
from topoopt.pages.work_page import allreduce_words, heatmap, on_one_scale
from topoopt.transformers import KindRow, RankRow, RankTraffic

APART = 3
"""Sizes of message of one collective that a table of one rank shows apart; JSON has all."""
PICTURES = ("png", "svg", "pdf", "html")
KIND_WORDS = {
    "tp": "tensor parallel",
    "cp": "context parallel",
    "ep": "expert parallel",
    "pp": "pipeline",
    "dp": "data parallel",
    "embedding": "tied embedding",
}


def llm_traffic_page(traffic: RankTraffic) -> Page:
    """Return the traffic of one rank and of all ranks, and the busiest pairs of servers."""
    one, kinds = traffic.configuration, traffic.kinds()
    sent, network = sum(row.wire_bytes for row in kinds), sum(row.network_bytes for row in kinds)
    nothing = "one accelerator, or replicas of size one: nothing is sent"
    training = (facts(_entries(traffic)), Notes(() if kinds else (nothing,), warn=True))
    return Page(
        "transformer's traffic",
        title(traffic),
        headline(traffic),
        (
            Tile("Accelerators", f"{one.accelerators:,}", f"on {traffic.servers:,} servers"),
            Tile("Sent by all", format_bytes(sent), "in one iteration"),
            Tile("Between servers", format_bytes(network), "in one iteration"),
        ),
        sections=(
            Section("training", "Training", "", training),
            *(_sections(traffic, kinds) if kinds else ()),
        ),
        remark=f"on {counted(one.accelerators, 'accelerator')}: what one iteration sends",
    )


def draw_rank_traffic(path: str | os.PathLike[str], traffic: RankTraffic) -> tuple[str, ...]:
    """Draw the matrices, and return the names of the files: one, or one for each kind.

    Parameters
    ----------
    path
        Ends in ``.png``, ``.svg``, ``.pdf``, or ``.html`` for a page with the tables.

    Raises
    ------
    InvalidInput
        For another suffix, or if nothing leaves a server, so that there is nothing to draw.
    """
    name = os.fspath(path)
    suffix = picture_format(name)
    charts = _charts(PurePath(name).stem, traffic)
    if not charts:
        raise InvalidInput(
            "heat_map: no byte leaves a server; ask by rank, or for fewer accelerators_per_server"
        )
    if suffix != "html":
        return draw_charts(charts, Path(name).parent, (suffix,))
    caption = "Bytes of one iteration. Collectives go around rings in the order of their ranks."
    page = llm_traffic_page(traffic)
    maps = Section("matrix", "Who sends to whom", caption, charts)
    write_report(name, replace(page, sections=(maps, *page.sections)))
    return (name,)


def picture_format(path: str) -> str:
    """Return the suffix of a picture.

    Raises
    ------
    InvalidInput
        If it is none of :data:`PICTURES`.
    """
    suffix = PurePath(path).suffix.lower().removeprefix(".")
    check_known("heat_map: format", suffix, PICTURES)
    return suffix


def title(traffic: RankTraffic) -> str:
    """Return model and degrees in a line."""
    one = traffic.configuration
    degrees = fields_of(one, "tp", "cp", "ep", "dp", "pp", "vpp")
    split = " ".join(f"{word}{size}" for word, size in degrees.items() if size > 1) or "one accelerator"
    return f"{traffic.model.name}, {split}"


def headline(traffic: RankTraffic) -> str:
    """Return the sentence that sums it up."""
    kinds = traffic.kinds()
    most = max(kinds, key=lambda row: row.network_bytes, default=None)
    if most is None or most.network_bytes == 0:
        return "Nothing leaves a server."
    network = sum(row.network_bytes for row in kinds)
    return (
        f"{format_bytes(network)} leave servers in one iteration, {most.network_bytes / network:.0%} of them for "
        f"{most.kind} {most.collective}."
    )


def _entries(traffic: RankTraffic) -> Entries:
    one = traffic.configuration
    return {
        "servers": f"{traffic.servers:,}, ranks in the order {traffic.order}",
        "batch": f"{one.global_batch} sequences of {one.sequence} tokens, {one.micro_batches} micro-batches "
        f"of {one.micro_batch} a replica",
        "expert loads": traffic.loads or "",
        "counted as": _counted(traffic),
    }


def _counted(traffic: RankTraffic) -> str:
    """Return the formula or the software behind the counts; empty for the defaults."""
    if traffic.estimator != "calibrated":
        return f"the published formula {traffic.estimator}, whose stages send whole activations"
    return "" if traffic.framework == "megatron" else traffic.framework


def _sections(traffic: RankTraffic, kinds: Sequence[KindRow]) -> tuple[Section, ...]:
    ranks = table(
        "",
        kinds,
        text("kind"),
        text("collective"),
        number("groups", "groups", ","),
        number("ranks", "size", ","),
        number("message", lambda row: _span(row.smallest_bytes, row.largest_bytes)),
        number("count", "count", ","),
        number("sent", "wire_bytes"),
        number("between servers", "network_bytes"),
    )
    why = "Messages of one iteration, by the parallelism that needs them."
    if traffic.servers == 1:
        between_servers = {"servers": "one: nothing leaves it"}
    else:
        demand = traffic.traffic()
        transfers = len(demand.transfers)
        between_servers = {
            "AllReduce": allreduce_words(demand),
            "all-to-all": counted(len(demand.alltoall), "group") if demand.alltoall else "",
            "transfers": f"between {counted(transfers, 'ordered pair')}" if transfers else "",
            "model parallel": f"{format_bytes(demand.mp_bytes)} in all-to-alls and transfers",
        }
    between = (facts(between_servers),)
    return (
        Section("first-stage", "A rank of the first stage", why, (_rank(traffic.first_stage()),), "rank 0"),
        Section("kinds", "All ranks", why, (ranks,), "rings in the order of ranks"),
        Section("servers", "Between servers", "", between, "collectives add up inside a server first"),
    )


def _rank(rows: Sequence[RankRow]) -> Table:
    """Return the messages of a rank; more than :data:`APART` sizes become one row."""
    alike: dict[tuple[str, str, int], list[RankRow]] = {}
    for row in rows:
        alike.setdefault((row.kind, row.collective, row.size), []).append(row)
    groups = []
    for some in alike.values():
        groups += [[row] for row in some] if len(some) <= APART else [some]
    return table(
        "",
        groups,
        text("kind", lambda some: some[0].kind),
        text("collective", lambda some: some[0].collective),
        number("ranks", lambda some: some[0].size, ","),
        number("message", _messages),
        number("count", lambda some: sum(row.count for row in some), ","),
        number("sent", lambda some: sum(row.sent_bytes for row in some), format_bytes),
    )


def _messages(rows: Sequence[RankRow]) -> str:
    sizes = [row.message_bytes for row in rows]
    return _span(min(sizes), max(sizes))


def binary(size_bytes: float) -> str:
    """Return bytes as publications give messages: in KiB, MiB or GiB.

    Examples
    --------
    >>> binary(131_072_000), binary(64), binary(3 * 2**30)
    ('125.00 MiB', '64 B', '3.00 GiB')
    """
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.2f} {unit}"
    return f"{size_bytes:.0f} B"


def _span(smallest_bytes: int, largest_bytes: int) -> str:
    small, large = binary(smallest_bytes), binary(largest_bytes)
    return small if small == large else f"{small} – {large}"


def _charts(stem: str, traffic: RankTraffic) -> tuple[HeatmapChart, ...]:
    of = "rank" if traffic.by == "rank" else "server"
    charts = []
    for name, matrix in traffic.matrices().items():
        words = KIND_WORDS.get(name)
        chart_name = f"{stem}-{name}" if words else stem
        if matrix.any():
            charts.append(heatmap(chart_name, f"{title(traffic)}: {words or f'between {of}s'}", matrix, of))
    return on_one_scale(charts)
