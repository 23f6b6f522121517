"""Adapters in step times: frozen weights have no gradients, adapters are thin products beside them."""

from dataclasses import replace

import pytest

from topoopt.transformers import (
    Configuration,
    System,
    configuration_table,
    estimate,
    find_calibration,
    iteration_flops,
    trained_parameters,
    zipf_loads,
)
from topoopt.transformers.step_time.adapter_time import adapter_parameters
from topoopt.transformers.step_time.case import case_of
from topoopt.workloads.transformer import TransformerModel, find_transformer, forward_flops
from topoopt.workloads.transformer import adapter_parameters as parameters_of_layer

MODEL = find_transformer("llama3-70b")
SYSTEM = System("h100", 8, 3.6e12, 400e9)
LAW = find_calibration("h100").with_one_attention()
ONE = Configuration(tp=4, pp=4, dp=4, global_batch=64, sequence=4096, adapter_rank=16, adapters="qkv", zero=1)


MODELS = ("llama3-70b", "mixtral-8x7b", "deepseek-v3", "qwen3-next-80b-a3b", "nemotron-h-8b")


@pytest.mark.parametrize("adapters", ["qkv", "attention", "all-linear"])
@pytest.mark.parametrize("name", MODELS)
def test_the_closed_form_has_as_many_parameters_as_the_ranks(name: str, adapters: str) -> None:
    model = replace(find_transformer(name), mtp_layers=0)
    one = replace(ONE, pp=1, tp=2, dp=8, adapters=adapters, ep=8 if model.experts else 1)
    case = case_of(model, configuration_table([one]), SYSTEM, LAW)
    dense, experts = (float(part[0]) * model.layers for part in adapter_parameters(case))
    held = trained_parameters(model, one, 0)
    assert experts == pytest.approx(sum(held.experts))
    # Projections down to latent ranks are whole on every rank, their outputs, too, in both counts.
    assert dense == pytest.approx(sum(held.dense), rel=0.01)


def test_frozen_weights_cost_two_thirds() -> None:
    """Without adapters to speak of: forward and gradients of inputs, and attention's core in full."""
    tokens = 64 * 4096
    full = forward_flops(MODEL, 4096)
    linear = full.total_flops - full.layers.core_flops
    added = 80 * 2 * 16 * (8192 + 10240)
    assert iteration_flops(MODEL, ONE) == pytest.approx(
        tokens * (2 * linear + 3 * (full.layers.core_flops + added))
    )
    times = estimate(MODEL, configuration_table([ONE]), SYSTEM, LAW)
    assert float(times.model_flops[0]) * 64 == pytest.approx(iteration_flops(MODEL, ONE), rel=1e-3)


@pytest.mark.parametrize("model", [find_transformer("mixtral-8x7b"), find_transformer("deepseek-v3")])
def test_flops_of_adapters_of_experts_count_those_that_a_token_meets(model: TransformerModel) -> None:
    one = replace(ONE, adapters="all-linear", pp=1, ep=8)
    times = estimate(model, configuration_table([one]), SYSTEM, LAW)
    assert float(times.model_flops[0]) * 16 == pytest.approx(iteration_flops(model, one), rel=2e-3)


def test_training_adapters_is_faster_than_training_all() -> None:
    table = configuration_table([ONE, replace(ONE, adapter_rank=0)])
    adapted, full = estimate(MODEL, table, SYSTEM, LAW).iteration_time_s
    assert 0.65 < adapted / full < 0.85
    waits = estimate(MODEL, table, SYSTEM, LAW).dp_s
    assert waits[0] < 0.01 * waits[1]


def test_sharded_frozen_weights_are_gathered_twice_and_never_scattered() -> None:
    """Of the three collectives of a micro-batch that training everything needs, two are left."""
    slow = replace(SYSTEM, network_bandwidth_bps=1e9)
    one = replace(ONE, tp=8, pp=1, dp=8, zero=3)
    law = replace(LAW, gather_overlap=0.0)
    adapted, full = estimate(MODEL, configuration_table([one, replace(one, adapter_rank=0)]), slow, law).dp_s
    assert adapted / full == pytest.approx(2 / 3, rel=0.02)


def test_whole_frozen_weights_are_not_gathered() -> None:
    """ZeRO 2 moves of adapters, with one micro-batch, what ZeRO 1 moves; 2 instead of 4 bytes of a gradient."""
    slow, law = (
        replace(SYSTEM, network_bandwidth_bps=1e6),  # so that starts do not count
        replace(LAW, gradient_overlap=0.0, gather_overlap=0.0),
    )
    second = replace(ONE, tp=8, pp=1, dp=8, global_batch=8, zero=2)
    of_zero = estimate(MODEL, configuration_table([second, replace(second, zero=1)]), slow, law).dp_s
    assert of_zero[0] == pytest.approx((2 + 2) / (4 + 2) * of_zero[1], rel=0.02)


def test_more_adapters_and_higher_ranks_cost_more() -> None:
    ways = [replace(ONE, adapters=kind) for kind in ("qkv", "attention", "all-linear")]
    ways.append(replace(ONE, adapters="all-linear", adapter_rank=256))
    times = estimate(MODEL, configuration_table(ways), SYSTEM, LAW).compute_s
    assert times.tolist() == sorted(times.tolist())


def test_parameters_of_a_layer_are_few() -> None:
    found = parameters_of_layer(MODEL, False, "all-linear")
    assert 16 * (found.whole + found.split) < 0.004 * 855_654_400


def test_adapters_of_busy_experts_have_more_to_do() -> None:
    model = find_transformer("mixtral-8x7b")
    one = replace(ONE, adapters="all-linear", pp=1, ep=8)
    times = [
        float(estimate(model, configuration_table([row]), SYSTEM, LAW, loads).compute_s[0])
        for row in (one, replace(one, adapters="attention"))
        for loads in (None, zipf_loads(model, 1.0))
    ]
    assert times[1] - times[0] > times[3] - times[2] > 0
