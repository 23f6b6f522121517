"""A task graph whose collectives are played by their schedules: one transfer a send, a barrier between steps.

The algorithm of each collective is the requested one, or the fastest in closed form.

The closed-form time of a collective on the paths that a fabric gives it, alone: steps of α and β.

A step takes the fixed overhead of its slowest path (α), and the bytes on its busiest link over the bandwidth (β).
"""

from collections import Counter
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Floats, Ints, owners
from topoopt.base.errors import InvalidInput
from topoopt.collectives import (
    ALGORITHMS,
    MOST_RANKS,
    ON_WIRINGS,
    QUICK_ON_WIRINGS,
    QUICKEST,
    RING,
    Moves,
    along,
    moves_on_links,
    occupancy_bytes,
    rank_moves,
)
from topoopt.routing import Fabric, pair_links
from topoopt.simulation.flows.flows import ring_steps
from topoopt.simulation.flows.link_classes import group_rings, laid, sum_by
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.result import CollectiveChoice
from topoopt.simulation.task_graph import (
    COLLECTIVE,
    COLLECTIVES,
    MOST_TASKS,
    TRANSFER,
    TaskGraph,
    TaskRows,
    task_graph_from_edges,
)


class CollectiveTime(Protocol):
    """One algorithm of a collective among certain servers of a fabric."""

    def time_s(self, size_bytes: int) -> float:
        """Return the time for a buffer of ``size_bytes`` per member, seconds."""
        ...


@dataclass(frozen=True, eq=False)
class StepTimes:
    """Steps of transfers along the routes.

    Attributes
    ----------
    overhead_s : float
        α, of all steps together.
    entry_transfer : int64 array, shape (entries,)
        A row for each link that a transfer crosses, in order of step and link.
    entry_s_per_byte : float64 array, shape (entries,)
        Time of a byte of the transfer on the link, in seconds.
    link_first : int64 array, shape (links of each step,)
        First entry of each link of a step.
    step_first : int64 array, shape (steps,)
        First item of each step in ``link_first``.
    """

    moves: Moves
    overhead_s: float
    entry_transfer: Ints
    entry_s_per_byte: Floats
    link_first: Ints
    step_first: Ints

    def time_s(self, size_bytes: int) -> float:
        """Return the sum over the steps."""
        occupied = occupancy_bytes(self.moves.transfer_bytes(size_bytes)).astype(np.float64)
        link_s = np.add.reduceat(occupied[self.entry_transfer] * self.entry_s_per_byte, self.link_first)
        return self.overhead_s + float(np.maximum.reduceat(link_s, self.step_first).sum())


@dataclass(frozen=True, eq=False)
class RingTimes:
    """The rings that a fabric has for a group, or one along the routes."""

    collective: int
    members: int
    rings: int
    overhead_s: float
    s_per_byte: float
    options: SimulationOptions

    def time_s(self, size_bytes: int) -> float:
        """Return the rounds of the slowest ring, links that several rings cross shared."""
        rounds, chunk = ring_steps(self.collective, self.members, size_bytes, self.rings, self.options)
        return rounds * (self.overhead_s + int(occupancy_bytes(chunk)) * self.s_per_byte)


WORTH_LEAVING_THE_RING = 0.99
"""``auto`` leaves the ring, which is simulated as a whole, only below this fraction of the ring's time."""
MOST_TRANSFERS = 200_000
"""Most transfers of a schedule that ``auto`` considers."""
MOST_PLAYED = 100_000
"""Most transfers of all schedules together that ``auto`` simulates: a tenth of a second of CPU time."""
BOTH_WAYS = "multi-ring"


@dataclass(frozen=True, eq=False)
class Candidate:
    """An algorithm of a collective among certain servers; without moves, the simulators' own ring."""

    algorithm: str
    moves: Moves | None
    times: CollectiveTime | None

    @property
    def transfers(self) -> int:
        """Each simulated on its own; 0 of a ring, which simulators handle as a whole."""
        return 0 if self.moves is None else len(self.moves)

    def time_s(self, size_bytes: int) -> float:
        """Return the closed-form time, 0 where there is none."""
        return 0.0 if self.times is None else self.times.time_s(size_bytes)


