"""Bounds: closed forms, Moore's graphs, and no simulation of anything below them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job, JobSettings, job_traffic, make_job, operators_of, traffic_job
from topoopt.plans import Bounds
from topoopt.routing import Fabric, make_routes
from topoopt.search import SearchOptions, simulated
from topoopt.search.bounds.lower_bound import Demands, demands, link_ends, lower_bounds
from topoopt.search.bounds.transfer_windows import Windows, moore_hops
from topoopt.search.candidates.candidate import fabric_for, iteration_bounds, with_rings
from topoopt.search.proposals.mcmc import SearchProblem, make_problem
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    TRANSFER,
    SimulationOptions,
    TaskRows,
    task_graph_from_edges,
)
from topoopt.topologies import Link, topology_from_links
from topoopt.workloads import load_model
from topoopt.workloads.strategy import ParallelStrategy, data_parallel
from topoopt.workloads.traffic import traffic_from_matrix

MakeJob = Callable[..., Job]
RandomStrategy = Callable[[SearchProblem, np.random.Generator, float], ParallelStrategy]
NONE = np.zeros(0, np.int64)
BPS = 100e9


def all_to_all(servers: int, size_bytes: float) -> NDArray[np.float64]:
    return np.full((servers, servers), size_bytes)


def moved(
    servers: int,
    rows: list[TaskRows],
    release_s: list[float] | float = 0.0,
    tail_s: list[float] | float = 0.0,
    cluster: ClusterSpec | None = None,
) -> tuple[ClusterSpec, Windows, Demands]:
    """Return tasks that wait for none, in windows that are given, on a cluster without latency."""
    cluster = cluster or ClusterSpec(servers, 4, BPS, link_latency_s=0.0)
    graph = task_graph_from_edges(servers, rows, NONE, NONE)
    found = Windows(np.zeros(len(graph)) + release_s, np.zeros(len(graph)) + tail_s, 0.0, 0.0)
    return cluster, found, demands(graph, cluster, found)


def of_matrix(matrix: NDArray[np.float64]) -> TaskRows:
    src, dst = np.nonzero(matrix * (1 - np.eye(len(matrix))))
    return TaskRows(TRANSFER, len(src), src=src, dst=dst, size_bytes=matrix[src, dst].astype(np.int64))


def collective(kind: str, members: tuple[int, ...], size_bytes: int) -> TaskRows:
    return TaskRows(
        COLLECTIVE, 1, size_bytes=size_bytes, collective=COLLECTIVES.index(kind), members=(members,)
    )


def cluster_of(servers: int, degree: int) -> ClusterSpec:
    return ClusterSpec(servers, degree, BPS, link_latency_s=0.0)


@pytest.mark.parametrize("servers", [4, 16, 128])
def test_one_allreduce_injects_2_n_minus_1_over_n_times_its_bytes(servers: int) -> None:
    found = lower_bounds(*moved(servers, [collective("allreduce", tuple(range(servers)), 10**9)], 0.25))
    expected_s = 0.25 + 2 * (servers - 1) / servers * 1e9 * 8 / (4 * BPS)
    assert found.injection_s == pytest.approx(expected_s, rel=1e-12)
    assert found.average_hop_s == pytest.approx(expected_s, rel=1e-12)  # one hop each
    assert found.lower_bound_s == pytest.approx(expected_s, rel=1e-12)


@pytest.mark.parametrize("kind", ["reduce-scatter", "all-gather"])
def test_half_an_allreduce_is_half_as_long(kind: str) -> None:
    found = lower_bounds(*moved(16, [collective(kind, tuple(range(8)), 10**9)]))
    assert found.injection_s == pytest.approx(7 / 8 * 1e9 * 8 / (4 * BPS), rel=1e-12)


def test_a_server_with_more_to_send_may_be_spared_in_an_allreduce_but_for_its_own_bytes() -> None:
    """A tree whose leaf it is takes the buffer out of it once and in once; the others have more to do then."""
    matrix = np.zeros((8, 8))
    matrix[0, 1] = 1e9
    found = lower_bounds(*moved(8, [of_matrix(matrix), collective("allreduce", tuple(range(8)), 10**9)]))
    assert found.injection_s == pytest.approx(2e9 * 8 / (4 * BPS), rel=1e-12)


def test_a_group_of_some_servers_is_bounded_by_their_interfaces_together() -> None:
    """The four that reduce send 6 buffers, and one of them a transfer of 10: 16 in all by four servers' interfaces."""
    matrix = np.zeros((12, 12))
    matrix[0:4, 5] = 2.5e8
    found = lower_bounds(*moved(12, [of_matrix(matrix), collective("allreduce", (0, 1, 2, 3), 10**9)]))
    assert found.injection_s == pytest.approx((6e9 + 1e9) / 4 * 8 / (4 * BPS), rel=1e-12)


