"""The fabric mixnet: a fat-tree of some ports, and optical circuits of a region by MixNet's greedy rule.

A region is a few servers behind one optical circuit switch. A set of circuits is an int64 array of shape
(servers, servers), symmetric: how many circuits join two servers. No row sums to more than the optical ports.

The greedy rule gives circuits to the pairs that wait longest and leaves the others to the electrical ports, however
many they are. Small exchanges improve on it: circuits change ends while that makes the all-to-all faster.

References
----------
.. [1] X. Liao et al., "MixNet", SIGCOMM 2025: circuits for the pairs that expert-parallel traffic waits for longest.
.. [2] X. Liao et al., "MixNet", SIGCOMM 2025: 2 of 8 NICs electrical, regions of up to 64 accelerators.
"""

from typing import TYPE_CHECKING

import numpy as np

from topoopt.base.arrays import Floats, Ints, first_least
from topoopt.base.errors import Infeasible, InvalidInput, check_known
from topoopt.catalog import NETWORKS
from topoopt.finder.fabric_request import FabricRequest
from topoopt.routing import SATURATED, Fabric, RegionalReconfiguration, make_routes
from topoopt.topologies import fat_tree

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Circuits = Ints
Demand = Floats


def regional_circuits(demand_bytes: Demand, ports: int, saturated: str = "break") -> Circuits:
    """Return the circuits that follow a demand: one after the other for the pair that waits longest.

    A pair waits for D/C, the bytes of both directions over its circuits: infinitely long without a circuit. Of pairs
    that wait equally long the one of more bytes is first, then the one whose servers have more free ports (as many
    pairs are alike where the demand is even), then the one of lower numbers. A pair that sends nothing gets nothing.

    Parameters
    ----------
    demand_bytes : float64 array, shape (servers, servers)
        Bytes from the row's server to the column's; the diagonal is ignored.
    ports : int
        Optical ports of a server.
    saturated : str
        One of :data:`topoopt.routing.SATURATED`: ``break`` stops at a pair that has no free port, as the paper's
        text does; ``skip`` continues with the next.

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
        # The pair that waits longest; of equal ones that of most bytes, then of most free ports, then the first.
        with np.errstate(divide="ignore"):
            wait = np.where(waiting, both / count, -1.0)
        tied = np.flatnonzero(wait == wait.max())
        tied = tied[both[tied] == both[tied].max()]
        pair = int(tied[np.argmax((free[first] + free[second])[tied])])
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
    """Return the time of an all-to-all on circuits and, for pairs without one, on the electrical fabric.

    A pair with circuits uses them alone, at the rate of all its circuits. The other pairs share their servers'
    ports on the electrical fabric, which is non-blocking inside: their time is that of the server that sends or
    receives most. The all-to-all is done with its last pair; latency is ignored.

    Parameters
    ----------
    circuit_bps : float
        Bandwidth of one circuit per direction.
    electrical_bps : float
        Bandwidth of all electrical ports of a server per direction; 0 where there is none.

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
    """Return a demand without its diagonal; refuse an invalid demand or number of ports.

    Raises
    ------
    InvalidInput
        With the reason.
    """
    servers = len(demand_bytes)
    square = demand_bytes.shape == (servers, servers)
    if not square or not np.isfinite(demand_bytes).all() or (demand_bytes < 0).any():
        raise InvalidInput("circuits: demand must be a square matrix of bytes >= 0")
    if ports < 1:
        raise InvalidInput(f"circuits: a server needs at least 1 optical port, got {ports}")
    return np.where(np.eye(servers, dtype=bool), 0.0, demand_bytes.astype(np.float64))


NORM = 12
"""Exponent of the norm that compares times: nearly the slowest, with the next slowest to break ties."""
NO_PORTS = 1e3
"""A byte without a circuit where there are no electrical ports, in bytes over one: to be avoided at any price."""


