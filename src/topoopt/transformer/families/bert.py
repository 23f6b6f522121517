"""BERT and RoBERTa: encoders with learned positions, type embeddings and a pooler."""

from topoopt.transformer.config_fields import ConfigFields
from topoopt.transformer.families.decoder import head_size
from topoopt.transformer.model import TransformerModel


def bert(fields: ConfigFields) -> TransformerModel:
    """Return the model with its pooler, and without a head for any task.

    The norm behind the embeddings is counted as what other models have behind the last layer.
    """
    return _encoder(fields, 0)


def roberta(fields: ConfigFields) -> TransformerModel:
    """Return the model; two rows of its table of positions stand for no position."""
    return _encoder(fields, 2)


def _encoder(fields: ConfigFields, unused_positions: int) -> TransformerModel:
    hidden, heads = fields.integer("hidden_size"), fields.integer("num_attention_heads")
    positions = fields.integer("max_position_embeddings", least=unused_positions + 1)
    pooler = hidden * hidden + hidden
    return TransformerModel(
        name=fields.place,
        family=str(fields.values["model_type"]),
        layers=fields.integer("num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        ffn=fields.integer("intermediate_size"),
        vocabulary=fields.integer("vocab_size"),
        sequence=positions - unused_positions,
        kv_heads=heads,
        head_dim=head_size(fields, hidden, heads),
        tied=True,
        positions=positions,
        norm="layernorm",
        attention_bias=True,
        output_bias=True,
        mlp_bias=True,
        extra_parameters=fields.integer_or("type_vocab_size", 2) * hidden + pooler,
    )
