"""Read the ``config.json`` of a transformer, as Hugging Face writes it, without the network."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput, TopoOptError, shown
from topoopt.schema.files import packaged_rows, read_json
from topoopt.workloads.transformer.family_rules import RULES
from topoopt.workloads.transformer.layer_patterns import ATTENTION, BY_HAND, MEANINGS, ConfigFields
from topoopt.workloads.transformer.model import (
    MOST_LAYERS,
    Experts,
    Indexer,
    LatentAttention,
    Recurrence,
    TransformerModel,
)

_KEYS = {row["key"]: row["meaning"] for row in packaged_rows("workloads.transformer", "shape_keys")}
_NEUTRAL = {
    row["key"]: row["neutral"].split(";") for row in packaged_rows("workloads.transformer", "shape_keys")
}
Rules = Mapping[str, Any]
"""Rules for reading each field of a noun; ``data/families.toml`` lists the forms."""
_PARTS: Mapping[str, type] = {
    "latent": LatentAttention,
    "experts": Experts,
    "indexer": Indexer,
    "recurrence": Recurrence,
}


class _Reader:
    """Reads the fields of a noun by their rules; a rule may refer to later fields."""

    def __init__(self, config: ConfigFields, rules: Rules, whole: "_Reader | None" = None) -> None:
        self.config = config
        self.rules = rules
        self.whole = whole
        self._known: dict[str, Any] = {}

    def shapes_of(self, noun: type) -> dict[str, Any]:
        """Return all fields of a noun that have a rule."""
        return {one.name: self.shape(one.name) for one in fields(noun) if one.name in self.rules}

    def shape(self, name: str) -> Any:
        """Return one field; one that this noun has no rule for is that of the noun around it."""
        if name not in self.rules and self.whole is not None:
            return self.whole.shape(name)
        if name not in self._known:
            rule, part = self.rules[name], _PARTS.get(name)
            self._known[name] = self._part(rule, part) if part else self.read(rule)
        return self._known[name]

    def _part(self, rule: Rules, part: type) -> Any:
        """Return a noun inside of the noun; None where the rule has an ``if`` that comes out as nothing."""
        condition = str(rule.get("if", ""))
        if condition in RULES and not RULES[condition](self.config, self.shape):
            return None
        if condition and condition not in RULES and not self.config.value(condition):
            return None
        return part(**_Reader(self.config, rule, self).shapes_of(part))

    def read(self, rule: Any) -> Any:
        """Return the value of a rule."""
        value = rule
        match rule:
            case str():
                value = self.config.integer(rule)
            case list():
                value = self.config.integer(*rule)
            case {"times": factor, **others}:
                value = self.read(others) * self.shape(factor)
            case {"by": function}:
                value = RULES[function](self.config, self.shape)
            case {"is": formula}:
                value = self.formula(formula)
            case {"flag": key, "or": usual}:
                value = self.config.flag(key, usual)
            case {"unless": key, "or": usual}:
                value = not self.config.flag(key, usual)
            case {"key": key, "or": usual}:
                value = self.config.integer_or(key, self.formula(usual), rule.get("least", 1))
            case {"key": key}:
                value = self.config.integer(key, least=rule.get("least", 1))
            case {"value": word}:
                value = word
        return value

    def formula(self, text: int | str) -> Any:
        """Return the value of ``hidden``, ``4 * hidden`` or ``sequence + 2``; numbers are returned as they are."""
        if not isinstance(text, str):
            return text
        factor, _, rest = text.rpartition(" * ")
        name, _, more = rest.partition(" + ")
        value = self.shape(name)
        return int(factor or 1) * value + int(more or 0) if factor or more else value


def _whole(rules: Rules, named: Mapping[str, Rules]) -> Rules:
    """Return rules merged with those named by ``like``, including those of their parts."""
    own = {name: _whole(rule, named) if name in _PARTS else rule for name, rule in rules.items()}
    return {**_whole(named[rules["like"]], named), **own} if "like" in rules else own


def _families() -> Mapping[str, Rules]:
    path = resources.files("topoopt.workloads.transformer") / "data" / "families.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    named = {**tables["base"], **tables["family"]}
    return {name: _whole(named[name], named) for name in sorted(tables["family"])}


FAMILIES: Mapping[str, Rules] = _families()
"""Reading rules by family; a new family needs a table of rules."""
_RULED = frozenset(re.findall(r"\w+", str(list(FAMILIES.values()))))
"""Keys of all families, and other words of their rules."""
NEAR = 0.9
"""Similarity of a key to another from which on it is misspelled."""
LANGUAGE_MODELS = ("text_config", "llm_config", "language_config")
"""Keys of the language model in files of multimodal models."""
LIKE: Mapping[object, str] = {
    **dict.fromkeys(("qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"), "qwen2")
}
"""Language models of such models that have a name of their own, and the family that they are; some stand at the top."""
TOWERS = ("vision_config", "audio_config", "speech_config")
"""Other keys that may hold a tower."""


_GRAPH = "topoopt plan takes its graph instead: ONNX, an archive of torch.export, or a list of operators"
NO_DECODER = (
    *(
        "ssm_cfg",
        "ssm_state_size",
        "state_size",
        "mamba_d_state",
        "mamba_d_ssm",
        "conv_L_cache",
        "linear_attn_config",
    ),
    *(
        "attn_layer_period",
        "attn_layer_indices",
        "layers_block_type",
        "hybrid_override_pattern",
        "block_types",
    ),
    *(
        "cross_attention_layers",
        "add_cross_attention",
        "is_encoder_decoder",
        "encoder_layers",
        "attention_hidden_size",
    ),
)
"""Keys with which a model of an unknown family is no decoder with attention in all layers."""


def read_config(path: str | Path) -> TransformerModel:
    """Return the model of a ``config.json``; it is called after the file, or after its folder.

    The language model alone is read where there are several kinds of input; the model's name lists the parts that are
    left out, and so does every answer about it. Keys unrelated to shapes are ignored.

    Raises
    ------
    InvalidInput
        If the file cannot be read, is of an unknown family, lacks a key, or a value is out of range.
    """
    place, config = Path(path), _json(str(path))
    named = place.resolve().parent.name if place.stem == "config" else place.stem
    return replace(config_to_model(config, str(path)), name=_named(named or place.stem, config))


def _named(name: str, config: Mapping[str, Any]) -> str:
    """Return the name of a model, with the parts left out where its language model alone is read."""
    if _language_model(config) is None:
        return name
    towers = [f"{key}{_tower_size(config[key])}" for key in TOWERS if isinstance(config.get(key), Mapping)]
    return f"{name}-text without {' and '.join(towers) or 'everything else'}"


def _language_model(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Return the key and the content of the language model in a multimodal model; None for others."""
    if str(config.get("model_type")) in FAMILIES:
        return None
    for key in LANGUAGE_MODELS:
        if isinstance(part := config.get(key), Mapping):
            return f": {key}", _as_family(part)
    return ("", _as_family(config)) if str(config.get("model_type")) in LIKE else None


