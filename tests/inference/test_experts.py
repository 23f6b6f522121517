"""Routed experts under a batch: how many are touched, on how many ranks, and the load of the busiest."""

import numpy as np
import pytest

from topoopt.inference import busiest_over_mean, touched_experts, touched_ranks


def test_tokens_touch_so_many_of_256_experts() -> None:
    assert touched_experts(256.0, 8.0, np.array([1.0, 64.0])) == pytest.approx([8, 222.44], abs=0.005)


def test_choices_at_random_touch_as_many_as_counted() -> None:
    generator = np.random.default_rng(0)
    drawn = [len(np.unique([generator.choice(64, 4, replace=False) for _ in range(16)])) for _ in range(300)]
    assert np.mean(drawn) == pytest.approx(float(touched_experts(64.0, 4.0, 16.0)), rel=0.01)


def test_eight_choices_hit_so_many_of_32_ranks() -> None:
    drawn = np.random.default_rng(0).integers(0, 32, (20000, 8))
    counted = np.mean([len(set(row)) for row in drawn.tolist()])
    assert float(touched_ranks(32.0, 8.0)) == pytest.approx(32 * (1 - (31 / 32) ** 8))
    assert counted == pytest.approx(float(touched_ranks(32.0, 8.0)), rel=0.01)


def test_the_busiest_rank_has_the_mean_and_a_little_more() -> None:
    loads = np.random.default_rng(0).poisson(512, (2000, 32))
    busiest = loads.max(axis=1).mean() / 512
    assert float(busiest_over_mean(np.array(512.0), np.array(32.0))) == pytest.approx(busiest, rel=0.03)
    assert float(busiest_over_mean(np.array(512.0), np.array(1.0))) == 1
