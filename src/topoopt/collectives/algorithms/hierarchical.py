"""Hierarchical AllReduce: reduce-scatter inside groups, AllReduce between them, all-gather inside."""

from topoopt.collectives.algorithms.ring import all_gather, reduce_scatter, ring
from topoopt.collectives.schedule import Algorithm, Schedule, Send, Step


def hierarchical(ranks: int) -> Schedule:
    """Return the schedule for groups of consecutive ranks; the group size is the largest divisor up to √``ranks``."""
    size = max(part for part in range(1, ranks + 1) if ranks % part == 0 and part * part <= ranks)
    groups = ranks // size
    pieces = groups  # each of the group's chunks is cut once more for the ring between groups
    inside = list(reduce_scatter(size).steps) if size > 1 else []
    between = list(ring(groups).steps) if groups > 1 else []
    gather = list(all_gather(size).steps) if size > 1 else []
    steps = [
        *[_inside(step, size, groups, pieces) for step in inside],
        *[_between(step, size, pieces) for step in between],
        *[_inside(step, size, groups, pieces) for step in gather],
    ]
    return Schedule("hierarchical", "allreduce", ranks, size * pieces, tuple(steps))


ALGORITHM = Algorithm(collective="allreduce", schedules=(hierarchical,), compared=False, order=50)


def _inside(step: Step, size: int, groups: int, pieces: int) -> Step:
    return tuple(
        Send(g * size + send.src, g * size + send.dst, send.chunk * pieces + piece, send.reduce)
        for g in range(groups)
        for send in step
        for piece in range(pieces)
    )


def _between(step: Step, size: int, pieces: int) -> Step:
    return tuple(
        Send(send.src * size + r, send.dst * size + r, r * pieces + send.chunk, send.reduce)
        for r in range(size)
        for send in step
    )
