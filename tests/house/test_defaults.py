"""A default stands at one field: records that describe the same thing have the same defaults."""

import dataclasses
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, get_type_hints, is_typeddict

import numpy as np
from pydantic import BaseModel

import topoopt
from topoopt.base.errors import TopoOptError
from topoopt.catalog import DEFAULT_ACCELERATOR
from topoopt.schema.words import Word, defaults
from topoopt.schema.words.serving import ServingWords
from topoopt.schema.words.transformer import EstimateWords, RankTrafficWords

SHARED_FIELDS, SHARED_PART = 3, 0.4
"""Records with so many field names in common, and such a part of the smaller one's, describe the same thing."""
DIFFERENT = {
    "accelerator": "ClusterSpec is the paper's cluster of A100; transformers have DEFAULT_ACCELERATOR; any efficiency",
    "accounting": "a name where it is asked for, what it counts in a price",
    "attention": "a column of measured runs is empty where its row is",
    "gathers": "as attention",
    "unfused": "as attention",
    "engine": "empty where a served job leaves it to its model",
    "link_technology": "as accounting",
    "load": "of CASSINI's traces, and of mixed ones",
    "lora_rank": "fine-tuning has adapters, serving has none",
    "oversubscription": "of the oversub-fat-tree, and of a switch that is looked for",
    "power": "as accounting",
    "prices": "as accounting",
    "schedule": "of a collective, and of pipeline stages",
    "sharing": "a name where it is asked for, options in the noun",
    "source": "of a user's price list, and of the catalogue",
    "strides": "a rule, and the strides themselves",
    "wiring": "a rule, and a wiring that is named",
}
"""Fields whose name means two things, and which."""
OWN_SCALE = ("zoo", "testbeds")
"""Models have hyperparameters of their own, and testbeds a scale of their own."""


def records() -> dict[str, dict[str, Any]]:
    """Return the defaults of every record of the package, None where a field has none."""
    found = {}
    for module in pkgutil.walk_packages(topoopt.__path__, "topoopt."):
        if "__main__" in module.name or any(part in module.name for part in OWN_SCALE):
            continue
        try:
            names = vars(importlib.import_module(module.name))
        except TopoOptError:  # needs an extra
            continue
        for name, kind in names.items():
            if isinstance(kind, type) and kind.__module__ == module.name:
                found[f"{module.name}.{name}"] = defaults_of(kind)
    return found


def defaults_of(kind: type) -> dict[str, Any]:
    if dataclasses.is_dataclass(kind):
        return {
            field.name: None
            if field.default is field.default_factory is dataclasses.MISSING
            else field.default
            if field.default_factory is dataclasses.MISSING
            else field.default_factory()
            for field in dataclasses.fields(kind)
        }
    if is_typeddict(kind):
        hints = get_type_hints(kind, include_extras=True)
        words = {name: [*getattr(hint, "__metadata__", ()), None][0] for name, hint in hints.items()}
        return {name: word.default if isinstance(word, Word) else None for name, word in words.items()}
    if issubclass(kind, BaseModel):
        return {
            name: None if field.is_required() else field.get_default(call_default_factory=True)
            for name, field in kind.model_fields.items()
        }
    return {}


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    if all(isinstance(value, Sequence | Mapping) and not isinstance(value, str) for value in (one, other)):
        return list(one) == list(other)
    return bool(one == other) or not (one or other)


def test_records_that_describe_the_same_thing_have_the_same_defaults() -> None:
    conflicts = {}
    for (one, own), (other, others) in combinations(records().items(), 2):
        shared = own.keys() & others.keys()
        if len(shared) < max(SHARED_FIELDS, SHARED_PART * min(len(own), len(others))):
            continue
        for name in shared - DIFFERENT.keys():
            if own[name] is not None is not others[name] and not same(own[name], others[name]):
                conflicts[one, other, name] = own[name], others[name]
    assert not conflicts


def test_transformers_have_one_accelerator_by_default() -> None:
    for vocabulary in (ServingWords, EstimateWords, RankTrafficWords):
        assert defaults(vocabulary)["accelerator"] == DEFAULT_ACCELERATOR
