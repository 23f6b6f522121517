"""Read the ``config.json`` of a transformer, as Hugging Face writes it, without the network."""

import difflib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput, TopoOptError
from topoopt.schema.files import read_json
from topoopt.workloads.transformer.config_fields import BY_HAND, ConfigFields
from topoopt.workloads.transformer.families import FAMILIES, family_model
from topoopt.workloads.transformer.model import TransformerModel

LANGUAGE_MODELS = ("text_config", "llm_config", "language_config")
"""Keys under which the language model stands in files of models that see or hear, too."""
LIKE: Mapping[object, str] = {
    **dict.fromkeys(("qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"), "qwen2"),
}
"""Language models of such models that have a name of their own, and the family that they are; some stand at the top."""
TOWERS = ("vision_config", "audio_config", "speech_config")
"""What else may stand there."""


def read_config(path: str | Path) -> TransformerModel:
    """Return the model of a ``config.json``; it is called after the file, or after its folder.

    Keys that say nothing about shapes are left alone.

    Raises
    ------
    InvalidInput
        If the file cannot be read, is of an unknown family, lacks a key, or a value is out of range.
    """
    place, config = Path(path), _json(str(path))
    named = place.resolve().parent.name if place.stem == "config" else place.stem
    ending = "-text" if _language_model(config) else ""
    return replace(config_to_model(config, str(path)), name=f"{named or place.stem}{ending}")


def left_out_of_config(path: str | Path) -> str:
    """Return, in words, what a ``config.json`` has beside its language model, which alone is read; empty for none.

    Raises
    ------
    InvalidInput
        If the file cannot be read.
    """
    config = _json(str(path))
    if _language_model(config) is None:
        return ""
    towers = [f"{key}{_tower_size(config[key])}" for key in TOWERS if isinstance(config.get(key), Mapping)]
    return ", ".join(towers) or "everything else"


def _language_model(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Return where the language model of a model of several kinds of input stands, and its keys; None for others."""
    family = config.get("model_type")
    if family in FAMILIES:
        return None
    for key in LANGUAGE_MODELS:
        if isinstance(part := config.get(key), Mapping):
            return f": {key}", _as_family(part)
    return ("", _as_family(config)) if family in LIKE else None


def _as_family(config: Mapping[str, Any]) -> Mapping[str, Any]:
    family = config.get("model_type")
    return {**config, "model_type": LIKE[family]} if family in LIKE else config


def _tower_size(tower: Mapping[str, Any]) -> str:
    """Return about how many parameters the layers of an encoder have, where its keys say enough.

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
    """Return the model of the keys of a ``config.json``; ``place`` stands in front of every error.

    Raises
    ------
    InvalidInput
        As :func:`read_config`.
    """
    family = config.get("model_type")
    if not isinstance(family, str):
        raise InvalidInput(
            f"{place}: model_type: missing, the family of the model, such as llama; is this a config.json of "
            f"Hugging Face? {_remedy(config)}"
        )
    if found := _language_model(config):
        key, part = found
        return _of_language_model(part, f"{place}{key}")
    if family not in FAMILIES:
        raise _unknown_family(family, config, place)
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
        As :func:`read_config`; of a key that is missing with the remedy, for such files leave out what is usual.
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


def _unknown_family(family: str, config: Mapping[str, Any], place: str) -> InvalidInput:
    near = difflib.get_close_matches(family, FAMILIES, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return InvalidInput(
        f'{place}: model_type: unknown family "{family}"; {hint}Known: {", ".join(sorted(FAMILIES))}. '
        f"{_remedy(config)}"
    )


def _remedy(config: Mapping[str, Any]) -> str:
    """Return how to give the shapes by hand: the words, as far as the file says them, and those it lacks."""
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
