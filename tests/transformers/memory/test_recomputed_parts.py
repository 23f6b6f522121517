"""Parts that are computed again, layers that it is about, stored precisions, what the host keeps, schedules."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.transformers.shapes import SMALL_EXPERTS, small_model
from topoopt.base.errors import InvalidInput
from topoopt.transformers import (
    FRAMEWORKS,
    Configuration,
    MemoryColumns,
    configuration_table,
    count_in_flight,
    layer_activations,
    memory,
)
from topoopt.transformers.memory.pipeline_stages import stage_of
from topoopt.workloads.transformer import TransformerModel, count_parameters, find_transformer

LLAMA = replace(find_transformer("llama3-8b"), vocabulary=1, layers=8)
DEEPSEEK = replace(find_transformer("deepseek-v3"), layers=4, mtp_layers=0, vocabulary=1)
ONE = Configuration(tp=1, pp=1, dp=1, global_batch=1, sequence=4096)
TOKENS = 4096


def of(model: TransformerModel, one: Configuration, framework: str = "megatron") -> MemoryColumns:
    return memory(model, configuration_table([one]), "h100", "fused", framework)


def freed(model: TransformerModel, part: str) -> float:
    """Return the bytes that a part's recomputation frees."""
    return float((of(model, ONE).activations - of(model, replace(ONE, recompute=part)).activations)[0])


def test_norms_free_what_comes_out_of_them() -> None:
    assert freed(LLAMA, "norms") == 8 * TOKENS * 2 * 2 * 4096


def test_the_activation_frees_what_enters_the_last_matrix() -> None:
    assert freed(LLAMA, "activation") == 8 * TOKENS * 2 * 14336


def test_latent_projections_free_queries_keys_and_values() -> None:
    assert freed(DEEPSEEK, "latent") == 4 * TOKENS * 2 * 128 * (2 * 192 + 128)


def test_experts_free_all_between_their_norm_and_the_residual() -> None:
    """8 visits and a shared expert of 2048, all gated; tokens that came in; router scores in fp32."""
    inner = 3 * 2 * (8 * 2048 + 2048)
    assert freed(DEEPSEEK, "experts") == TOKENS * (inner + 8 * 2 * 7168 + 2 * 4 * 256)
    assert freed(DEEPSEEK, "experts+activation") == freed(DEEPSEEK, "experts") + 3 * TOKENS * 2 * 18432


def test_parts_add_up_and_full_frees_more() -> None:
    parts = sum(freed(DEEPSEEK, part) for part in ("norms", "latent", "activation"))
    assert freed(DEEPSEEK, "norms+latent+activation") == parts < freed(DEEPSEEK, "full")


def test_some_layers_of_a_chunk_compute_again() -> None:
    some = of(LLAMA, replace(ONE, recompute="full", recompute_layers=2)).activations[0]
    none, full = (of(LLAMA, replace(ONE, recompute=how)).activations[0] for how in ("none", "full"))
    assert none - some == pytest.approx((none - full) / 4)


def test_eight_bits_keep_the_inputs_of_products_in_eight_bits() -> None:
    """Norms out 2 to 1, product of SwiGLU 2 to 1; attention keeps its output and a cast of it."""
    less = of(LLAMA, ONE).activations[0] - of(LLAMA, replace(ONE, precision="fp8")).activations[0]
    assert less == 8 * TOKENS * (2 * 4096 + 14336 - 4096)


def test_what_enters_swiglu_may_be_kept_in_eight_bits() -> None:
    """Megatron Core's ``--activation-func-fp8-input-store``: gate and up, in 1 byte instead of 2."""
    less = of(LLAMA, ONE).activations[0] - of(LLAMA, replace(ONE, activation_inputs="fp8")).activations[0]
    assert less == 8 * TOKENS * 2 * 14336


@pytest.mark.parametrize(
    ("words", "framework", "each"),
    [
        ({}, "megatron", 2 + 4 + 12),
        ({"gradients": "bf16"}, "megatron", 2 + 2 + 12),
        ({"gradients": "fp32"}, "nemo", 2 + 4 + 12),
        ({"moments": "bf16"}, "megatron", 2 + 4 + 8),
        ({"moments": "fp8"}, "megatron", 2 + 4 + 6),
        ({"precision": "fp8"}, "megatron", 2 + 2 + 4 + 12),  # casts by rows and by columns beside the weights
        ({"precision": "fp8", "weights": "fp8"}, "megatron", 2 + 4 + 12),
        ({"precision": "fp8"}, "nemo", 2 + 2 + 12),
        ({"precision": "fp8", "weights": "bf16"}, "nemo", 2 + 2 + 2 + 12),
        ({"offload_optimizer": 0.5}, "megatron", 2 + 4 + 6),
    ],
)
def test_bytes_of_a_parameter_follow_what_is_stored(
    words: dict[str, object], framework: str, each: float
) -> None:
    found = of(LLAMA, replace(ONE, **words), framework)  # type: ignore[arg-type]
    states = found.parameters + found.gradients + found.optimizer
    assert states[0] == pytest.approx(each * count_parameters(LLAMA).total, rel=1e-4)


def test_the_host_keeps_a_share_of_the_activations() -> None:
    half = of(LLAMA, replace(ONE, offload_activations=0.5)).activations[0]
    assert half == pytest.approx(of(LLAMA, ONE).activations[0] / 2, rel=0.02)
    all_but_one = of(LLAMA, replace(ONE, offload_activations=1.0)).activations[0]
    assert all_but_one == pytest.approx(of(LLAMA, ONE).activations[0] / 8, rel=0.11)


