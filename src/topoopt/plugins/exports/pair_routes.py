"""The plan's routes, pair by pair, whatever rule made them."""

import csv
import io
import itertools
from collections.abc import Iterator

import numpy as np

from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.routing import PathTable, path_table
from topoopt.routing.forwarding import all_pairs, cables_in_turn

COLUMNS = ("src", "dst", "path", "weight", "addresses")


def pair_routes(deployment: Deployment) -> Contents:
    """Return ``routes.csv``: every path of every ordered pair, with its weight and the addresses that take it.

    Where paths are hashed all of a pair have the one address of its destination. Where they are pinned each has its
    own, and over parallel cables several, which share its weight.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(deployment))
    return {"routes.csv": text.getvalue()}


def _rows(deployment: Deployment) -> Iterator[tuple[str, ...]]:
    topology, addressing = deployment.plan.fabric.topology, deployment.addressing
    src, dst = all_pairs(topology.servers)
    table = path_table(deployment.plan.fabric, src, dst)
    names, there = addressing.server_names, topology.dst[table.link].tolist()
    identity = [
        [addressing.identity(server, k) for k in range(addressing.identities)] for server in range(len(names))
    ]
    identities = deployment.tables.ways.identity.tolist()
    first_way = _first_ways(deployment, table)
    pairs = zip(src.tolist(), dst.tolist(), itertools.pairwise(table.pair_first.tolist()), strict=True)
    steps, weights = table.path_first.tolist(), table.weight.tolist()
    for a, b, (first, last) in pairs:
        for path in range(first, last):
            nodes = ">".join([names[a], *(names[node] for node in there[steps[path] : steps[path + 1]])])
            ways = [0] if first_way is None else identities[first_way[path] : first_way[path + 1]]
            yield (
                names[a],
                names[b],
                nodes,
                f"{weights[path]:.9g}",
                " ".join([identity[b][one] for one in ways]),
            )


def _first_ways(deployment: Deployment, table: PathTable) -> list[int] | None:
    """Return where the ways of each path begin, each an address of its own; None where paths have none."""
    if deployment.paths == "hashed":
        return None
    counts = cables_in_turn(deployment.plan.fabric.topology, table)
    first: list[int] = np.concatenate(([0], np.cumsum(counts))).tolist()
    return first
