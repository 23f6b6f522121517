"""Errors of predictions, and fits of constants: what runs have a say in is found, the rest stays where it starts."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from topoopt.base.arrays import Floats, Ints
from topoopt.measurements import Constant, errors_by, fit_constants, held_out, percent_off
from topoopt.measurements.fit import random_parts
from topoopt.transformers import Bounds

SIZES = np.array([1.0, 2.0, 4.0, 8.0])
TIMES = 0.5 + 3 * SIZES
CONSTANTS = tuple(
    Constant(name, Bounds(low, 100.0, 2.0, ""), 1.0, 1.0)
    for name, low in (("fixed", 0.0), ("each", 0.01), ("idle", 0.01))
)


def misses(values: Mapping[str, float]) -> Floats:
    return np.asarray(np.log((values["fixed"] + values["each"] * SIZES) / TIMES) / 1e-3)


def test_a_fit_finds_what_runs_say_and_leaves_the_rest_at_its_start() -> None:
    found = fit_constants(CONSTANTS, misses)
    assert [found["fixed"], found["each"]] == pytest.approx([0.5, 3], rel=1e-2)
    fitted = [replace(one, value=found[one.name]) for one in CONSTANTS]
    assert [one.source for one in fitted] == ["fitted", "fitted", "start"]
    assert fit_constants(CONSTANTS, misses, guess=found)["each"] == pytest.approx(found["each"], rel=1e-3)


def test_a_strong_start_holds_constants_back() -> None:
    held = fit_constants(CONSTANTS, misses, strength=1e6)
    assert held["each"] == pytest.approx(1, rel=1e-2)


def test_held_out_runs_are_predicted_by_a_law_that_has_not_seen_them() -> None:
    parts = np.array([0, 1, 0, 2])

    def fit(others: Ints) -> set[int]:
        return set(parts[others].tolist())

    def predict(law: set[int], own: Ints) -> Floats:
        assert not law & set(parts[own].tolist())
        return own.astype(np.float64)

    assert held_out(parts, fit, predict).tolist() == [0, 1, 2, 3]
    assert sorted(random_parts(4, seed=1).tolist()) == [0, 1, 2, 3]
    assert np.bincount(random_parts(25, seed=1)).tolist() == [3] * 5 + [2] * 5


def test_errors_are_of_groups_by_name_and_of_all() -> None:
    found = errors_by([("b", percent_off(3, 2)), ("a", percent_off(1, 2)), ("b", 10.0)], total=True)
    assert list(found) == ["a", "b", "all"]
    assert found["all"].to_json() == pytest.approx({"runs": 3, "mape": 110 / 3, "median": 50, "bias": 10 / 3})
    assert errors_by([], total=True) == {}
