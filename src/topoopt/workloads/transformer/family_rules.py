"""Rules of single transformer families, for fields that no key and no formula gives."""

from collections.abc import Callable, Mapping

from topoopt.base.errors import InvalidInput
from topoopt.workloads.transformer.layer_patterns import (
    MIXERS,
    ConfigFields,
    Shape,
    kimi_mixers,
    layer_words,
    lightning_mixers,
    mixers_with_attention_at_intervals,
    one_part_feed_forwards,
    one_part_layers,
    one_part_mixers,
    typed_feed_forwards,
    typed_mixers,
)


def _head_size(config: ConfigFields, shape: Shape) -> int:
    """Return the size of a head: as in the file, or the hidden size over the heads."""
    hidden, heads = shape("hidden"), shape("heads")
    if config.value("head_dim") is None and hidden % heads:
        raise config.refuse("head_dim", f"missing, and {heads} heads do not divide the hidden size {hidden}")
    return config.integer_or("head_dim", hidden // heads)


def _trained_length(config: ConfigFields, shape: Shape) -> int:
    """Return the sequence length of pre-training: before rotary positions were stretched, where they were."""
    key = "original_max_position_embeddings"
    for place in (config.mapping("rope_scaling"), config.mapping("rope_parameters"), config):
        if place.value(key) is not None:
            return place.integer(key)
    return config.integer("max_position_embeddings")


def _with_window(config: ConfigFields, layers: int) -> int:
    """Return the layers with a window; one as long as the longest sequence is none."""
    window = config.integer_or("sliding_window", 0, least=0)
    return layers if 0 < window < config.integer_or("max_position_embeddings", window + 1) else 0


def _windows_in_late_layers(config: ConfigFields, shape: Shape) -> int:
    """Return the layers from ``max_window_layers`` on, where windows are used at all."""
    late = max(shape("layers") - config.integer_or("max_window_layers", shape("layers"), least=0), 0)
    return _with_window(config, late) if config.flag("use_sliding_window", False) else 0


def _windows_in_late_layers_if_any(config: ConfigFields, shape: Shape) -> int:
    """Return the layers from ``max_window_layers`` on (dots.llm1, whose published file has none)."""
    late = max(shape("layers") - config.integer_or("max_window_layers", shape("layers"), least=0), 0)
    return _with_window(config, _sliding_layers(config, shape, late))


def _windows_in_most_layers(config: ConfigFields, shape: Shape) -> int:
    open_layers = shape("layers") // config.integer_or("sliding_window_pattern", 6)
    return _with_window(config, _sliding_layers(config, shape, shape("layers") - open_layers))


def _windows_in_three_of_four_layers(config: ConfigFields, shape: Shape) -> int:
    """Return the layers with a window of OLMo 3, Exaone 4 and Cohere 2: all but each fourth."""
    if config.value("sliding_window") is None and not config.items("layer_types"):
        return 0
    every = config.value("sliding_window_pattern")
    if isinstance(every, str):  # Exaone 4 writes it as LLLG
        if set(every) - {"L", "G"} or not every:
            raise config.refuse("sliding_window_pattern", "expected a number, or characters L and G")
        windows = sum(every[layer % len(every)] == "L" for layer in range(shape("layers") - 1))
        return _with_window(config, _sliding_layers(config, shape, windows))
    full = shape("layers") // config.integer_or("sliding_window_pattern", 4)
    return _with_window(config, _sliding_layers(config, shape, shape("layers") - full))


def _chunked_layers(config: ConfigFields, shape: Shape) -> int:
    """Return the layers of Llama 4 that see their chunk only: those with rotary positions."""
    words = layer_words(config, "layer_types", shape("layers"), MIXERS)
    rotary = config.items("no_rope_layers")  # 1 where positions are rotary
    if config.integer_or("attention_chunk_size", 0, least=0) == 0:
        return 0
    if words:
        return words.count("chunked_attention")
    if rotary and (
        len(rotary) != shape("layers") or any(type(one) is not int or one not in (0, 1) for one in rotary)
    ):
        raise config.refuse("no_rope_layers", f"expected 0 or 1 for each of {shape('layers')} layers")
    interval = config.integer_or("no_rope_layer_interval", 4)
    return sum(rotary) if rotary else shape("layers") - shape("layers") // interval


def _windows_where_rotary_is_off(config: ConfigFields, shape: Shape) -> int:
    """Return SmolLM3's layers with a window; its published files have none."""
    layer_words(config, "layer_types", shape("layers"), MIXERS)
    config.items("no_rope_layers")
    if config.flag("use_sliding_window", False):
        raise config.refuse("use_sliding_window", "understood only as false")
    return 0


def _sliding_layers(config: ConfigFields, shape: Shape, usual: int) -> int:
    """Return the number of layers with a window in ``layer_types``, or the default without it."""
    kinds = layer_words(config, "layer_types", shape("layers"), MIXERS)
    return kinds.count("sliding_attention") if kinds else usual


def _interleaved_experts(config: ConfigFields, shape: Shape) -> int:
    """Return the step between layers with experts of Llama 4; a list of them has to agree."""
    every, listed = config.integer_or("interleave_moe_layer_step", 1), config.items("moe_layers")
    layers = config.integer("num_hidden_layers")
    if listed and listed != list(range(every - 1, layers, every)):
        raise config.refuse(
            "moe_layers", f"supported only if it lists every layer {every}, as interleave_moe_layer_step does"
        )
    return every


def _first_of_ernie(config: ConfigFields, shape: Shape) -> int:
    """Return the number of dense layers of Ernie 4.5, which has experts from one layer on to the last."""
    layers = config.integer("num_hidden_layers")
    for key, usual, least in (("moe_layer_interval", (1,), 1), ("moe_layer_end_index", (-1, layers - 1), -1)):
        if config.integer_or(key, usual[0], least) not in usual:
            raise config.refuse(key, "understood only as experts in every layer from the first one with them")
    return config.integer_or("moe_layer_start_index", 1, 0)


def _under(place: str, key: str) -> Callable[[ConfigFields, Shape], int]:
    """Return the rule of an integer in a mapping of its own."""
    return lambda config, shape: config.mapping(place).integer(key)


def _same_in_all_layers(key: str, usual: int | None = None) -> Callable[[ConfigFields, Shape], int]:
    """Return the rule of a number that Hunyuan writes once, or once for each layer."""

    def rule(config: ConfigFields, shape: Shape) -> int:
        value = config.value(key)
        if isinstance(value, list) and value and len(set(map(str, value))) == 1:
            return ConfigFields(config.place, {key: value[0]}).integer(key)
        if isinstance(value, list):
            raise config.refuse(key, "understood only where all layers have the same")
        return config.integer(key) if usual is None else config.integer_or(key, usual)

    return rule


def _hunyuan_expert_size(config: ConfigFields, shape: Shape) -> int:
    if config.value("moe_intermediate_size") is None:
        return config.integer("intermediate_size")
    return _same_in_all_layers("moe_intermediate_size")(config, shape)


def _hunyuan_shared_size(config: ConfigFields, shape: Shape) -> int:
    """Return the size of its shared part, as wide as a dense layer for each shared expert."""
    if not config.flag("use_mixed_mlp_moe", True):
        return 0
    return _same_in_all_layers("num_shared_expert", 1)(config, shape) * config.integer("intermediate_size")


def _granite_ffn(config: ConfigFields, shape: Shape) -> int:
    """Return the size of Granite 4's dense part; where a layer has experts, that is its shared one."""
    return 0 if config.integer_or("num_local_experts", 0, 0) else config.integer("shared_intermediate_size")


def _granite_mamba_head(config: ConfigFields, shape: Shape) -> int:
    inner, heads = config.integer_or("mamba_expand", 2) * config.integer("hidden_size"), shape("heads")
    said = config.value("mamba_d_head")
    if inner % heads or (said not in (None, "auto") and (type(said) is not int or said * heads != inner)):
        raise config.refuse("mamba_d_head", f"{heads} heads of it are not the inner size {inner}")
    return int(inner // heads)


def _kimi_linear_number(key: str, own: str) -> Callable[[ConfigFields, Shape], int]:
    """Return the rule of a number under ``linear_attn_config``, or by itself in newer files."""

    def rule(config: ConfigFields, shape: Shape) -> int:
        nested = config.mapping("linear_attn_config")
        return config.integer(own) if nested.value(key) is None else nested.integer(key)

    return rule


def _one_part_ffn(config: ConfigFields, shape: Shape) -> int:
    """Return the size of Nemotron-H's dense parts; files without any may have another, meaningless size."""
    return config.integer("intermediate_size") if "-" in shape("feed_forwards") else 0


def _sparse_layers(config: ConfigFields, shape: Shape) -> int:
    """Return the layers whose indexer chooses tokens: all."""
    words = layer_words(config, "layer_types", shape("layers"), MIXERS)
    if any(word not in ("indexed_attention", "deepseek_sparse_attention") for word in words):
        raise InvalidInput(f"{config.place}: layer_types: understood only as sparse attention in all layers")
    types = config.items("indexer_types")
    if any(kind != "full" for kind in types):
        raise config.refuse("indexer_types", "layers that share an indexer are not understood")
    return int(shape("layers"))


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


def _mpt_positions(config: ConfigFields, shape: Shape) -> int:
    attention = config.mapping("attn_config")
    return 0 if attention.flag("alibi", True) or attention.flag("rope", False) else int(shape("sequence"))


def _types_and_pooler(config: ConfigFields, shape: Shape) -> int:
    hidden = shape("hidden")
    return int(config.integer_or("type_vocab_size", 2) * hidden + hidden * hidden + hidden)


RULES: Mapping[str, Callable[[ConfigFields, Shape], int | str]] = {
    "head_size": _head_size,
    "query_size": lambda config, shape: shape("latent").nope_head_dim + shape("latent").rope_head_dim,
    "trained_length": _trained_length,
    "window": lambda config, shape: config.integer("sliding_window") if shape("window_layers") else 0,
    "windows_in_all_layers": lambda config, shape: _with_window(config, shape("layers")),
    "windows_in_late_layers": _windows_in_late_layers,
    "windows_in_every_other_layer": lambda config, shape: _with_window(
        config, _sliding_layers(config, shape, (shape("layers") + 1) // 2)
    ),
    "windows_in_most_layers": _windows_in_most_layers,
    "windows_in_late_layers_if_any": _windows_in_late_layers_if_any,
    "windows_in_three_of_four_layers": _windows_in_three_of_four_layers,
    "windows_where_rotary_is_off": _windows_where_rotary_is_off,
    "chunked_layers": _chunked_layers,
    "sparse_layers": _sparse_layers,
    "typed_mixers": typed_mixers,
    "mixers_with_attention_at_intervals": mixers_with_attention_at_intervals,
    "lightning_mixers": lightning_mixers,
    "kimi_mixers": kimi_mixers,
    "kimi_linear_heads": _kimi_linear_number("num_heads", "linear_num_heads"),
    "kimi_linear_head_size": _kimi_linear_number("head_dim", "linear_head_dim"),
    "kimi_linear_taps": _kimi_linear_number("short_conv_kernel_size", "linear_conv_kernel_dim"),
    "has_expert_layers": lambda config, shape: int("E" in shape("feed_forwards")),
    "has_recurrent_layers": lambda config, shape: int("M" in shape("mixers")),
    "one_part_ffn": _one_part_ffn,
    "one_part_layers": one_part_layers,
    "one_part_mixers": one_part_mixers,
    "one_part_feed_forwards": one_part_feed_forwards,
    "typed_feed_forwards": typed_feed_forwards,
    "interleaved_experts": _interleaved_experts,
    "first_of_ernie": _first_of_ernie,
    "hunyuan_experts_per_token": _same_in_all_layers("moe_topk"),
    "hunyuan_expert_size": _hunyuan_expert_size,
    "hunyuan_shared_size": _hunyuan_shared_size,
    "granite_ffn": _granite_ffn,
    "granite_mamba_head": _granite_mamba_head,
    "dense_layers_at_first": _dense_layers_at_first,
    "falcon_heads_of_keys": _falcon_heads_of_keys,
    "falcon_norms": _falcon_norms,
    "dbrx_heads_of_keys": _under("attn_config", "kv_n_heads"),
    "dbrx_experts": _under("ffn_config", "moe_num_experts"),
    "dbrx_experts_per_token": _under("ffn_config", "moe_top_k"),
    "dbrx_expert_size": _under("ffn_config", "ffn_hidden_size"),
    "output_layer_bias": lambda config, shape: config.flag("lm_head_bias", False) * shape("vocabulary"),
    "mpt_heads_of_keys": lambda config, shape: config.mapping("attn_config").integer_or(
        "kv_n_heads", shape("heads")
    ),
    "mpt_positions": _mpt_positions,
    "mpt_norm": lambda config, shape: "layernorm" if shape("attention_bias") else "layernorm-without-bias",
    "types_and_pooler": _types_and_pooler,
}
"""Rules by their names in ``data/families.toml``."""
