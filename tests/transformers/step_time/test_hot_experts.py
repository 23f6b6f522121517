"""A hot expert's matrix products are waited for, in closed form and in the chunks of a pipelined step."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.transformers import (
    Calibration,
    Configuration,
    ExpertLoads,
    chunk_times,
    configuration_table,
    estimate,
    expert_layers,
    find_calibration,
    uniform_loads,
    usual_system,
    zipf_loads,
)
from topoopt.transformers.step_time.case import case_of
from topoopt.workloads.transformer import TransformerModel, find_transformer

ONE = Configuration(tp=1, pp=4, dp=8, ep=8, global_batch=256, sequence=4096)
SYSTEM = usual_system("h100")


def mixtral() -> TransformerModel:
    return find_transformer("mixtral-8x7b")


def law() -> Calibration:
    return find_calibration("h100")


def hot(model: TransformerModel, share: float) -> ExpertLoads:
    """Return loads in which the first of 8 experts gets a share, and the others the rest evenly."""
    row = np.array([share, *[(1 - share) / 7] * 7])
    layers = expert_layers(model)
    return ExpertLoads(layers, np.tile(row, (len(layers), 1)))


def test_even_loads_change_nothing() -> None:
    table = configuration_table([ONE])
    usual = estimate(mixtral(), table, SYSTEM, law()).iteration_time_s[0]
    assert estimate(mixtral(), table, SYSTEM, law(), uniform_loads(mixtral())).iteration_time_s[0] == usual


def test_a_rank_with_twice_the_tokens_makes_all_wait() -> None:
    """Its experts compute twice as many rows; of attention and the rest there is as much as before."""
    model, table = mixtral(), configuration_table([ONE])
    case = case_of(model, table, SYSTEM, law(), hot(model, 2 / 8))
    assert float(case.hottest[0]) == pytest.approx(2)
    doubled = replace(model, experts=replace(model.experts, per_token=4))  # type: ignore[type-var]
    hot_s = estimate(model, table, SYSTEM, law(), hot(model, 2 / 8)).compute_s[0]
    even_s, twice_s = (estimate(each, table, SYSTEM, law()).compute_s[0] for each in (model, doubled))
    assert hot_s > 1.3 * even_s
    assert hot_s == pytest.approx(twice_s, rel=0.1)  # whose experts have as many rows, all of them


def test_tokens_beyond_a_capacity_are_dropped_and_experts_padded_to_it() -> None:
    model = mixtral()
    assert model.experts is not None
    limited = replace(model, experts=replace(model.experts, capacity_factor=1.25))
    table = configuration_table([ONE])
    case = case_of(limited, table, SYSTEM, law(), hot(limited, 3 / 8))
    assert float(case.hottest[0]) == pytest.approx(1.25)
    hot_s, even_s = (
        estimate(limited, table, SYSTEM, law(), loads).compute_s[0] for loads in (hot(limited, 3 / 8), None)
    )
    assert hot_s == pytest.approx(even_s, rel=1e-3)


def test_chunks_take_as_long_as_the_hottest_rank_of_their_own_layers() -> None:
    model = mixtral()
    loads = zipf_loads(model, 1.2)
    even, uneven = (chunk_times(model, ONE, SYSTEM, law(), each) for each in (None, loads))
    assert np.all(uneven.forward_s > 1.2 * even.forward_s)
    rows = loads.shares.copy()
    rows[:8] = 1 / 8  # the first of 4 chunks
    mixed = chunk_times(model, ONE, SYSTEM, law(), ExpertLoads(loads.layers, rows))
    assert mixed.forward_s[0] == pytest.approx(even.forward_s[0])
    np.testing.assert_allclose(mixed.forward_s[1:], uneven.forward_s[1:])
