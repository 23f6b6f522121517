"""Multi-ring AllReduce: one ring per direction, each with half of the bytes."""

from topoopt.collectives.algorithms.ring import ring
from topoopt.collectives.schedule import Algorithm, Schedule, relabel, side_by_side


def multi_ring(ranks: int) -> Schedule:
    """Return rings of stride 1 and ``ranks - 1`` side by side (TopoOpt section 4.3)."""
    single = ring(ranks, "multi-ring")
    return side_by_side("multi-ring", [single, relabel(single, [-rank % ranks for rank in range(ranks)])])


ALGORITHM = Algorithm(collective="allreduce", schedules=(multi_ring,), compared=False, order=20)
