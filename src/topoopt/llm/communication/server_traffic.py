"""From what ranks send each other to the traffic between servers that a topology is found for."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from topoopt.llm.columns import Floats, Ints
from topoopt.llm.communication.message import Communication
from topoopt.pipelined_step import SWEEPS
from topoopt.traffic import AllReduceGroup, AllToAllGroup, Traffic, Transfers, merged_traffic


def server_traffic(communications: Iterable[Communication], servers_of_rank: Ints) -> Traffic:
    """Return what servers send each other in one iteration; what stays inside a server is left out.

    Collectives are hierarchical: ranks of a server that reduce with the same other servers add up inside first (or
    have their bytes added, where they are of different groups). All-to-alls with even loads and as many ranks on
    every server stay groups; others, and what is sent to one rank, are transfers. An all-gather or reduce-scatter of S
    counts as an AllReduce of S/2, which puts as much on the wire.

    Parameters
    ----------
    servers_of_rank : int64 array, shape (ranks,)
        As of :func:`~topoopt.llm.place_ranks`.
    """
    servers = int(servers_of_rank.max()) + 1
    rings: Counter[tuple[int, ...]] = Counter()
    exchanges: list[AllToAllGroup] = []
    sent = np.zeros((servers, servers))
    for one in communications:
        places = servers_of_rank[one.groups]
        total = one.message_bytes * one.count
        if one.collective in SWEEPS:
            for members, groups in _member_sets(places).items():
                rings[members] += SWEEPS[one.collective] * total * groups
        elif one.collective == "send":
            np.add.at(sent, (places[:, 0], places[:, 1]), float(total))
        elif one.collective == "ring-exchange":
            np.add.at(sent, (places, np.roll(places, -1, axis=1)), float(total))
        else:
            _exchange(places, total * one.weights, exchanges, sent)
    np.fill_diagonal(sent, 0.0)
    src, dst = np.nonzero(sent)
    transfers = Transfers(src, dst, np.rint(sent[src, dst]).astype(np.int64))
    groups_of_servers = [AllReduceGroup(members, twice // 2) for members, twice in rings.items()]
    return merged_traffic(servers, groups_of_servers, exchanges, transfers)


def _member_sets(places: Ints) -> Counter[tuple[int, ...]]:
    """Return the servers of each group that spans several, and how many groups have just these."""
    rows, groups = np.unique(np.sort(places, axis=1), axis=0, return_counts=True)
    counts: Counter[tuple[int, ...]] = Counter()
    for row, count in zip(rows.tolist(), groups.tolist(), strict=True):
        members = tuple(dict.fromkeys(row))
        if len(members) > 1:
            counts[members] += count
    return counts


def _exchange(places: Ints, weights: Floats, exchanges: list[AllToAllGroup], sent: Floats) -> None:
    """Add the all-to-alls of some groups; ``weights`` are bytes from each member to each."""
    even = float(np.ptp(weights)) == 0.0
    uneven = []
    for row in places:
        members, ranks = np.unique(row, return_counts=True)
        if even and int(np.ptp(ranks)) == 0:
            if len(members) > 1:
                pair = round(float(weights[0, 0]) * int(ranks[0]) ** 2)
                exchanges.append(AllToAllGroup(tuple(members.tolist()), pair))
        else:
            uneven.append(row)
    if uneven:
        src, dst = (index.ravel() for index in np.indices(weights.shape))
        rows = np.stack(uneven)
        np.add.at(sent, (rows[:, src], rows[:, dst]), np.broadcast_to(weights.ravel(), (len(rows), len(src))))