def test_what_a_framework_does_not_offload_is_refused() -> None:
    with pytest.raises(InvalidInput, match="offload_activations: fsdp keeps activations on the accelerator"):
        of(LLAMA, replace(ONE, offload_activations=0.5), "fsdp")


def test_pipelines_from_both_ends_hold_every_stage_twice_and_one_micro_batch_more() -> None:
    model = small_model(replace(SMALL_EXPERTS, every=1))
    straight = Configuration(tp=1, pp=4, dp=1, global_batch=16, sequence=64, recompute="full")
    both = replace(straight, schedule="dualpipe")
    assert of(model, both).parameters[0] > 1.9 * of(model, straight).parameters[0]
    table = configuration_table([both])
    assert [count_in_flight(table, np.array([stage]))[0] for stage in range(4)] == [5] * 4


def test_a_rank_of_a_pipeline_from_both_ends_holds_most_micro_batches_of_its_first_stage() -> None:
    """8 layers on 4 stages, the first two dense: of rank 0 four micro-batches, and one of its mirror image."""
    model = small_model(replace(SMALL_EXPERTS, every=1, first_dense_layers=2))
    table = configuration_table(
        [Configuration(tp=1, pp=4, dp=1, global_batch=16, sequence=64, schedule="dualpipe")]
    )
    ranks = [stage_of(model, table, np.array([rank])) for rank in range(4)]
    assert [one.kept_layers[0] for one in ranks] == [4 * 2 + 1 * 2, 3 * 2 + 2 * 2, 10, 10]
    assert [one.kept_moe_layers[0] for one in ranks] == [1 * 2, 10, 10, 1 * 2]
    assert [one.layers[0] for one in ranks] == [4] * 4
    assert [bool(one.is_first[0] and one.is_last[0]) for one in ranks] == [True, False, False, True]


def test_deepseek_keeps_the_output_of_attention_once_and_casts_weights_for_each_product() -> None:
    """12 bits of 128 heads of 128, not 16 and 8 (technical report, section 3.3.3); two bytes a weight, not four."""
    eight = replace(ONE, precision="fp8")
    usual, own = (of(DEEPSEEK, eight, name) for name in ("megatron", "hai-llm"))
    assert usual.activations[0] - own.activations[0] == 4 * TOKENS * (3 - 1.5) * 128 * 128
    count = count_parameters(DEEPSEEK)
    assert own.parameters[0] == 2 * count.total
    assert usual.parameters[0] == pytest.approx(4 * count.total, rel=1e-4)


@pytest.mark.parametrize(("precision", "each"), [("bf16", 10), ("fp8", 12)])
def test_apex_stores_the_lower_half_of_weights_beside_those_in_16_bits(precision: str, each: float) -> None:
    found = of(LLAMA, replace(ONE, precision=precision), "nemo-apex")
    assert found.optimizer[0] == pytest.approx(each * count_parameters(LLAMA).total, rel=1e-4)


def test_shards_of_eight_keep_an_eighth_whatever_the_replicas() -> None:
    wide = replace(ONE, dp=64, global_batch=64, zero=3)
    assert of(LLAMA, replace(wide, shard=8)).optimizer[0] == of(LLAMA, replace(wide, dp=8)).optimizer[0]
    assert of(LLAMA, wide).optimizer[0] == of(LLAMA, replace(wide, dp=8)).optimizer[0] / 8


def test_embedding_and_output_layer_count_as_layers_where_they_make_stages_even() -> None:
    """126 layers on 8 stages: the first stage has 15 and the embedding, as in MLPerf's layouts."""
    model = replace(find_transformer("llama3.1-405b"), vocabulary=1)
    split = Configuration(tp=8, pp=8, dp=1, global_batch=64, sequence=64, sequence_parallel=True)
    edges, spread = (of(model, split, name) for name in ("megatron", "deepspeed"))
    assert edges.stage[0] == 1
    assert spread.stage[0] == 0


def test_what_pytorch_keeps_of_operators_one_by_one() -> None:
    """Autograd's own count of a norm in fp32 and of SwiGLU, as the framework ``scaling`` has them."""
    torch = pytest.importorskip("torch")
    hidden, inner, tokens = 64, 160, 128
    x = torch.randn(tokens, hidden, dtype=torch.bfloat16, requires_grad=True)
    weight = torch.ones(hidden, dtype=torch.bfloat16, requires_grad=True)
    into, gate = (torch.randn(inner, hidden, dtype=torch.bfloat16, requires_grad=True) for _ in range(2))
    back = torch.randn(hidden, inner, dtype=torch.bfloat16, requires_grad=True)
    kept: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        wide = x.float()
        normed = (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x) * weight
        linear = torch.nn.functional.linear
        linear(torch.nn.functional.silu(linear(normed, into)) * linear(normed, gate), back)
    for parameter in (weight, into, gate, back):
        kept.pop(parameter.untyped_storage().data_ptr(), None)
    model = replace(small_model(), hidden=hidden, ffn=inner, norms_per_layer=1)
    table = configuration_table([replace(ONE, sequence=tokens)])
    layer = layer_activations(model, table, False, np.array([True]), FRAMEWORKS["scaling"])
    attention = layer_activations(
        replace(model, ffn=1, norms_per_layer=0), table, False, np.array([True]), FRAMEWORKS["scaling"]
    )
    ours = float((layer.rest - attention.rest)[0]) + 2 * 4  # the two products of the one inner column
    assert sum(kept.values()) == pytest.approx(tokens * ours, rel=0.02)