def improved_circuits(
    demand_bytes: Demand, ports: int, circuit_bps: float, electrical_bps: float
) -> Circuits:
    """Return circuits from which no single exchange makes the all-to-all faster.

    Starts are those of :func:`regional_circuits`, continued at saturated pairs, and no circuits. Each step adds or
    removes a circuit, or replaces i–k and j–l by i–j and k–l, whichever helps most. The better of both results
    is returned.

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
        others = circuits + np.concatenate(steps)
        worth = _worth(demand, others, per_byte)
        chosen = first_least(worth)
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


def _swapped(servers: int, one: tuple[Circuits, Circuits], other: tuple[Circuits, Circuits]) -> Circuits:
    """Return the changes where two circuits, i-k and j-l, become i-j and k-l."""
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


MOST_CHOICES = 5_000
"""Choices (pairs times circuits of a pair) up to which the program is tried; 16 servers of 6 ports make 840."""
TIME_LIMIT_S = 60.0
"""Time limit of the integer program."""


def best_regional_circuits(
    demand_bytes: Demand, ports: int, circuit_bps: float, electrical_bps: float
) -> Circuits:
    """Return the circuits on which an all-to-all is done first, as :func:`exchange_time_s` counts.

    One binary choice for each pair and number of circuits, c = 0 … ports: a pair with c > 0 takes
    max(D_ij, D_ji)/(c·B), those with 0 load the electrical ports of their servers. The time T is minimized. With no
    electrical ports every pair that sends must get a circuit, and T is that of the slowest pair.

    Parameters
    ----------
    demand_bytes, ports, circuit_bps, electrical_bps
        As in :func:`regional_circuits` and :func:`exchange_time_s`.

    Raises
    ------
    InvalidInput
        If the region is too large for an exact answer, or as :func:`regional_circuits`.
    Infeasible
        If some pair would have nothing to send over, or the time is over before the optimum is proven.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - slow to import

    demand, servers = checked_demand(demand_bytes, ports), len(demand_bytes)
    first, second = np.nonzero(np.triu(demand + demand.T))
    pairs = len(first)
    if pairs * (ports + 1) > MOST_CHOICES:
        raise InvalidInput(
            f"circuits: {pairs} pairs of up to {ports} circuits are too many for an exact answer; use the greedy rule"
        )
    if not pairs:
        return np.zeros(demand.shape, np.int64)
    rows, upper, lower = _rows(demand, first, second, ports, circuit_bps, electrical_bps)
    choices = pairs * (ports + 1)
    least = np.append(np.zeros(choices), 0.0)
    most = np.append(np.ones(choices), np.inf)
    if not electrical_bps:
        most[: choices : ports + 1] = 0.0
    best = milp(
        np.append(np.zeros(choices), 1.0),
        integrality=np.append(np.ones(choices), 0),
        bounds=Bounds(least, most),
        constraints=LinearConstraint(rows, lower, upper),
        options={"time_limit": TIME_LIMIT_S},
    )
    if best.x is None or best.status != 0:
        why = "no pair may be left without" if best.status == 2 else "no optimum was proven in time"
        raise Infeasible(f"circuits: {servers} servers of {ports} optical ports: {why}; use the greedy rule")
    count = np.rint(best.x[:-1]).reshape(pairs, ports + 1) @ np.arange(ports + 1)
    circuits = np.zeros(demand.shape, np.int64)
    circuits[first, second] = count.astype(np.int64)
    return circuits + circuits.T


def _rows(
    demand: Demand, first: Circuits, second: Circuits, ports: int, circuit_bps: float, electrical_bps: float
) -> tuple["csr_array", Demand, Demand]:
    """Return the rows of the program with their upper and lower ends; the last column is T.

    Times are in units of the largest pair's bytes over one circuit, so that all numbers are near 1.
    """
    from scipy.sparse import csr_array, diags_array, eye_array, hstack, kron, vstack  # noqa: PLC0415 - slow to import

    servers, pairs, width = len(demand), len(first), ports + 1
    larger = np.maximum(demand[first, second], demand[second, first])
    unit = float(larger.max())
    each, none = np.arange(width, dtype=np.float64)[None], np.eye(1, width)
    some = np.concatenate(([0.0], 1.0 / each[0, 1:]))[None]
    a, b = (csr_array((np.ones(pairs), (end, np.arange(pairs))), (servers, pairs)) for end in (first, second))
    there, back = diags_array(demand[first, second]), diags_array(demand[second, first])
    per_byte = circuit_bps / electrical_bps / unit if electrical_bps else 0.0
    choices = vstack(
        [
            kron(eye_array(pairs), np.ones((1, width))),  # one choice of each pair
            kron(a + b, each),  # circuits of a server
            kron(diags_array(larger / unit), some),  # a pair on circuits is done by T
            kron(a @ there + b @ back, none * per_byte),  # and so is what each server sends without
            kron(b @ there + a @ back, none * per_byte),  # and receives
        ],
        format="csr",
    )
    by_time = np.repeat((0.0, -1.0), (pairs + servers, pairs + 2 * servers))[:, None]
    upper = np.repeat((1.0, ports, 0.0), (pairs, servers, pairs + 2 * servers))
    lower = np.where(np.arange(len(upper)) < pairs, 1.0, -np.inf)
    return hstack([choices, csr_array(by_time)], format="csr"), upper, lower


def mixnet(request: FabricRequest) -> Fabric:
    """Return the electrical fat-tree, of full bisection, and the rule by which circuits follow the traffic.

    A quarter of a server's ports is electrical, and at least one, unless the shape gives the number. Groups get no
    rings of their own: these go in member order over the electrical fabric.

    Raises
    ------
    InvalidInput
        If there is no port of one kind, or a number is out of range.
    """
    degree, latency_s = request.degree, request.latency_s
    settings = request.shape.chosen("mixnet", NETWORKS["mixnet"].settings | {"routing"})
    routing, switches = settings.pop("routing", "ecmp"), settings.pop("switches", False)
    electrical = electrical_ports(degree, settings.pop("electrical_ports", None))
    each_bps = request.each_bps()
    electrical_bps = electrical * each_bps
    rule = RegionalReconfiguration(degree - electrical, each_bps, latency_s, electrical_bps, **settings)
    tree = fat_tree(request.servers, electrical_bps, latency_s, switches=switches)
    return Fabric("mixnet", tree, make_routes(routing, tree, request.seed), {}, rule)


def electrical_ports(degree: int, ports: int | None = None) -> int:
    """Return the number of a server's ports on the electrical fabric.

    Raises
    ------
    InvalidInput
        If none would be left for circuits, or none for the electrical fabric.

    Examples
    --------
    >>> [electrical_ports(degree) for degree in (2, 4, 8)], electrical_ports(8, 4)
    ([1, 1, 2], 4)
    """
    if degree < 2:
        raise InvalidInput(
            f"mixnet: a server needs 2 ports or more, one electrical and one optical, got degree {degree}"
        )
    chosen = max(degree // 4, 1) if ports is None else ports
    if not 1 <= chosen < degree:
        raise InvalidInput(
            f"mixnet: electrical_ports must be 1..{degree - 1} of {degree} ports, got {chosen}"
        )
    return chosen