_Case = tuple[str, tuple[int, ...], int]


def with_schedules(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions
) -> tuple[TaskGraph, tuple[CollectiveChoice, ...]]:
    """Return the graph with schedules in the place of collectives, and which algorithm each group takes.

    All tasks keep their numbers: a collective becomes its own last barrier, and is done when it was. What it
    consists of comes after all tasks of the graph: a start, which has its delay, and step by step the transfers and
    a barrier, which is a transfer of nothing from a server to itself.

    Raises
    ------
    InvalidInput
        If that would be more than :data:`~topoopt.simulation.task_graph.MOST_TASKS` tasks.
    NoRoute
        If members cannot reach each other.
    """
    chosen, choices = choose(graph, fabric, options)
    played = {task: row.moves for task, row in chosen.items() if row.moves is not None}
    total = len(graph) + sum(_tasks(moves) for moves in played.values())
    if played and total > MOST_TASKS:
        raise InvalidInput(
            f"collective: {len(played)} collectives by {options.algorithm} would be {total} tasks, more than "
            f"{MOST_TASKS}; take another algorithm, or a ring"
        )
    return (_played(graph, played) if played else graph), choices


def _tasks(moves: Moves) -> int:
    return 1 + len(moves) + int(moves.step[-1])


def _played(graph: TaskGraph, played: dict[int, Moves]) -> TaskGraph:
    tasks = np.array(list(played), np.int64)
    start_of = np.arange(len(graph))
    gone = np.zeros(len(graph), bool)
    gone[tasks] = True
    here = graph.member[graph.member_first[:-1][gone]]
    kind, src, dst = graph.kind.copy(), graph.src.copy(), graph.dst.copy()
    kind[gone], src[gone], dst[gone] = TRANSFER, here, here
    left = np.flatnonzero((graph.kind == COLLECTIVE) & ~gone).tolist()
    own_rows = TaskRows(
        kind,
        len(graph),
        np.where(gone, 0.0, graph.duration_s),
        src=src,
        dst=dst,
        size_bytes=np.where(gone, 0, graph.size_bytes),
        collective=np.where(gone, -1, graph.collective),
        members=tuple(graph.members(task) for task in left),
        **fields_of(graph, "server", "operator", "phase", "iteration", "accelerator", "job"),
    )
    rows, before, after, first = [own_rows], [], [], len(graph)
    for task, moves in played.items():
        start_of[task] = first
        rows.append(_rows_of(graph, task, moves))
        sources, targets = _edges_of(first, task, moves)
        before.append(sources)
        after.append(targets)
        first += _tasks(moves)
    return task_graph_from_edges(
        graph.servers,
        rows,
        np.concatenate([graph.waited_for, *before]),
        np.concatenate([start_of[graph.successor], *after]),
        graph.operator_names,
    )


def _rows_of(graph: TaskGraph, task: int, moves: Moves) -> TaskRows:
    """Return start, transfers and barriers: after each step but the last, which the collective's own task ends."""
    place, _ = _places(moves)
    count = _tasks(moves)
    here = int(graph.member[graph.member_first[task]])
    src, dst, size = np.full(count, here), np.full(count, here), np.zeros(count, np.int64)
    src[place], dst[place] = moves.src, moves.dst
    size[place] = moves.transfer_bytes(int(graph.size_bytes[task]))
    delay_s = np.zeros(count)
    delay_s[0] = graph.duration_s[task]
    return TaskRows(
        TRANSFER,
        count,
        delay_s,
        src=src,
        dst=dst,
        size_bytes=size,
        operator=int(graph.operator[task]),
        phase=int(graph.phase[task]),
        iteration=int(graph.iteration[task]),
        job=int(graph.job[task]),
    )


def _places(moves: Moves) -> tuple[Ints, Ints]:
    """Return the positions after the start of each transfer, and of each step's barrier; the last has none."""
    place = 1 + np.arange(len(moves)) + moves.step
    ends = np.searchsorted(moves.step, np.arange(moves.step[-1]), side="right")
    return place, 1 + ends + np.arange(moves.step[-1])


