"""DeepSeek-V2 and V3, Kimi K2 and GLM-4.5: many small experts and shared ones, all but GLM with latent attention."""

from topoopt.transformer.config_fields import ConfigFields
from topoopt.transformer.families.decoder import decoder
from topoopt.transformer.model import Experts, LatentAttention, TransformerModel


def deepseek_v2(fields: ConfigFields) -> TransformerModel:
    """Return the model; DeepSeek-V2-Lite projects queries directly, its ``q_lora_rank`` is null."""
    return _deepseek(fields, router_bias=False)


def deepseek_v3(fields: ConfigFields) -> TransformerModel:
    """Return the model without its module for predicting a second token (``num_nextn_predict_layers``).

    Its router keeps a number for each expert that evens out their loads (DeepSeek-V3, section 2.1.2).
    """
    return _deepseek(fields, router_bias=True)


def glm4_moe(fields: ConfigFields) -> TransformerModel:
    """Return the model: DeepSeek-V3's experts with grouped queries, and biases of queries, keys and values."""
    return decoder(
        fields,
        head_dim=fields.integer("head_dim"),
        attention_bias=fields.flag("attention_bias", False),
        head_norms=fields.flag("use_qk_norm", False),
        experts=_experts(fields, router_bias=True),
    )


def _deepseek(fields: ConfigFields, router_bias: bool) -> TransformerModel:
    latent = LatentAttention(
        query_rank=fields.integer_or("q_lora_rank", 0),
        key_value_rank=fields.integer("kv_lora_rank"),
        rope_head_dim=fields.integer("qk_rope_head_dim"),
        nope_head_dim=fields.integer("qk_nope_head_dim"),
        value_head_dim=fields.integer("v_head_dim"),
    )
    bias = fields.flag("attention_bias", False)
    return decoder(
        fields,
        # Every head has keys and values of its own, made from the shared rank.
        kv_heads=fields.integer("num_attention_heads"),
        head_dim=latent.nope_head_dim + latent.rope_head_dim,
        attention_bias=bias,
        output_bias=bias,
        latent=latent,
        experts=_experts(fields, router_bias),
    )


def _experts(fields: ConfigFields, router_bias: bool) -> Experts:
    if fields.integer_or("moe_layer_freq", 1) != 1:
        raise fields.refuse(
            "moe_layer_freq", "understood only as 1, experts in every layer after the first dense ones"
        )
    ffn = fields.integer("moe_intermediate_size")
    return Experts(
        count=fields.integer("n_routed_experts"),
        per_token=fields.integer("num_experts_per_tok"),
        ffn=ffn,
        shared_ffn=ffn * fields.integer_or("n_shared_experts", 0, least=0),
        first_dense_layers=fields.integer("first_k_dense_replace", least=0),
        router_bias=router_bias,
    )
