"""From groups of ranks to groups of servers, by the replicas of the model that take part."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Places:
    """Where ranks are, each array of shape (ranks,).

    Attributes
    ----------
    server, replica : int64 arrays
        ``replica`` is the data-parallel index.
    """

    server: Ints
    replica: Ints


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """Groups of ranks with equal replicas and equal servers, as one.

    Attributes
    ----------
    replicas, members : tuples of int
        ``members`` are servers; one if the groups lie inside it.
    groups : int
        How many groups of ranks these are.
    inside : int
        Ranks of one of them on the server that has most.
    """

    replicas: tuple[int, ...]
    members: tuple[int, ...]
    groups: int
    inside: int


def server_groups(groups: Ints, places: Places, *, across: bool) -> tuple[ServerGroup, ...]:
    """Return groups of ranks, shape (groups, size), as groups of servers; only those ``across`` servers if so asked."""
    groups_of: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = defaultdict(list)
    for row in _spanning(groups, places) if across else groups:
        members, count = np.unique(places.server[row], return_counts=True)
        replicas = tuple(np.unique(places.replica[row]).tolist())
        groups_of[replicas, tuple(members.tolist())].append(int(count.max()))
    return tuple(ServerGroup(*key, len(inside), max(inside)) for key, inside in groups_of.items())


@dataclass(frozen=True, eq=False)
class ServerPairs:
    """The same of an exchange in pairs: ``pair_bytes`` from each of the members to each, zero for itself."""

    replicas: tuple[int, ...]
    members: tuple[int, ...]
    pair_bytes: Floats


def server_pairs(groups: Ints, between: Callable[[Ints], Floats], places: Places) -> tuple[ServerPairs, ...]:
    """Return how many bytes servers send each other.

    Parameters
    ----------
    between
        From the place of each member of a group among its servers to the bytes from each server to each.
    """
    matrices: dict[tuple[tuple[int, ...], tuple[int, ...]], Floats] = {}
    for row in _spanning(groups, places):
        members, index = np.unique(places.server[row], return_inverse=True)
        matrix = between(index).copy()
        np.fill_diagonal(matrix, 0.0)
        key = tuple(np.unique(places.replica[row]).tolist()), tuple(members.tolist())
        matrices[key] = matrices[key] + matrix if key in matrices else matrix
    return tuple(ServerPairs(*key, matrix) for key, matrix in matrices.items())


def _spanning(groups: Ints, places: Places) -> Ints:
    """Return the groups that span servers."""
    rows: Ints = groups[np.ptp(places.server[groups], axis=1) > 0]
    return rows
