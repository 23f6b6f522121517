"""Which algorithm each collective of a job takes: the one asked for, or the quickest in closed form."""

from collections import Counter
from dataclasses import dataclass
from math import inf

from topoopt.collectives import ALGORITHMS, MOST_RANKS, ON_WIRINGS, QUICKEST, RING, Moves, along, rank_moves
from topoopt.routing import Fabric
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.schedules.closed_form import CollectiveTime, ring_times, step_times
from topoopt.simulation.schedules.collective_choice import CollectiveChoice
from topoopt.simulation.task_graph import COLLECTIVES, TaskGraph

WORTH_LEAVING_THE_RING = 0.99
"""Of the ring's time: ``auto`` leaves the ring, which is simulated as a whole, only for something quicker than this."""

MOST_TRANSFERS = 200_000
"""Schedules with more transfers than this are not among those that ``auto`` chooses from."""

MOST_PLAYED = 100_000
"""Transfers of all schedules together that ``auto`` takes: a tenth of a second of CPU time."""

BOTH_WAYS = "multi-ring"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way of doing a collective among certain servers; one without moves is the simulators' own ring."""

    algorithm: str
    moves: Moves | None
    times: CollectiveTime | None

    @property
    def transfers(self) -> int:
        """Each simulated on its own; 0 of a ring, which the simulators know as a whole."""
        return 0 if self.moves is None else len(self.moves)

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
    if options.algorithm == QUICKEST:
        small = fixed and len(members) <= MOST_RANKS
        return [own, *_quick(fabric, collective, members)] if small else [own]
    if options.algorithm in ON_WIRINGS:
        return _on_links(fabric, options.algorithm, members) or [own]
    ways = _scheduled(fabric, options.algorithm, members)
    return ways if fixed else ways[:1]


def _quick(fabric: Fabric, collective: str, members: tuple[int, ...]) -> list[Candidate]:
    """Return what may be quicker than a ring: what is made for the links of the group, or what goes between any ranks.

    Where there is the former it has as few steps as the distances allow. The latter has partners several links apart,
    and is not looked at then; nor are rings both ways around where the fabric has rings of its own.
    """
    if collective == "allreduce":
        ways = [row for name in ON_WIRINGS for row in _on_links(fabric, name, members)]
        if ways:
            return ways
    left_out = (RING, BOTH_WAYS) if fabric.rings.get(tuple(sorted(members))) else (RING,)
    names = [
        name for name, row in ALGORITHMS.items() if row.collective == collective and name not in left_out
    ]
    ways = [row for name in names for row in _scheduled(fabric, name, members)]
    return [row for row in ways if row.moves is not None and len(row.moves) <= MOST_TRANSFERS]


def is_open(collective: str, options: SimulationOptions) -> bool:
    """Return whether a collective takes, or may take, something else than what the simulators do by themselves."""
    if options.algorithm == QUICKEST or options.algorithm in ON_WIRINGS:
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


def _on_links(fabric: Fabric, algorithm: str, members: tuple[int, ...]) -> list[Candidate]:
    """Return the schedules that are made for the links of a group; none on circuits that change."""
    if fabric.reconfiguration is not None:
        return []
    made = ON_WIRINGS[algorithm](fabric.topology, tuple(sorted(members)))
    return [Candidate(algorithm, moves, step_times(fabric, moves)) for moves in made]


def choose(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions
) -> tuple[dict[int, Candidate], tuple[CollectiveChoice, ...]]:
    """Return the way of each collective that may take another than its own, and the same by group and size.

    Of ``auto`` the last collectives are looked at first, which nothing hides, and the others have
    rings when :data:`MOST_PLAYED` transfers are reached.
    """
    if not any(is_open(collective, options) for collective in COLLECTIVES):
        return {}, ()
    of_group: dict[tuple[str, tuple[int, ...]], list[Candidate]] = {}
    best: dict[_Case, Candidate] = {}
    chosen: dict[int, Candidate] = {}
    left = MOST_PLAYED if options.algorithm == QUICKEST else inf
    for task in graph.collectives[::-1].tolist():
        collective, members = COLLECTIVES[graph.collective[task]], graph.members(task)
        size = int(graph.size_bytes[task])
        if len(members) < 2 or size == 0 or not is_open(collective, options):
            continue
        group, case = (collective, members), (collective, members, size)
        if group not in of_group:
            of_group[group] = candidates(fabric, collective, members, options)
        if case not in best:
            best[case] = _quickest(of_group[group], size)
        way = best[case]
        chosen[task] = way if way.transfers <= left else of_group[group][0]
        left -= chosen[task].transfers
    return dict(sorted(chosen.items())), _rows(graph, chosen)


_Case = tuple[str, tuple[int, ...], int]


def _rows(graph: TaskGraph, chosen: dict[int, Candidate]) -> tuple[CollectiveChoice, ...]:
    """Return the ways by group, size and algorithm, in the order of the graph."""
    count: Counter[tuple[_Case, Candidate]] = Counter()
    for task, way in sorted(chosen.items()):
        case = COLLECTIVES[graph.collective[task]], graph.members(task), int(graph.size_bytes[task])
        count[case, way] += 1
    return tuple(
        CollectiveChoice(
            *case,
            number,
            way.algorithm,
            way.transfers,
            None if way.times is None else way.times.time_s(case[2]),
        )
        for (case, way), number in count.items()
    )


def _quickest(ways: list[Candidate], size_bytes: int) -> Candidate:
    def weighed_s(way: Candidate) -> float:
        return way.time_s(size_bytes) * (WORTH_LEAVING_THE_RING if way.moves is None else 1.0)

    return min(ways, key=weighed_s)