def _as_family(config: Mapping[str, Any]) -> Mapping[str, Any]:
    family = str(config.get("model_type"))
    return {**config, "model_type": LIKE[family]} if family in LIKE else config


def _tower_size(tower: Mapping[str, Any]) -> str:
    """Return the approximate parameters of an encoder's layers, if its keys suffice.

    A layer has four projections of attention and two of its feed-forward; embeddings of patches are not counted.
    """
    width = tower.get("hidden_size", tower.get("embed_dim"))
    layers = tower.get("num_hidden_layers", tower.get("depth"))
    wide = tower.get("intermediate_size", 4 * width if type(width) is int else None)
    if not all(type(one) is int and one > 0 for one in (width, layers, wide)):
        return ""
    assert isinstance(width, int)
    assert isinstance(layers, int)
    assert isinstance(wide, int)
    return f" (about {layers * (4 * width**2 + 2 * width * wide) / 1e6:,.0f} M parameters)"


def config_to_model(config: Mapping[str, Any], place: str) -> TransformerModel:
    """Return the model in a ``config.json``; ``place`` is the prefix of every error.

    Raises
    ------
    InvalidInput
        As :func:`read_config`.
    """
    family = config.get("model_type")
    if family is not None and not isinstance(family, str):
        raise InvalidInput(
            f"{place}: model_type: expected the family of the model as text, got {shown(family)}"
        )
    if family is None:
        raise InvalidInput(
            f"{place}: model_type: missing, the family of the model, such as llama; is this a config.json of "
            f"Hugging Face? {_remedy(config)}"
        )
    if found := _language_model(config):
        key, part = found
        return _of_language_model(part, f"{place}{key}")
    if family not in FAMILIES:
        if reason := why_not_modeled(family):
            raise InvalidInput(f"{place}: model_type {family}: not modeled: {reason}; {_GRAPH}")
        near = difflib.get_close_matches(family, FAMILIES, n=3, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        unknown_family = InvalidInput(
            f'{place}: model_type: unknown family "{family}"; {hint}Known: {", ".join(sorted(FAMILIES))}. '
            f"{_remedy(config)}"
        )
        raise unknown_family
    try:
        return family_model(family, ConfigFields(place, config))
    except TopoOptError as error:
        text = str(error)
        raise InvalidInput(text if text.startswith(place) else f"{place}: {text}") from None


def _of_language_model(config: Mapping[str, Any], place: str) -> TransformerModel:
    """Return the language model of a model of several kinds of input.

    Raises
    ------
    InvalidInput
        As :func:`read_config`; for a missing key with the remedy, since such files omit defaults.
    """
    try:
        return config_to_model(config, place)
    except InvalidInput as error:
        if "missing" not in str(error):
            raise
        raise InvalidInput(
            f"{error}; Hugging Face leaves out what is usual: write all of it by "
            "AutoConfig.from_pretrained(NAME).text_config.to_json_file(FILE, use_diff=False)"
        ) from None


def name_key(name: str) -> str:
    """Return a name without capitals, spaces, ``-`` and ``_``, which do not matter."""
    return re.sub(r"[-_ ]", "", name.strip().lower())


def why_not_modeled(name: str) -> str:
    """Return the reason why shapes do not describe a known model, or family; empty for others."""
    return _other_models().get(name_key(name), "")


@cache
def _other_models() -> Mapping[str, str]:
    rows = packaged_rows("workloads.transformer", "other_models")
    return {
        name_key(word): row["reason"] for row in rows for word in (row["name"], *row["aliases"].split(";"))
    }


def _remedy(config: Mapping[str, Any]) -> str:
    """Return the options that give the shapes by hand, as far as the file has them, and the missing ones.

    Shapes by hand are those of a decoder with attention in all layers: for others they are no remedy.
    """
    others = (f"{key} ({_KEYS[key]})" for key in NO_DECODER if config.get(key) not in (None, False, [], 0))
    if said := ", ".join(others):
        return f"It is no decoder with attention in all layers: {said}; {_GRAPH}"
    values: dict[str, int | None] = dict.fromkeys(BY_HAND.values())
    for key, word in BY_HAND.items():
        if values[word] is None and isinstance(config.get(key), int):
            values[word] = config[key]
    known = " ".join(f"{word}={value}" for word, value in values.items() if value is not None)
    missing = ", ".join(word for word, value in values.items() if value is None)
    return f"Or give shapes by hand{f': {known}' if known else ''}{f'; not in the file: {missing}' if missing else ''}"


def _json(path: str) -> Mapping[str, Any]:
    content = read_json(path, foreign=True)
    if not isinstance(content, Mapping):
        raise InvalidInput(
            f"{path}: expected a mapping of keys to values, as Hugging Face writes, got a {type(content).__name__}"
        )
    return content


def family_model(family: str, config: ConfigFields) -> TransformerModel:
    """Return the model of a ``config.json`` of a family.

    Raises
    ------
    InvalidInput
        If a key is missing, is out of range, or makes a model that shapes cannot express.
    """
    reader = _Reader(config, FAMILIES[family])
    if reader.shape("layers") > MOST_LAYERS:  # before anything goes through all of them
        raise InvalidInput(f"layers: expected an integer <= {MOST_LAYERS}, got {reader.shape('layers')}")
    for rule in reader.rules.get("must", ()):
        expected = reader.formula(rule["be"])
        if reader.read({**rule, "or": expected}) != expected:
            raise config.refuse(rule.get("key") or rule["flag"], rule["reason"])
    model = TransformerModel(name=config.place, family=family, **reader.shapes_of(TransformerModel))
    config.seen.update(reader.rules.get("without_shapes", ()))
    refuse_unread(family, config)
    _refuse_misspelled(config)
    return model


def _refuse_misspelled(config: ConfigFields) -> None:
    """Refuse a key that is almost one that the family has and the file lacks."""
    lacking = config.seen - config.values.keys()
    for key in config.values.keys() - config.seen - _KEYS.keys() - MEANINGS.keys() - _RULED:
        near = difflib.get_close_matches(key, lacking, n=1, cutoff=NEAR)
        if near:
            raise InvalidInput(f'{config.place}: unknown key "{key}"; did you mean {near[0]}?')


def refuse_unread(family: str, config: ConfigFields) -> None:
    """Refuse a file whose family's rules leave out a key that would change shapes.

    Values without effect are accepted: missing, null, false, 0, empty, neutral values in ``data/shape_keys.csv``,
    and layers that all have attention.

    Raises
    ------
    InvalidInput
        Naming key, value and meaning.
    """
    for key, meaning in _KEYS.items():
        value = config.values.get(key)
        if key in config.seen or not value or str(value).lower() in _NEUTRAL[key]:
            continue
        if isinstance(value, list) and all(str(one) in (ATTENTION[0], *_NEUTRAL[key]) for one in value):
            continue
        raise InvalidInput(
            f"{config.place}: {key} {_shown(value)}: {meaning}, which {family} is not understood to have; without "
            "the key the model is read as if it had none"
        )


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
