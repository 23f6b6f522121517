"""Gemma 1 and 2 and Phi-3: Llama's keys, but tied, with more norms, or with one rank of all projections."""

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
