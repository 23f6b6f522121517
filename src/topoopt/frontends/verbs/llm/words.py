"""Options of the verbs for transformers: shapes, split, hardware and calibration."""

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import whole
from topoopt.base.units import parse_bandwidth, parse_delay
from topoopt.jobs import expecting
from topoopt.schema.files import is_file
from topoopt.schema.words import ShapeWords, amount, pick
from topoopt.transformers import (
    ATTENTION_KERNELS,
    Calibration,
    Configuration,
    ExpertLoads,
    System,
    find_loads,
    named_calibration,
    usual_configuration,
    usual_system,
    without_overlap,
)
from topoopt.workloads.transformer import (
    Shapes,
    TransformerModel,
    changed_model,
    find_transformer,
    is_transformer,
    model_of_shapes,
    read_config,
)

ESTIMATORS = ("calibrated", "apnet24")
ASSUMED: Mapping[str, Any] = {"zero": 0, "sequence_parallel": False}
"""Sharding that the published formula assumes; other estimates have defaults for these fields."""

Transformer = str | os.PathLike[str] | TransformerModel | None
"""A transformer's name, its ``config.json``, a model; ``None`` for shapes by hand."""


def model_of(model: Transformer, words: Mapping[str, Any]) -> TransformerModel:
    """Return the model of the zoo, of a ``config.json``, or of shapes by hand; shapes beside a model change it.

    Raises
    ------
    InvalidInput
        If there is no such model or file, or too few shapes are given.
    """
    shapes = Shapes(**pick(words, ShapeWords))
    if model is None:
        return model_of_shapes(shapes)
    return changed_model(model if isinstance(model, TransformerModel) else _named(os.fspath(model)), shapes)


def _named(word: str) -> TransformerModel:
    """Return the model of a file, or of a name; with its owner in front a name looks like a path."""
    if Path(word).suffix.lower() == ".json" or is_file(word) or ("/" in word and not is_transformer(word)):
        with expecting(word, "config"):
            return read_config(word)
    return find_transformer(word)


def configuration_of(model: TransformerModel, words: Mapping[str, Any]) -> Configuration:
    """Return the checked configuration of the model.

    Raises
    ------
    InvalidInput
        With the nearest valid values.
    """
    sharded = ASSUMED if words["estimator"] == "apnet24" else {}
    return usual_configuration(
        model,
        {**sharded, **pick(words, [column.name for column in fields(Configuration)])},
        words.get("accelerators"),
        words["accelerator"],
        words["uneven_stages"],
    )


def system_of(words: Mapping[str, Any]) -> System:
    """Return the hardware.

    Raises
    ------
    InvalidInput
        If the accelerator is unknown, or a number is neither given nor in the catalogue.
    """
    per_server = words.get("accelerators_per_server")
    return usual_system(
        words["accelerator"],
        None if per_server is None else whole("accelerators_per_server", per_server, 1),
        _bandwidth_bps(words, "intra_server_bandwidth"),
        _bandwidth_bps(words, "bandwidth"),
        amount(parse_delay, words["latency"], "latency"),
        words.get("accelerators"),
    )


def _bandwidth_bps(words: Mapping[str, Any], word: str) -> float | None:
    return amount(parse_bandwidth, words[word], word) if word in words else None


def calibration_of(words: Mapping[str, Any], accelerator: str) -> Calibration:
    """Return the calibration with one attention: the one that is named, or the accelerator's own.

    Raises
    ------
    InvalidInput
        If there is no such calibration or attention.
    """
    check_attention(words.get("attention"))
    word = words.get("calibration")
    named = named_calibration(None if word is None else os.fspath(word), accelerator)
    return without_overlap(named.with_one_attention(words.get("attention")), words.get("no_overlap", ()))


def check_attention(attention: str | None) -> None:
    """Refuse an unknown implementation of the attention's core.

    Raises
    ------
    InvalidInput
        With the known ones.
    """
    if attention is not None:
        check_known("attention", attention, ATTENTION_KERNELS)


def loads_of(model: TransformerModel, words: Mapping[str, Any]) -> ExpertLoads | None:
    """Return the loads of experts, or nothing for even ones.

    Raises
    ------
    InvalidInput
        If the model has no experts, or a word no value that it may have.
    """
    loads, iteration, seed = words.get("loads"), words["iteration"], words["seed"]
    for word, value in (("iteration", iteration), ("seed", seed)):
        if value < 0:
            raise InvalidInput(f"{word}: must be >= 0, got {value}")
        if value and loads is None:
            raise InvalidInput(f"{word}: is for loads that change; give loads=zipf or a file, too")
    return None if loads is None else find_loads(loads, model, iteration, seed)
