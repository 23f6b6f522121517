"""Expert loads predicted from the layer before: planted transitions come back, and circuits can be wired ahead."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.transformers import ExpertLoads, fit_transition, predict_loads

Floats = np.ndarray


def planted(experts: int, seed: int) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(experts, 0.3), experts).T


def loads(samples: int, experts: int, seed: int) -> Floats:
    return np.random.default_rng((seed, 1)).dirichlet(np.full(experts, 0.8), samples)


@settings(max_examples=8)
@given(st.integers(2, 8), st.integers(0, 10**6))
def test_every_column_is_a_distribution(experts: int, seed: int) -> None:
    found = fit_transition(loads(5, experts, seed), loads(5, experts, seed + 1))
    assert found.min() >= 0
    assert found.sum(axis=0) == pytest.approx(np.ones(experts))


def test_a_planted_transition_comes_back() -> None:
    transition, before = planted(8, 3), loads(60, 8, 3)
    assert fit_transition(before, before @ transition.T) == pytest.approx(transition, abs=1e-4)


def test_a_planted_transition_comes_back_through_noise() -> None:
    transition, before = planted(6, 4), loads(500, 6, 4)
    noise = np.random.default_rng(9).normal(0, 0.01, before.shape)
    assert np.abs(fit_transition(before, before @ transition.T + noise) - transition).max() < 0.03


def test_no_other_column_stochastic_matrix_fits_better() -> None:
    before, after = loads(12, 4, 5), loads(12, 4, 6)
    found = fit_transition(before, after)
    rng = np.random.default_rng(7)

    def error(matrix: Floats) -> float:
        return float(((after - before @ matrix.T) ** 2).sum())

    for _ in range(200):
        other = rng.dirichlet(np.full(4, 0.5), 4).T
        assert error(found) <= error(0.95 * found + 0.05 * other) + 1e-12


def history(iterations: int, seed: int) -> list[ExpertLoads]:
    """Return loads whose layers follow from each other by planted transitions, with noise."""
    rng = np.random.default_rng(seed)
    transitions = [planted(8, seed + layer) for layer in range(3)]
    found = []
    for row in loads(iterations, 8, seed):
        rows = [row]
        for transition in transitions:
            noisy = np.maximum(transition @ rows[-1] + rng.normal(0, 0.005, 8), 0)
            rows.append(noisy / noisy.sum())
        found.append(ExpertLoads((0, 1, 2, 3), np.stack(rows)))
    return found


def test_predicted_loads_are_nearer_than_those_of_the_last_layer_or_iteration() -> None:
    seen = history(60, 11)
    now = seen.pop()
    predicted = predict_loads(seen, now)
    errors = np.abs(predicted.shares - now.shares)[1:].sum(axis=1)
    last_layer = np.abs(now.shares[:-1] - now.shares[1:]).sum(axis=1)
    last_iteration = np.abs(seen[-1].shares - now.shares)[1:].sum(axis=1)
    assert (errors < 0.2 * last_layer).all()
    assert errors.mean() < 0.2 * last_iteration.mean()
    assert predicted.shares.sum(axis=1) == pytest.approx(np.ones(4))


def test_nothing_seen_predicts_nothing() -> None:
    now = ExpertLoads((0,), np.full((1, 4), 0.25))
    with pytest.raises(InvalidInput, match="need at least one iteration"):
        predict_loads([], now)
    with pytest.raises(InvalidInput, match="as many loads before as after"):
        fit_transition(np.zeros((0, 4)), np.zeros((0, 4)))
