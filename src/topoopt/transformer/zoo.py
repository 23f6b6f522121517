"""The zoo of published transformers: one row of ``data/transformers.csv`` each, found by name or alias."""

import csv
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from topoopt.errors import InvalidInput
from topoopt.transformer.model import Experts, LatentAttention, TransformerModel

_FLAGS = ("gated", "tied", "attention_bias", "output_bias", "mlp_bias", "head_norms", "attention_sinks")
_INTEGERS = ("positions", "window", "window_layers", "extra_parameters")


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


def find_transformer(name: str) -> TransformerModel:
    """Return the model with this name or alias; capitals, ``-``, ``_`` and spaces do not matter.

    Raises
    ------
    InvalidInput
        If there is none, with the nearest names; or if it is a known model of another kind, with the reason.

    Examples
    --------
    >>> find_transformer("LLAMA3_70B").hidden, find_transformer("Mixtral 8x7B").layers
    (8192, 32)
    """
    key = _key(name)
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
    return _key(name) in _by_key()


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
        for row in _rows("other_models")
        for word in (row["name"], *row["aliases"].split(";"))
    }


def _rows(name: str) -> list[dict[str, str]]:
    path = resources.files("topoopt.transformer") / "data" / f"{name}.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def _entry(row: dict[str, str]) -> TransformerEntry:
    aliases = tuple(row["aliases"].split(";")) if row["aliases"] else ()
    return TransformerEntry(_model(row), aliases, row["published"], row["source"])


def _model(row: dict[str, str]) -> TransformerModel:
    hidden, heads = int(row["hidden"]), int(row["heads"])
    return TransformerModel(
        name=row["name"],
        family=row["family"],
        layers=int(row["layers"]),
        hidden=hidden,
        heads=heads,
        ffn=int(row["ffn"]),
        vocabulary=int(row["vocabulary"]),
        sequence=int(row["sequence"]),
        kv_heads=int(row["kv_heads"] or heads),
        head_dim=int(row["head_dim"] or hidden // heads),
        norm=row["norm"],
        norms_per_layer=int(row["norms_per_layer"] or 2),
        latent=_latent(row),
        experts=_experts(row),
        **{flag: row[flag] == "yes" for flag in _FLAGS},
        **{name: int(row[name] or 0) for name in _INTEGERS},  # type: ignore[arg-type]
    )


def _latent(row: dict[str, str]) -> LatentAttention | None:
    if not row["key_value_rank"]:
        return None
    sizes = ("query_rank", "key_value_rank", "rope_head_dim", "nope_head_dim", "value_head_dim")
    return LatentAttention(*(int(row[size] or 0) for size in sizes))


def _experts(row: dict[str, str]) -> Experts | None:
    if not row["experts"]:
        return None
    return Experts(
        count=int(row["experts"]),
        per_token=int(row["experts_per_token"]),
        ffn=int(row["expert_ffn"]),
        shared_ffn=int(row["shared_ffn"] or 0),
        first_dense_layers=int(row["first_dense_layers"] or 0),
        every=int(row["every"] or 1),
        router_bias=row["router_bias"] == "yes",
        shared_gate=row["shared_gate"] == "yes",
    )


TRANSFORMERS: Mapping[str, TransformerEntry] = {row["name"]: _entry(row) for row in _rows("transformers")}
"""The models that come with topoopt, by name."""
