"""Simulations that keep the links of a few pairs, turned for all others, against the same routes pair by pair."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from topoopt.routing import (
    CoinChangeRoutes,
    Fabric,
    KShortestRoutes,
    Routes,
    balanced_routes,
    explicit_routes,
    own_rows,
    path_arrays,
    turned_routes,
)
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    TRANSFER,
    TaskGraph,
    TaskRows,
    make_flows,
    simulate,
    task_graph_from_edges,
)
from topoopt.simulation.analytic.simulator import first_come_times
from topoopt.topologies import LiftShape, Ring, Topology, circulant, lifted, torus, turn_of


@cache
def wired(name: str) -> Topology:
    if name == "circulant":
        return circulant(48, (5, 7), 1e9)
    return torus(36, 4e9) if name == "torus" else lifted(LiftShape(48, 4, group=12), seed=1).topology(1e9)


def exchange(servers: int) -> TaskGraph:
    """Return two rounds of transfers of many sizes, an all-to-all behind them and an AllReduce beside it."""
    src, dst = np.divmod(np.arange(servers**2), servers)
    away = (src != dst) & ((src + dst) % 3 > 0)
    size = 1000 + 37 * ((dst - src) % servers)
    rows = TaskRows(TRANSFER, int(away.sum()), src=src[away], dst=dst[away], size_bytes=size[away])
    everyone = (tuple(range(servers)),)
    kinds = [COLLECTIVES.index(name) for name in ("all-to-all", "allreduce")]
    both = [TaskRows(COLLECTIVE, 1, size_bytes=servers * 9000, collective=k, members=everyone) for k in kinds]
    count = rows.count
    first = np.arange(count)
    return task_graph_from_edges(servers, [rows, rows, *both], first, np.full(count, 2 * count))


def routed(topology: Topology, kind: str) -> Routes:
    if kind == "coin-change":
        return CoinChangeRoutes(topology)
    few = KShortestRoutes(topology, k=4, slack=2)
    if kind == "balanced":
        demand = 1e6 * (1 - np.eye(topology.servers))
        return balanced_routes(topology, demand, few, step=turn_of(topology))
    return turned_routes(topology, KShortestRoutes(topology, k=3))


@pytest.mark.parametrize("simulator", ["analytic", "flow"])
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("lifted", "turned"),
        ("lifted", "balanced"),
        ("torus", "turned"),
        ("torus", "balanced"),
        ("circulant", "coin-change"),
    ],
)
def test_a_job_takes_as_long_as_with_the_links_of_every_pair(name: str, kind: str, simulator: str) -> None:
    topology = wired(name)
    servers = topology.servers
    routes = routed(topology, kind)
    src, dst = np.divmod(np.arange(servers**2), servers)
    src, dst = src[src != dst], dst[src != dst]
    listed = explicit_routes(topology, path_arrays(routes, src, dst).listed())
    graph = exchange(servers)
    walk = tuple((np.arange(servers) * 5 % servers).tolist())
    rings = {tuple(range(servers)): (Ring(5, walk, walk),)} if name == "circulant" else {}
    few, every = (Fabric("few", topology, one, rings) for one in (routes, listed))
    found, plain = (simulate(simulator, graph, fabric) for fabric in (few, every))
    assert found.link_bytes == pytest.approx(plain.link_bytes, rel=1e-9)
    assert found.hop_bytes.sum() == pytest.approx(plain.hop_bytes.sum(), rel=1e-9)
    hops = np.arange(len(plain.hop_bytes))
    assert found.hop_bytes @ hops[: len(found.hop_bytes)] == pytest.approx(plain.hop_bytes @ hops, rel=1e-9)
    flows, others = (make_flows(graph, fabric, found.options) for fabric in (few, every))
    assert len(flows.classes.rows) < len(others.classes.rows) / 3
    assert flows.pair_hops.sum() == pytest.approx(others.pair_hops.sum())
    for column in ("before_s", "after_s", "occupied_bytes", "payload_bytes"):
        assert getattr(flows, column) == pytest.approx(getattr(others, column), rel=1e-9)
    # Rounding of these overheads decides who comes first of many that come together: so the same ones, link by link.
    laid_out = replace(flows, classes=own_rows(flows.classes.laid_out(), len(topology)))
    capacity = topology.bandwidth_bps / 8
    times = [first_come_times(graph, graph.duration_s, one, capacity) for one in (flows, laid_out)]
    assert np.array_equal(times[0], times[1])