def test_an_all_to_all_injects_what_a_server_has_for_the_others() -> None:
    found = lower_bounds(*moved(16, [of_matrix(all_to_all(16, 1e6))], 0.5))
    assert found.injection_s == pytest.approx(0.5 + 15 * 1e6 * 8 / (4 * BPS), rel=1e-12)
    # at degree 4: 4 servers at one hop, 11 of the 12 that fit at two
    assert found.average_hop_s == pytest.approx(0.5 + (4 + 2 * 11) * 1e6 * 8 / (4 * BPS), rel=1e-12)


def test_many_to_one_is_bounded_by_what_the_one_hears() -> None:
    matrix = np.zeros((8, 8))
    matrix[1:, 0] = 1e6
    found = lower_bounds(*moved(8, [of_matrix(matrix)], cluster=cluster_of(8, 2)))
    assert found.injection_s == pytest.approx(7e6 * 8 / (2 * BPS), rel=1e-12)
    # and two of them can be next to it, two at two hops, …: each has one destination, which is not near all of them
    hop_bytes = (2 * 1 + 2 * 2 + 2 * 3 + 1 * 4) * 1e6
    assert found.average_hop_s == pytest.approx(hop_bytes * 8 / (8 * 2 * BPS), rel=1e-12)


def test_where_cables_lead_both_ways_both_ways_count_together() -> None:
    """Two servers send all others the same: by sources 1 1 2 2 3 3 4 hops, and every receiver could be next to both."""
    matrix = np.zeros((8, 8))
    matrix[0, 1:] = matrix[4, :4] = matrix[4, 5:] = 1e6
    found = lower_bounds(*moved(8, [of_matrix(matrix)], cluster=cluster_of(8, 2)))
    assert found.average_hop_s == pytest.approx(2 * 16e6 * 8 / (8 * 2 * BPS), rel=1e-12)


def test_late_bytes_bind_where_early_ones_do_not() -> None:
    """A kilobyte that exists after a second bounds more than a megabyte at the start."""
    rows = TaskRows(TRANSFER, 2, src=0, dst=1, size_bytes=np.array([10**6, 1000]))
    found = lower_bounds(*moved(4, [rows], [0.0, 1.0], cluster=cluster_of(4, 2)))
    assert found.injection_s == pytest.approx(1 + 1e3 * 8 / (2 * BPS), rel=1e-12)


def test_what_must_follow_the_last_byte_is_added() -> None:
    """The early and large one has a second of work after it, the late one has none."""
    rows = TaskRows(TRANSFER, 2, src=0, dst=1, size_bytes=np.array([10**9, 1000]))
    found = lower_bounds(*moved(4, [rows], [0.0, 0.5], [1.0, 0.0], cluster=cluster_of(4, 2)))
    assert found.injection_s == pytest.approx(1e9 * 8 / (2 * BPS) + 1, rel=1e-12)


def test_heavy_pairs_are_neighbors_in_the_best_graph() -> None:
    matrix = np.zeros((8, 8))
    matrix[0, 1:] = [1e6, 7e6, 2e6, 3e6, 4e6, 5e6, 6e6]  # the two heaviest at one hop, two at two, …
    found = lower_bounds(*moved(8, [of_matrix(matrix)], cluster=cluster_of(8, 2)))
    hop_bytes = 1 * (7 + 6) + 2 * (5 + 4) + 3 * (3 + 2) + 4 * 1
    assert found.average_hop_s == pytest.approx(hop_bytes * 1e6 * 8 / (8 * 2 * BPS), rel=1e-12)


