"""Double binary tree AllReduce: two trees in which no rank forwards twice, each with half of the bytes.

References
----------
.. [1] P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and
   scan", Parallel Computing 35 (2009).
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from topoopt.collectives.schedule import Algorithm, Schedule, Send, side_by_side

CHUNKS = (1, 4, 16, 64)
"""Chunks of each tree that are tried: few for a small message, many for a large one."""


def double_binary_tree(ranks: int, chunks_per_tree: int = 1) -> Schedule:
    """Return reduce up and broadcast down both trees, chunks pipelined one step apart.

    The bandwidth term tends to 2·S/B as ``chunks_per_tree`` grows; one chunk shows the shape.
    """
    trees = [_tree_allreduce(parents, chunks_per_tree) for parents in two_trees(ranks)]
    return side_by_side("tree", trees)


ALGORITHM = Algorithm(
    collective="allreduce",
    schedules=tuple(partial(double_binary_tree, chunks_per_tree=chunks) for chunks in CHUNKS),
    aliases=("dbt", "double-binary-tree"),
    order=30,
)


def two_trees(ranks: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the parents of every rank (-1 at the root) in both trees.

    Odd ranks are leaves of the first tree. The second is its mirror image (even ``ranks``) or the first
    shifted by one (odd), so that with an even number no rank is an inner node of both.
    """
    first = tuple(_parent(rank, ranks) for rank in range(ranks))
    place = [(rank + 1) % ranks if ranks % 2 else ranks - 1 - rank for rank in range(ranks)]
    second = [-1] * ranks
    for rank, parent in enumerate(first):
        second[place[rank]] = -1 if parent < 0 else place[parent]
    return first, tuple(second)


def _parent(rank: int, ranks: int) -> int:
    if rank == 0:
        return -1
    lowest = rank & -rank
    above = (rank ^ lowest) | (lowest << 1)
    return above if above < ranks else rank ^ lowest


def _tree_allreduce(parents: Sequence[int], chunks: int) -> Schedule:
    depth = [_depth(rank, parents) for rank in range(len(parents))]
    height = max(depth)
    steps: dict[int, list[Send]] = defaultdict(list)
    for rank, parent in enumerate(parents):
        if parent < 0:
            continue
        for chunk in range(chunks):
            steps[chunk + height - depth[rank]].append(Send(rank, parent, chunk, True))
            steps[chunk + height + depth[parent]].append(Send(parent, rank, chunk, False))
    ordered = tuple(tuple(steps[index]) for index in sorted(steps))
    return Schedule("tree", "allreduce", len(parents), chunks, ordered)


def _depth(rank: int, parents: Sequence[int]) -> int:
    depth = 0
    while parents[rank] >= 0:
        rank, depth = parents[rank], depth + 1
    return depth
