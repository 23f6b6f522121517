"""Placements of an allocation: the scheduler's own first, then others that are as good to it."""

from collections.abc import Mapping, Sequence

import numpy as np

from topoopt.clusters.scheduled.network import WorkerNetwork

MOST_CANDIDATES = 10
"""As in CASSINI."""
TRIES = 3
"""Draws for each candidate: many draws come to a placement that is there already."""

Servers = Mapping[str, tuple[int, ...]]
"""The servers of each job."""


def candidate_placements(
    network: WorkerNetwork,
    kept: Servers,
    wanted: Mapping[str, int],
    near: bool,
    most: int,
    rng: np.random.Generator,
) -> tuple[Servers, ...]:
    """Return different ways to place an allocation.

    Parameters
    ----------
    kept : mapping
        Servers that jobs have already and keep in every placement.
    wanted : mapping
        How many workers more jobs get, of those that get any, in the order in which they are placed in the first
        placement.
    near : bool
        As near to each other as possible; else anywhere.
    most : int
        Placements to return, if there are so many.

    Returns
    -------
    tuple of mappings
        All jobs with their servers, at least one placement.
    """
    found: dict[tuple[tuple[int, ...], ...], Servers] = {}
    for attempt in range(1 if most == 1 else TRIES * most):
        order = list(wanted)
        if attempt:
            order = [order[index] for index in rng.permutation(len(order)).tolist()]
        placement = _placed(network, kept, wanted, order, near, rng if attempt or not near else None)
        found.setdefault(tuple(placement[job] for job in sorted(placement)), placement)
        if len(found) == most:
            break
    return tuple(found.values())


def _placed(
    network: WorkerNetwork,
    kept: Servers,
    wanted: Mapping[str, int],
    order: Sequence[str],
    near: bool,
    rng: np.random.Generator | None,
) -> Servers:
    free = set(range(network.servers)).difference(*kept.values())
    placement = dict(kept)
    for job in order:
        own = kept.get(job, ())
        if near:
            new = nearest_servers(network, free, wanted[job], own, rng)
        else:
            assert rng is not None
            new = tuple(rng.choice(sorted(free), wanted[job], replace=False).tolist())
        placement[job] = tuple(sorted((*own, *new))) if near else (*own, *new)
        free.difference_update(new)
    return placement


def nearest_servers(
    network: WorkerNetwork,
    free: set[int],
    count: int,
    own: Sequence[int] = (),
    rng: np.random.Generator | None = None,
) -> tuple[int, ...]:
    """Return so many free servers in as few racks and pods as possible.

    The rack or pod is taken that has the fewest free servers of those that have enough; where none has, those with the
    most. A job that has servers grows in their racks and pods first. Of equal ones the lowest is taken, or one drawn.

    Examples
    --------
    >>> from topoopt.clusters.scheduled.cassini_24 import cassini_24
    >>> nearest_servers(cassini_24(), {0, 1, 2, 4, 5, 8, 9, 10, 11}, 3), nearest_servers(cassini_24(), {3, 7, 20}, 2)
    ((0, 1, 2), (3, 7))
    """
    assert len(free) >= count
    racks, pods = network.racks, network.pods
    lot = rng.random(network.servers) if rng is not None else np.zeros(network.servers)
    own_racks, own_pods = {racks[server] for server in own}, {pods[server] for server in own}
    by_rack = _groups(free, racks)
    by_pod = _groups(free, pods)
    chosen: list[int] = []
    while len(chosen) < count:
        need = count - len(chosen)
        pod = min(by_pod, key=lambda pod: (pod not in own_pods, *_fit(by_pod[pod], need), lot[pod], pod))
        inside = {racks[server] for server in by_pod[pod]}
        rack = min(
            inside, key=lambda rack: (rack not in own_racks, *_fit(by_rack[rack], need), lot[-1 - rack], rack)
        )
        taken = sorted(by_rack[rack])[:need]
        chosen += taken
        own_pods, own_racks = own_pods | {pod}, own_racks | {rack}
        for groups, number in ((by_rack, rack), (by_pod, pod)):
            groups[number] = groups[number].difference(taken)
            if not groups[number]:
                del groups[number]
    return tuple(chosen)


def _groups(free: set[int], number_of: Sequence[int]) -> dict[int, set[int]]:
    groups: dict[int, set[int]] = {}
    for server in free:
        groups.setdefault(number_of[server], set()).add(server)
    return groups


def _fit(group: set[int], need: int) -> tuple[bool, int]:
    """Return what sorts groups: those that have enough first, the smallest of them; then the largest of the others."""
    enough = len(group) >= need
    return not enough, len(group) if enough else -len(group)