def test_of_many_destinations_one_is_far_however_few_the_bytes() -> None:
    """Seven others on a ring of 8: one of them is four hops away, a microsecond each."""
    matrix = np.zeros((8, 8))
    matrix[0, 1:] = 1
    cluster = ClusterSpec(8, 2, BPS, link_latency_s=1e-6)
    assert lower_bounds(*moved(8, [of_matrix(matrix)], cluster=cluster)).average_hop_s == pytest.approx(4e-6)


def test_of_an_odd_number_of_interfaces_one_is_idle() -> None:
    duplex, directed = (ClusterSpec(5, 3, BPS, links=links) for links in ("duplex", "directed"))
    assert (link_ends(duplex), link_ends(directed)) == (14, 15)


MOORE_GRAPHS = {
    "complete graph": (nx.complete_graph(6), 5),
    "5-cycle": (nx.cycle_graph(5), 2),
    "9-cycle": (nx.cycle_graph(9), 2),
    "Petersen": (nx.petersen_graph(), 3),
    "Hoffman-Singleton": (nx.hoffman_singleton_graph(), 7),
}


@pytest.mark.parametrize("name", MOORE_GRAPHS)
def test_moores_graphs_reach_everyone_in_as_few_hops_as_counted(name: str) -> None:
    graph, degree = MOORE_GRAPHS[name]
    wanted = moore_hops(len(graph), degree, "duplex").tolist()
    for _, distance in nx.all_pairs_shortest_path_length(graph):
        assert sorted(distance.values())[1:] == wanted


def test_directed_rings_and_meshes_reach_everyone_in_as_few_hops_as_counted() -> None:
    assert moore_hops(7, 1, "directed").tolist() == [1, 2, 3, 4, 5, 6]
    assert moore_hops(5, 4, "directed").tolist() == [1, 1, 1, 1]
    assert moore_hops(8, 2, "directed").tolist() == [1, 1, 2, 2, 2, 2, 3]


@settings(max_examples=60)
@given(data=st.data(), degree=st.integers(2, 6), directed=st.booleans())
def test_no_regular_graph_has_fewer_hops(data: st.DataObject, degree: int, directed: bool) -> None:
    servers = data.draw(st.integers(degree + 1, 40).filter(lambda n: n * degree % 2 == 0))
    seed = data.draw(st.integers(0, 2**32 - 1))
    graph = nx.random_regular_graph(degree, servers, seed)
    if directed:  # the union of permutations, which may repeat a link
        rng = np.random.default_rng(seed)
        graph = nx.DiGraph(
            [(i, int(p)) for _ in range(degree) for i, p in enumerate(rng.permutation(servers))]
        )
    fewest = moore_hops(servers, degree, "directed" if directed else "duplex")
    for _, distance in nx.all_pairs_shortest_path_length(graph):
        hops = np.array(sorted(distance.values())[1:])
        assert (hops >= fewest[: len(hops)]).all()


def petersen() -> Fabric:
    ends = [(a, b) for edge in nx.petersen_graph().edges for a, b in (edge, edge[::-1])]
    topology = topology_from_links("petersen", 10, [Link(a, b, BPS) for a, b in ends])
    return Fabric("petersen", topology, make_routes("single-shortest", topology), {})


def test_the_average_hop_bound_is_tight_on_the_petersen_graph() -> None:
    """All ten servers exchange 100 MB: every link carries 500 MB and has a microsecond; nothing could be faster."""
    job = traffic_job("exchange", traffic_from_matrix(all_to_all(10, 1e8)), ClusterSpec(10, 3, BPS))
    strategy = ParallelStrategy(10, ())
    result = simulated(job, strategy, petersen(), "flow", SimulationOptions(tolerance=0.0))
    found = iteration_bounds(job, strategy, result)
    assert found.compute_s == 0
    assert found.injection_s == pytest.approx(1e-6 + 9e8 * 8 / (3 * BPS), rel=1e-9)
    assert found.average_hop_s == pytest.approx(1e-6 + 15e8 * 8 / (3 * BPS), rel=1e-9)
    np.testing.assert_allclose(result.link_bytes, 5e8)
    assert found.average_hop_s <= result.iteration_time_s < 1.001 * found.average_hop_s


