"""Groups of experts that routing is limited to: from a config, from words, refused where they do not go together."""

import json
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads.transformer import Shapes, changed_model, find_transformer, read_config


def test_the_zoo_and_a_config_have_the_groups_of_deepseek(tmp_path: Path) -> None:
    """DeepSeek-V3, section 4.2: each token is sent to at most 4 nodes."""
    experts = find_transformer("deepseek-v3").experts
    assert experts is not None
    assert (experts.route_groups, experts.groups_per_token) == (8, 4)
    keys = {
        "model_type": "deepseek_v3", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 4,
        "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 256, "max_position_embeddings": 128,
        "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
        "n_routed_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 1,
        "first_k_dense_replace": 1, "n_group": 4, "topk_group": 2, "num_nextn_predict_layers": 1,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(keys))
    model = read_config(str(tmp_path / "config.json"))
    assert model.experts is not None
    assert (model.experts.route_groups, model.experts.groups_per_token, model.mtp_layers) == (4, 2, 1)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"route_groups": 5, "groups_per_token": 2}, "route_groups 5: does not divide 128 experts"),
        ({"route_groups": 8}, "groups_per_token 0: 8 experts of a token need 1..8 groups of 16"),
        ({"route_groups": 64, "groups_per_token": 2}, "groups_per_token 2: 8 experts of a token need"),
    ],
)
def test_groups_that_do_not_go_together_are_refused(words: dict[str, int], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        changed_model(find_transformer("qwen3-30b-a3b"), Shapes(**words))  # type: ignore[arg-type]


def test_modules_for_further_tokens_are_a_word() -> None:
    model = find_transformer("deepseek-v3")
    assert model.mtp_layers == 1
    assert changed_model(model, Shapes(mtp_layers=0)).mtp_layers == 0
