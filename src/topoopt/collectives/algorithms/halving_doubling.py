"""Recursive halving and doubling: AllReduce in 2·log2(n) exchanges with ever farther, then nearer peers.

References
----------
.. [1] R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
   MPICH", IJHPCA 19 (2005).
"""

from topoopt.collectives.schedule import Algorithm, Schedule, Send, Step


def halving_doubling(ranks: int) -> Schedule:
    """Return the schedule; ranks beyond the largest power of two fold into a partner first and last."""
    core = 1 << (ranks.bit_length() - 1)
    halving = [_exchange(core, distance, reduce=True) for distance in _distances(core)]
    doubling = [_exchange(core, distance, reduce=False) for distance in reversed(_distances(core))]
    extra = range(core, ranks)
    fold = tuple(Send(rank, rank - core, chunk, True) for rank in extra for chunk in range(core))
    unfold = tuple(Send(rank - core, rank, chunk, False) for rank in extra for chunk in range(core))
    steps = [step for step in [fold, *halving, *doubling, unfold] if step]
    return Schedule("halving-doubling", "allreduce", ranks, core, tuple(steps))


ALGORITHM = Algorithm(collective="allreduce", schedules=(halving_doubling,), order=40)


def _distances(core: int) -> list[int]:
    return [core >> shift for shift in range(1, core.bit_length())]


def _exchange(core: int, distance: int, *, reduce: bool) -> Step:
    """Swap with the rank at ``distance``: halving gives away the partner's half, doubling the own one."""
    sends = []
    for rank in range(core):
        partner = rank ^ distance
        owner = partner if reduce else rank
        # chunks that agree with the owner in every bit from `distance` upward
        low = owner & ~(distance - 1)
        sends += [Send(rank, partner, chunk, reduce) for chunk in range(low, low + distance)]
    return tuple(sends)