JOBS = ("small", "dlrm", "bert")


def job_on(model: str, servers: int, degree: int, links: str, small_job: MakeJob) -> Job:
    if model == "small":
        return small_job(servers, degree, links)
    sizes: dict[str, dict[str, Any]] = {
        "dlrm": {"tables": 8, "rows": 1_000_000, "bottom_layers": 2, "top_layers": 3},
        "bert": {"blocks": 1},
    }
    graph = load_model(model, servers=16, **sizes[model])
    return make_job(graph, ClusterSpec(servers, degree, BPS, links=links), JobSettings(memory_check="off"))


@settings(max_examples=60)
@given(data=st.data())
def test_no_simulation_is_below_its_bounds(
    data: st.DataObject, small_job: MakeJob, random_strategy: RandomStrategy
) -> None:
    """Random strategies on topologies found for them by all rules, packet headers and rounding apart (1e-6)."""
    servers, degree = data.draw(st.sampled_from([(4, 2), (6, 4), (7, 3), (8, 3), (8, 4), (12, 4)]))
    links = data.draw(st.sampled_from(["duplex", "directed"]))
    options = SearchOptions(
        degree_split=data.draw(st.sampled_from(["proportional", "all-to-allreduce"])),
        strides=data.draw(st.sampled_from(["best", "nearest", "lower-bound"])),
        routing=data.draw(st.sampled_from(["coin-change", "k-shortest", "ecmp"])),
    )
    job = job_on(data.draw(st.sampled_from(JOBS)), servers, degree, links, small_job)
    start = data_parallel(operators_of(job).graph, servers)
    problem = make_problem(job, fabric_for(job, start, options.rules, options.seed))
    share = data.draw(st.sampled_from([0.0, 0.2, 1.0]))
    strategy = random_strategy(problem, np.random.default_rng(data.draw(st.integers(0, 2**32))), share)
    fabric = with_rings(
        fabric_for(job, strategy, options.rules, options.seed), job_traffic(job, strategy), degree, 0
    )
    for simulator in ("analytic", "flow"):
        result = simulated(job, strategy, fabric, simulator, SimulationOptions(tolerance=0.0))
        assert iteration_bounds(job, strategy, result).lower_bound_s <= result.iteration_time_s * (1 + 1e-6)


def test_a_lucky_order_of_work_is_no_faster_than_the_bounds() -> None:
    """Here the flow simulation ends 2.6 % before the bytes that a free-communication simulation releases could."""
    graph = load_model("dlrm", servers=16, tables=8, rows=1_000_000, bottom_layers=2, top_layers=3)
    job = make_job(graph, ClusterSpec(8, 4, BPS, links="directed"), JobSettings(memory_check="off"))
    strategy = data_parallel(graph, 8)
    fabric = fabric_for(job, strategy)
    result = simulated(job, strategy, fabric, "flow", SimulationOptions(tolerance=0.0))
    assert iteration_bounds(job, strategy, result).lower_bound_s <= result.iteration_time_s * (1 + 1e-12)


def test_steps_of_a_simulation_do_not_change_its_bounds(small_job: MakeJob) -> None:
    """They are of the strategy and the cluster: the fabric that it ran on is not in them."""
    job = small_job(8)
    strategy = data_parallel(operators_of(job).graph, 8)
    fabric = fabric_for(job, strategy)
    slow = replace(fabric.topology, bandwidth_bps=fabric.topology.bandwidth_bps / 10)
    found = [
        iteration_bounds(
            job, strategy, simulated(job, strategy, Fabric("any", wired, fabric.routes, fabric.rings))
        )
        for wired in (fabric.topology, slow)
    ]
    assert found[0] == found[1]


def test_the_lower_bound_is_the_largest() -> None:
    assert Bounds(1.0, 3.0, 2.0).lower_bound_s == 3.0
