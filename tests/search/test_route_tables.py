"""Where servers are many the search walks one shortest way of each pair instead of knowing all links of all pairs."""

import numpy as np
import pytest

from tests.search.conftest import MakeFabric, MakeJob
from topoopt.jobs import operators_of
from topoopt.routing import Fabric, make_routes, next_links
from topoopt.search.proposals import mcmc as route_tables
from topoopt.search.proposals.mcmc import make_problem
from topoopt.topologies import hops_from, lifted_of
from topoopt.workloads.strategy import data_parallel


@pytest.mark.parametrize("name", ["expander", "torus", "fat-tree", "ideal-switch"])
def test_next_links_lead_along_a_shortest_way(name: str, fabric: MakeFabric) -> None:
    topology = fabric(name, 12).topology
    table, hops = next_links(topology), hops_from(topology, np.arange(12))
    for target in range(12):
        for source in range(12):
            node, steps = source, 0
            while node != target:
                link = table[target, node]
                assert topology.src[link] == node
                node, steps = int(topology.dst[link]), steps + 1
            assert steps == hops[source, target]
    assert all(table[server, server] == -1 for server in range(12))


def test_walked_ways_are_as_good_as_listed_links_where_a_pair_has_only_one(
    monkeypatch: pytest.MonkeyPatch, fabric: MakeFabric, small_job: MakeJob
) -> None:
    """Behind one switch every pair has one way, so the estimate is the same, fan-out or not."""
    job, on = small_job(12), fabric("ideal-switch", 12)
    strategy = data_parallel(operators_of(job).graph, 12)
    listed = make_problem(job, on)
    monkeypatch.setattr(route_tables, "LARGEST_TO_LIST", 1)
    walked = make_problem(job, on)
    assert len(walked.arrays.entry) == 0
    assert len(walked.arrays.next_link) == 12
    assert walked.iteration_time_s(strategy) == pytest.approx(listed.iteration_time_s(strategy), rel=1e-12)
    assert np.allclose(walked.arrays.fan_out, listed.arrays.fan_out)
    assert np.array_equal(walked.arrays.fan_hops, listed.arrays.fan_hops)
    monkeypatch.setattr(route_tables, "MAX_FAN_OUT_BYTES", 0.0)
    alone = make_problem(job, on)
    assert alone.iteration_time_s(strategy) == pytest.approx(listed.iteration_time_s(strategy), rel=1e-12)


@pytest.mark.parametrize("name", ["expander", "ideal-switch"])
def test_rings_of_many_groups_are_those_of_the_first_moved(
    name: str, monkeypatch: pytest.MonkeyPatch, fabric: MakeFabric, small_job: MakeJob
) -> None:
    """Every moved ring is a closed walk over its group: it enters and leaves each server equally often."""
    monkeypatch.setattr(route_tables, "LARGEST_TO_LIST", 1)
    topology, arrays = fabric(name, 12).topology, make_problem(small_job(12), fabric(name, 12)).arrays
    for index, degree in enumerate(arrays.divisors.tolist()):
        for start in range(12 // degree):
            group = arrays.group_first[index] + start
            links = arrays.crossing_link[arrays.crossing_first[group] : arrays.crossing_first[group + 1]]
            out, into = (
                np.bincount(end[links], minlength=topology.nodes) for end in (topology.src, topology.dst)
            )
            assert np.array_equal(out, into)
            members = np.arange(start, 12, 12 // degree)
            assert degree == 1 or (out[members] >= arrays.group_rings[group]).all()


def test_a_turn_of_the_wiring_moves_rings_link_by_link(
    monkeypatch: pytest.MonkeyPatch, small_job: MakeJob
) -> None:
    """On two cycles over 4 orbits of 3 servers, groups that begin 4 servers further have the links 4 further."""
    wiring = lifted_of(12, [[0, 1, 2, 3], [0, 2, 1, 3]], [[1, 0, 0, 0], [0, 1, 0, 1]])
    topology = wiring.topology(100e9)
    monkeypatch.setattr(route_tables, "LARGEST_TO_LIST", 1)
    on = Fabric("topoopt", topology, make_routes("ecmp", topology), {}, wiring=wiring)
    arrays = make_problem(small_job(12), on).arrays
    pairs = int(np.flatnonzero(arrays.divisors == 2)[0])
    rows = [arrays.group_first[pairs] + start for start in (1, 5)]
    before, after = (
        arrays.crossing_link[arrays.crossing_first[row] : arrays.crossing_first[row + 1]] for row in rows
    )
    assert len(before)
    for ends in (topology.src, topology.dst):
        assert np.array_equal((ends[before] + 4) % 12, ends[after])
