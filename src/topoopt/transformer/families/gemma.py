"""Gemma 1 to 3 and Phi-3: Llama's keys, but tied, with more norms, or with fused projections."""

from topoopt.transformer.config_fields import ConfigFields
from topoopt.transformer.families.decoder import decoder, window_of, windowed_layers
from topoopt.transformer.model import TransformerModel


def gemma(fields: ConfigFields) -> TransformerModel:
    """Return the model."""
    return _gemma(fields)


def gemma2(fields: ConfigFields) -> TransformerModel:
    """Return the model: norms before and after each part, a window in every other layer."""
    windowed = windowed_layers(fields, (fields.integer("num_hidden_layers") + 1) // 2)
    return _gemma(fields, norms_per_layer=4, **window_of(fields, True, windowed))


def gemma3_text(fields: ConfigFields) -> TransformerModel:
    """Return the model: Gemma 2 with norms of heads, and a window in five of six layers."""
    layers = fields.integer("num_hidden_layers")
    windowed = windowed_layers(fields, layers - layers // fields.integer_or("sliding_window_pattern", 6))
    return _gemma(fields, norms_per_layer=4, head_norms=True, **window_of(fields, True, windowed))


def phi3(fields: ConfigFields) -> TransformerModel:
    """Return the model, whose fused projections have the shapes of Llama's."""
    return decoder(fields, **window_of(fields, True, fields.integer("num_hidden_layers")))


def _gemma(fields: ConfigFields, **own: int) -> TransformerModel:
    bias = fields.flag("attention_bias", False)
    return decoder(
        fields,
        head_dim=fields.integer("head_dim"),
        tied=fields.flag("tie_word_embeddings", True),
        attention_bias=bias,
        output_bias=bias,
        **own,
    )
