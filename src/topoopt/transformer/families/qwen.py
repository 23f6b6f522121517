"""Qwen 2, 2.5 and 3, with and without experts."""

from topoopt.transformer.config_fields import ConfigFields
from topoopt.transformer.families.decoder import decoder, window_of
from topoopt.transformer.model import Experts, TransformerModel


def qwen2(fields: ConfigFields) -> TransformerModel:
    """Return the model: Llama with biases of queries, keys and values."""
    return decoder(fields, attention_bias=True, **_window(fields))


def qwen2_moe(fields: ConfigFields) -> TransformerModel:
    """Return the model: one shared expert with a gate beside small routed ones."""
    experts = _experts(fields, shared_ffn=fields.integer("shared_expert_intermediate_size"), shared_gate=True)
    return decoder(fields, attention_bias=fields.flag("qkv_bias", True), experts=experts, **_window(fields))


def qwen3(fields: ConfigFields) -> TransformerModel:
    """Return the model: norms of query and key heads instead of biases."""
    bias = fields.flag("attention_bias", False)
    return decoder(
        fields, attention_bias=bias, output_bias=bias, head_norms=True, **_head_dim(fields), **_window(fields)
    )


def qwen3_moe(fields: ConfigFields) -> TransformerModel:
    """Return the model: small routed experts and no shared one."""
    bias = fields.flag("attention_bias", False)
    return decoder(
        fields,
        attention_bias=bias,
        output_bias=bias,
        head_norms=True,
        experts=_experts(fields),
        **_head_dim(fields),
        **_window(fields),
    )


def _head_dim(fields: ConfigFields) -> dict[str, int]:
    """Return the size of a head, which in Qwen 3 is not the hidden size over the heads."""
    return {"head_dim": fields.integer("head_dim")}


def _experts(fields: ConfigFields, shared_ffn: int = 0, shared_gate: bool = False) -> Experts:
    dense = fields.items("mlp_only_layers")
    every = fields.integer_or("decoder_sparse_step", 1)
    if dense and (any(layer not in dense for layer in range(len(dense))) or every > 1):
        raise fields.refuse("mlp_only_layers", "layers without experts are understood at the beginning only")
    return Experts(
        count=fields.integer("num_experts"),
        per_token=fields.integer("num_experts_per_tok"),
        ffn=fields.integer("moe_intermediate_size"),
        shared_ffn=shared_ffn,
        first_dense_layers=len(dense),
        every=every,
        shared_gate=shared_gate,
    )


def _window(fields: ConfigFields) -> dict[str, int]:
    layers = fields.integer("num_hidden_layers")
    # The layers from max_window_layers on have the window, where it is used at all.
    windowed = max(layers - fields.integer_or("max_window_layers", layers, least=0), 0)
    return window_of(fields, fields.flag("use_sliding_window", False), windowed)
