"""Cables and fibers whose loss parts servers, against networkx and against taking each away."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topoopt
from topoopt.studies.verification.subject import Subject
from topoopt.studies.verification.wiring_checks import bridges, check_connected, check_single_failures
from topoopt.topologies import Topology, topology_from_arrays


def topology_of(edges: list[tuple[int, int]], servers: int, both: bool) -> Topology:
    src, dst = np.array(edges + [(b, a) for a, b in edges] * both, np.int64).T
    return topology_from_arrays("direct", servers, src, dst, 1.0, 1e-6)


edge_lists = st.integers(2, 9).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1]),
            min_size=1,
            max_size=20,
        ),
    )
)


@settings(max_examples=200)
@given(edge_lists)
def test_bridges_are_those_of_networkx(case: tuple[int, list[tuple[int, int]]]) -> None:
    servers, edges = case
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(servers))
    graph.add_edges_from(edges)
    ours = {tuple(sorted(pair)) for pair in bridges(topology_of(edges, servers, True))}
    simple = nx.Graph(graph)
    theirs = {tuple(sorted(pair)) for pair in nx.bridges(simple) if graph.number_of_edges(*pair) == 1}
    assert ours == theirs


@settings(max_examples=100)
@given(edge_lists)
def test_a_fiber_is_said_if_and_only_if_its_loss_parts_servers(
    case: tuple[int, list[tuple[int, int]]],
) -> None:
    servers, edges = case
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(servers))
    graph.add_edges_from(edges)
    subject = Subject("x", topology_of(edges, servers, False), 20, "directed")
    assert check_connected(subject).passed == nx.is_strongly_connected(graph)
    check = check_single_failures(subject)
    if not nx.is_strongly_connected(graph):
        assert check.skipped
        return
    if subject.topology.both_ways:  # then a link is a cable, and is lost both ways
        return
    parting = set()
    for a, b in set(edges):
        without = graph.copy()
        without.remove_edge(a, b)
        if not nx.is_strongly_connected(without):
            parting.add(f"fiber {a}->{b}: ")
    assert check.failed == len(parting)
    assert all(any(line.startswith(start) for start in parting) for line in check.failures)


@pytest.mark.parametrize(
    ("links", "failed", "message"),
    [
        (
            "0 1\n1 2\n2 0\n3 4\n4 5\n5 3\n0 3\n",
            1,
            "cable 0->3: without it server 3 is cut off from server 0",
        ),
        ("0 1\n1 2\n2 0\n3 4\n4 5\n5 3\n0 3\n0 3\n", 0, ""),
        ("0 1\n1 2\n2 3\n3 0\n", 0, ""),
    ],
)
def test_a_wiring_file_with_a_bridge(links: str, failed: int, message: str, tmp_path: "object") -> None:
    from pathlib import Path  # noqa: PLC0415

    path = Path(str(tmp_path)) / "own.json"
    rows = [line.split() for line in links.splitlines()]
    graph = nx.MultiGraph([(int(a), int(b)) for a, b in rows])
    nx.write_graphml(graph, path.with_suffix(".graphml"))
    wide = max(dict(graph.degree()).values())
    made = topoopt.topology(file=str(path.with_suffix(".graphml")), degree=wide)
    topoopt.write_wiring(path, made)
    check = next(one for one in topoopt.verify(path).checks if one.name == "single failures")
    assert check.failed == failed
    assert not failed or message in check.failures[0]
