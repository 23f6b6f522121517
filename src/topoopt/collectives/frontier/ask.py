"""A collective on a wiring: all schedules compared, one chosen by α and β, and played."""

from topoopt.base.errors import InvalidInput
from topoopt.collectives.frontier.answer import CollectiveAnswer
from topoopt.collectives.frontier.bound import bound_of
from topoopt.collectives.frontier.envelope import quickest_by_size
from topoopt.collectives.frontier.laid_moves import Routed
from topoopt.collectives.frontier.schedules import BEST, SCHEDULES
from topoopt.collectives.frontier.way import Way
from topoopt.collectives.frontier.wiring import Wiring
from topoopt.collectives.play import play
from topoopt.topologies import hop_metrics

MOST_PLAYED = 300
"""Servers up to which the chosen schedule is played, chunk by chunk."""


def collective_answer(
    operation: str, size_bytes: float, wiring: Wiring, alpha_s: float, schedule: str = BEST
) -> CollectiveAnswer:
    """Compare the schedules of an operation on a wiring, choose the quickest, and play it.

    Parameters
    ----------
    operation
        Name in :data:`~topoopt.collectives.frontier.OPERATIONS`.
    size_bytes
        M, as in :class:`~topoopt.collectives.frontier.CollectiveAnswer`.
    alpha_s
        What a step takes beside its bytes.
    schedule
        One of those of the operation, or ``best``.

    Raises
    ------
    InvalidInput
        For an unknown operation or schedule, or a schedule for which there are too many servers.
    NoRoute
        If a server cannot reach another.
    """
    known = SCHEDULES[operation]
    if schedule not in (BEST, *known):
        raise InvalidInput(f"schedule: {schedule} does no {operation}; allowed: {', '.join((BEST, *known))}")
    hops = hop_metrics(wiring.topology)  # refuses parts that are not joined
    routed = Routed(wiring)
    found = {name: make(routed, operation) for name, make in known.items()}
    if schedule != BEST and not found[schedule]:
        raise InvalidInput(
            f"schedule: {schedule} is for fewer servers than {wiring.servers}; give bfb or ring"
        )

    def time_s(way: Way) -> float:
        return way.time_s(size_bytes, alpha_s, wiring.server_bps)

    ways = sorted((way for rows in found.values() for way in rows), key=time_s)
    chosen = next(way for way in ways if schedule in (BEST, way.schedule))
    played = play(chosen.transfers()) if wiring.servers <= MOST_PLAYED else None
    assert played is None or played.missing == 0, "a shard does not arrive"
    return CollectiveAnswer(
        operation,
        size_bytes,
        alpha_s,
        wiring,
        hops,
        bound_of(operation, wiring, hops),
        tuple(ways),
        chosen,
        quickest_by_size(ways, alpha_s, wiring.server_bps),
        played,
        tuple(name for name, rows in found.items() if not rows),
    )
