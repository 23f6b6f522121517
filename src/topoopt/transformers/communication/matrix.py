"""Who sends how much to whom: matrices of ranks and of servers."""

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.transformers.communication.message import KINDS, Communication, wire_factor

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
