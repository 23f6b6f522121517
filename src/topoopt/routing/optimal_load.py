"""The optimum of the highest link load for given demands.

The optimum of the highest link load on a circulant whose demand depends on distance only.

All links of one offset are alike, so one source speaks for all and the loads are as few as the offsets.
The program is solved by its columns: given a price of each offset, the cheapest tree from server 0 puts so
many bytes on each offset (a column) and its cost is a lower bound; the best mix of the columns so far gives
the upper bound and new prices. The two meet after some dozens of trees, however many servers there are.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.routing.path_weights_kernel import tree_loads
from topoopt.routing.rerouting import graph_of, improved_max_load, rerouted_max_load
from topoopt.routing.routes import require_reached
from topoopt.topologies import Topology, hops_from, links_along


@dataclass(frozen=True, slots=True)
class LoadOptimum:
    """The least possible highest link load, as a certified interval.

    The load of a link is the seconds it needs for its bytes. Bytes may be split over any paths at will
    (fractional multicommodity flow), so no routing whatever is better than ``lower_bound_s``.

    Attributes
    ----------
    max_load_s : float
        Reached by a routing that was found.
    lower_bound_s : float
        Proven: at most ``max_load_s``, and equal to it where ``exact``.
    exact : bool
        Whether the two meet, to rounding.
    method : str
        ``lp``, ``columns`` (circulant, demand by distance), ``rerouting``, ``prices`` (of a routing that is there) or
        ``none``.
    """

    max_load_s: float
    lower_bound_s: float
    exact: bool
    method: str

    @property
    def gap(self) -> float:
        """Width of the interval over its lower end, 0 where nothing has to be carried."""
        return self.max_load_s / self.lower_bound_s - 1 if self.lower_bound_s > 0 else 0.0


_MOST_TREES = 300
_CLOSE = 1e-7
_SAME = 1e-9
# HiGHS' interior point takes 0.8 s for 16,000 flow variables of a random graph, measured on one core.
_LARGEST_LP = 25_000
_LP_LIMIT_S = 20.0


def optimal_max_load(
    topology: Topology,
    demand: Floats,
    background_bytes: Floats | None = None,
    link_bytes: Floats | None = None,
) -> LoadOptimum:
    """Return the minimum of the highest link load, exactly where that is fast, else as an interval.

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
    from scipy import sparse  # noqa: PLC0415 - slow to import
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import

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


def demand_by_distance(topology: Topology, demand: Floats, background_s: Floats) -> Floats | None:
    """Return the bytes for each distance, or None where servers differ in demand, links or background."""
    if not topology.offsets or topology.nodes != topology.servers:
        return None
    n = topology.servers
    at = np.arange(n)
    turned = demand[at[:, None], (at[:, None] + at) % n]
    links = links_along(topology, topology.offsets)
    alike = (turned, topology.bandwidth_bps[links], background_s[links])
    if not all(np.allclose(values, values[0], rtol=_SAME, atol=0.0) for values in alike):
        return None
    return np.array(turned[0])


def circulant_max_load(
    topology: Topology, by_distance: Floats, background_bytes: Floats | None = None
) -> LoadOptimum:
    """Return the least possible highest link load when every pair at distance D has ``by_distance[D]`` bytes.

    Parameters
    ----------
    by_distance : float64 array, shape (servers,)
        Entry 0 is ignored.
    background_bytes : float64 array, shape (links,), optional
        Bytes that cross each link anyway, equal on all links of an offset.

    Raises
    ------
    InvalidInput
        If the topology is no circulant.
    NoRoute
        If the offsets do not connect the servers.
    """
    if not topology.offsets:
        raise InvalidInput(f"circulant bound: needs a circulant, got {topology.family}")
    links = links_along(topology, topology.offsets)[0]
    rate = topology.bandwidth_bps[links] / 8
    before = np.zeros(len(links)) if background_bytes is None else background_bytes[links]
    demand = by_distance.astype(np.float64)
    demand[0] = 0.0
    unit, fastest = max(float(demand.sum()), float(before.max()), 1e-300), float(rate.max())
    upper, lower = _by_columns(topology, demand / unit, before / unit, rate / fastest)
    return interval(upper * unit / fastest, lower * unit / fastest, "columns")


def _by_columns(topology: Topology, demand: Floats, before: Floats, rate: Floats) -> tuple[float, float]:
    price = 1.0 / rate
    columns: list[Floats] = []
    upper, lower = np.inf, float((before / rate).max())
    for _ in range(_MOST_TREES):
        n, d = topology.servers, len(price)
        step = (topology.dst.astype(np.int64) - topology.src) % n
        coin = np.searchsorted(np.array(topology.offsets), step)
        graph, load = graph_of(topology), np.empty(len(coin))
        tree_loads(graph, price[coin], 0, demand, load)
        if not np.isfinite(graph.far).all():
            raise NoRoute(f"no route 0->{int(np.argmax(graph.far))}: the offsets do not connect the servers")
        column = np.asarray(np.bincount(coin, load, d), np.float64)
        lower = max(lower, float((column + before) @ price / (rate @ price)))
        columns.append(column)
        upper, dual = _best_mix(np.array(columns).T, before, rate)
        if lower >= upper * (1 - _CLOSE):
            break
        # Halfway to the new prices: the pure ones swing between the offsets. The floor forbids free links.
        price = 0.5 * price / (rate * price).sum() + 0.5 * dual + 1e-9
    return upper, lower


def _best_mix(columns: Floats, before: Floats, rate: Floats) -> tuple[float, Floats]:
    """Return the lowest highest load of a mix of columns, shape (offsets, columns), and the prices of it."""
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import

    k = columns.shape[1]
    cost = np.zeros(k + 1)
    cost[-1] = 1.0
    optimum = linprog(
        cost,
        np.hstack((columns, -rate[:, None])),
        -before,
        np.append(np.ones(k), 0.0)[None, :],
        np.ones(1),
        method="highs",
    )
    assert optimum.status == 0, optimum.message
    assert optimum.fun is not None
    return float(optimum.fun), np.maximum(-np.asarray(optimum.ineqlin.marginals, np.float64), 0.0)


def interval(max_load_s: float, lower_bound_s: float, method: str) -> LoadOptimum:
    """Return the optimum from both ends, which rounding may have swapped."""
    exact = lower_bound_s >= max_load_s * (1 - 1e-6)
    return LoadOptimum(max_load_s, min(lower_bound_s, max_load_s), exact, method)
