"""Layers that differ are read from every way in which files say them, and unknown kinds are refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads.transformer import config_to_model, layer_kinds
from topoopt.workloads.transformer.layer_patterns import period

CONFIGS = Path(__file__).parent / "configs"


def config(name: str, **changes: Any) -> dict[str, Any]:
    return {**json.loads((CONFIGS / f"{name}.json").read_text()), **changes}


def refusal(keys: dict[str, Any]) -> str:
    with pytest.raises(InvalidInput) as caught:
        config_to_model(keys, "config.json")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix("config.json: ")


def test_a_pattern_is_its_shortest_period() -> None:
    assert period("MMM*MMM*MM") == "MMM*"
    assert period("****", "*") == ""
    assert period("M*M**") == "M*M**"


def test_one_of_four_layers_of_qwen3_next_has_attention() -> None:
    model = config_to_model(config("qwen3-next-80b-a3b"), "x")
    assert (model.attention_layers, model.recurrent_layers, model.moe_layers) == (12, 36, 48)
    assert [model.mixer(layer) for layer in range(5)] == ["M", "M", "M", "*", "M"]


def test_a_layer_of_nemotron_h_has_one_part() -> None:
    model = config_to_model(config("nemotron-3-nano"), "x")
    counts = model.recurrent_layers, model.attention_layers, model.moe_layers, model.dense_layers
    assert counts == (23, 6, 23, 0)
    assert {(kind.mixer, kind.feed_forward): len(kind.layers) for kind in layer_kinds(model)} == {
        ("M", "."): 23,
        (".", "E"): 23,
        ("*", "."): 6,
    }


def test_names_of_blocks_say_the_same_as_characters() -> None:
    keys = config("nemotron-3-nano")
    words = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
    blocks = [words[character] for character in keys.pop("hybrid_override_pattern")]
    assert config_to_model({**keys, "layers_block_type": blocks}, "x") == config_to_model(
        config("nemotron-3-nano"), "x"
    )


def test_every_second_layer_of_maverick_has_experts() -> None:
    model = config_to_model(config("llama4-maverick"), "x")
    assert (model.moe_layers, model.dense_layers, model.window_layers, model.chunked) == (24, 24, 36, True)


def test_windows_of_olmo_3_and_exaone_4() -> None:
    for name, layers in (("olmo3-7b", 24), ("olmo3-32b", 48), ("exaone4-32b", 48)):
        keys = config(name)
        without = {key: value for key, value in keys.items() if key != "layer_types"}
        assert config_to_model(keys, "x").window_layers == layers
        assert config_to_model(without, "x").window_layers == layers


@pytest.mark.parametrize(
    ("name", "changes", "complaint"),
    [
        (
            "olmo3-7b",
            {"layer_types": ["full_attention"] * 31 + ["conv"]},
            'layer_types[31]: unknown kind of layer "conv"',
        ),
        (
            "olmo3-7b",
            {"layer_types": ["full_attention"] * 3},
            "layer_types: names 3 layers, and the model has 32",
        ),
        (
            "nemotron-3-nano",
            {"hybrid_override_pattern": "MEX"},
            'hybrid_override_pattern[2]: unknown kind of layer "X"',
        ),
        (
            "nemotron-3-nano",
            {"hybrid_override_pattern": "ME*"},
            "names 3 layers, and num_hidden_layers says 52",
        ),
        (
            "nemotron-3-nano",
            {"hybrid_override_pattern": None},
            "hybrid_override_pattern (or layers_block_type): missing",
        ),
        ("llama4-maverick", {"moe_layers": [3, 4]}, "moe_layers [3, 4]: supported only"),
        (
            "kimi-linear-48b-a3b",
            {
                "linear_attn_config": {
                    "full_attn_layers": [1],
                    "kda_layers": [2],
                    "num_heads": 32,
                    "head_dim": 128,
                    "short_conv_kernel_size": 4,
                }
            },
            "kda_layers [2]",
        ),
        ("minimax-text-01", {"attn_type_list": [2] * 80}, "attn_type_list"),
        (
            "glm-4.7-flash",
            {"mlp_layer_types": ["sparse"] * 46 + ["dense"]},
            "mlp_layer_types: layers without experts",
        ),
        ("hunyuan-a13b", {"moe_topk": [8] * 31 + [4]}, "moe_topk"),
        ("ernie-4.5-21b-a3b", {"moe_layer_interval": 2}, "moe_layer_interval 2"),
        ("granite-4.0-h-small", {"mamba_d_head": 32}, "mamba_d_head 32"),
    ],
)
def test_what_is_not_understood_is_named(name: str, changes: dict[str, Any], complaint: str) -> None:
    assert complaint in refusal(config(name, **changes))


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("llama2-7b", "num_local_experts", 8),
        ("llama2-7b", "layer_types", ["linear_attention"] * 32),
        ("llama2-7b", "kv_lora_rank", 512),
        ("mistral-7b", "attention_bias", True),
        ("deepseek-v3", "index_topk", 2048),
        ("qwen3-8b", "attn_output_gate", True),
        ("gpt2", "hc_mult", 4),
    ],
)
def test_keys_that_change_shapes_are_not_ignored(name: str, key: str, value: object) -> None:
    said = refusal(config(name, **{key: value}))
    assert said.startswith(f"{key} ")
    assert "is not understood to have" in said


def test_the_same_keys_with_values_that_change_nothing_are_fine() -> None:
    plain = config_to_model(config("llama2-7b"), "x")
    more = {
        "num_local_experts": 0,
        "layer_types": ["full_attention"] * 32,
        "kv_lora_rank": None,
        "hc_mult": 1,
    }
    assert config_to_model(config("llama2-7b", **more), "x") == plain


def test_keys_of_parts_that_no_layer_has_are_fine() -> None:
    plain = config_to_model(config("nemotron-h-8b"), "x")
    saved = {"n_routed_experts": 8, "moe_intermediate_size": 7688, "n_shared_experts": 1}
    assert config_to_model(config("nemotron-h-8b", **saved), "x") == plain
    dense = config("granite-4.0-h-micro", layer_types=["attention"] * 40)
    assert config_to_model(dense, "x").recurrence is None
    assert config_to_model(config("hunyuan-7b", num_experts=1, num_shared_expert=1), "x").experts is None


def test_starcoder_2_has_its_window() -> None:
    model = config_to_model(config("starcoder2-15b", sliding_window=4096), "x")
    assert (model.window, model.window_layers) == (4096, 40)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("olmo3-7b", {"layer_types": [[1]] * 32}),
        ("olmo3-7b", {"num_hidden_layers": 2**70}),
        ("exaone4-32b", {"num_hidden_layers": 2**70, "layer_types": None}),
        ("minimax-text-01", {"attn_type_list": [1.0] * 80, "layer_types": None}),
        ("kimi-linear-48b-a3b", {"linear_attn_config": {"full_attn_layers": ["a"], "kda_layers": [2]}}),
        ("granite-4.0-h-small", {"mamba_d_head": {}}),
        ("llama4-maverick", {"no_rope_layers": ["a"] * 48}),
        ("llama4-maverick", {"moe_layers": [[]], "num_hidden_layers": 2**70}),
        ("nemotron-3-nano", {"hybrid_override_pattern": "M*E" * 50_000, "num_hidden_layers": 150_000}),
        ("hunyuan-a13b", {"moe_topk": [{}] * 32}),
        ("glm-5", {"indexer_types": [3]}),
    ],
)
def test_spoiled_patterns_end_in_a_line(name: str, changes: dict[str, Any]) -> None:
    assert refusal(config(name, **changes))


def test_a_long_pattern_is_kept_as_it_is() -> None:
    pattern = "M" * 1500 + "*"
    assert period(pattern) == pattern
