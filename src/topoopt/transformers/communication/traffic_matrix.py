"""Who sends how much to whom: matrices of ranks and of servers."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.transformers.communication.message import KINDS, Communication, wire_factor
from topoopt.workloads import RING_PASSES, AllReduceGroup, AllToAllGroup, Traffic, Transfers, merged_traffic

LARGEST_MATRIX = 8192
"""Rows; the matrix takes 512 MiB."""


def rank_matrix(communications: Iterable[Communication], ranks: int) -> Floats:
    """Return the bytes from each rank to each in one iteration, shape (ranks, ranks).

    Rings run in the order of a group's members: an AllReduce of S bytes among n puts 2(n-1)/n·S on each directed pair
    of neighbors, all-gather and reduce-scatter half of it.

    Raises
    ------
    InvalidInput
        If there are more than :data:`LARGEST_MATRIX` ranks.
    """
    return server_matrix(communications, np.arange(ranks))


def server_matrix(
    communications: Iterable[Communication], servers_of_rank: Ints, kinds: Collection[str] = KINDS
) -> Floats:
    """Return the bytes from each server to each, shape (servers, servers): the matrix of ranks, added up.

    What ranks of a server send each other is on the diagonal; a token that goes to a server of its
    experts once, counts once. Rings are those of ranks, so that one may leave and enter a server several times; see
    :func:`~topoopt.transformers.server_traffic` for collectives that first add up inside.

    Parameters
    ----------
    servers_of_rank : int64 array, shape (ranks,)
        As of :func:`~topoopt.transformers.place_ranks`.
    """
    servers = int(servers_of_rank.max()) + 1
    if servers > LARGEST_MATRIX:
        raise InvalidInput(
            f"matrix: {servers} rows would not fit into memory; at most {LARGEST_MATRIX}: "
            "ask for servers instead of ranks, or for more accelerators per server"
        )
    matrix = np.zeros((servers, servers))
    for one in communications:
        if one.kind not in kinds:
            continue
        if one.routing is not None:
            add_exchanges(matrix, one, servers_of_rank)
        else:
            for src, dst, size_bytes in rank_pairs(one):
                np.add.at(matrix, (servers_of_rank[src], servers_of_rank[dst]), size_bytes)
    return matrix


def add_exchanges(matrix: Floats, one: Communication, servers_of_rank: Ints) -> None:
    """Add what servers send each other in an all-to-all, group by group."""
    total = float(one.message_bytes) * one.count
    for row in servers_of_rank[one.groups]:
        members, index = np.unique(row, return_inverse=True)
        matrix[np.ix_(members, members)] += total * one.server_weights(index)


def rank_pairs(one: Communication) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield source and destination ranks, each pair of a group's members that talk in turn, and the bytes."""
    groups, size = one.groups, one.groups.shape[1]
    total = float(one.message_bytes) * one.count
    if one.collective == "all-to-all":
        between = total * one.rank_weights
        np.fill_diagonal(between, 0.0)
        src, dst = np.nonzero(between)
        yield groups[:, src], groups[:, dst], np.broadcast_to(between[src, dst], (len(groups), len(src)))
    elif one.collective == "send":
        yield groups[:, 0], groups[:, 1], np.full(len(groups), total)
    else:
        each = total * wire_factor(one.collective, size, one.weights) / size
        yield groups, np.roll(groups, -1, axis=1), np.full(groups.shape, each)


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
        if one.collective in RING_PASSES:
            for members, groups in _member_sets(servers_of_rank[one.groups]).items():
                rings[members] += RING_PASSES[one.collective] * total * groups
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
