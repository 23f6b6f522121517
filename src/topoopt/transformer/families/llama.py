"""Llama 1 to 3, and what has its keys: Yi, DeepSeek-LLM, CodeLlama …"""

from topoopt.transformer.config_fields import ConfigFields
from topoopt.transformer.families.decoder import decoder
from topoopt.transformer.model import TransformerModel


def llama(fields: ConfigFields) -> TransformerModel:
    """Return the model; files of Llama 1 have no ``num_key_value_heads``, for it has no grouped queries."""
    bias = fields.flag("attention_bias", False)
    return decoder(
        fields,
        kv_heads=fields.integer_or("num_key_value_heads", fields.integer("num_attention_heads")),
        attention_bias=bias,
        output_bias=bias,
        mlp_bias=fields.flag("mlp_bias", False),
    )
