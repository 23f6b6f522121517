"""GPT-2 and the families with its layer norms and biases: GPT-J, GPT-NeoX, BLOOM, OPT, StarCoder 2, Nemotron."""

from typing import Any

from topoopt.transformer.config_fields import ConfigFields
from topoopt.transformer.families.decoder import head_size
from topoopt.transformer.model import TransformerModel


def gpt2(fields: ConfigFields) -> TransformerModel:
    """Return the model; ``n_inner`` null is four times the hidden size."""
    length = fields.integer("n_positions")
    return _n_keys(fields, positions=length, sequence=length)


def gptj(fields: ConfigFields) -> TransformerModel:
    """Return the model: one norm for both parts of a layer, no biases in attention, one in the output layer."""
    return _n_keys(
        fields,
        sequence=fields.integer("n_positions"),
        tied=fields.flag("tie_word_embeddings", False),
        attention_bias=False,
        output_bias=False,
        norms_per_layer=1,
        extra_parameters=fields.integer("vocab_size"),
    )


def bloom(fields: ConfigFields) -> TransformerModel:
    """Return the model: ALiBi, and a norm after the embedding."""
    hidden = fields.integer("hidden_size", "n_embed")
    return _with_biases(
        fields,
        hidden=hidden,
        heads=fields.integer("n_head", "num_attention_heads"),
        layers=fields.integer("n_layer", "num_hidden_layers"),
        ffn=4 * hidden,
        sequence=fields.integer_or("seq_length", 2048),
        tied=fields.flag("tie_word_embeddings", True),
        extra_parameters=2 * hidden,
    )


def gpt_neox(fields: ConfigFields) -> TransformerModel:
    """Return the model: rotary positions, an output layer of its own."""
    bias = fields.flag("attention_bias", True)
    return _hidden_keys(
        fields,
        ffn=fields.integer("intermediate_size"),
        tied=fields.flag("tie_word_embeddings", False),
        attention_bias=bias,
        output_bias=bias,
    )


def opt(fields: ConfigFields) -> TransformerModel:
    """Return the model; its table of positions has two rows more than positions."""
    hidden, length = fields.integer("hidden_size"), fields.integer("max_position_embeddings")
    if fields.integer_or("word_embed_proj_dim", hidden) != hidden:
        raise fields.refuse("word_embed_proj_dim", "an embedding narrower than the layers is not understood")
    if not fields.flag("do_layer_norm_before", True):
        raise fields.refuse("do_layer_norm_before", "norms after the layers are not understood")
    bias = fields.flag("enable_bias", True)
    return _hidden_keys(
        fields,
        ffn=fields.integer("ffn_dim"),
        positions=length + 2,
        attention_bias=bias,
        output_bias=bias,
        mlp_bias=bias,
    )


def starcoder2(fields: ConfigFields) -> TransformerModel:
    """Return the model: grouped queries with biases, tied."""
    bias = fields.flag("use_bias", True)
    return _hidden_keys(
        fields,
        ffn=fields.integer("intermediate_size"),
        kv_heads=fields.integer("num_key_value_heads"),
        attention_bias=bias,
        output_bias=bias,
        mlp_bias=bias,
    )


def nemotron(fields: ConfigFields) -> TransformerModel:
    """Return the model: squared ReLU, grouped queries, norms with biases and nothing else with them."""
    attention = fields.flag("attention_bias", False)
    return _hidden_keys(
        fields,
        ffn=fields.integer("intermediate_size"),
        kv_heads=fields.integer("num_key_value_heads"),
        tied=fields.flag("tie_word_embeddings", False),
        attention_bias=attention,
        output_bias=attention,
        mlp_bias=fields.flag("mlp_bias", False),
    )


def _n_keys(fields: ConfigFields, **own: Any) -> TransformerModel:
    hidden = fields.integer("n_embd")
    shapes: dict[str, Any] = {
        "hidden": hidden,
        "heads": fields.integer("n_head"),
        "layers": fields.integer("n_layer"),
        "ffn": fields.integer_or("n_inner", 4 * hidden),
        "tied": fields.flag("tie_word_embeddings", True),
    }
    return _with_biases(fields, **{**shapes, **own})


def _hidden_keys(fields: ConfigFields, **own: Any) -> TransformerModel:
    shapes: dict[str, Any] = {
        "hidden": fields.integer("hidden_size"),
        "heads": fields.integer("num_attention_heads"),
        "layers": fields.integer("num_hidden_layers"),
        "sequence": fields.integer("max_position_embeddings"),
        "tied": fields.flag("tie_word_embeddings", True),
    }
    return _with_biases(fields, **{**shapes, **own})


def _with_biases(fields: ConfigFields, hidden: int, heads: int, **own: Any) -> TransformerModel:
    shapes: dict[str, Any] = {
        "kv_heads": heads,
        "head_dim": head_size(fields, hidden, heads),
        "norm": "layernorm",
        "attention_bias": True,
        "output_bias": True,
        "mlp_bias": True,
    }
    return TransformerModel(
        name=fields.place,
        family=str(fields.values["model_type"]),
        hidden=hidden,
        heads=heads,
        vocabulary=fields.integer("vocab_size"),
        **{**shapes, **own},
    )
