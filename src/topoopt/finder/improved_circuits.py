"""Circuits of a region made better by small exchanges, judged by when the all-to-all is done.

The greedy rule gives circuits to the pairs that wait longest and leaves the others to the electrical ports, however
many they are. Here circuits change ends while that makes the all-to-all faster.
"""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.finder.regional_circuits import Circuits, Demand, regional_circuits

NORM = 12
"""Times are compared by their p-norm: nearly the slowest, but a second slowest counts where the slowest are alike."""

NO_PORTS = 1e3
"""A byte without a circuit where there are no electrical ports, in bytes over one: to be avoided at any price."""


def improved_circuits(
    demand_bytes: Demand, ports: int, circuit_bps: float, electrical_bps: float
) -> Circuits:
    """Return circuits from which no single exchange makes the all-to-all faster.

    From those of :func:`regional_circuits`, going on at saturated pairs, and from none at all: a circuit is added, or
    taken away, or two of them, i–k and j–l, become i–j and k–l; again and again whichever helps most. The better of
    both ends counts.

    Parameters
    ----------
    demand_bytes, ports, circuit_bps, electrical_bps
        As in :func:`regional_circuits` and :func:`exchange_time_s`.
    """
    demand = demand_bytes.astype(np.float64)
    np.fill_diagonal(demand, 0.0)
    greedy = regional_circuits(demand, ports, "skip")
    demand /= max(float(demand.max(initial=0.0)), 1.0)
    per_byte = circuit_bps / electrical_bps if electrical_bps else NO_PORTS
    ends = [_descend(demand, start, ports, per_byte) for start in (greedy, np.zeros_like(greedy))]
    return min(ends, key=lambda one: float(_worth(demand, one[None], per_byte)[0]))


def _descend(demand: Demand, circuits: Circuits, ports: int, per_byte: float) -> Circuits:
    best = float(_worth(demand, circuits[None], per_byte)[0])
    while True:
        others = _neighbors(circuits, ports)
        worth = _worth(demand, others, per_byte)
        chosen = int(worth.argmin())
        if worth[chosen] >= best * (1 - 1e-9):
            return circuits
        circuits, best = others[chosen], float(worth[chosen])


def _worth(demand: Demand, circuits: Circuits, per_byte: float) -> Floats:
    """Return the norm of all times of each set, shape (sets,), in units of a circuit's time for the largest pair."""
    optical = circuits > 0
    on_circuits = np.where(optical, demand / np.maximum(circuits, 1), 0.0)
    rest = np.where(optical, 0.0, demand) * per_byte
    times = (on_circuits.reshape(len(circuits), -1), rest.sum(axis=1), rest.sum(axis=2))
    return np.asarray(np.linalg.norm(np.concatenate(times, axis=1), NORM, axis=1))


def _neighbors(circuits: Circuits, ports: int) -> Circuits:
    """Return all sets that are one step away, shape (sets, servers, servers)."""
    servers = len(circuits)
    free = ports - circuits.sum(axis=1)
    i, j = np.triu_indices(servers, 1)
    able = (free[i] > 0) & (free[j] > 0)
    used = circuits[i, j] > 0
    one, other = np.triu_indices(int(used.sum()), 1)
    first, second = (i[used][one], j[used][one]), (i[used][other], j[used][other])
    steps = [
        _changed(servers, (i[able], j[able], 1)),
        _changed(servers, (i[used], j[used], -1)),
        _swapped(servers, first, second),
        _swapped(servers, first, second[::-1]),
    ]
    return circuits + np.concatenate(steps)


def _swapped(servers: int, one: tuple[Circuits, Circuits], other: tuple[Circuits, Circuits]) -> Circuits:
    """Return what changes where two circuits, i-k and j-l, become i-j and k-l."""
    apart = (one[0] != other[0]) & (one[1] != other[1])
    (i, k), (j, l) = ((end[apart] for end in cable) for cable in (one, other))  # noqa: E741
    return _changed(servers, (i, k, -1), (j, l, -1), (i, j, 1), (k, l, 1))


def _changed(servers: int, *cables: tuple[Circuits, Circuits, int]) -> Circuits:
    """Return one change for each row of cables that come (1) or go (-1)."""
    count = len(cables[0][0])
    row = np.arange(count)
    change = np.zeros((count, servers, servers), np.int64)
    for a, b, sign in cables:
        np.add.at(change, (row, a, b), sign)
        np.add.at(change, (row, b, a), sign)
    return change
