"""The random regular graph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.topologies import Topology, expander, hop_metrics


def _degrees(graph: Topology) -> list[int]:
    degrees: list[int] = np.bincount(graph.src, graph.ports, graph.servers).astype(int).tolist()
    return degrees


@settings(max_examples=150)
@given(st.integers(2, 24), st.integers(2, 30), st.integers(0, 1000))
def test_every_port_is_used_once_and_all_are_connected(servers: int, degree: int, seed: int) -> None:
    graph = expander(servers, degree, 10e9, seed=seed)
    wanted = [degree] * servers
    wanted[-1] -= servers * degree % 2  # an odd sum leaves one port idle
    assert _degrees(graph) == wanted
    assert hop_metrics(graph).diameter >= 1  # raises NoRoute if disconnected
    backwards = graph.link_ids(graph.dst.astype(np.int64), graph.src.astype(np.int64))
    assert (graph.ports[backwards] == graph.ports).all()


@settings(max_examples=100)
@given(st.integers(3, 24), st.data())
def test_no_pair_is_joined_twice_while_there_are_others(servers: int, data: st.DataObject) -> None:
    degree = data.draw(st.integers(2, servers - 1))
    assert int(expander(servers, degree, 10e9, seed=degree).ports.max()) == 1


def test_more_ports_than_neighbors_repeat_the_full_mesh() -> None:
    graph = expander(4, 7, 10e9)
    assert sorted(set(graph.ports.tolist())) == [2, 3]
    assert len(graph) == 12


def test_seed_decides_the_graph() -> None:
    one, again, other = (expander(32, 4, 10e9, seed=seed) for seed in (1, 1, 2))
    assert (one.dst == again.dst).all()
    assert (one.dst != other.dst).any()


def test_it_expands() -> None:
    # A 4-regular graph on 128 servers averages at least (4·1 + 12·2 + 36·3 + 75·4) / 127 = 3.433 hops (Moore).
    metrics = hop_metrics(expander(128, 4, 10e9, seed=0))
    assert 3.433 < metrics.average_hops < 4.2
    assert metrics.diameter <= 7


def test_one_port_connects_only_two() -> None:
    assert _degrees(expander(2, 1, 10e9)) == [1, 1]
    with pytest.raises(InvalidInput, match="degree 1 cannot connect 3 servers"):
        expander(3, 1, 10e9)
