"""Circuits of a region for one all-to-all: MixNet's greedy rule, and what the all-to-all takes on them.

A region is a few servers behind one optical circuit switch. A set of circuits is an int64 array of shape
(servers, servers), symmetric: how many circuits join two servers. No row sums to more than the optical ports.

References
----------
.. [1] X. Liao et al., "MixNet", SIGCOMM 2025: circuits for the pairs that expert-parallel traffic waits for longest.
"""

import numpy as np

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.base.errors import InvalidInput, check_known
from topoopt.routing import SATURATED

Circuits = Ints
Demand = Floats


def regional_circuits(demand_bytes: Demand, ports: int, saturated: str = "break") -> Circuits:
    """Return the circuits that follow a demand: one after the other for the pair that waits longest.

    A pair waits for D/C, the bytes of both directions over its circuits: infinitely long without a circuit. Of
    pairs that wait equally long the one of more bytes is first, then the one whose servers have more free ports (as
    many pairs are alike where the demand is even), then the one of lower numbers. A pair that sends nothing gets
    nothing.

    Parameters
    ----------
    demand_bytes : float64 array, shape (servers, servers)
        Bytes from the row's server to the column's; the diagonal is ignored.
    ports : int
        Optical ports of a server.
    saturated : str
        One of :data:`topoopt.routing.SATURATED`: ``break`` stops at a pair that has no free port, as the paper's
        text does; ``skip`` goes on to the next.

    Raises
    ------
    InvalidInput
        If the demand is not square, negative or not finite, there are no ports, or ``saturated`` is unknown.

    Examples
    --------
    >>> demand = np.zeros((4, 4))
    >>> demand[[0, 0, 1, 1, 2], [1, 2, 2, 3, 3]] = 9, 3, 1, 2, 8
    >>> np.argwhere(np.triu(regional_circuits(demand, 3))).tolist()
    [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    """
    check_known("saturated", saturated, SATURATED)
    demand = checked_demand(demand_bytes, ports)
    first, second = np.nonzero(np.triu(demand + demand.T))
    both = (demand + demand.T)[first, second]
    count = np.zeros(len(both), np.int64)
    free = np.full(len(demand), ports)
    waiting = np.ones(len(both), np.bool_)
    while waiting.any():
        pair = _longest(both, count, waiting, free[first] + free[second])
        if free[first[pair]] and free[second[pair]]:
            count[pair] += 1
            free[[first[pair], second[pair]]] -= 1
        elif saturated == "break":
            break
        else:
            waiting[pair] = False
    circuits = np.zeros(demand_bytes.shape, np.int64)
    circuits[first, second] = count
    return circuits + circuits.T


def exchange_time_s(
    demand_bytes: Demand, circuits: Circuits, circuit_bps: float, electrical_bps: float
) -> float:
    """Return how long an all-to-all takes on circuits and, for pairs without one, on the electrical fabric.

    A pair with circuits sends over them alone, at the rate of all its circuits. Those without share what their
    servers have on the electrical fabric, whose inside has room for all: it takes as long as the server needs that
    sends or receives most. The all-to-all is done when the last pair is; latency is left out.

    Parameters
    ----------
    circuit_bps : float
        Of one circuit, each way.
    electrical_bps : float
        Of all electrical ports of a server, each way; 0 where there is none.

    Returns
    -------
    float
        Infinite if a pair has neither a circuit nor electrical ports.
    """
    demand = demand_bytes.astype(np.float64)
    np.fill_diagonal(demand, 0.0)
    optical = circuits > 0
    on_circuits = np.divide(demand * 8.0 / circuit_bps, circuits, out=np.zeros_like(demand), where=optical)
    rest = np.where(optical, 0.0, demand)
    busiest = max(rest.sum(axis=0).max(initial=0.0), rest.sum(axis=1).max(initial=0.0)) * 8.0
    if busiest and not electrical_bps:
        return float("inf")
    return max(float(on_circuits.max(initial=0.0)), busiest / electrical_bps if busiest else 0.0)


def checked_demand(demand_bytes: Demand, ports: int) -> Demand:
    """Return a demand without its diagonal; refuse what is none, or no number of ports.

    Raises
    ------
    InvalidInput
        Saying what is wrong.
    """
    servers = len(demand_bytes)
    square = demand_bytes.shape == (servers, servers)
    if not square or not np.isfinite(demand_bytes).all() or (demand_bytes < 0).any():
        raise InvalidInput("circuits: demand must be a square matrix of bytes >= 0")
    if ports < 1:
        raise InvalidInput(f"circuits: a server needs at least 1 optical port, got {ports}")
    return np.where(np.eye(servers, dtype=bool), 0.0, demand_bytes.astype(np.float64))


def _longest(demand: Demand, count: Circuits, waiting: Flags, free: Circuits) -> int:
    """Return the pair that waits longest; of equal ones that of most bytes, then of most free ports, then the first."""
    with np.errstate(divide="ignore"):
        wait = np.where(waiting, demand / count, -1.0)
    tied = np.flatnonzero(wait == wait.max())
    tied = tied[demand[tied] == demand[tied].max()]
    return int(tied[np.argmax(free[tied])])
