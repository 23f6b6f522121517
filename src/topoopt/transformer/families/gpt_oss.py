"""gpt-oss: experts with biases, attention sinks, a window in every other layer."""

from topoopt.transformer.config_fields import ConfigFields
from topoopt.transformer.families.decoder import decoder, window_of, windowed_layers
from topoopt.transformer.model import Experts, TransformerModel


def gpt_oss(fields: ConfigFields) -> TransformerModel:
    """Return the model; every layer has experts, and every projection a bias."""
    experts = Experts(
        count=fields.integer("num_local_experts", "num_experts"),
        per_token=fields.integer("num_experts_per_tok", "experts_per_token"),
        ffn=fields.integer("intermediate_size"),
        router_bias=True,
    )
    bias = fields.flag("attention_bias", True)
    windowed = windowed_layers(fields, (fields.integer("num_hidden_layers") + 1) // 2)
    return decoder(
        fields,
        attention_bias=bias,
        output_bias=bias,
        mlp_bias=True,
        attention_sinks=True,
        head_dim=fields.integer("head_dim"),
        experts=experts,
        **window_of(fields, True, windowed),
    )
