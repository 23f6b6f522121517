"""Turning a circulant towards the bytes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.finder.select_permutations import demand_by_distance, fit_demand
from topoopt.routing import coin_change_mod
from topoopt.topologies import stride_offsets
from topoopt.workloads.traffic import AllToAllGroup, Transfer, merged_traffic


@given(st.integers(2, 20), st.data())
def test_bytes_by_distance_equal_those_of_the_matrix(servers: int, data: st.DataObject) -> None:
    server = st.integers(0, servers - 1)
    groups = data.draw(st.lists(st.tuples(st.sets(server, min_size=2), st.integers(1, 99)), max_size=3))
    moves = data.draw(st.lists(st.tuples(server, server, st.integers(1, 99)), max_size=5))
    traffic = merged_traffic(
        servers,
        (),
        [AllToAllGroup(tuple(sorted(members)), size) for members, size in groups],
        [Transfer(*move) for move in moves],
    )
    matrix = traffic.mp_matrix()
    expected = [sum(matrix[i, (i + far) % servers] for i in range(servers)) for far in range(servers)]
    assert demand_by_distance(traffic).tolist() == expected


def _byte_hops(size: int, strides: tuple[int, ...], links: str, demand: np.ndarray) -> float:
    hops = coin_change_mod(size, stride_offsets(size, strides, links)).distance
    return float(demand @ hops)


@settings(max_examples=60)
@given(st.integers(5, 40), st.sampled_from(["duplex", "directed"]), st.integers(0, 999))
def test_no_renumbering_moves_the_bytes_over_fewer_hops(size: int, links: str, seed: int) -> None:
    demand = np.random.default_rng(seed).integers(0, 100, size).astype(float)
    units = [u for u in range(1, size) if np.gcd(u, size) == 1]
    strides = (1, units[len(units) // 2])
    fitted = fit_demand(size, strides, links, (), demand)
    everything = [_byte_hops(size, tuple(u * p % size for p in strides), links, demand) for u in units]
    assert _byte_hops(size, fitted, links, demand) <= min(everything) * (1 + 1e-6)


def test_uniform_demand_leaves_the_strides_alone() -> None:
    assert fit_demand(128, (1, 15), "duplex", (), np.ones(128)) == (1, 15)
