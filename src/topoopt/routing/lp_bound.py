"""How far is a routing from the best one: the optimum of the highest link load for given demands."""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.routing.circulant_bound import circulant_max_load, demand_by_distance
from topoopt.routing.load_optimum import LoadOptimum, interval
from topoopt.routing.path_arrays import require_reached
from topoopt.routing.rerouting import improved_max_load, rerouted_max_load
from topoopt.topologies import Topology, hops_from

# HiGHS' interior point takes 0.8 s for 16,000 flow variables of a random graph, measured on one core.
_LARGEST_LP = 25_000
_LP_LIMIT_S = 20.0


def optimal_max_load(
    topology: Topology,
    demand: Floats,
    background_bytes: Floats | None = None,
    link_bytes: Floats | None = None,
) -> LoadOptimum:
    """Return the least possible highest link load, exactly where that is quick, else as an interval.

    Parameters
    ----------
    topology : Topology
    demand : float64 array, shape (servers, servers)
        Bytes of each ordered pair of servers; the diagonal is ignored.
    background_bytes : float64 array, shape (links,), optional
        Bytes that cross each link whatever the routing, e.g. those of AllReduce rings.
    link_bytes : float64 array, shape (links,), optional
        All bytes on each link under a routing that is there: where no program is solved, the search for the optimum
        begins with it.

    Raises
    ------
    InvalidInput
        If an array has the wrong shape.
    NoRoute
        If a pair with demand cannot be reached.

    Notes
    -----
    The linear program has one commodity a source: minimise z subject to conservation of every source's
    flow and, on each link, flow + background <= z · bandwidth. On a circulant whose demand depends on
    distance only, one source speaks for all, since the mean of an optimum over all rotations is an optimum
    too. Where the program is too large an interval comes from iterative rerouting and its prices.
    """
    exact = exact_max_load(topology, demand, background_bytes)
    if exact is not None:
        return exact
    between, background_s = _checked(topology, demand, background_bytes)
    if link_bytes is None:
        return interval(*rerouted_max_load(topology, between, background_s), "rerouting")
    loads_s = link_bytes * 8 / topology.bandwidth_bps
    return interval(*improved_max_load(topology, between, background_s, loads_s), "prices")


def exact_max_load(
    topology: Topology, demand: Floats, background_bytes: Floats | None = None
) -> LoadOptimum | None:
    """Return the least possible highest link load where that is quick; None where only an interval is.

    See :func:`optimal_max_load`.
    """
    between, background_s = _checked(topology, demand, background_bytes)
    if not between.any():
        idle = float(background_s.max(initial=0.0))
        return LoadOptimum(idle, idle, True, "none")
    by_distance = demand_by_distance(topology, between, background_s)
    if by_distance is not None:
        return circulant_max_load(topology, by_distance, background_bytes)
    src, dst = np.nonzero(between)
    sources = np.unique(src)
    hops = hops_from(topology, sources)
    require_reached(hops[np.searchsorted(sources, src), dst], src, dst)
    if len(sources) * len(topology) > _LARGEST_LP:
        return None
    exact_s = _flow_lp_s(topology, between, background_s)
    return None if exact_s is None else LoadOptimum(exact_s, exact_s, True, "lp")


def max_load_s(topology: Topology, link_bytes: Floats) -> float:
    """Return the seconds that the fullest link needs for its bytes, to compare with the optimum."""
    return float((link_bytes * 8 / topology.bandwidth_bps).max(initial=0.0))


def _checked(topology: Topology, demand: Floats, background_bytes: Floats | None) -> tuple[Floats, Floats]:
    n, links = topology.servers, len(topology)
    if demand.shape != (n, n):
        raise InvalidInput(f"demand: expected {n}×{n} for {n} servers, got {demand.shape}")
    background = np.zeros(links) if background_bytes is None else np.asarray(background_bytes, np.float64)
    if background.shape != (links,):
        raise InvalidInput(f"background: expected {links} numbers, one a link, got {background.shape}")
    between = np.array(demand, np.float64)
    np.fill_diagonal(between, 0.0)
    return between, background * 8 / topology.bandwidth_bps


def _flow_lp_s(topology: Topology, demand: Floats, background_s: Floats) -> float | None:
    """Solve the program; None where HiGHS does not finish. Bytes are counted in the largest pair's."""
    sources = np.flatnonzero(demand.any(axis=1))
    unit = float(demand.max())
    second_per_unit = unit * 8 / topology.bandwidth_bps
    scale = float(second_per_unit.max())
    links, nodes = len(topology), topology.nodes
    index = np.arange(links)
    leaving = sparse.csr_array((np.ones(links), (topology.src, index)), shape=(nodes, links))
    entering = sparse.csr_array((np.ones(links), (topology.dst, index)), shape=(nodes, links))
    supply = np.zeros((len(sources), nodes))
    supply[:, : topology.servers] = -demand[sources] / unit
    supply[np.arange(len(sources)), sources] = -supply.sum(axis=1)
    conserve = sparse.kron(sparse.eye_array(len(sources)), leaving - entering)
    conserve = sparse.hstack([conserve, sparse.csr_array((conserve.shape[0], 1))], format="csr")
    busy = sparse.kron(np.ones((1, len(sources))), sparse.diags_array(second_per_unit / scale))
    busy = sparse.hstack([busy, sparse.csr_array(-np.ones((links, 1)))], format="csr")
    cost = np.zeros(busy.shape[1])
    cost[-1] = 1.0
    optimum = linprog(
        cost,
        busy,
        -background_s / scale,
        conserve,
        supply.ravel(),
        method="highs-ipm",
        options={"time_limit": _LP_LIMIT_S},
    )
    return float(optimum.fun) * scale if optimum.status == 0 and optimum.fun is not None else None
