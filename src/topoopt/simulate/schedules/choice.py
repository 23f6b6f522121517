"""Which algorithm each collective of a job takes: the one asked for, or the quickest in closed form."""

from dataclasses import dataclass

from topoopt.collectives import ALGORITHMS, MOST_RANKS, QUICKEST, RING, Moves, along, rank_moves
from topoopt.routing import Fabric
from topoopt.simulate.options import SimulationOptions
from topoopt.simulate.schedules.closed_form import CollectiveTime, ring_times, step_times
from topoopt.simulate.schedules.collective_choice import CollectiveChoice
from topoopt.simulate.task_graph import COLLECTIVES, TaskGraph

WORTH_LEAVING_THE_RING = 0.99
"""Of the ring's time: ``auto`` leaves the ring, which is simulated as a whole, only for something quicker than this."""

MOST_TRANSFERS = 200_000
"""Schedules with more transfers than this are not among those that ``auto`` chooses from."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way of doing a collective among certain servers; one without moves is the simulators' own ring."""

    algorithm: str
    moves: Moves | None
    times: CollectiveTime | None

    def time_s(self, size_bytes: int) -> float:
        """Return the closed-form time, 0 where there is none."""
        return 0.0 if self.times is None else self.times.time_s(size_bytes)


def candidates(
    fabric: Fabric, collective: str, members: tuple[int, ...], options: SimulationOptions
) -> list[Candidate]:
    """Return the ways between which the closed form decides, several for a schedule in more or fewer chunks.

    On circuits that change no closed form is known: ``auto`` leaves them the ring, and of several schedules of one
    algorithm the first is taken. An all-to-all sends everything at once unless it is told otherwise, which no order
    of steps betters in closed form.
    """
    fixed = fabric.reconfiguration is None
    ring = ring_times(fabric, COLLECTIVES.index(collective), members, options) if fixed else None
    own = Candidate(RING, None, ring)
    if options.algorithm != QUICKEST:
        ways = _scheduled(fabric, options.algorithm, members)
        return ways if fixed else ways[:1]
    if not fixed or len(members) > MOST_RANKS:
        return [own]
    others = [name for name, row in ALGORITHMS.items() if row.collective == collective and name != RING]
    ways = [row for name in others for row in _scheduled(fabric, name, members)]
    return [own, *(row for row in ways if row.moves is not None and len(row.moves) <= MOST_TRANSFERS)]


def is_open(collective: str, options: SimulationOptions) -> bool:
    """Return whether a collective takes, or may take, something else than what the simulators do by themselves."""
    if options.algorithm == QUICKEST:
        return collective == "allreduce"
    return options.algorithm != RING and ALGORITHMS[options.algorithm].collective == collective


def _scheduled(fabric: Fabric, algorithm: str, members: tuple[int, ...]) -> list[Candidate]:
    """Return the schedules of an algorithm along each of the group's rings, or in the order of its members."""
    rings = fabric.rings.get(tuple(sorted(members)), ())
    orders = [ring.members for ring in rings] or [members]
    laid = [along(moves, orders) for moves in rank_moves(algorithm, len(members))]
    if fabric.reconfiguration is not None:
        return [Candidate(algorithm, moves, None) for moves in laid]
    return [Candidate(algorithm, moves, step_times(fabric, moves)) for moves in laid]


def choose(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions
) -> tuple[dict[int, Candidate], tuple[CollectiveChoice, ...]]:
    """Return the way of each collective that may take another than its own, and the same by group and size."""
    if not any(is_open(collective, options) for collective in COLLECTIVES):
        return {}, ()
    of_group: dict[tuple[str, tuple[int, ...]], list[Candidate]] = {}
    best: dict[tuple[str, tuple[int, ...], int], Candidate] = {}
    count: dict[tuple[str, tuple[int, ...], int], int] = {}
    chosen: dict[int, Candidate] = {}
    for task in graph.collectives.tolist():
        collective, members = COLLECTIVES[graph.collective[task]], graph.members(task)
        size = int(graph.size_bytes[task])
        if len(members) < 2 or size == 0 or not is_open(collective, options):
            continue
        group, case = (collective, members), (collective, members, size)
        if group not in of_group:
            of_group[group] = candidates(fabric, collective, members, options)
        if case not in best:
            best[case] = _quickest(of_group[group], size)
        count[case] = count.get(case, 0) + 1
        chosen[task] = best[case]
    rows = tuple(
        CollectiveChoice(
            *case,
            count[case],
            row.algorithm,
            0 if row.moves is None else len(row.moves),
            None if row.times is None else row.times.time_s(case[2]),
        )
        for case, row in best.items()
    )
    return chosen, rows


def _quickest(ways: list[Candidate], size_bytes: int) -> Candidate:
    def weighed_s(way: Candidate) -> float:
        return way.time_s(size_bytes) * (WORTH_LEAVING_THE_RING if way.moves is None else 1.0)

    return min(ways, key=weighed_s)
