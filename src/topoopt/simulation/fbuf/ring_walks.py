"""From a ring descriptor's jumps to the ring that a group walks."""

import numpy as np

from topoopt.topologies import Ring

_LONGEST_WALK = 1 << 22
"""Steps of one ring; nothing that is wired comes near."""


def walk_ring(nnode: int, jumps: tuple[int, ...], group: tuple[int, ...]) -> Ring | None:
    """Return the ring along which jumps lead a group, or nothing where they do not go around its members.

    The same jumps lead from each member to the next, so after each pass over them the walk stands on the next
    member. They fit groups whose members stand at equal distances; members of others would be left out.

    Examples
    --------
    >>> walk_ring(12, (5, 11), (0, 4, 8))
    Ring(stride=1, walk=(0, 5, 4, 9, 8, 1), members=(0, 4, 8))
    >>> walk_ring(12, (5, 11), (0, 1, 2)) is None
    True
    """
    size = len(group)
    stride = sum(jumps) % nnode
    members = (min(group) + stride * np.arange(size)) % nnode
    if (
        sorted(members.tolist()) != sorted(group)
        or stride * size % nnode
        or size * len(jumps) > _LONGEST_WALK
    ):
        return None
    walk = (members[:, None] + np.cumsum([0, *jumps[:-1]])) % nnode
    spacing = nnode // size  # members at equal distances: the size divides the number of nodes
    return Ring(stride // spacing, tuple(walk.ravel().tolist()), tuple(members.tolist()))
