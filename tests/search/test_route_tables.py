"""Where servers are many the search walks one shortest way of each pair instead of knowing all links of all pairs."""

import numpy as np
import pytest

from tests.search.conftest import MakeFabric, MakeJob
from topoopt.job import operators_of
from topoopt.routing import next_links
from topoopt.search import route_tables
from topoopt.search.problem import make_problem
from topoopt.strategy import data_parallel
from topoopt.topology import hops_from


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
