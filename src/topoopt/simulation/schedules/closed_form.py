"""The closed-form time of a collective on the paths that a fabric gives it, alone: steps of α and β.

A step takes the fixed overhead of its slowest path (α), and the bytes on its busiest link over the bandwidth (β).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.collectives import Moves, occupancy_bytes
from topoopt.routing import Fabric, pair_links
from topoopt.simulation.csr import owners
from topoopt.simulation.link_classes import group_rings, laid, sum_by
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.ring_steps import ring_steps


class CollectiveTime(Protocol):
    """One way of doing a collective among certain servers of a fabric."""

    def time_s(self, size_bytes: int) -> float:
        """Return how long it takes where a member's buffer holds ``size_bytes``."""
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
        What a byte of the transfer takes of the link, in seconds.
    link_first : int64 array, shape (links of each step,)
        Where in the entries each link of a step begins.
    step_first : int64 array, shape (steps,)
        Where in ``link_first`` each step begins.
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
