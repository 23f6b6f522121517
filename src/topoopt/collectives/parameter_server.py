"""Parameter server: everyone pushes gradients to the holder of a shard and pulls the sum back."""

from topoopt.collectives.schedule import Schedule, Send, check_ranks
from topoopt.errors import InvalidInput


def parameter_server(ranks: int, holders: int = 1) -> Schedule:
    """Return one push step and one pull step; rank h < ``holders`` holds chunk h and is a worker too."""
    check_ranks("parameter-server", ranks)
    if not 1 <= holders <= ranks:
        raise InvalidInput(f"parameter-server: holders must be in 1..{ranks}, got {holders}")
    pairs = [(rank, holder) for holder in range(holders) for rank in range(ranks) if rank != holder]
    push = tuple(Send(rank, holder, holder, True) for rank, holder in pairs)
    pull = tuple(Send(holder, rank, holder, False) for rank, holder in pairs)
    return Schedule("parameter-server", "allreduce", ranks, holders, (push, pull))
