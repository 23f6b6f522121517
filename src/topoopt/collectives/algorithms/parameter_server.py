"""Parameter server: everyone pushes gradients to rank 0, which is a worker too, and pulls the sum back."""

from topoopt.collectives.schedule import Algorithm, Schedule, Send


def parameter_server(ranks: int) -> Schedule:
    """Return one push step and one pull step."""
    push = tuple(Send(rank, 0, 0, True) for rank in range(1, ranks))
    pull = tuple(Send(0, rank, 0, False) for rank in range(1, ranks))
    return Schedule("parameter-server", "allreduce", ranks, 1, (push, pull))


ALGORITHM = Algorithm(collective="allreduce", schedules=(parameter_server,), compared=False, order=60)
