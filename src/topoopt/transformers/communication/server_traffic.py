"""From what ranks send each other to the traffic between servers that a topology is found for."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.transformers.communication.matrix import add_exchanges, rank_pairs
from topoopt.transformers.communication.message import Communication
from topoopt.workloads import AllReduceGroup, AllToAllGroup, Traffic, Transfers, merged_traffic
from topoopt.workloads.pipelined_step import SWEEPS


def server_traffic(communications: Iterable[Communication], servers_of_rank: Ints) -> Traffic:
    """Return what servers send each other in one iteration; what stays inside a server is left out.

    Collectives are hierarchical: ranks of a server that reduce with the same other servers add up inside first (or
    have their bytes added, where they are of different groups). All-to-alls with even loads and as many ranks on
    every server stay groups; others, and what is sent to one rank, are transfers. An all-gather or reduce-scatter of S
    counts as an AllReduce of S/2, which puts as much on the wire.

    Parameters
    ----------
    servers_of_rank : int64 array, shape (ranks,)
        As of :func:`~topoopt.transformers.place_ranks`.
    """
    servers = int(servers_of_rank.max()) + 1
    rings: Counter[tuple[int, ...]] = Counter()
    exchanges: list[AllToAllGroup] = []
    sent = np.zeros((servers, servers))
    for one in communications:
        total = one.message_bytes * one.count
        if one.collective in SWEEPS:
            for members, groups in _member_sets(servers_of_rank[one.groups]).items():
                rings[members] += SWEEPS[one.collective] * total * groups
            continue
        alike = _even_exchanges(one, servers_of_rank)
        exchanges += [group for group in alike if group is not None and len(group.members) > 1]
        others = replace(one, groups=one.groups[[group is None for group in alike]])
        if one.collective == "all-to-all":
            add_exchanges(sent, others, servers_of_rank)
            continue
        for src, dst, size_bytes in rank_pairs(others):
            np.add.at(sent, (servers_of_rank[src], servers_of_rank[dst]), size_bytes)
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


def _even_exchanges(one: Communication, servers_of_rank: Ints) -> list[AllToAllGroup | None]:
    """Return each group of an all-to-all of servers; None for what is uneven, or no all-to-all."""
    if one.collective != "all-to-all" or float(np.ptp(one.weights)) > 0.0:
        return [None] * len(one.groups)
    total = float(one.message_bytes * one.count)
    groups: list[AllToAllGroup | None] = []
    for row in servers_of_rank[one.groups]:
        members, index, ranks = np.unique(row, return_inverse=True, return_counts=True)
        pair = 0 if len(members) == 1 else round(total * float(one.server_weights(index)[0, 1]))
        even = int(np.ptp(ranks)) == 0
        groups.append(AllToAllGroup(tuple(members.tolist()), pair) if even else None)
    return groups
