"""Layers that differ keep what their own parts do."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.transformers import Configuration, check_configuration, configuration_table, memory
from topoopt.transformers.memory.activations import layer_activations
from topoopt.transformers.memory.frameworks import find_framework
from topoopt.workloads.transformer import count_parameters, find_transformer, layer_kinds

MEGATRON, FUSED = find_framework("megatron"), np.array([True])


TABLE = configuration_table([Configuration(1, 1, 1, 1, 8192)])


def test_a_mamba_2_layer_keeps_what_it_projects_and_what_comes_out() -> None:
    model = find_transformer("nemotron-h-8b")
    one = next(kind for kind in layer_kinds(model) if kind.mixer == "M").model
    kept = layer_activations(one, TABLE, False, FUSED, MEGATRON)
    projected, inner = 2 * 8192 + 2 * 8 * 128 + 128, 8192
    around = kept.norms + 2 * 4096  # its norm, and what enters the layer
    assert kept.everything - around == pytest.approx(2 * (projected + 2 * inner))


def test_a_layer_without_a_mixer_keeps_its_feed_forward_part() -> None:
    model = find_transformer("nemotron-h-8b")
    one = next(kind for kind in layer_kinds(model) if kind.feed_forward == "-").model
    kept = layer_activations(one, TABLE, False, FUSED, MEGATRON)
    assert kept.core == 0
    assert kept.everything - kept.norms - 2 * 4096 == pytest.approx(2 * 2 * 21504)


def test_a_model_keeps_the_sum_of_its_layers() -> None:
    model = find_transformer("nemotron-h-8b")
    mean = layer_activations(model, TABLE, False, FUSED, MEGATRON)
    each = [
        len(kind.layers) * layer_activations(kind.model, TABLE, False, FUSED, MEGATRON).everything
        for kind in layer_kinds(model)
    ]
    assert 52 * mean.everything == pytest.approx(sum(each))


@pytest.mark.parametrize("name", ["nemotron-3-nano", "qwen3-next-80b-a3b", "granite-4.0-h-small"])
def test_every_parameter_has_its_weight(name: str) -> None:
    model = replace(find_transformer(name), mtp_layers=0)
    held = memory(model, TABLE, "h100").parameters[0]
    assert held == pytest.approx(2 * count_parameters(model).total, rel=1e-6)


def test_adapters_of_a_recurrence_are_refused() -> None:
    one = Configuration(1, 1, 8, 8, 8192, adapter_rank=16)
    with pytest.raises(InvalidInput, match="23 layers with a recurrence"):
        check_configuration(find_transformer("nemotron-3-nano"), one, 8)
