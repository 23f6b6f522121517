"""Pairwise all-to-all: in step s every rank sends to the rank s places further."""

from topoopt.collectives.schedule import Algorithm, Schedule, Send


def pairwise(ranks: int) -> Schedule:
    """Return n-1 steps, each a permutation; chunk ``s·n + d`` goes from rank s to rank d."""
    steps = tuple(
        tuple(Send(r, (r + s) % ranks, r * ranks + (r + s) % ranks, False) for r in range(ranks))
        for s in range(1, ranks)
    )
    return Schedule("pairwise", "all-to-all", ranks, ranks * ranks, steps)


ALGORITHM = Algorithm(collective="all-to-all", schedules=(pairwise,), order=70)
