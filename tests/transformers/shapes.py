"""Transformers and configurations that several tests of this room share."""

from topoopt.transformers import Configuration
from topoopt.workloads.transformer import Experts, TransformerModel

PAPER_MODEL = TransformerModel(
    "gpt-3b",
    "gpt2",
    layers=56,
    hidden=2000,
    heads=16,
    ffn=8000,
    vocabulary=50304,
    sequence=1024,
    kv_heads=16,
    head_dim=125,
    tied=True,
    positions=1024,
    norm="layernorm",
    attention_bias=True,
    output_bias=True,
    mlp_bias=True,
)
"""The model whose traffic on 32 GPUs the APNet'24 paper shows, as its counts and sizes imply it."""
PAPER_CONFIGURATION = Configuration(
    tp=2, pp=4, dp=4, global_batch=1024, sequence=1024, micro_batch=32, recompute="full", precision="fp16"
)


def small_model(experts: Experts | None = None, layers: int = 8, kv_heads: int = 4) -> TransformerModel:
    """Return a Llama of a few layers."""
    return TransformerModel(
        "toy",
        "llama",
        layers=layers,
        hidden=64,
        heads=8,
        ffn=128,
        vocabulary=1024,
        sequence=64,
        kv_heads=kv_heads,
        head_dim=8,
        gated=True,
        experts=experts,
    )


SMALL_EXPERTS = Experts(count=8, per_token=2, ffn=32)
