"""What the families after Llama share: the same keys for rotary, gated decoders with RMS norms."""

from typing import Any

from topoopt.transformer.config_fields import ConfigFields
from topoopt.transformer.model import TransformerModel


def decoder(fields: ConfigFields, **own: Any) -> TransformerModel:
    """Return a model of Llama's keys, with the fields that a family has otherwise in ``own``."""
    hidden, heads = fields.integer("hidden_size"), fields.integer("num_attention_heads")
    shapes: dict[str, Any] = {
        "name": fields.place,
        "family": str(fields.values["model_type"]),
        "layers": fields.integer("num_hidden_layers"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": own["kv_heads"] if "kv_heads" in own else fields.integer("num_key_value_heads"),
        "head_dim": own["head_dim"] if "head_dim" in own else head_size(fields, hidden, heads),
        "ffn": own["ffn"] if "ffn" in own else fields.integer("intermediate_size"),
        "vocabulary": fields.integer("vocab_size"),
        "sequence": trained_length(fields),
        "tied": fields.flag("tie_word_embeddings", False),
        "gated": True,
    }
    return TransformerModel(**{**shapes, **own})


def head_size(fields: ConfigFields, hidden: int, heads: int) -> int:
    """Return the size of a head: what the file says, or the hidden size over the heads.

    Raises
    ------
    InvalidInput
        If the file does not say and the heads do not divide the hidden size.
    """
    if fields.values.get("head_dim") is not None:
        return fields.integer("head_dim")
    if hidden % heads:
        raise fields.refuse("head_dim", f"missing, and {heads} heads do not divide the hidden size {hidden}")
    return hidden // heads


def trained_length(fields: ConfigFields) -> int:
    """Return the sequence length of pre-training: before rotary positions were stretched, where they were."""
    key = "original_max_position_embeddings"
    for place in (fields.mapping("rope_scaling"), fields.mapping("rope_parameters"), fields):
        if place.values.get(key) is not None:
            return place.integer(key)
    return fields.integer("max_position_embeddings")


def window_of(fields: ConfigFields, used: bool, layers: int) -> dict[str, int]:
    """Return the sliding window and the number of layers that have it; nothing where none has."""
    window = fields.integer_or("sliding_window", 0, least=0) if used else 0
    return {"window": window, "window_layers": layers} if window and layers else {}


def windowed_layers(fields: ConfigFields, default: int) -> int:
    """Return how many layers ``layer_types`` says to have a window, or the default where it says nothing."""
    kinds = fields.items("layer_types")
    return kinds.count("sliding_attention") if kinds else default
