"""The estimate by ports is the search's own estimate where the network is a switch, and near it on direct wirings."""

from dataclasses import replace
from typing import Any

import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.finder import build_fabric
from topoopt.jobs import Job, JobSettings, job_traffic, make_job
from topoopt.search import PortNetwork, few_strategies, port_estimate
from topoopt.search.baselines import fabric_request
from topoopt.search.proposals.mcmc import make_problem
from topoopt.workloads import load_model

BPS = 100e9


def job_of(model: str, servers: int, degree: int = 4) -> Job:
    cluster = ClusterSpec(servers, degree, BPS)
    return make_job(load_model(model, servers=servers), cluster, JobSettings())


@pytest.mark.parametrize("servers", [6, 16, 32])
@pytest.mark.parametrize("model", ["dlrm", "vgg16", "bert", "ncf"])
def test_on_a_switch_it_is_what_the_search_estimates(model: str, servers: int) -> None:
    """The search lays out routes and rings of the real switch; ports say the same in fewer numbers."""
    job = job_of(model, servers)
    strategies = tuple(few_strategies(job).values())
    switch = build_fabric("ideal-switch", fabric_request(job.cluster, job.cluster.server_bandwidth_bps, 0))
    searched, ports = make_problem(job, switch), port_estimate(job, strategies)
    network = PortNetwork(1, 1, 4 * BPS, job.cluster.link_latency_s, 2)
    for index, strategy in enumerate(strategies):
        assert ports.iteration_time_s(index, network) == pytest.approx(
            searched.iteration_time_s(strategy), rel=2e-3
        )


def test_a_network_that_takes_no_time_leaves_computing() -> None:
    job = job_of("vgg16", 8)
    ports = port_estimate(job, tuple(few_strategies(job).values()))
    fast = PortNetwork(1, 1, 1e18, 0.0, 2)
    assert ports.free_time_s(0) == pytest.approx(ports.iteration_time_s(0, fast), rel=1e-3)
    assert ports.free_time_s(0) < ports.iteration_time_s(0, PortNetwork(1, 1, 1e9, 0.0, 2))


@pytest.mark.parametrize("change", [{"pool_hops": 4.0}, {"ring_hops": 4.0}, {"bandwidth_bps": BPS / 2}])
def test_what_takes_longer_ways_or_has_less_bandwidth_is_not_faster(change: dict[str, Any]) -> None:
    job = job_of("dlrm", 16)
    ports = port_estimate(job, tuple(few_strategies(job).values()))
    network = PortNetwork(4, 4, BPS, 1e-6, 1, pool_hops=2.0, ring_hops=1.0, group_hops=2.0)
    worse = replace(network, **change)
    for index in range(len(ports.configs)):
        assert ports.iteration_time_s(index, worse) >= ports.iteration_time_s(index, network)


def test_every_hop_more_loads_what_servers_share_as_much() -> None:
    """Where that binds, the time is linear in hops: a byte loads h / d links of a server, and all tables are alike."""
    job = job_of("dlrm", 16)
    ports = port_estimate(job, (next(iter(few_strategies(job).values())),))
    networks = [PortNetwork(4, 4, 1e8, 0.0, 1, pool_hops=hops) for hops in (40.0, 50.0, 60.0)]
    times_s = [ports.iteration_time_s(0, network) for network in networks]
    assert times_s[2] - times_s[1] == pytest.approx(times_s[1] - times_s[0], rel=1e-2)
    moved_bytes = job_traffic(job, few_strategies(job)["data parallel"]).mp_bytes
    assert times_s[1] - times_s[0] == pytest.approx(10 * moved_bytes * 8 / (16 * 4 * 1e8), rel=0.02)


def test_more_rings_than_ports_are_refused() -> None:
    with pytest.raises(InvalidInput, match="rings: expected 1 to 2"):
        PortNetwork(2, 3, BPS, 0.0, 1)


def test_tables_of_an_odd_number_of_servers_stay_whole() -> None:
    """Two columns need an even number; the few strategies once failed on all others."""
    assert list(few_strategies(job_of("dlrm", 9))) == ["data parallel"]
    assert topoopt.studio_answer("dlrm", servers=9, degree=4).fabrics
