"""Read the ``config.json`` of a transformer, as Hugging Face writes it, without the network."""

import difflib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from topoopt.errors import InvalidInput, TopoOptError
from topoopt.files import read_json
from topoopt.transformer.config_fields import BY_HAND, ConfigFields
from topoopt.transformer.families import FAMILIES, family_model
from topoopt.transformer.model import TransformerModel


def read_config(path: str | Path) -> TransformerModel:
    """Return the model of a ``config.json``; it is called after the file, or after its folder.

    Keys that say nothing about shapes are left alone.

    Raises
    ------
    InvalidInput
        If the file cannot be read, is of an unknown family, lacks a key, or a value is out of range.
    """
    place = Path(path)
    named = place.resolve().parent.name if place.stem == "config" else place.stem
    return replace(config_to_model(_json(str(path)), str(path)), name=named or place.stem)


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
    if family not in FAMILIES:
        raise _unknown_family(family, config, place)
    try:
        return family_model(family, ConfigFields(place, config))
    except TopoOptError as error:
        text = str(error)
        raise InvalidInput(text if text.startswith(place) else f"{place}: {text}") from None


def _unknown_family(family: str, config: Mapping[str, Any], place: str) -> InvalidInput:
    if isinstance(config.get("text_config"), Mapping):
        return InvalidInput(
            f'{place}: model_type: "{family}" is more than a transformer of text; put what stands under '
            "text_config into a file of its own"
        )
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
