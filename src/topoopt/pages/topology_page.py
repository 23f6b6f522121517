"""Rings of all servers, and how far apart they leave the servers, as a page."""

from itertools import accumulate, islice

from topoopt.finder import RingNetwork
from topoopt.pages.chart import BarChart
from topoopt.pages.page import Block, Notes, Page, Section, Table, Tile
from topoopt.pages.rows import bars, facts, joined, number, table, text
from topoopt.pages.wiring_words import wiring_words
from topoopt.pages.words import counted
from topoopt.topologies import stride_offsets

SHOWN_DISTANCES = 12


def topology_page(network: RingNetwork) -> Page:
    """Return strides, wiring, distances, and how coins lead to the nearest servers."""
    listed = ", ".join(str(stride) for stride in network.strides)
    reach, ports = network.table, counted(network.degree, f"{network.links} port")
    diameter, average = counted(reach.diameter, "hop"), f"{reach.average_hops:.3f} hops"
    offsets = stride_offsets(network.servers, network.strides, network.links)
    wiring = {
        "strides": f"{listed} (rule: {network.rule})",
        "wiring": wiring_words(network.servers, offsets, network.links),
        "diameter": diameter,
        "average": average,
    }
    blocks: tuple[Block, ...] = (facts(wiring), _distances(network), *_coins(network), _chart(network))
    return Page(
        "topology",
        f"{network.servers} servers, {ports} each",
        f"Rings of strides {listed} join {network.servers} servers: {average} on average, {diameter} at most.",
        (Tile("Strides", listed), Tile("Average", average), Tile("Diameter", diameter)),
        sections=(Section("rings", "Rings", "How far apart the rings leave the servers.", blocks),),
        key_numbers={"average_hops": reach.average_hops, "diameter": reach.diameter},
    )


def _distances(network: RingNetwork) -> Table:
    servers, pairs = network.servers, network.hop_histogram
    return table(
        "Distances",
        joined(hops=pairs, pairs=pairs.values(), within=accumulate(pairs.values())),
        number("hops"),
        number("servers", lambda row: row["pairs"] // servers),
        number("within", lambda row: row["within"] / servers / (servers - 1), ".3f"),
    )


def _coins(network: RingNetwork) -> tuple[Block, ...]:
    nearest = table(
        "By the coins",
        [
            {"distance": distance, "coins": coins}
            for distance, coins in islice(network.coins(), SHOWN_DISTANCES)
        ],
        number("to i +", "distance"),
        text("by the coins", "coins", lambda coins: " + ".join(map(str, coins))),
    )
    more = network.servers - 1 - SHOWN_DISTANCES
    return (nearest, Notes((f"… {more} more distances in JSON",))) if more > 0 else (nearest,)


def _chart(network: RingNetwork) -> BarChart:
    pairs = list(network.hop_histogram.items())
    servers = bars(pairs, lambda row: str(row[0]), {"servers": lambda row: row[1]}, network.servers)
    return BarChart("servers_by_hops", "Servers by distance", "hops", "servers", servers)
