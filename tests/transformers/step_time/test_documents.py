"""Packed documents: pairs of tokens, and waits for the heaviest micro-batch, by hand and by drawing documents."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.transformers import (
    Calibration,
    Configuration,
    System,
    configuration_table,
    estimate,
    find_calibration,
    iteration_flops,
)
from topoopt.transformers.step_time.attention_time import imbalance, tokens_seen
from topoopt.workloads.transformer import find_transformer, forward_flops

MODEL = find_transformer("llama3-8b")
SYSTEM = System("h100", 8, 3.6e12, 400e9)
LONG = Configuration(tp=8, pp=1, dp=1, global_batch=1, sequence=131072, document=4096)


def seen(one: Configuration) -> float:
    return float(tokens_seen(configuration_table([one]))[0])


def uneven(one: Configuration) -> float:
    return float(imbalance(configuration_table([one]))[0])


def seconds(one: Configuration, calibration: Calibration | None = None) -> float:
    law = calibration or find_calibration("h100").with_one_attention()
    return float(estimate(MODEL, configuration_table([one]), SYSTEM, law).iteration_time_s[0])


def test_a_token_sees_its_document_and_more_of_long_ones() -> None:
    """E[l²]/E[l] = document·(1 + spread²); with an exponential law twice the average."""
    assert seen(LONG) == 4096
    assert seen(replace(LONG, document_spread=1)) == pytest.approx(2 * 4096, rel=1e-6)
    assert seen(replace(LONG, document_spread=0.5)) == pytest.approx(1.25 * 4096, rel=1e-6)
    assert seen(replace(LONG, document=131072)) == seen(replace(LONG, document=0)) == 131072
    assert seen(replace(LONG, document=65536, document_spread=2)) < 131072


def test_documents_cut_to_the_sequence_are_as_drawn() -> None:
    one = replace(LONG, sequence=8192, document=4096, document_spread=1.5)
    drawn = np.random.default_rng(0).gamma(1 / 1.5**2, 4096 * 1.5**2, 400_000).clip(max=8192)
    assert seen(one) == pytest.approx((drawn**2).mean() / drawn.mean(), rel=0.01)


def test_the_core_costs_what_documents_leave_of_it() -> None:
    """Half the pairs, half the core: what is left beside it stays."""
    whole, half, none = (seconds(replace(LONG, document=size)) for size in (131072, 65536, 1))
    assert (whole - none) / (half - none) == pytest.approx(2, rel=0.01)


def test_kernels_that_are_not_fused_meet_all_pairs_and_mask_them() -> None:
    eager = find_calibration("h100").with_one_attention("eager")
    assert seconds(LONG, eager) == seconds(replace(LONG, document=0), eager)
    assert seconds(LONG) < 0.6 * seconds(replace(LONG, document=0))


def test_model_flops_count_pairs_inside_documents() -> None:
    tokens = 131072
    assert iteration_flops(MODEL, LONG) == pytest.approx(3 * forward_flops(MODEL, 4096).total_flops * tokens)
    assert iteration_flops(MODEL, replace(LONG, document=0)) == pytest.approx(
        3 * forward_flops(MODEL, 131072).total_flops * tokens
    )


def work(spread: float, per_batch: int, draws: int, seed: int) -> np.ndarray:
    """Return the sums of squares of micro-batches of so many tokens, over their average, by packing drawn documents."""
    rng, tokens = np.random.default_rng(seed), per_batch * 1000
    lengths = rng.gamma(1 / spread**2, 1000 * spread**2, int(1.3 * draws * per_batch))
    ends = np.searchsorted(np.cumsum(lengths), np.arange(1, draws + 1) * tokens)
    sums = np.diff(np.concatenate([[0.0], np.cumsum(lengths**2)[ends]]))
    return np.asarray(sums / sums.mean())


@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_micro_batches_stray_as_drawn_documents_do(spread: float) -> None:
    """Two replicas in lock-step (ZeRO 3) wait for the heavier: 0.59 standard deviations (Blom; exactly 1/sqrt(pi))."""
    one = Configuration(1, 1, 2, 2, 64_000, zero=3, document=1000, document_spread=spread)
    drawn = work(spread, 64, 4000, seed=1)
    assert uneven(one) == pytest.approx(0.589 * drawn.std(), rel=0.06)
    assert uneven(one) == pytest.approx(drawn.reshape(-1, 2).max(axis=1).mean() - 1, rel=0.12)


def test_documents_all_alike_leave_nobody_waiting() -> None:
    assert uneven(replace(LONG, dp=8, global_batch=64)) == 0


def test_one_replica_without_stages_waits_for_nobody() -> None:
    assert uneven(replace(LONG, global_batch=16, document_spread=1)) == pytest.approx(0, abs=1e-12)


def test_micro_batches_make_up_for_each_other_unless_replicas_meet_in_each() -> None:
    """16 micro-batches: sums stray a quarter as much as each; a pipeline also waits for its heaviest."""
    one = Configuration(8, 1, 16, 256, 131072, document=4096, document_spread=1)
    apart, locked = uneven(one), uneven(replace(one, zero=3))
    assert locked == pytest.approx(4 * apart)
    stages = uneven(replace(one, pp=4))
    assert stages > apart
    assert stages < locked


def test_larger_micro_batches_are_more_even() -> None:
    one = Configuration(8, 1, 16, 256, 32768, document=1024, document_spread=1, zero=3)
    assert uneven(replace(one, micro_batch=4)) == pytest.approx(uneven(one) / 2)
