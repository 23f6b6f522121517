"""Order of fiber moves that keeps ports free when they are needed and a running job connected."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from topoopt.catalog import OpticalSwitch, optical_switches
from topoopt.finder.rewiring.rewire import Rewiring
from topoopt.finder.rewiring.wiring import Patch, Port, Wiring

_Move = tuple[tuple[Patch, ...], Patch]
"""Patches to unplug, and the patch to plug in then."""


@dataclass(frozen=True, slots=True)
class Step:
    """Moves that may be done at once: first all is unplugged, then all is plugged in.

    Attributes
    ----------
    reached : float
        Share of the job's ordered pairs of servers that can still reach each other while everything that the step
        unplugs is unplugged and nothing is plugged in yet; 1 where the job is not cut.
    """

    unplug: tuple[Patch, ...]
    plug: tuple[Patch, ...]
    reached: float


@dataclass(frozen=True, slots=True)
class MoveOrder:
    """The steps from an old wiring to a new one.

    Attributes
    ----------
    keep_running : bool
        Whether the order was made for a job that runs on meanwhile. If not, there is one step.
    """

    steps: tuple[Step, ...]
    keep_running: bool

    @property
    def cuts(self) -> int:
        """Number of steps that cut a job meant to run on; 0 where ``keep_running`` is false."""
        return sum(step.reached < 1 for step in self.steps) if self.keep_running else 0


def order_moves(rewiring: Rewiring, keep_running: bool = False) -> MoveOrder:
    """Return steps that lead from the old wiring to the new one.

    For a stopped job, everything is unplugged, then plugged in, in one step. For a running job, a step unplugs at most
    one cable per server (fibers: one out and one in), and only such that every server still reaches every other. Links
    that need nothing unplugged come first. If there is no such link, the one that cuts off the fewest pairs is a step
    of its own.
    """
    room = _Room(rewiring)
    if not rewiring.removed and not rewiring.made:
        return MoveOrder((), keep_running)
    if not keep_running:
        return MoveOrder((Step(rewiring.removed, rewiring.made, room.reached(rewiring.removed)),), False)
    left, steps = list(rewiring.made), list[Step]()
    while left:
        steps.append(_next_step(room, left))
        room.do(steps[-1])
        done = set(steps[-1].plug)
        left = [patch for patch in left if patch not in done]
    rest = tuple(patch for patch in rewiring.removed if patch in room.patches)
    if rest:
        steps.append(Step(rest, (), room.reached(rest)))
    return MoveOrder(tuple(steps), True)


class _Room:
    """Links plugged in now, and the reachability of the job's servers over them."""

    def __init__(self, rewiring: Rewiring) -> None:
        self._wiring = rewiring.old
        self.patches = dict.fromkeys(rewiring.old.patches)
        self._taken: dict[Port, Patch] = dict(rewiring.old.taken)
        self._rank = {server: rank for rank, server in enumerate(rewiring.servers)}

    def blockers(self, patch: Patch) -> tuple[Patch, ...]:
        """Return the patches in the ports that a patch needs."""
        there = (self._taken.get(port) for port in self._wiring.ports(patch))
        return tuple(sorted({one for one in there if one is not None}))

    def sides(self, patches: Iterable[Patch]) -> list[tuple[str, int]]:
        """Return the side and the server of every port that patches take."""
        return [(side, server) for patch in patches for side, server, _ in self._wiring.ports(patch)]

    def do(self, step: Step) -> None:
        for patch in step.unplug:
            del self.patches[patch]
            for port in self._wiring.ports(patch):
                del self._taken[port]
        for patch in step.plug:
            self.patches[patch] = None
            self._taken |= dict.fromkeys(self._wiring.ports(patch), patch)

    def reached(self, without: Iterable[Patch] = ()) -> float:
        """Return the share of the job's ordered pairs that reach each other, some patches being unplugged."""
        from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to import

        rank, gone = self._rank, set(without)
        ends = [
            (rank[patch.src], rank[patch.dst])
            for patch in self.patches
            if patch not in gone and patch.src in rank and patch.dst in rank
        ]
        src, dst = np.array(ends, np.int64).reshape(-1, 2).T
        size, duplex = len(rank), self._wiring.links == "duplex"
        graph = coo_array((np.ones(len(ends)), (src, dst)), shape=(size, size))
        _, part = connected_components(graph.tocsr(), directed=not duplex, connection="strong")
        sizes = np.bincount(part)
        return float((sizes * (sizes - 1)).sum() / (size * (size - 1)))


