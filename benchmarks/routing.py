"""Routing: coin tables, links of all pairs, loads of a hall, and the bound on the fullest link.

No original figure is known for these: the original program answers them inside its simulator.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.figure import Figure, best_cpu_seconds
from topoopt.routing import (
    CoinChangeRoutes,
    KShortestRoutes,
    all_pair_links,
    balanced_routes,
    circulant_max_load,
    coin_change_mod,
    link_loads,
    make_routes,
    optimal_max_load,
)
from topoopt.topologies import Topology, topology_from_arrays


def circulant(n: int, *strides: int) -> Topology:
    offsets = tuple(sorted({offset for p in strides for offset in (p, n - p)}))
    src = np.repeat(np.arange(n), len(offsets))
    dst = (src + np.tile(offsets, n)) % n
    speed, latency = np.full(len(src), 100e9), np.full(len(src), 1e-6)
    return topology_from_arrays("circulant", n, src, dst, speed, latency, None, offsets)


def random_demand(n: int) -> NDArray[np.float64]:
    demand = np.random.default_rng(0).random((n, n)) * 1e6
    np.fill_diagonal(demand, 0.0)
    return demand


def figures() -> Iterator[Figure]:
    job, demand = circulant(128, 1, 13), random_demand(128)
    yield from _job_figures(job, demand)
    largest = circulant(65_536, 1, 15, 255, 4095)
    offsets = largest.offsets
    yield Figure(
        "coin table, n=65,536, 8 coins",
        best_cpu_seconds(lambda: coin_change_mod(65_536, offsets)),
        "CPU s",
        1,
    )
    hall, hall_demand = circulant(4096, 1, 11, 101, 1021), random_demand(4096)
    link_loads(hall, CoinChangeRoutes(hall), np.eye(4096))  # compile the kernel
    seconds = best_cpu_seconds(lambda: link_loads(hall, CoinChangeRoutes(hall), hall_demand))
    yield Figure("routes and loads, n=4,096 d=8, full demand", seconds, "CPU s", 1)
    seconds = best_cpu_seconds(lambda: circulant_max_load(largest, np.ones(65_536)), repeats=1)
    yield Figure("exact load bound, n=65,536, uniform", seconds, "CPU s", 5)


def _job_figures(job: Topology, demand: NDArray[np.float64]) -> Iterator[Figure]:
    limits_s = {"coin-change": 0.05, "k-shortest": 0.3, "ecmp": 0.3, "single-shortest": 0.3}
    for name, limit_s in limits_s.items():
        routes = make_routes(name, job)
        all_pair_links(job, routes)  # compile the kernels
        seconds = best_cpu_seconds(lambda: all_pair_links(job, routes))  # noqa: B023
        yield Figure(f"links of all pairs, {name}, n=128", seconds, "CPU s", limit_s)
    candidates = KShortestRoutes(job)
    balanced = balanced_routes(job, demand, candidates)
    seconds = best_cpu_seconds(lambda: balanced_routes(job, demand, candidates))
    yield Figure("balancing k-shortest, n=128, full demand", seconds, "CPU s", 1)
    bound = optimal_max_load(job, demand)
    seconds = best_cpu_seconds(lambda: optimal_max_load(job, demand))
    yield Figure("load bound, n=128, full demand", seconds, "CPU s", 1.5)
    yield Figure("load bound, n=128: width of the interval", 100 * bound.gap, "%", 2)
    highest_s = (link_loads(job, balanced, demand) * 8 / job.bandwidth_bps).max()
    yield Figure("balanced k-shortest above the bound", 100 * (highest_s / bound.lower_bound_s - 1), "%", 10)
