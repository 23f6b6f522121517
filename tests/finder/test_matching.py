"""Model-parallel links by matchings."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.finder.wiring import DAMPING, LARGEST_EXACT, match_directed, match_duplex


def _demand(servers: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    bytes_per_pair = rng.integers(0, 10, (servers, servers)).astype(float)
    np.fill_diagonal(bytes_per_pair, 0)
    return bytes_per_pair


def _best_duplex(weight: np.ndarray, free: tuple[int, ...]) -> float:
    if len(free) < 2:
        return 0.0
    first, rest = free[0], free[1:]
    alone = _best_duplex(weight, rest)
    joined = [
        weight[first, other] + _best_duplex(weight, tuple(x for x in rest if x != other)) for other in rest
    ]
    return float(max(alone, *joined))


@settings(max_examples=40)
@given(st.integers(2, 7), st.integers(0, 999))
def test_duplex_matching_is_the_heaviest_of_all(servers: int, seed: int) -> None:
    demand = _demand(servers, seed)
    a, b = match_duplex(demand)
    weight = demand + demand.T
    assert len({*a.tolist(), *b.tolist()}) == 2 * len(a)
    assert weight[a, b].sum() == _best_duplex(weight, tuple(range(servers)))


@settings(max_examples=40)
@given(st.integers(2, 6), st.integers(0, 999))
def test_directed_matching_is_the_heaviest_permutation_without_fixed_points(servers: int, seed: int) -> None:
    demand = _demand(servers, seed)
    src, dst = match_directed(demand)
    assert sorted(src.tolist()) == sorted(dst.tolist()) == list(range(servers))
    derangements = [p for p in itertools.permutations(range(servers)) if all(i != j for i, j in enumerate(p))]
    assert (src != dst).all()
    assert demand[src, dst].sum() == max(demand[range(servers), p].sum() for p in derangements)


def test_uniform_demand_joins_opposite_servers() -> None:
    a, b = match_duplex(1.0 - np.eye(8))
    assert (b - a).tolist() == [4, 4, 4, 4]


def test_one_server_has_nobody_to_match() -> None:
    assert len(match_directed(np.zeros((1, 1)))[0]) == 0
    assert len(match_duplex(np.zeros((1, 1)))[0]) == 0


def test_without_demand_nothing_is_matched() -> None:
    assert len(match_duplex(np.zeros((5, 5)))[0]) == 0


def test_large_matchings_are_maximal_and_at_least_half_as_heavy() -> None:
    servers = LARGEST_EXACT + 1
    demand = _demand(servers, 5)
    a, b = match_duplex(demand)
    assert len({*a.tolist(), *b.tolist()}) == 2 * len(a)
    weight = demand + demand.T
    alone = np.setdiff1d(np.arange(servers), np.concatenate([a, b]))
    assert not weight[np.ix_(alone, alone)].any()
    assert weight[a, b].sum() >= weight.max(axis=1).sum() / 4  # no matching exceeds half the row maxima


@pytest.mark.parametrize(("name", "after_three"), [("halving", 1 / 8), ("c/(c+1)", 1 / 4)])
def test_damping_of_a_pair_that_gets_three_links(name: str, after_three: float) -> None:
    left = 1.0
    for links in (1.0, 2.0, 3.0):
        left *= DAMPING[name](np.array([links]))[0]
    assert left == pytest.approx(after_three)
