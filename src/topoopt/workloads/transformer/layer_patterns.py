"""Layer patterns of a ``config.json``, as the characters of :class:`TransformerModel`'s patterns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import packaged_rows

_KEYS = packaged_rows("workloads.transformer", "config_keys")
MEANINGS = {row["key"]: row["meaning"] for row in _KEYS if row["meaning"]}
"""Meanings of the Hugging Face keys."""
BY_HAND = {row["key"]: row["word"] for row in _KEYS if row["word"]}
"""Keys that many families have for a shape, and the word that gives it by hand."""


@dataclass(frozen=True, slots=True)
class ConfigFields:
    """The keys of a ``config.json`` and the file's name, the prefix of every error.

    ``seen`` collects the keys that were read.
    """

    place: str
    values: Mapping[str, Any]
    seen: set[str] = field(default_factory=set, compare=False)

    def value(self, key: str) -> Any:
        """Return the value of a key, None where it is missing; the key counts as seen."""
        self.seen.add(key)
        return self.values.get(key)

    def integer(self, *keys: str, least: int = 1) -> int:
        """Return the first of some keys that is there.

        Raises
        ------
        InvalidInput
            If none is present, with its meaning, or it is no integer of at least ``least``.
        """
        for key in keys:
            if self.value(key) is not None:
                return self._integer(key, least)
        also = f" (or {', '.join(keys[1:])})" if len(keys) > 1 else ""
        meaning = next((f", the {MEANINGS[key]}" for key in keys if key in MEANINGS), "")
        raise InvalidInput(f"{self.place}: {keys[0]}{also}: missing{meaning}; expected an integer >= {least}")

    def integer_or(self, key: str, default: int, least: int = 1) -> int:
        """Return an integer, or the default where the key is missing or null."""
        return default if self.value(key) is None else self._integer(key, least)

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false, or the default where the key is missing or null."""
        value = self.value(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InvalidInput(f"{self.place}: {key}: expected true or false, got {_shown(value)}")
        return value

    def mapping(self, key: str) -> "ConfigFields":
        """Return the keys under a key; none where it is missing or null."""
        value = self.value(key)
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise InvalidInput(
                f"{self.place}: {key}: expected a mapping of keys to values, got {_shown(value)}"
            )
        return ConfigFields(f"{self.place}: {key}", value)

    def items(self, key: str) -> list[Any]:
        """Return a list; an empty one where the key is missing or null."""
        value = self.value(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise InvalidInput(f"{self.place}: {key}: expected a list, got {_shown(value)}")
        return value

    def refuse(self, key: str, reason: str) -> InvalidInput:
        """Return the error for a key whose value makes a model that its shapes do not describe."""
        value = self.values.get(key)
        return InvalidInput(f"{self.place}: {key}{'' if value is None else f' {_shown(value)}'}: {reason}")

    def _integer(self, key: str, least: int) -> int:
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            meaning = f" ({MEANINGS[key]})" if key in MEANINGS else ""
            raise InvalidInput(
                f"{self.place}: {key}{meaning}: expected an integer >= {least}, got {_shown(value)}"
            )
        return value


Shape = Callable[[str], Any]
"""The fields of the same noun, by name."""
ATTENTION = ("full_attention", "attention", "sliding_attention", "chunked_attention", "indexed_attention")
SPARSE = ("deepseek_sparse_attention",)
MIXERS = {**dict.fromkeys(ATTENTION + SPARSE, "*"), "linear_attention": "M", "mamba": "M", "mamba2": "M"}
"""Values of ``layer_types``, and their token mixers."""
LONGEST_PERIOD = 1000
"""Longer patterns are kept as they are."""
FEED_FORWARDS = {"dense": "-", "sparse": "E"}
"""Words of ``mlp_layer_types``."""
ONE_PART = {"M": "M.", "*": "*.", "-": ".-", "E": ".E"}
"""Characters of ``hybrid_override_pattern``: a layer has a mixer or a feed-forward part."""
ONE_PART_WORDS = {**{word: mixer + "." for word, mixer in MIXERS.items()}, "mlp": ".-", "moe": ".E"}
"""Words of ``layers_block_type``."""


def layer_words(config: ConfigFields, key: str, layers: int, known: Mapping[str, str]) -> list[str]:
    """Return a word for each layer; empty where the key is missing.

    Raises
    ------
    InvalidInput
        If a word is not known, or there are not as many as layers.
    """
    words = config.items(key)
    for place, word in enumerate(words):
        if not isinstance(word, str) or word not in known:
            raise InvalidInput(
                f'{config.place}: {key}[{place}]: unknown kind of layer "{word}"; known: {", ".join(known)}'
            )
    if words and len(words) != layers:
        raise InvalidInput(f"{config.place}: {key}: names {len(words)} layers, and the model has {layers}")
    return words


def period(pattern: str, usual: str = "") -> str:
    """Return the shortest period of the pattern; empty if all of it is ``usual``.

    Examples
    --------
    >>> period("MMM*MMM*MM"), period("****", "*")
    ('MMM*', '')
    """
    size = len(pattern)
    for length in range(1, min(size, LONGEST_PERIOD) + 1):
        if (pattern[:length] * (size // length + 1))[:size] == pattern:
            return "" if pattern[:length] == usual else pattern[:length]
    return pattern


def typed_mixers(config: ConfigFields, shape: Shape) -> str:
    """Return the token mixers by ``layer_types``."""
    words = layer_words(config, "layer_types", shape("layers"), MIXERS)
    return period("".join(MIXERS[word] for word in words), "*")


def mixers_with_attention_at_intervals(config: ConfigFields, shape: Shape) -> str:
    """Return a recurrence in all but each fourth layer, unless the file differs (Qwen3-Next)."""
    if config.items("layer_types"):
        return typed_mixers(config, shape)
    interval = min(config.integer_or("full_attention_interval", 4), shape("layers") + 1)
    return period("M" * (interval - 1) + "*", "*")


def lightning_mixers(config: ConfigFields, shape: Shape) -> str:
    """Return MiniMax-Text-01's mixers: ``attn_type_list`` has 1 for attention; by default every other layer has it."""
    kinds, typed = config.items("attn_type_list"), typed_mixers(config, shape)
    if not kinds:
        return typed if config.items("layer_types") else "*M"
    if any(type(kind) is not int or kind not in (0, 1) for kind in kinds) or len(kinds) != shape("layers"):
        raise config.refuse("attn_type_list", f"expected 0 or 1 for each of {shape('layers')} layers")
    return period("".join("M*"[kind] for kind in kinds), "*")


def kimi_mixers(config: ConfigFields, shape: Shape) -> str:
    """Return Kimi Linear's mixers: lists of layers, counted from 1."""
    if config.items("layer_types"):
        return typed_mixers(config, shape)
    said, layers = config.mapping("linear_attn_config"), shape("layers")
    full, linear = said.items("full_attn_layers"), said.items("kda_layers")
    numbers = [layer for layer in full + linear if type(layer) is int]
    if len(full + linear) != layers or sorted(numbers) != list(range(1, layers + 1)):
        raise said.refuse("kda_layers", f"with full_attn_layers, expected each of 1..{layers} once")
    return period("".join("*" if layer + 1 in full else "M" for layer in range(layers)), "*")


def one_part_layers(config: ConfigFields, shape: Shape) -> int:
    """Return the number of layers of a pattern of single parts (Nemotron-H)."""
    return len(_one_part(config))


def one_part_mixers(config: ConfigFields, shape: Shape) -> str:
    """Return the mixers of a pattern of single parts."""
    return period("".join(part[0] for part in _one_part(config)))


def one_part_feed_forwards(config: ConfigFields, shape: Shape) -> str:
    """Return the feed-forward parts of a pattern of single parts."""
    return period("".join(part[1] for part in _one_part(config)))


def typed_feed_forwards(config: ConfigFields, shape: Shape) -> int:
    """Return the number of leading dense layers in ``mlp_layer_types``, or the default."""
    words = layer_words(config, "mlp_layer_types", shape("layers"), FEED_FORWARDS)
    return _dense_at_first(config, words) if words else config.integer_or("first_k_dense_replace", 1, 0)


def _dense_at_first(config: ConfigFields, words: list[str]) -> int:
    dense = words.count("dense")
    if "dense" in words[dense:]:
        raise InvalidInput(
            f"{config.place}: mlp_layer_types: layers without experts are understood at the beginning only"
        )
    return dense


def _one_part(config: ConfigFields) -> list[str]:
    words = config.items("layers_block_type")
    if words:
        layer_words(config, "layers_block_type", len(words), ONE_PART_WORDS)
        return [ONE_PART_WORDS[word] for word in words]
    pattern = config.value("hybrid_override_pattern")
    if not isinstance(pattern, str) or not pattern:
        raise InvalidInput(
            f"{config.place}: hybrid_override_pattern (or layers_block_type): missing, the kind of each layer; "
            f"expected characters of {''.join(ONE_PART)}"
        )
    for place, character in enumerate(pattern):
        if character not in ONE_PART:
            raise InvalidInput(
                f'{config.place}: hybrid_override_pattern[{place}]: unknown kind of layer "{character}"; known: '
                f"{', '.join(ONE_PART)}"
            )
    layers = config.integer_or("num_hidden_layers", len(pattern))
    if layers != len(pattern):
        raise InvalidInput(
            f"{config.place}: hybrid_override_pattern: names {len(pattern)} layers, and num_hidden_layers says {layers}"
        )
    return [ONE_PART[character] for character in pattern]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
