"""Circuits for demand: by hand, against the plain greedy, and what always holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from topoopt.base.errors import InvalidInput
from topoopt.finder import demand_circuits, first_circuits
from topoopt.routing import Reconfiguration

Matrix = NDArray[np.float64]


def rule(degree: int, *, duplex: bool = True, forwarding: bool = False, seed: int = 0) -> Reconfiguration:
    return Reconfiguration(
        degree, 100e9, 1e-6, delay_s=0.01, live_s=0.04, first_change_s=0.001,
        duplex=duplex, host_forwarding=forwarding, seed=seed,
    )  # fmt: skip


def demand_of(servers: int, entries: dict[tuple[int, int], float]) -> Matrix:
    demand = np.zeros((servers, servers))
    for pair, size in entries.items():
        demand[pair] = size
    return demand


def pairs_of(circuits: NDArray[np.int64]) -> dict[tuple[int, int], int]:
    return {(int(i), int(j)): int(circuits[i, j]) for i, j in zip(*np.nonzero(circuits), strict=True)}


def connected(circuits: NDArray[np.int64]) -> bool:
    return bool(connected_components(circuits, directed=False)[0] == 1)


demands = st.integers(2, 7).flatmap(
    lambda n: st.lists(st.integers(0, 6), min_size=n * n, max_size=n * n).map(
        lambda values: np.array(values, np.float64).reshape(n, n)
    )
)


def plain_greedy(demand: Matrix, degree: int, duplex: bool) -> NDArray[np.int64]:
    """Look at all pairs for every circuit, as the text says."""
    servers = len(demand)
    left = demand + demand.T if duplex else demand.copy()
    circuits = np.zeros((servers, servers), np.int64)
    while True:
        best = None
        for i in range(servers):
            for j in range(i + 1 if duplex else 0, servers):
                if i == j or circuits[i].sum() == degree or circuits[:, j].sum() == degree:
                    continue
                if left[i, j] > (left[best] if best else 0):
                    best = i, j
        if best is None:
            return circuits
        i, j = best
        circuits[i, j] += 1
        left[i, j] /= 2
        if duplex:
            circuits[j, i] += 1


def test_the_heaviest_pair_gets_circuits_until_its_demand_has_halved_below_the_next() -> None:
    demand = demand_of(4, {(0, 1): 9, (2, 1): 1, (1, 2): 3, (0, 3): 2})
    # both ways added: 9, 4.5 for 0-1; then 1-2 has 4, but 1 has no port; then 0-3 has 2, but 0 has none;
    # 2 and 3 are idle and have free ports: one circuit joins them
    assert pairs_of(demand_circuits(demand, rule(2))) == {(0, 1): 2, (1, 0): 2, (2, 3): 1, (3, 2): 1}


def test_a_way_of_its_own_for_each_direction_counts_each_direction_alone() -> None:
    demand = demand_of(4, {(0, 1): 9, (1, 0): 5, (2, 1): 4, (0, 3): 2})
    # 0->1 (9), 1->0 (5), 0->1 again (4.5), which takes the last port out of 0 and into 1; 1->0 again (2.5)
    assert pairs_of(demand_circuits(demand, rule(2, duplex=False))) == {(0, 1): 2, (1, 0): 2}


@settings(max_examples=60)
@given(demands, st.integers(1, 4))
def test_one_way_circuits_are_those_of_the_plain_greedy(demand: Matrix, degree: int) -> None:
    found = demand_circuits(demand, rule(degree, duplex=False))
    np.fill_diagonal(demand, 0)
    np.testing.assert_array_equal(found, plain_greedy(demand, degree, duplex=False))


@settings(max_examples=60)
@given(demands, st.integers(1, 4))
def test_duplex_circuits_are_those_of_the_plain_greedy_and_some_between_free_ports(
    demand: Matrix, degree: int
) -> None:
    found = demand_circuits(demand, rule(degree))
    np.fill_diagonal(demand, 0)
    plain = plain_greedy(demand, degree, duplex=True)
    assert (found >= plain).all()
    np.testing.assert_array_equal(found, found.T)
    assert found.sum(axis=1).max() <= degree
    # what was added joins components only
    parts = connected_components(plain, directed=False)[0] - connected_components(found, directed=False)[0]
    assert (found - plain).sum() == 2 * parts


@settings(max_examples=60)
@given(demands, st.integers(2, 4))
def test_servers_that_forward_are_connected_within_their_degree(demand: Matrix, degree: int) -> None:
    found = demand_circuits(demand, rule(degree, forwarding=True))
    assert connected(found)
    np.testing.assert_array_equal(found, found.T)
    assert found.sum(axis=1).max() <= degree
    assert np.trace(found) == 0


@settings(max_examples=60)
@given(demands.filter(lambda demand: bool((demand - np.diag(np.diag(demand))).any())), st.booleans())
def test_without_forwarding_the_pair_of_most_demand_has_a_circuit(demand: Matrix, duplex: bool) -> None:
    """What makes waiting end: after every change somebody who waits the most is served."""
    found = demand_circuits(demand, rule(1, duplex=duplex))
    np.fill_diagonal(demand, 0)
    weight = demand + demand.T if duplex else demand
    i, j = np.unravel_index(int(weight.argmax()), weight.shape)
    assert found[i, j] == 1


def test_two_full_triangles_become_one_circle() -> None:
    triangles = demand_of(6, {pair: 1 for a in (0, 3) for pair in ((a, a + 1), (a + 1, a + 2), (a, a + 2))})
    triangles[0, 2] = triangles[3, 4] = 0.5  # each gives up the circuit that serves least
    found = demand_circuits(triangles, rule(2, forwarding=True))
    assert found.sum(axis=1).tolist() == [2] * 6
    assert connected(found)
    assert found[0, 2] == found[3, 4] == 0


def test_a_second_circuit_of_a_pair_is_given_up_before_a_bridge() -> None:
    # 0-1 twice and 2-3 twice fill all ports of degree 2
    found = demand_circuits(demand_of(4, {(0, 1): 8, (2, 3): 8}), rule(2, forwarding=True))
    assert pairs_of(np.triu(found)) == {(0, 1): 1, (2, 3): 1, (0, 2): 1, (1, 3): 1}


def test_idle_servers_are_joined_to_the_others() -> None:
    found = demand_circuits(demand_of(8, {(0, 1): 1.0}), rule(3, forwarding=True))
    assert connected(found)
    assert found[0, 1] >= 1


@pytest.mark.parametrize(("servers", "degree"), [(2, 1), (2, 5), (5, 2), (5, 3), (16, 4), (33, 8)])
def test_the_start_is_a_random_regular_multigraph(servers: int, degree: int) -> None:
    forwarding = degree > 1
    found = first_circuits(servers, rule(degree, forwarding=forwarding))
    np.testing.assert_array_equal(found, found.T)
    assert np.trace(found) == 0
    odd = servers * degree % 2
    assert found.sum(axis=1).tolist() == [degree] * (servers - 1) + [degree - odd]
    assert connected(found)


def test_the_start_follows_the_seed() -> None:
    first, again, other = (first_circuits(16, rule(4, seed=seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_start_in_pieces_is_joined_only_where_servers_forward() -> None:
    """Of 30 random 2-regular graphs on 12 servers, most are several circles."""
    apart = [first_circuits(12, rule(2, seed=seed)) for seed in range(30)]
    assert not all(connected(found) for found in apart)
    for seed in range(30):
        found = first_circuits(12, rule(2, seed=seed, forwarding=True))
        assert connected(found)
        assert found.sum(axis=1).tolist() == [2] * 12


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        (np.zeros((2, 3)), "square"),
        (np.full((2, 2), -1.0), "bytes >= 0"),
        (np.full((2, 2), np.nan), "bytes >= 0"),
        (np.zeros((1, 1)), "at least 2 servers, got 1"),
    ],
)
def test_what_is_no_demand_is_refused(demand: Matrix, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        demand_circuits(demand, rule(2))


def test_one_circuit_each_cannot_connect_servers_that_forward() -> None:
    with pytest.raises(InvalidInput, match="degree 1 cannot connect 3 servers"):
        first_circuits(3, rule(1, forwarding=True))
    assert connected(first_circuits(2, rule(1, forwarding=True)))
