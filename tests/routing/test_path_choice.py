"""A connection's path is a pure function of seed and number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.routing import chosen_paths, connection_uniform, cumulative_weights

MASK = (1 << 64) - 1


def splitmix64(state: int) -> int:
    """One step of the generator in plain integers."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def test_the_mixer_is_splitmix64() -> None:
    # First outputs of SplitMix64 from state 0, as in Vigna's public-domain reference program.
    assert splitmix64(0) == 0xE220A8397B1DCDAF
    assert splitmix64(0x9E3779B97F4A7C15) == 0x6E789E6AA1B965F4


@given(st.integers(-(2**63), 2**64), st.integers(0, 2**62))
def test_the_draw_is_the_documented_formula(seed: int, number: int) -> None:
    bits = splitmix64((splitmix64(seed & MASK) + number) & MASK)
    assert connection_uniform(seed, np.array([number])).tolist() == [(bits >> 11) * 2.0**-53]


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.floats(0.01, 1), max_size=9), min_size=1, max_size=6).filter(any), st.integers(0, 99)
)
def test_the_first_path_above_the_draw_is_taken(rows: list[list[float]], seed: int) -> None:
    pair_first = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    weight = np.concatenate([np.array(row) / max(sum(row), 1e-9) for row in rows])
    cumulative = cumulative_weights(pair_first, weight)
    pair = np.array([k for k, row in enumerate(rows) if row] * 5)
    number = np.arange(len(pair))
    found = chosen_paths(pair_first, cumulative, pair, number, seed)
    for k, u, path in zip(pair, connection_uniform(seed, number), found, strict=True):
        own = range(pair_first[k], pair_first[k + 1])
        assert path == next(p for p in own if cumulative[p] > u)


def test_paths_are_taken_as_often_as_they_weigh() -> None:
    cumulative = cumulative_weights(np.array([0, 3]), np.array([0.5, 0.2, 0.3]))
    assert cumulative.tolist() == [0.5, 0.7, 1.0]
    number = np.arange(20_000)
    taken = chosen_paths(np.array([0, 3]), cumulative, 0 * number, number, seed=7)
    share = np.bincount(taken, minlength=3) / len(number)
    assert share == pytest.approx([0.5, 0.2, 0.3], abs=0.012)  # over three standard deviations
    assert (chosen_paths(np.array([0, 3]), cumulative, 0 * number, number, seed=8) != taken).any()
