"""Forward FLOPs from shapes agree with published formulas and with counted ones."""

import pytest

from topoopt.workloads.transformer import (
    TransformerModel,
    config_to_model,
    find_transformer,
    forward_flops,
    layer_flops,
)


@pytest.mark.parametrize(
    ("name", "teraflop", "tolerance"),
    [
        # Counted by PyTorch's FlopCounterMode on a sequence of 512 tokens; of models with experts it counts none of
        # these, so their numbers are 2 FLOP for each active parameter and token, without attention's core.
        ("llama2-7b", 6.903, 1e-4),
        ("mixtral-8x7b", 13.2, 0.01),
        ("deepseek-v3", 38.0, 0.03),
    ],
)
def test_a_sequence_of_512_tokens(name: str, teraflop: float, tolerance: float) -> None:
    assert 512 * forward_flops(find_transformer(name), 512).total_flops / 1e12 == pytest.approx(
        teraflop, rel=tolerance
    )


def test_small_models_come_out_as_pytorch_counts_them() -> None:
    # FlopCounterMode of torch 2.13.0 on 128 tokens through models of Hugging Face transformers 5.23.0.
    small = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 3, "vocab_size": 1000}
    small |= {"num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 512}
    ranks = {
        "q_lora_rank": 64,
        "kv_lora_rank": 32,
        "qk_rope_head_dim": 16,
        "qk_nope_head_dim": 32,
        "v_head_dim": 48,
    }
    latent = {**small, "hidden_size": 512, "intermediate_size": 1024, "num_attention_heads": 4, **ranks}
    experts = {"moe_intermediate_size": 64, "n_routed_experts": 16, "num_experts_per_tok": 2}
    for config, counted in (
        ({"model_type": "llama", **small}, 543_686_656),
        ({"model_type": "qwen3", "head_dim": 64, **small}, 719_847_424),
        # Its experts are left out: all layers are dense, for PyTorch counts none of theirs.
        ({"model_type": "deepseek_v3", "first_k_dense_replace": 3, **latent, **experts}, 1_513_619_456),
    ):
        assert 128 * forward_flops(config_to_model(config, "small"), 128).total_flops == counted


@pytest.mark.parametrize("name", ["megatron-1.7b", "gpt3-175b", "megatron-1008b", "megascale-530b"])
def test_the_formula_of_megatron_for_gpt(name: str) -> None:
    # Narayanan et al. SC 2021, appendix: forward, 24Bslh²(1 + s/6h + V/12lh).
    m = find_transformer(name)
    published = (
        24
        * m.layers
        * m.hidden**2
        * (1 + m.sequence / (6 * m.hidden) + m.vocabulary / (12 * m.layers * m.hidden))
    )
    assert forward_flops(m).total_flops == pytest.approx(published, rel=1e-12)


def test_a_causal_mask_leaves_half_of_the_core() -> None:
    model = find_transformer("llama3-8b")
    whole, causal = (forward_flops(model, 8192, causal=mask).layers for mask in (False, True))
    assert causal.core_flops == pytest.approx(whole.core_flops * (8192 + 1) / (2 * 8192))
    assert causal.projection_flops == whole.projection_flops


def test_a_window_bounds_the_core_in_its_layers_only() -> None:
    model = find_transformer("gpt-oss-120b")
    short, long = (forward_flops(model, length).layers.core_flops for length in (4096, 8192))
    # 18 of 36 layers see everything, 18 see 128 tokens.
    assert long - short == 18 * 2 * 4096 * 64 * (64 + 64)
    inside = layer_flops(model, True, 4096, windowed=True, causal=True).core_flops
    pairs = sum(min(token + 1, 128) for token in range(4096))
    assert inside == pytest.approx(2 * pairs / 4096 * 64 * 128)


def test_grouped_queries_save_projections_and_not_the_core() -> None:
    def model(kv_heads: int) -> TransformerModel:
        return TransformerModel("m", "x", 1, 1024, 16, 4096, 1000, 512, kv_heads, 64)

    whole, grouped = (layer_flops(model(heads), False, 512) for heads in (16, 4))
    assert whole.core_flops == grouped.core_flops
    assert whole.projection_flops - grouped.projection_flops == 2 * 2 * 1024 * 12 * 64


def test_experts_count_as_many_as_a_token_goes_to() -> None:
    layer = layer_flops(find_transformer("deepseek-v3"), True, 4096)
    assert layer.experts_flops == 8 * layer.shared_flops == 8 * 2 * 3 * 7168 * 2048
    assert layer.router_flops == 2 * 7168 * 256
    assert layer_flops(find_transformer("deepseek-v3"), False, 4096).mlp_flops == 2 * 3 * 7168 * 18432
