"""Which links each way uses, and by what share, free of circles."""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.routing.pair_links import PairLinks
from topoopt.topologies import Topology, trees_to


def without_circles(topology: Topology, flows: PairLinks, dst: Ints) -> tuple[PairLinks, int]:
    """Return the flows without the circles that they have in common, sorted by link, and how many had any.

    Two paths of a pair may cross a cable in opposite directions, or go round a square. What goes in a circle does not
    come nearer, so that its share is taken off all links of the circle: no link has more than before.

    Parameters
    ----------
    dst : int64 array, shape (rows,)
        Where each row leads.
    """
    pair = np.repeat(np.arange(len(flows)), np.diff(flows.pair_first))
    link, share = flows.link.astype(np.int64), flows.share.copy()
    key = pair * len(topology) + link
    if (np.diff(key) < 0).any():
        order = np.argsort(key)
        link, share = link[order], share[order]
    suspect = np.isin(pair, _not_always_nearer(topology, pair, link, dst))
    circling = _circling(topology, pair[suspect], link[suspect])
    for one in circling.tolist():
        rows = slice(int(flows.pair_first[one]), int(flows.pair_first[one + 1]))
        _take_circles_off(topology, link[rows], share[rows])
    kept = share > 0
    first = np.searchsorted(pair[kept], np.arange(len(flows) + 1))
    return PairLinks(first, link[kept].astype(np.int32), share[kept]), len(circling)


def _not_always_nearer(topology: Topology, pair: Ints, link: Ints, dst: Ints) -> Ints:
    """Return the rows of which a link does not lead nearer: only they can go in circles."""
    ends, row = np.unique(dst, return_inverse=True)
    hops, row = trees_to(topology, ends).hops, row[pair]
    return np.unique(pair[hops[row, topology.src[link]] <= hops[row, topology.dst[link]]])


def _circling(topology: Topology, pair: Ints, link: Ints) -> Ints:
    """Return the rows whose links lead in a circle: what is left when what no other leads to goes, again and again."""
    at = pair * topology.nodes
    known, slot = np.unique(
        np.concatenate((at + topology.src[link], at + topology.dst[link])), return_inverse=True
    )
    begin, end = slot.reshape(2, -1)
    left = np.arange(len(link))
    while len(left):
        entered = np.zeros(len(known), bool)
        entered[end[left]] = True
        staying = entered[begin[left]]
        if staying.all():
            break
        left = left[staying]
    return np.unique(pair[left])


def _take_circles_off(topology: Topology, link: Ints, share: Floats) -> None:
    """Take the least share of a circle off its links until there is none; at least one link ends each time."""
    while circle := _circle(topology, link, share):
        share[circle] -= share[circle].min()
        share[share < 1e-12] = 0.0


def _circle(topology: Topology, link: Ints, share: Floats) -> list[int]:
    """Return the entries of a circle, none where there is none: where all comes from something, the way back is one."""
    begin, end = topology.src[link].tolist(), topology.dst[link].tolist()
    left = np.flatnonzero(share > 0).tolist()
    while left:
        entered = {end[row]: row for row in left}
        staying = [row for row in left if begin[row] in entered]
        if len(staying) == len(left):
            break
        left = staying
    if not left:
        return []
    walk, row, place = list[int](), left[0], dict[int, int]()
    while end[row] not in place:
        place[end[row]] = len(walk)
        walk.append(row)
        row = entered[begin[row]]
    return walk[place[end[row]] :]
