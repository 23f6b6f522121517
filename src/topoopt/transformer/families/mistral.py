"""Mistral, and Mixtral, whose every layer has experts."""

from topoopt.transformer.config_fields import ConfigFields
from topoopt.transformer.families.decoder import decoder, window_of
from topoopt.transformer.model import Experts, TransformerModel


def mistral(fields: ConfigFields) -> TransformerModel:
    """Return the model; the first Mistral 7B sees a window of 4,096 tokens in every layer."""
    return decoder(fields, **window_of(fields, True, fields.integer("num_hidden_layers")))


def mixtral(fields: ConfigFields) -> TransformerModel:
    """Return the model."""
    experts = Experts(
        count=fields.integer("num_local_experts"),
        per_token=fields.integer("num_experts_per_tok"),
        ffn=fields.integer("intermediate_size"),
    )
    return decoder(fields, experts=experts, **window_of(fields, True, fields.integer("num_hidden_layers")))
