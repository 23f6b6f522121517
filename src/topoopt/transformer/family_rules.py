"""What single families of transformers have of their own: fields that no key and no formula says."""

from collections.abc import Callable, Mapping
from typing import Any

from topoopt.transformer.config_fields import ConfigFields

Shape = Callable[[str], Any]
"""The fields of the same noun, by name."""


def _head_size(config: ConfigFields, shape: Shape) -> int:
    """Return the size of a head: what the file says, or the hidden size over the heads."""
    hidden, heads = shape("hidden"), shape("heads")
    if config.values.get("head_dim") is None and hidden % heads:
        raise config.refuse("head_dim", f"missing, and {heads} heads do not divide the hidden size {hidden}")
    return config.integer_or("head_dim", hidden // heads)


def _query_size(config: ConfigFields, shape: Shape) -> int:
    return int(shape("latent").nope_head_dim + shape("latent").rope_head_dim)


def _trained_length(config: ConfigFields, shape: Shape) -> int:
    """Return the sequence length of pre-training: before rotary positions were stretched, where they were."""
    key = "original_max_position_embeddings"
    for place in (config.mapping("rope_scaling"), config.mapping("rope_parameters"), config):
        if place.values.get(key) is not None:
            return place.integer(key)
    return config.integer("max_position_embeddings")


def _window(config: ConfigFields, shape: Shape) -> int:
    return config.integer("sliding_window") if shape("window_layers") else 0


def _with_window(config: ConfigFields, layers: int) -> int:
    """Return how many layers have a window: so many, if there is one at all."""
    return layers if config.integer_or("sliding_window", 0, least=0) else 0


def _windows_in_all_layers(config: ConfigFields, shape: Shape) -> int:
    return _with_window(config, shape("layers"))


def _windows_in_late_layers(config: ConfigFields, shape: Shape) -> int:
    """Return the layers from ``max_window_layers`` on, where windows are used at all."""
    late = max(shape("layers") - config.integer_or("max_window_layers", shape("layers"), least=0), 0)
    return _with_window(config, late) if config.flag("use_sliding_window", False) else 0


def _windows_in_every_other_layer(config: ConfigFields, shape: Shape) -> int:
    return _with_window(config, _sliding_layers(config, (shape("layers") + 1) // 2))


def _windows_in_most_layers(config: ConfigFields, shape: Shape) -> int:
    open_layers = shape("layers") // config.integer_or("sliding_window_pattern", 6)
    return _with_window(config, _sliding_layers(config, shape("layers") - open_layers))


def _sliding_layers(config: ConfigFields, usual: int) -> int:
    """Return how many layers ``layer_types`` says to have a window, or the usual number where it says nothing."""
    kinds = config.items("layer_types")
    return kinds.count("sliding_attention") if kinds else usual


def _dense_layers_at_first(config: ConfigFields, shape: Shape) -> int:
    dense = config.items("mlp_only_layers")
    if dense and (any(layer not in dense for layer in range(len(dense))) or shape("every") > 1):
        raise config.refuse("mlp_only_layers", "layers without experts are understood at the beginning only")
    return len(dense)


def _falcon_heads_of_keys(config: ConfigFields, shape: Shape) -> int:
    if config.flag("new_decoder_architecture", False):
        return config.integer("num_kv_heads", "n_head_kv")
    return 1 if config.flag("multi_query", True) else int(shape("heads"))


def _falcon_norms(config: ConfigFields, shape: Shape) -> int:
    if config.flag("new_decoder_architecture", False):
        return config.integer_or("num_ln_in_parallel_attn", 2)
    return 1 if config.flag("parallel_attn", True) else 2


def _mpt_heads_of_keys(config: ConfigFields, shape: Shape) -> int:
    return config.mapping("attn_config").integer_or("kv_n_heads", shape("heads"))


def _mpt_positions(config: ConfigFields, shape: Shape) -> int:
    attention = config.mapping("attn_config")
    return 0 if attention.flag("alibi", True) or attention.flag("rope", False) else int(shape("sequence"))


def _mpt_norm(config: ConfigFields, shape: Shape) -> str:
    return "layernorm" if shape("attention_bias") else "layernorm-without-bias"


def _types_and_pooler(config: ConfigFields, shape: Shape) -> int:
    hidden = shape("hidden")
    return int(config.integer_or("type_vocab_size", 2) * hidden + hidden * hidden + hidden)


RULES: Mapping[str, Callable[[ConfigFields, Shape], int | str]] = {
    "head_size": _head_size,
    "query_size": _query_size,
    "trained_length": _trained_length,
    "window": _window,
    "windows_in_all_layers": _windows_in_all_layers,
    "windows_in_late_layers": _windows_in_late_layers,
    "windows_in_every_other_layer": _windows_in_every_other_layer,
    "windows_in_most_layers": _windows_in_most_layers,
    "dense_layers_at_first": _dense_layers_at_first,
    "falcon_heads_of_keys": _falcon_heads_of_keys,
    "falcon_norms": _falcon_norms,
    "mpt_heads_of_keys": _mpt_heads_of_keys,
    "mpt_positions": _mpt_positions,
    "mpt_norm": _mpt_norm,
    "types_and_pooler": _types_and_pooler,
}
"""By name, as ``data/families.toml`` asks for them."""