def _next_step(room: _Room, left: Sequence[Patch]) -> Step:
    """Return the largest step that may be done at once, at least one move."""
    choices = sorted(((room.blockers(patch), patch) for patch in left), key=lambda row: len(row[0]))
    chosen = _apart(room, choices)
    step = _step(room, chosen)
    if step.reached == 1.0:
        return step
    kept: list[_Move] = []
    for move in chosen:
        if _step(room, [*kept, move]).reached == 1.0:
            kept.append(move)
    if kept:
        return _step(room, kept)
    return max((_step(room, [move]) for move in choices), key=lambda one: one.reached)


def _apart(room: _Room, choices: Sequence[_Move]) -> list[_Move]:
    """Return moves that together empty at most one port of each server, of fibers one on each side."""
    chosen, touched, unplugged = list[_Move](), set[tuple[str, int]](), set[Patch]()
    for blockers, patch in choices:
        new = [one for one in blockers if one not in unplugged]
        sides = room.sides(new)
        if len(set(sides)) == len(sides) and not touched & set(sides):
            chosen.append((blockers, patch))
            touched.update(sides)
            unplugged.update(new)
    return chosen or list(choices[:1])


def _step(room: _Room, moves: Sequence[_Move]) -> Step:
    unplug = tuple(dict.fromkeys(patch for blockers, _ in moves for patch in blockers))
    return Step(unplug, tuple(patch for _, patch in moves), room.reached(unplug))


@dataclass(frozen=True, slots=True)
class RewiringTime:
    """Time of the moves on one technology.

    Attributes
    ----------
    ports : int
        Ports that a panel needs: one for each interface that goes to it.
    fits : bool
        Whether the largest device has as many.
    """

    technology: OpticalSwitch
    ports: int
    fits: bool
    time_s: float


def rewiring_times(order: MoveOrder, wiring: Wiring, servers: int) -> tuple[RewiringTime, ...]:
    """Return the time of every technology of the catalogue, the slowest first.

    An optical switch makes all connections of a step at once, in its reconfiguration time. On a patch panel they are
    made one after the other, each in the time of moving a fiber; panels are worked on side by side. Steps follow each
    other.

    Parameters
    ----------
    servers : int
        Servers of the room.
    """
    ports = servers * wiring.interfaces_per_panel
    return tuple(
        RewiringTime(
            technology,
            ports,
            ports <= technology.ports,
            sum(step_time_s(step, wiring, technology) for step in order.steps),
        )
        for technology in optical_switches()
    )


def step_time_s(step: Step, wiring: Wiring, technology: OpticalSwitch) -> float:
    """Return the time of the moves that are made at once; see :func:`rewiring_times`."""
    if technology.fiber_move_s is None:
        return technology.outage_s
    touched = [Counter(wiring.panel_of(patch) for patch in some) for some in (step.unplug, step.plug)]
    moves = max(max(some.values(), default=0) for some in touched)
    return technology.fiber_move_s * moves + (technology.relock_s or 0.0)


MOVE_COLUMNS = ("step", "action", "panel", "from_server", "from_interface", "to_server", "to_interface")


def patch_rows(wiring: Wiring, patches: Iterable[Patch]) -> list[dict[str, int]]:
    """Return the panel and the ends of each patch."""
    return [
        dict(zip(MOVE_COLUMNS[2:], (wiring.panel_of(patch), *astuple(patch)), strict=True))
        for patch in patches
    ]


def move_rows(wiring: Wiring, order: MoveOrder) -> list[tuple[Any, ...]]:
    """Return the moves as rows of :data:`MOVE_COLUMNS`, in each step, unplugging comes first."""
    return [
        (number, action, wiring.panel_of(patch), *astuple(patch))
        for number, step in enumerate(order.steps, 1)
        for action, patches in (("unplug", step.unplug), ("plug", step.plug))
        for patch in patches
    ]
