"""Parameters by layer and by cause add up to what implementations count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.workloads.transformer import (
    TRANSFORMERS,
    Experts,
    TransformerModel,
    count_parameters,
    find_transformer,
    layer_kinds,
    layer_parameters,
)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_layers_and_what_is_around_them_add_up(name: str) -> None:
    model = find_transformer(name)
    count = count_parameters(model)
    kinds = layer_kinds(model)
    layers = sum(len(kind.layers) * layer_parameters(kind.model, kind.is_moe).total for kind in kinds)
    assert sorted(layer for kind in kinds for layer in kind.layers) == list(range(model.layers))
    last_norm = model.hidden * (2 if model.norm == "layernorm" else 1)
    assert layers + last_norm + count.embedding + count.positions + count.output + count.extra == count.total


@pytest.mark.parametrize(
    ("name", "active_billions"),
    [
        # Published: Jiang et al. 2024, DeepSeek-AI 2024, Qwen3 2025, Kimi K2 2025 (32.6 without the embedding).
        ("mixtral-8x7b", 12.9),
        ("mixtral-8x22b", 39.2),
        ("deepseek-v3", 37.6),
        ("qwen3-30b-a3b", 3.4),
        ("qwen3-235b-a22b", 22.2),
        ("qwen1.5-moe-a2.7b", 2.7),
        ("kimi-k2", 32.9),
        # Published: 3.6 and 12.7 (with a router in 32 bits or not), 3, 3, 17, 17, 45.9 and 9, of which some leave out
        # embedding and output layer (2.5 of the 48.4 of MiniMax).
        ("nemotron-3-nano", 3.6),
        ("nemotron-3-super", 12.8),
        ("qwen3-next-80b-a3b", 3.9),
        ("kimi-linear-48b-a3b", 3.5),
        ("llama4-scout", 17.2),
        ("llama4-maverick", 17.2),
        ("minimax-text-01", 48.4),
        ("granite-4.0-h-small", 8.8),
    ],
)
def test_parameters_that_one_token_meets(name: str, active_billions: float) -> None:
    assert round(count_parameters(find_transformer(name)).active / 1e9, 1) == active_billions


@pytest.mark.parametrize("name", ["llama3-70b", "gpt3-175b", "bert-base"])
def test_a_token_meets_all_of_a_dense_model(name: str) -> None:
    count = count_parameters(find_transformer(name))
    assert count.active == count.total


def test_the_formula_of_megatron_for_gpt() -> None:
    # Narayanan et al. SC 2021, section 5.1: 12lh²(1 + 13/12h + (V + s)/12lh), less the last norm.
    for name in ("megatron-1.7b", "megatron-145.6b", "megatron-1008b"):
        m = find_transformer(name)
        published = (
            12 * m.layers * m.hidden**2 + 13 * m.layers * m.hidden + (m.vocabulary + m.sequence) * m.hidden
        )
        assert count_parameters(m).total == published + 2 * m.hidden


def test_one_layer_by_hand() -> None:
    dense = layer_parameters(find_transformer("llama2-70b"), False)
    assert dense.attention == 2 * 8192 * 8192 + 2 * 8192 * 8 * 128
    assert dense.mlp == 3 * 8192 * 28672
    assert dense.norms == 2 * 8192
    mixed = layer_parameters(find_transformer("mixtral-8x7b"), True)
    assert (mixed.mlp, mixed.one_expert, mixed.router) == (0, 3 * 4096 * 14336, 8 * 4096)
    assert mixed.experts == 8 * mixed.one_expert


def test_latent_attention_has_parts_that_tensor_parallel_ranks_hold_whole() -> None:
    layer = layer_parameters(find_transformer("deepseek-v3"), True)
    down = 7168 * 1536 + 1536 + 7168 * (512 + 64) + 512
    up = 1536 * 128 * 192 + 512 * 128 * 256 + 128 * 128 * 7168
    assert (layer.attention_replicated, layer.attention) == (down, down + up)


def test_layers_with_experts_only_where_there_are_experts() -> None:
    with pytest.raises(InvalidInput, match="llama3-8b: has no experts"):
        layer_parameters(find_transformer("llama3-8b"), True)


@given(
    layers=st.integers(1, 40),
    first=st.integers(0, 6),
    every=st.integers(1, 4),
    count=st.integers(1, 16),
    bias=st.booleans(),
)
def test_more_experts_add_their_own_size_and_a_row_of_the_router(
    layers: int, first: int, every: int, count: int, bias: bool
) -> None:
    def model(experts: int) -> TransformerModel:
        kind = Experts(experts, 1, 48, first_dense_layers=first, every=every, router_bias=bias)
        return TransformerModel("m", "x", layers, 64, 4, 96, 500, 128, 4, 16, gated=True, experts=kind)

    few, more = count_parameters(model(count)), count_parameters(model(count + 1))
    with_experts = model(count).moe_layers
    assert with_experts == sum(model(count).is_moe(layer) for layer in range(layers))
    assert more.total - few.total == with_experts * (3 * 64 * 48 + 64 + bias)
    assert more.active - few.active == with_experts * (64 + bias)
