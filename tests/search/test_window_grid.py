"""Sets of windows: sums as if each set were added up on its own, and bounds that no order of sending beats."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.search.bounds.lower_bound import FINE, HEADS, TAILS, window_grid


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 200))
def test_sets_are_summed_and_no_order_beats_them(seed: int, count: int) -> None:
    """Whoever sends one piece after the other, in any order, ends no sooner than the bound of any set."""
    rng = np.random.default_rng(seed)
    release_s, tail_s, takes_s = (
        rng.random(count),
        rng.choice(rng.random(40), count),
        rng.exponential(0.01, count),
    )
    grid = window_grid(release_s, tail_s, takes_s, 0.0)
    assert (len(grid.head_s) <= HEADS, len(grid.tail_s) <= TAILS) == (True, True)
    cell = grid.cell(release_s, tail_s)
    sums = grid.sets(grid.summed(cell, takes_s))
    for of_set in range(grid.cells):
        inside = grid.within(cell, of_set)
        np.testing.assert_allclose(sums[of_set], takes_s[inside].sum(), rtol=1e-9, atol=1e-12)
        head, tail = divmod(of_set, len(grid.tail_s))
        assert (release_s[inside] >= grid.head_s[head]).all()
        assert (tail_s[inside] >= grid.tail_s[tail]).all()
    now_s, end_s = 0.0, 0.0
    for piece in rng.permutation(count):
        now_s = max(now_s, release_s[piece]) + takes_s[piece]
        end_s = max(end_s, now_s + tail_s[piece])
    assert grid.times_s(sums).max() <= end_s * (1 + 1e-12)


def test_few_windows_are_told_apart_exactly() -> None:
    grid = window_grid(np.array([0.0, 2.0, 1.0]), np.array([5.0, 5.0, 7.0]), np.ones(3), 0.0)
    assert (grid.head_s.tolist(), grid.tail_s.tolist()) == ([0, 1, 2], [5, 7])
    sums = grid.sets(grid.summed(grid.cell(np.array([0.0, 2.0, 1.0]), np.array([5.0, 5.0, 7.0])), np.ones(3)))
    assert sums.reshape(3, 2).tolist() == [[3, 1], [2, 1], [1, 0]]
    assert grid.times_s(sums).reshape(3, 2).tolist() == [[8, 8], [8, 9], [8, 0]]


def test_a_grid_reaches_back_to_earlier_windows() -> None:
    grid = window_grid(np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.ones(2), 0.0)
    further = grid.reaching(np.array([0.5]), np.array([3.5]))
    assert (further.head_s.tolist(), further.tail_s.tolist()) == ([0.5, 2], [3, 4])
    assert further.cell(np.array([0.5]), np.array([3.5])).tolist() == [0]
    assert grid.reaching(np.zeros(0), np.zeros(0)).head_s.tolist() == [1, 2]


def test_what_no_bound_is_above_is_above_all_bounds() -> None:
    """Of 2,000 moments the fine grid has 512; the bound of every single moment is below what it says."""
    rng = np.random.default_rng(0)
    release_s, takes_s = np.sort(rng.random(2000)), rng.exponential(1e-4, 2000)
    grid = window_grid(release_s, np.zeros(2000), takes_s, 0.0, fine=True).undercut_by_none
    assert len(grid.head_s) <= FINE
    exact_s = (release_s + takes_s[::-1].cumsum()[::-1]).max()
    coarse = window_grid(release_s, np.zeros(2000), takes_s, 0.0, fine=True)
    cell = coarse.cell(release_s, np.zeros(2000))
    below_s, above_s = (row.times_s(row.sets(row.summed(cell, takes_s))).max() for row in (coarse, grid))
    assert below_s <= exact_s <= above_s < 1.02 * below_s


def test_nothing_to_move_takes_no_time() -> None:
    nothing = np.zeros(0)
    grid = window_grid(nothing, nothing, nothing, 1e-6)
    assert grid.times_s(grid.sets(grid.summed(np.zeros(0, np.int64), nothing))).tolist() == [0]