def _edges_of(first: int, task: int, moves: Moves) -> tuple[Ints, Ints]:
    place, barrier = _places(moves)
    opens = first + np.concatenate(([0], barrier))  # what the transfers of each step wait for
    closes = np.concatenate((first + barrier, [task]))
    sends = first + place
    return (np.concatenate((opens[moves.step], sends)), np.concatenate((sends, closes[moves.step])))


def candidates(
    fabric: Fabric, collective: str, members: tuple[int, ...], options: SimulationOptions
) -> list[Candidate]:
    """Return the algorithms that the closed form compares, some schedules in several numbers of chunks.

    On circuits that change no closed form is known: ``auto`` leaves them the ring, and of several schedules of one
    algorithm the first is used. By default an all-to-all sends everything at once, which no order of steps betters in
    closed form.
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
    """Return schedules that may be faster than a ring: made for the links of the group, or for any ranks.

    Where there is the former it has as few steps as the distances allow. The latter has partners several links apart,
    and is not looked at then; nor are bidirectional rings where the fabric has its own rings.
    """
    if collective == "allreduce":
        ways = [row for name in QUICK_ON_WIRINGS for row in _on_links(fabric, name, members)]
        if ways:
            return ways
    left_out = (RING, BOTH_WAYS) if fabric.rings.get(tuple(sorted(members))) else (RING,)
    names = [
        name for name, row in ALGORITHMS.items() if row.collective == collective and name not in left_out
    ]
    ways = [row for name in names for row in _scheduled(fabric, name, members)]
    return [row for row in ways if row.moves is not None and len(row.moves) <= MOST_TRANSFERS]


def is_open(collective: str, options: SimulationOptions) -> bool:
    """Return whether a collective uses, or may use, an algorithm that the simulators do not model as a whole."""
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
    made = moves_on_links(algorithm, fabric.topology, tuple(sorted(members)))
    return [Candidate(algorithm, moves, step_times(fabric, moves)) for moves in made]


def choose(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions
) -> tuple[dict[int, Candidate], tuple[CollectiveChoice, ...]]:
    """Return the algorithm of each collective that may use another than its own, and the same by group and size.

    With ``auto``, the last collectives are considered first, since nothing hides them; the others get rings once
    :data:`MOST_PLAYED` transfers are reached.
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


def _rows(graph: TaskGraph, chosen: dict[int, Candidate]) -> tuple[CollectiveChoice, ...]:
    """Return the algorithms by group and size, in the order of the graph."""
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


def step_times(fabric: Fabric, moves: Moves) -> StepTimes:
    """Return the steps of a schedule laid on a fabric whose circuits stay.

    Raises
    ------
    NoRoute
        If a pair of members cannot reach each other.
    """
    topology = fabric.topology
    pairs = pair_links(topology, fabric.routes, moves.src, moves.dst)
    first, link, share, before_s, after_s = laid(fabric, pairs.pair_first, pairs.link, pairs.share)
    _, starts = np.unique(moves.step, return_index=True)
    overhead_s = float(np.maximum.reduceat(before_s + after_s, starts).sum())
    transfer = owners(first)
    key = moves.step[transfer] * len(topology) + link
    order = np.argsort(key, kind="stable")
    distinct, link_first = np.unique(key[order], return_index=True)
    _, step_first = np.unique(distinct // len(topology), return_index=True)
    s_per_byte = share * 8.0 / topology.bandwidth_bps[link]
    return StepTimes(moves, overhead_s, transfer[order], s_per_byte[order], link_first, step_first)


def ring_times(
    fabric: Fabric, collective: int, members: tuple[int, ...], options: SimulationOptions
) -> RingTimes:
    """Return the ring law on a fabric whose circuits stay."""
    rings = group_rings(fabric, members)
    link = np.concatenate([ring.link for ring in rings])
    crossings = sum_by(link, np.concatenate([ring.coefficient for ring in rings]), len(fabric.topology))
    return RingTimes(
        collective,
        len(members),
        len(rings),
        max(ring.slowest_edge.total_s for ring in rings),
        float((crossings * 8.0 / fabric.topology.bandwidth_bps).max()),
        options,
    )
