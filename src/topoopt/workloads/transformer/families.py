"""The families of transformers by the ``model_type`` of their ``config.json``: the rules of ``data/families.toml``."""

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from importlib import resources
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.workloads.transformer.config_fields import ConfigFields
from topoopt.workloads.transformer.family_rules import RULES
from topoopt.workloads.transformer.model import (
    MOST_LAYERS,
    Experts,
    Indexer,
    LatentAttention,
    TransformerModel,
)
from topoopt.workloads.transformer.recurrence import Recurrence
from topoopt.workloads.transformer.shape_keys import refuse_unread

Rules = Mapping[str, Any]
"""How each field of a noun is read; ``data/families.toml`` says in which ways."""

_PARTS: Mapping[str, type] = {
    "latent": LatentAttention,
    "experts": Experts,
    "indexer": Indexer,
    "recurrence": Recurrence,
}


def family_model(family: str, config: ConfigFields) -> TransformerModel:
    """Return the model of a ``config.json`` of a family.

    Raises
    ------
    InvalidInput
        If a key is missing, is out of range, or makes a model that shapes cannot tell.
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
    return model


class _Reader:
    """Reads the fields of a noun by their rules; a rule may go by fields that stand after it."""

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
        """Return what a rule leads to."""
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
        """Return the value of ``hidden``, ``4 * hidden`` or ``sequence + 2``; numbers stand for themselves."""
        if not isinstance(text, str):
            return text
        factor, _, rest = text.rpartition(" * ")
        name, _, more = rest.partition(" + ")
        value = self.shape(name)
        return int(factor or 1) * value + int(more or 0) if factor or more else value


def _whole(rules: Rules, named: Mapping[str, Rules]) -> Rules:
    """Return rules with those that they are ``like``, of their parts, too."""
    own = {name: _whole(rule, named) if name in _PARTS else rule for name, rule in rules.items()}
    return {**_whole(named[rules["like"]], named), **own} if "like" in rules else own


def _families() -> Mapping[str, Rules]:
    path = resources.files("topoopt.workloads.transformer") / "data" / "families.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    named = {**tables["base"], **tables["family"]}
    return {name: _whole(named[name], named) for name in sorted(tables["family"])}


FAMILIES: Mapping[str, Rules] = _families()
"""How to read each family; a new one needs a table of rules."""
