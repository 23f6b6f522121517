"""Rings of all servers, and how far apart they leave the servers, as a page."""

from itertools import accumulate, islice

from topoopt.finder import RingNetwork
from topoopt.report.chart import BarChart, Series
from topoopt.report.page import Block, Facts, Notes, Page, Section, Table, Tile
from topoopt.report.wiring_words import wiring_words
from topoopt.report.words import counted
from topoopt.topology import stride_offsets

SHOWN_DISTANCES = 12


def topology_page(network: RingNetwork) -> Page:
    """Return strides, wiring, distances, and how coins lead to the nearest servers."""
    listed = ", ".join(str(stride) for stride in network.strides)
    table, ports = network.table, counted(network.degree, f"{network.links} port")
    diameter, average = counted(table.diameter, "hop"), f"{table.average_hops:.3f} hops"
    offsets = stride_offsets(network.servers, network.strides, network.links)
    facts = (
        ("strides", f"{listed} (rule: {network.rule})"),
        ("wiring", wiring_words(network.servers, offsets, network.links)),
        ("diameter", diameter),
        ("average", average),
    )
    blocks: tuple[Block, ...] = (Facts("", facts), _distances(network), *_coins(network), _chart(network))
    return Page(
        "topology",
        f"{network.servers} servers, {ports} each",
        f"Rings of strides {listed} join {network.servers} servers: {average} on average, {diameter} at most.",
        (Tile("Strides", listed), Tile("Average", average), Tile("Diameter", diameter)),
        (),
        (Section("rings", "Rings", "How far apart the rings leave the servers.", blocks),),
        {"average_hops": table.average_hops, "diameter": table.diameter},
    )


def _distances(network: RingNetwork) -> Table:
    servers, numbers = network.servers, ("hops", "servers", "within")
    within = accumulate(network.hop_histogram.values())
    rows = tuple(
        (str(hops), str(pairs // servers), f"{so_far / servers / (servers - 1):.3f}")
        for (hops, pairs), so_far in zip(network.hop_histogram.items(), within, strict=True)
    )
    return Table("Distances", numbers, rows, numbers)


def _coins(network: RingNetwork) -> tuple[Block, ...]:
    rows = tuple(
        (str(distance), " + ".join(map(str, steps)))
        for distance, steps in islice(network.coins(), SHOWN_DISTANCES)
    )
    table = Table("By the coins", ("to i +", "by the coins"), rows, ("to i +",))
    more = network.servers - 1 - SHOWN_DISTANCES
    return (table, Notes((f"… {more} more distances in JSON",))) if more > 0 else (table,)


def _chart(network: RingNetwork) -> BarChart:
    histogram = network.hop_histogram
    bars = Series(
        "servers",
        tuple(str(hops) for hops in histogram),
        tuple(pairs / network.servers for pairs in histogram.values()),
    )
    return BarChart("servers_by_hops", "Servers by distance", "hops", "servers", (bars,))
