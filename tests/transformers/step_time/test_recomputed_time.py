"""Computing parts again takes their forward time, whole layers most, some layers in proportion."""

from dataclasses import replace

import pytest

from topoopt.transformers import Configuration, configuration_table, estimate, find_calibration, usual_system
from topoopt.workloads.transformer import TransformerModel, find_transformer

DEEPSEEK = find_transformer("deepseek-v3")
LLAMA = find_transformer("llama3-8b")
SPLIT = Configuration(tp=1, pp=1, dp=64, ep=64, global_batch=512, sequence=4096)
ALONE = Configuration(tp=2, pp=4, dp=1, global_batch=64, sequence=8192, sequence_parallel=True)


def compute_s(model: TransformerModel, one: Configuration) -> float:
    times = estimate(model, configuration_table([one]), usual_system("h100"), find_calibration("h100"))
    return float(times.compute_s[0])


@pytest.mark.parametrize("part", ["norms", "activation", "experts", "latent"])
def test_a_part_costs_less_than_all_and_more_than_nothing(part: str) -> None:
    none, again, full = (compute_s(DEEPSEEK, replace(SPLIT, recompute=how)) for how in ("none", part, "full"))
    assert none < again < full


def test_the_activation_of_experts_is_computed_with_them() -> None:
    """Only that of layers without experts is left, which experts do not have: 3 of 61."""
    experts, both = (
        compute_s(DEEPSEEK, replace(SPLIT, recompute=how)) for how in ("experts", "experts+activation")
    )
    assert both == pytest.approx(experts, rel=1e-3)


def test_some_layers_take_their_share_of_the_time() -> None:
    none, some, full = (
        compute_s(LLAMA, replace(ALONE, recompute=how, recompute_layers=layers))
        for how, layers in (("none", 0), ("full", 2), ("full", 0))
    )
    assert some - none == pytest.approx((full - none) / 4, rel=0.02)


def test_experts_that_are_computed_again_get_their_tokens_again() -> None:
    times = estimate(
        DEEPSEEK,
        configuration_table([SPLIT, replace(SPLIT, recompute="experts"), replace(SPLIT, recompute="full")]),
        usual_system("h100"),
        find_calibration("h100"),
    )
    assert times.ep_s[1] / times.ep_s[0] == pytest.approx(3 / 2)
    assert times.ep_s[2] == times.ep_s[1]
