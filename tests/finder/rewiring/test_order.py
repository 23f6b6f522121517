"""The order of moves: ports are free when they are needed, a running job is not cut, nobody else is touched."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.finder.rewiring.test_wiring import cables, random_topology
from topoopt.finder.rewiring import Rewiring, Step, Wiring, order_moves, rewire, wire
from topoopt.topologies import circulant


def states(rewiring: Rewiring, steps: tuple[Step, ...]) -> list[Wiring]:
    """Every state: after each step, and in the middle of each, when all of it is unplugged."""
    found, wiring = [], rewiring.old
    for step in steps:
        half = wiring.changed(step.unplug, ())
        wiring = half.changed((), step.plug)  # raises where a port is not free
        found += [half, wiring]
    return found


def whole(wiring: Wiring, servers: tuple[int, ...]) -> bool:
    graph = nx.DiGraph()
    graph.add_nodes_from(servers)
    for patch in wiring.patches:
        graph.add_edge(patch.src, patch.dst)
        if wiring.links == "duplex":
            graph.add_edge(patch.dst, patch.src)
    return bool(nx.is_strongly_connected(graph.subgraph(servers)))


@given(
    servers=st.integers(3, 12),
    degree=st.integers(2, 4),
    model=st.sampled_from(["duplex", "directed"]),
    keep_running=st.booleans(),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=80)
def test_every_state_obeys_the_ports_and_the_last_is_the_new_wiring(
    servers: int, degree: int, model: str, keep_running: bool, seed: int
) -> None:
    before, after = (random_topology(servers, degree, model, seed + i) for i in (0, 1))
    rewiring = rewire(wire(before, degree, model, interfaces_per_panel=degree), after, relabel=False)
    order = order_moves(rewiring, keep_running)
    passed = states(rewiring, order.steps)
    wiring = rewiring.old
    for step in order.steps:
        wiring = wiring.changed(step.unplug, step.plug)
    assert wiring == rewiring.new
    assert sum(len(step.plug) for step in order.steps) == len(rewiring.made)
    assert sum(len(step.unplug) for step in order.steps) == len(rewiring.removed)
    for step, half in zip(order.steps, passed[::2], strict=True):
        assert (step.reached == 1.0) == whole(half, rewiring.servers)
    if keep_running:
        assert order.cuts == sum(not whole(half, rewiring.servers) for half in passed[::2])


@pytest.mark.parametrize("model", ["duplex", "directed"])
@pytest.mark.parametrize(
    ("servers", "before", "after"), [(16, (1, 5), (3, 7)), (13, (1, 5), (2, 3)), (64, (1, 9), (5, 27))]
)
def test_a_running_job_is_never_cut_where_there_are_two_rings(
    model: str, servers: int, before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    degree = 4 if model == "duplex" else 2
    old = wire(circulant(servers, before, 1e9, links=model), degree, model)
    rewiring = rewire(old, circulant(servers, after, 1e9, links=model), relabel=False)
    order = order_moves(rewiring, keep_running=True)
    assert order.cuts == 0
    assert all(whole(state, rewiring.servers) for state in states(rewiring, order.steps))
    for step in order.steps:
        sides = [port[:2] for patch in step.unplug for port in old.ports(patch)]
        assert len(set(sides)) == len(sides) or len(step.plug) == 1


def test_a_job_on_one_directed_ring_is_cut_and_it_says_by_how_much() -> None:
    old = wire(circulant(5, (1,), 1e9, links="directed"), 1, "directed")
    order = order_moves(
        rewire(old, circulant(5, (2,), 1e9, links="directed"), relabel=False), keep_running=True
    )
    assert order.cuts > 0
    assert 0 <= min(step.reached for step in order.steps) < 1


def test_a_job_that_has_stopped_is_rewired_in_one_step() -> None:
    old = wire(circulant(8, (1, 3), 1e9), 4, "duplex")
    order = order_moves(rewire(old, circulant(8, (1, 2), 1e9), relabel=False))
    assert len(order.steps) == 1
    assert order.cuts == 0


def test_nothing_to_move_is_no_step() -> None:
    old = wire(cables(4, [(0, 1), (2, 3)]), 1, "duplex")
    assert order_moves(rewire(old, cables(4, [(0, 1), (2, 3)])), keep_running=True).steps == ()
