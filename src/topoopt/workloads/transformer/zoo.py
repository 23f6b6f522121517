"""The zoo of published transformers: one row of ``data/transformers.csv`` each, found by name or alias."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import packaged_rows
from topoopt.workloads.transformer.config import left_out_of_config, read_config
from topoopt.workloads.transformer.flops import forward_flops
from topoopt.workloads.transformer.model import (
    Experts,
    Indexer,
    LatentAttention,
    Recurrence,
    TransformerModel,
)
from topoopt.workloads.transformer.parameters import ParameterCount, count_parameters

_READ: Mapping[Any, Callable[[str], Any]] = {int: int, str: str, bool: lambda cell: cell == "yes"}


@dataclass(frozen=True, slots=True)
class TransformerEntry:
    """A model of the zoo: its shapes, other names, and where they stand.

    ``published`` is the number of parameters: to the last one where an implementation counts them, or rounded
    as its makers write it.
    """

    model: TransformerModel
    aliases: tuple[str, ...]
    published: str
    source: str


OWNER = re.compile(r"^[\w.-]+/(?=[\w.-]+$)")
"""In front of a name on Hugging Face."""
TUNED = re.compile(
    r"[-_ ]+(instruct|base|chat|it|hf|pt|pretrain|v0\.1|bf16|fp8|lora|sft)$|^meta[-_ ](?=llama)",
    re.IGNORECASE,
)
"""Words in the name of a model that change no shapes: how it was trained further, or how its weights are stored."""


def find_transformer(name: str) -> TransformerModel:
    """Return the model with this name or alias; capitals, ``-``, ``_`` and spaces do not matter.

    Neither do its owner on Hugging Face, and that it was tuned: ``meta-llama/Llama-3.1-8B-Instruct`` has the shapes of
    ``llama3-8b``.

    Raises
    ------
    InvalidInput
        If there is none, with the nearest names; or if it is a known model of another kind, with the reason.

    Examples
    --------
    >>> find_transformer("LLAMA3_70B").hidden, find_transformer("Mixtral 8x7B").layers
    (8192, 32)
    """
    key = _known_key(name)
    if key in _by_key():
        return _by_key()[key].model
    if key in _others():
        raise InvalidInput(f"model: {name} is not a transformer that shapes tell of here: {_others()[key]}")
    near = [_by_key()[one].model.name for one in difflib.get_close_matches(key, _by_key(), n=3, cutoff=0.6)]
    hint = f"did you mean {' or '.join(dict.fromkeys(near))}? " if near else ""
    raise InvalidInput(
        f'model: unknown transformer "{name}"; {hint}topoopt models lists all {len(TRANSFORMERS)}; a config.json of '
        "Hugging Face or shapes by hand do as well"
    )


def is_transformer(name: str) -> bool:
    """Return whether a model of the zoo has this name or alias."""
    return _known_key(name) in _by_key()


def _known_key(name: str) -> str:
    """Return the key of a name, or if nobody knows it, of what is left without its owner and what it was tuned to."""
    plain, before = name.strip(), ""
    while plain != before and _key(plain) not in _by_key():
        before, plain = plain, TUNED.sub("", OWNER.sub("", plain))
    return _key(plain)


def _key(name: str) -> str:
    return re.sub(r"[-_ ]", "", name.strip().lower())


@cache
def _by_key() -> dict[str, TransformerEntry]:
    return {
        _key(word): entry for entry in TRANSFORMERS.values() for word in (entry.model.name, *entry.aliases)
    }


@cache
def _others() -> dict[str, str]:
    """Return why a model is not of this kind, by its name and aliases."""
    return {
        _key(word): row["reason"]
        for row in packaged_rows("workloads.transformer", "other_models")
        for word in (row["name"], *row["aliases"].split(";"))
    }


def _entry(row: dict[str, str]) -> TransformerEntry:
    aliases = tuple(row["aliases"].split(";")) if row["aliases"] else ()
    return TransformerEntry(_model(row), aliases, row["published"], row["source"])


def _model(row: dict[str, str]) -> TransformerModel:
    shapes = _shapes(TransformerModel, row)
    return TransformerModel(
        **{"kv_heads": shapes["heads"], "head_dim": shapes["hidden"] // shapes["heads"], **shapes},
        latent=LatentAttention(**_shapes(LatentAttention, row)) if row["key_value_rank"] else None,
        experts=Experts(**_shapes(Experts, row, "experts.")) if row["experts.count"] else None,
        indexer=Indexer(**_shapes(Indexer, row, "indexer.")) if row["indexer.heads"] else None,
        recurrence=Recurrence(**_shapes(Recurrence, row, "recurrence.")) if row["recurrence.heads"] else None,
    )


def _shapes(noun: type, row: dict[str, str], part: str = "") -> dict[str, Any]:
    """Return the fields of a noun that have a cell, which is written by the type of the field."""
    return {
        one.name: _READ[one.type](cell)
        for one in fields(noun)
        if one.type in _READ and (cell := row.get(part + one.name))
    }


TRANSFORMERS: Mapping[str, TransformerEntry] = {
    row["name"]: _entry(row) for row in packaged_rows("workloads.transformer", "transformers")
}
"""The models that come with topoopt, by name."""


@dataclass(frozen=True, slots=True)
class ListedTransformer:
    """A transformer and what follows from its shapes.

    Attributes
    ----------
    forward_flops_per_token : float
    published : str
        Parameters as its makers write them; empty for a file.
    source : str
        Where the shapes stand, or the file.
    """

    model: TransformerModel
    parameters: ParameterCount
    forward_flops_per_token: float
    aliases: tuple[str, ...]
    published: str
    source: str

    def to_json(self) -> dict[str, Any]:
        """Return shapes, parameters by cause and FLOPs as a mapping."""
        shapes = asdict(self.model)
        return {
            "transformer": shapes.pop("name"),
            "aliases": list(self.aliases),
            **shapes,
            "parameters": self.parameters.total,
            "active_parameters": self.parameters.active,
            "parameters_by_cause": self.parameters.by_cause,
            "forward_flops_per_token": self.forward_flops_per_token,
            "published": self.published,
            "source": self.source,
        }


def listed_transformers(name: str | None = None) -> tuple[ListedTransformer, ...]:
    """Return all transformers of the zoo; or the one of a name or file, or none if it is no transformer's.

    Raises
    ------
    InvalidInput
        If the file cannot be read.
    """
    if name is None:
        return tuple(map(_listed, TRANSFORMERS.values()))
    if name.lower().endswith(".json"):
        others = left_out_of_config(name)
        source = f"{name}: its language model alone; left out: {others}" if others else name
        return (_listed(TransformerEntry(read_config(name), (), "", source)),)
    return (_listed(TRANSFORMERS[find_transformer(name).name]),) if is_transformer(name) else ()


def _listed(entry: TransformerEntry) -> ListedTransformer:
    model = entry.model
    counted = count_parameters(model), forward_flops(model).total_flops
    return ListedTransformer(model, *counted, entry.aliases, entry.published, entry.source)
