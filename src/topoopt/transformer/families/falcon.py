"""Falcon and MPT: layer norms with few or no biases, one or few heads of keys and values."""

from topoopt.transformer.config_fields import ConfigFields
from topoopt.transformer.families.decoder import head_size
from topoopt.transformer.model import TransformerModel


def falcon(fields: ConfigFields) -> TransformerModel:
    """Return the model; attention and feed-forward part run beside each other, on one norm or on two."""
    hidden, heads = fields.integer("hidden_size"), fields.integer("num_attention_heads", "n_head")
    bias = fields.flag("bias", False)
    grouped = fields.flag("new_decoder_architecture", False)
    return TransformerModel(
        name=fields.place,
        family="falcon",
        layers=fields.integer("num_hidden_layers", "n_layer"),
        hidden=hidden,
        heads=heads,
        ffn=fields.integer_or("ffn_hidden_size", 4 * hidden),
        vocabulary=fields.integer("vocab_size"),
        sequence=fields.integer_or("max_position_embeddings", 2048),
        kv_heads=_heads_of_keys(fields, heads, grouped),
        head_dim=head_size(fields, hidden, heads),
        tied=fields.flag("tie_word_embeddings", True),
        norm="layernorm",
        attention_bias=bias,
        output_bias=bias,
        mlp_bias=bias,
        norms_per_layer=_norms(fields, grouped),
    )


def mpt(fields: ConfigFields) -> TransformerModel:
    """Return the model: norms without biases; ALiBi unless positions are learned."""
    hidden, heads = fields.integer("d_model"), fields.integer("n_heads")
    attention = fields.mapping("attn_config")
    bias = not fields.flag("no_bias", True)
    length = fields.integer("max_seq_len")
    return TransformerModel(
        name=fields.place,
        family="mpt",
        layers=fields.integer("n_layers"),
        hidden=hidden,
        heads=heads,
        ffn=fields.integer_or("expansion_ratio", 4) * hidden,
        vocabulary=fields.integer("vocab_size"),
        sequence=length,
        kv_heads=attention.integer_or("kv_n_heads", heads),
        head_dim=head_size(fields, hidden, heads),
        tied=fields.flag("tie_word_embeddings", True),
        positions=0 if attention.flag("alibi", True) or attention.flag("rope", False) else length,
        norm="layernorm" if bias else "layernorm-without-bias",
        attention_bias=bias,
        output_bias=bias,
        mlp_bias=bias,
    )


def _heads_of_keys(fields: ConfigFields, heads: int, grouped: bool) -> int:
    if grouped:
        return fields.integer("num_kv_heads", "n_head_kv")
    return 1 if fields.flag("multi_query", True) else heads


def _norms(fields: ConfigFields, grouped: bool) -> int:
    if not grouped:
        return 1 if fields.flag("parallel_attn", True) else 2
    return fields.integer_or("num_ln_in_parallel_attn", 2)
