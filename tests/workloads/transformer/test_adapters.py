"""Adapter parameters, by hand from the shapes: rank·(in + out) of every matrix that has one."""

import pytest

from topoopt.workloads.transformer import (
    AdapterParameters,
    adapter_parameters,
    count_parameters,
    find_transformer,
    layer_kinds,
)


@pytest.mark.parametrize(
    ("adapters", "each"),
    [
        ("qkv", 8192 + 10240),
        ("attention", 8192 + 10240 + 8192 + 8192),
        ("all-linear", 8192 + 10240 + 8192 + 8192 + 8192 + 2 * 28672 + 28672 + 8192),
        ("every-matrix", 3 * 8192 + 10240 + 8192 + 8192 + 2 * 8192 + 2 * 28672 + 28672 + 8192),
    ],
)
def test_llama3_70b_has_rank_times_in_and_out(adapters: str, each: int) -> None:
    """Hidden 8192, 64 heads of 128 and 8 of keys: queries, keys and values are 10240 columns; 28672 inner."""
    found = adapter_parameters(find_transformer("llama3-70b"), False, adapters)
    assert found.whole + found.split == each
    assert (found.expert_whole, found.expert_split) == (0, 0)


def test_a_matrix_each_of_llama3_70b_at_rank_16_is_207_million_parameters() -> None:
    """Their gradients in 16 bits are 414 MB, where those of all weights are 141 GB."""
    model = find_transformer("llama3-70b")
    one = adapter_parameters(model, False, "every-matrix")
    trained = 16 * model.layers * (one.whole + one.split)
    assert trained == 207_093_760
    assert round(2 * trained / 1e6) == 414
    assert round(2 * count_parameters(model).total / 1e9) == 141


def test_every_expert_has_adapters_of_its_own() -> None:
    mixtral = find_transformer("mixtral-8x7b")  # 8 experts of 14336, hidden 4096
    found = adapter_parameters(mixtral, True, "all-linear")
    assert found.expert_whole == 8 * 2 * 4096
    assert found.expert_split == 8 * 3 * 14336
    assert adapter_parameters(mixtral, True, "attention").expert_split == 0


def test_latent_attention_has_five_projections() -> None:
    """DeepSeek-V3: to ranks 1536 and 512 + 64, up to 128 heads of 192 and of 128 + 128, out of 128·128."""
    found = adapter_parameters(find_transformer("deepseek-v3"), False, "attention")
    assert found == AdapterParameters(
        whole=(7168 + 1536) + (7168 + 576) + 1536 + 512 + 7168,
        split=128 * 192 + 128 * 256 + 128 * 128,
        expert_whole=0,
        expert_split=0,
    )


def test_layers_that_mix_tokens_in_other_ways_have_adapters_among_all_linear_ones_only() -> None:
    """Nemotron-H-8B: hidden 4096; 24 layers of a recurrence from 18560 and 8192 values, 4 of attention, 24 of 21504."""
    model = find_transformer("nemotron-h-8b")
    kinds = {kind.mixer + kind.feed_forward: kind for kind in layer_kinds(model)}
    one = kinds["M."].model
    assert adapter_parameters(one, False, "attention") == AdapterParameters(0, 0, 0, 0)
    recurrence = one.recurrence
    assert recurrence is not None
    assert adapter_parameters(one, False, "all-linear") == AdapterParameters(
        2 * 4096, recurrence.projected + recurrence.inner, 0, 0
    )
    assert adapter_parameters(kinds[".-"].model, False, "all-linear").split == 2 * 21504
