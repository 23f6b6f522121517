"""Ring collectives: AllReduce as a reduce-scatter followed by an all-gather around one ring."""

from topoopt.collectives.schedule import Schedule, Send, Step


def ring(ranks: int, name: str = "ring") -> Schedule:
    """Return the ring AllReduce: 2(n-1) steps of S/n bytes per rank."""
    # after the reduce-scatter below, rank r holds the sum of chunk r
    return Schedule(name, "allreduce", ranks, ranks, _reduce_steps(ranks) + _gather_steps(ranks))


def reduce_scatter(ranks: int) -> Schedule:
    """Return the ring reduce-scatter: n-1 steps; rank r ends with the sum of chunk r."""
    return Schedule("reduce-scatter", "reduce-scatter", ranks, ranks, _reduce_steps(ranks))


def all_gather(ranks: int) -> Schedule:
    """Return the ring all-gather: n-1 steps; rank r starts with chunk r."""
    return Schedule("all-gather", "all-gather", ranks, ranks, _gather_steps(ranks))


def _reduce_steps(ranks: int) -> tuple[Step, ...]:
    return tuple(
        tuple(Send(r, (r + 1) % ranks, (r - step - 1) % ranks, True) for r in range(ranks))
        for step in range(ranks - 1)
    )


def _gather_steps(ranks: int) -> tuple[Step, ...]:
    return tuple(
        tuple(Send(r, (r + 1) % ranks, (r - step) % ranks, False) for r in range(ranks))
        for step in range(ranks - 1)
    )
