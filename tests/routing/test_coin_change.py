import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.routing import coin_change_mod

# The authors' 12-server testbed (TopoOpt, released routing table): one shortest multiset for each distance.
TESTBED = {2: [1, 1], 3: [5, 11, 11], 4: [5, 11], 6: [7, 11], 8: [1, 7], 9: [1, 1, 7], 10: [11, 11]}


@st.composite
def coin_sets(draw: st.DrawFn) -> tuple[int, list[int]]:
    n = draw(st.integers(2, 14))
    return n, draw(st.lists(st.integers(1, n - 1), min_size=1, max_size=4))


def brute_force_multisets(n: int, coins: list[int], most: int) -> dict[int, set[tuple[int, ...]]]:
    """Return the shortest multisets of every distance by trying all multisets of each size."""
    best: dict[int, set[tuple[int, ...]]] = {0: {()}}
    for size in range(1, most + 1):
        new: dict[int, set[tuple[int, ...]]] = {}
        for multiset in itertools.combinations_with_replacement(sorted(set(coins)), size):
            total = sum(multiset) % n
            if total not in best:
                new.setdefault(total, set()).add(multiset)
        best |= new
    return best


def test_testbed_table_is_one_choice_among_our_shortest_multisets() -> None:
    table = coin_change_mod(12, (1, 5, 7, 11))
    for distance, theirs in TESTBED.items():
        assert table.distance[distance] == len(theirs)
        assert tuple(sorted(theirs)) in set(table.alternatives(distance))
    assert [table.sequence(coin) for coin in (1, 5, 7, 11)] == [(1,), (5,), (7,), (11,)]


@pytest.mark.parametrize(
    ("n", "coins", "diameter", "average_hops"),
    [
        (16, (1, 3, 7), 4, 2.267),
        (16, (1, 5, 11, 15), 4, 2.133),
        (12, (1, 5, 7, 11), 3, 1.818),
        (128, (1, 13, 115, 127), 10, 5.622),
        (128, (1, 11, 117, 127), 9, 5.480),
        (128, (1, 15, 113, 127), 8, 5.354),
        (128, (1, 3, 11, 37), 8, 4.520),
        (128, (1, 3, 5, 9, 17, 31, 57, 105), 5, 3.055),
    ],
)
def test_published_diameters_and_average_hops(
    n: int, coins: tuple[int, ...], diameter: int, average_hops: float
) -> None:
    table = coin_change_mod(n, coins)
    assert table.diameter == diameter
    assert table.average_hops == pytest.approx(average_hops, abs=5e-4)


@settings(max_examples=60)
@given(coin_sets())
def test_alternatives_are_exactly_the_shortest_multisets(case: tuple[int, list[int]]) -> None:
    n, coins = case
    table = coin_change_mod(n, coins)
    most = int(table.distance.max())
    brute = brute_force_multisets(n, coins, most)
    assert {int(d) for d in table.reached} == set(brute)
    for distance, multisets in brute.items():
        found = list(table.alternatives(distance))
        assert len(found) == len(set(found))
        assert set(found) == multisets
        assert table.sequence(distance) in multisets
        assert table.distance[distance] == len(next(iter(multisets)))
        # An ordered sequence is a permutation of a multiset.
        permutations = sum(
            math.factorial(len(m)) // math.prod(math.factorial(k) for k in Counter(m).values())
            for m in multisets
        )
        assert table.orders[distance] == permutations


def test_alternatives_stop_at_the_limit() -> None:
    table = coin_change_mod(64, (1, 7, 57, 63))
    distance = max(range(64), key=lambda d: len(list(table.alternatives(d))))
    assert len(list(table.alternatives(distance))) > 1
    assert len(list(table.alternatives(distance, limit=1))) == 1


def test_histogram_counts_every_distance() -> None:
    table = coin_change_mod(128, (1, 13, 115, 127))
    assert table.histogram()[:3].tolist() == [1, 4, 8]
    assert table.histogram().sum() == 128


def test_distances_beyond_the_coins_are_refused_by_name() -> None:
    table = coin_change_mod(12, (2, 10))
    assert not table.connected
    assert table.distance[3] == -1
    with pytest.raises(NoRoute, match="distance 3 of 12 cannot be paid with the coins 2, 10"):
        table.sequence(3)
    with pytest.raises(NoRoute, match="distance 1 of 12"):
        list(table.alternatives(1))
    with pytest.raises(NoRoute, match="add a stride"):
        _ = table.diameter
    with pytest.raises(NoRoute, match="add a stride"):
        _ = table.average_hops


@pytest.mark.parametrize("coin", [0, 12, -1])
def test_a_coin_outside_the_circle_is_refused(coin: int) -> None:
    with pytest.raises(InvalidInput, match=r"must be in 1\.\.11"):
        coin_change_mod(12, (1, coin))


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="n must be at least 1, got 0"):
        coin_change_mod(0, ())


def test_one_server_needs_no_coin() -> None:
    assert coin_change_mod(1, ()).sequence(0) == ()


def test_a_plain_ring_of_65536_has_its_longest_sequence() -> None:
    table = coin_change_mod(65_536, (1, 65_535))
    assert table.sequence(32_767) == (1,) * 32_767
    assert len(list(table.alternatives(32_768))) == 2


def test_65536_servers_with_eight_coins_reach_every_distance() -> None:
    coins = [c for p in (1, 15, 255, 4095) for c in (p, 65_536 - p)]
    table = coin_change_mod(65_536, coins)
    assert np.all(table.distance >= 0)
