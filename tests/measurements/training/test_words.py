"""Words of a row: as people write them, doubt them, add to them and leave a choice."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.measurements.training.cells import is_hybrid_shard, precision, recomputation, zero_stage


@pytest.mark.parametrize(
    ("word", "stage"),
    [
        ("ZeRO-1", 1),
        ("dist-opt", 1),
        ("distributed optimizer", 1),
        ("fsdp(zero2-like)", 2),
        ("fsdp (ZeRO 3)?", 3),
        ("FULL_SHARD", 3),
        ("hsdp", 3),
        ("mcore-ddp", 0),
        ("3D", 0),
        ("ddp/dist-opt", 1),
        ("zero-1/dist-opt", 1),
        ("1?", 1),
        ("os+g", 2),
        ("ddp+zero1", 1),
        ("ddp (dist-opt)", 1),
        ("Megatron with distributed optimizer", 1),
        ("FSDP FULL_SHARD", 3),
        ("zero-3+offload", 3),
        ("z3", 3),
        ("?", 0),
    ],
)
def test_zero_stages_as_written(word: str, stage: int) -> None:
    assert zero_stage({"zero": word}) == stage


@pytest.mark.parametrize(
    ("word", "how"),
    [
        ("selective?", "selective"),
        ("none(flash attn)", "none"),
        ("none (FlashAttention)", "none"),
        ("full/block", "full"),
        ("full (block, 4 layers)", "full"),
        ("Full Recompute", "full"),
        ("no recompute", "none"),
        ("core_attn+layernorm", "core+norms"),
        ("core_attn, moe_act and mla_up_proj".replace(" and ", ", "), "core+activation+latent"),
        ("selective (layernorm moe_act)", "norms+activation"),
        ("moe", "experts"),
        ("selective (unknown)", "selective"),
        ("activation checkpointing", "full"),
        ("selective activation recomputation", "selective"),
        ("full activation ckpt", "full"),
        ("SAC", "selective"),
        ("unknown", "none"),
    ],
)
def test_recomputation_as_written(word: str, how: str) -> None:
    assert recomputation({"recompute": word}) == how


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("fp8-delayed", "fp8"),
        ("FP8 current", "fp8"),
        ("mxfp8", "fp8"),
        ("nvfp4", "fp4"),
        ("bf16-mixed", "bf16"),
        ("16-mixed", "fp16"),
        ("bf16 + fp8", "fp8"),
    ],
)
def test_precisions_as_written(word: str, name: str) -> None:
    assert precision({"precision": word}) == name


@pytest.mark.parametrize(
    ("column", "word"), [("zero", "1/2"), ("zero", "zero1/fsdp"), ("recompute", "none/full")]
)
def test_two_things_at_once_are_refused(column: str, word: str) -> None:
    read = zero_stage if column == "zero" else recomputation
    with pytest.raises(InvalidInput, match=f'{column}: "{word}" says .* and .*; leave one'):
        read({column: word})


def test_hybrid_sharding_is_told_from_full_sharding() -> None:
    assert [is_hybrid_shard({"zero": word}) for word in ("HSDP", "hybrid_shard", "fsdp", "")] == [
        True,
        True,
        False,
        False,
    ]
