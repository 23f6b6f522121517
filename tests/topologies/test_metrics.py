"""Diameter, average hops and histogram."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import NoRoute
from topoopt.topologies import Link, Topology, circulant, expander, hop_metrics, topology_from_links

# Hop shares of the circulant C128(±1, ±13), as published for the authors' topology (issue 2).
C128 = [0.0315, 0.0945, 0.189, 0.315, 0.472, 0.638, 0.780, 0.890, 0.969, 1.0]


def test_path_length_distribution_of_the_published_circulant() -> None:
    shares = hop_metrics(circulant(128, (1, 13), 100e9)).cumulative()
    assert shares == pytest.approx(C128, abs=5e-4)


@pytest.mark.parametrize(
    ("servers", "strides", "links", "diameter", "average_hops"),
    [
        (16, (1, 3, 7), "directed", 4, 2.267),
        (16, (1, 5), "duplex", 4, 2.133),
        (12, (1, 5), "duplex", 3, 1.818),
        (128, (1, 13), "duplex", 10, 5.622),
        (128, (1, 11), "duplex", 9, 5.480),
        (128, (1, 15), "duplex", 8, 5.354),
        (128, (1, 3, 11, 37), "directed", 8, 4.520),
        (432, (1, 5, 23, 95), "duplex", 7, 4.088),
    ],
)
def test_table_of_the_authors_circulants(
    servers: int, strides: tuple[int, ...], links: str, diameter: int, average_hops: float
) -> None:
    metrics = hop_metrics(circulant(servers, strides, 100e9, links=links))
    assert metrics.diameter == diameter
    assert round(metrics.average_hops, 3) == average_hops


def _oracle(topology: Topology) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(topology.nodes))
    graph.add_edges_from(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    return graph


@settings(max_examples=60)
@given(st.integers(2, 20), st.integers(2, 5), st.integers(0, 99))
def test_metrics_equal_an_independent_graph_library(servers: int, degree: int, seed: int) -> None:
    topology = expander(servers, degree, 10e9, seed=seed)
    metrics = hop_metrics(topology)
    oracle = _oracle(topology)
    assert metrics.diameter == nx.diameter(oracle)
    assert metrics.average_hops == pytest.approx(nx.average_shortest_path_length(oracle))
    assert sum(metrics.histogram) == servers * (servers - 1)


@settings(max_examples=60)
@given(st.integers(2, 40), st.data())
def test_one_search_is_enough_on_a_circulant(servers: int, data: st.DataObject) -> None:
    links = data.draw(st.sampled_from(["duplex", "directed"]))
    other = data.draw(st.integers(1, servers - 1))
    wired = circulant(servers, (1, other), 10e9, links=links)
    plain = topology_from_links("plain", servers, wired)  # forgets that it is a circulant
    assert hop_metrics(wired) == hop_metrics(plain)


def test_disconnected_servers_are_named() -> None:
    two_pairs = topology_from_links(
        "pairs", 4, [Link(0, 1, 1.0), Link(1, 0, 1.0), Link(2, 3, 1.0), Link(3, 2, 1.0)]
    )
    with pytest.raises(NoRoute, match="server 0 cannot reach server 2"):
        hop_metrics(two_pairs)
    with pytest.raises(NoRoute, match="server 0 cannot reach server 1"):
        hop_metrics(circulant(6, (2,), 1.0))


def test_long_rings_do_not_overflow() -> None:
    ring = hop_metrics(circulant(65536, (1,), 1.0, links="directed"))
    assert ring.diameter == 65535
    assert ring.average_hops == 32768.0
    assert np.sum(ring.histogram) == 65536 * 65535
