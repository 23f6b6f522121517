"""Routes of direct links are balanced for a plan and for what it is compared with alike."""

import numpy as np
import pytest

from topoopt.catalog import ClusterSpec, sizings_of
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import traffic_job
from topoopt.pricing import pricing_of
from topoopt.routing import link_loads, max_load_s, optimal_max_load
from topoopt.search import SearchOptions, compare_job, simulated
from topoopt.search.candidates import wiring_choice as balance
from topoopt.search.candidates.wiring_choice import balanced_fabric, usual_routes
from topoopt.search.fidelity_comparison import fabric_of_baseline
from topoopt.workloads.traffic import Traffic, traffic_from_matrix

PRICES = pricing_of("2022", "paper")


def all_to_all(servers: int) -> Traffic:
    return traffic_from_matrix(1e6 * (np.ones((servers, servers)) - np.eye(servers)))


@pytest.mark.parametrize("name", ["expander", "torus", "full-mesh"])
def test_the_fullest_link_of_balanced_routes_is_never_fuller_and_not_far_from_the_optimum(name: str) -> None:
    traffic, fabric = all_to_all(18), build_fabric(name, FabricRequest(18, 4, 100e9))
    other, demand = balanced_fabric(traffic, fabric), traffic.mp_matrix()
    before, after = (
        max_load_s(f.topology, link_loads(f.topology, f.routes, demand)) for f in (fabric, other)
    )
    least = optimal_max_load(fabric.topology, demand)
    assert least.lower_bound_s * (1 - 1e-6) <= after <= before
    assert after <= 1.02 * least.max_load_s


@pytest.mark.parametrize("name", ["ideal-switch", "fat-tree"])
def test_switches_route_as_they_do(name: str) -> None:
    fabric = build_fabric(name, FabricRequest(16, 4, 100e9))
    assert balanced_fabric(all_to_all(16), fabric) is fabric


def test_a_random_graph_is_compared_with_balanced_routes_unless_equal_splits_are_asked_for() -> None:
    """An all-to-all on a random graph: equal splits leave its fullest link a third fuller than need be."""
    job = traffic_job("all-to-all", all_to_all(24), ClusterSpec(24, 4, 100e9))
    plain, fair = (
        compare_job(
            job,
            SearchOptions(balance=even),
            sizings_of(("expander",)),
            PRICES,
            (job.work.plain_strategy(24),),
        ).rows[0]
        for even in (False, True)
    )
    assert (plain.routes, fair.routes) == ("ecmp", "balanced")
    assert fair.outcome.iteration_time_s < 0.95 * plain.outcome.iteration_time_s
    again = simulated(job, fair.strategy, fabric_of_baseline(job, fair, 0))
    assert again.iteration_time_s == fair.outcome.iteration_time_s
    assert plain.outcome.link_bytes_max > fair.outcome.link_bytes_max


def test_routes_are_balanced_above_the_size_where_pairs_have_few_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traffic, fabric = all_to_all(24), build_fabric("expander", FabricRequest(24, 4, 100e9))
    demand = traffic.mp_matrix()
    monkeypatch.setattr(balance, "LARGEST_FOR_DETOURS", 8)
    few = balanced_fabric(traffic, fabric)
    assert few.routes.method == "balanced"
    peaks = [max_load_s(f.topology, link_loads(f.topology, f.routes, demand)) for f in (few, fabric)]
    assert peaks[0] < peaks[1]
    monkeypatch.setattr(balance, "MOST_STEPS", 24 * 23)  # not even one path a pair
    assert balanced_fabric(traffic, fabric) is fabric


def test_direct_links_of_many_servers_have_few_ways_of_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "LARGEST_FOR_ALL_WAYS", 8)
    torus, switch = (build_fabric(name, FabricRequest(16, 4, 100e9)) for name in ("torus", "fat-tree"))
    assert usual_routes(switch) is switch
    few = usual_routes(torus).routes
    assert few.method == "k-shortest"
    assert max(len(few.paths(0, dst)) for dst in range(1, 16)) == balance.FEW_WAYS
