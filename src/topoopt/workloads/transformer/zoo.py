"""The zoo of published transformers, and shapes that are given alone or as changes to one of them."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import Any

from topoopt.base.answers import fields_of
from topoopt.base.errors import InvalidInput
from topoopt.schema.files import packaged_rows
from topoopt.workloads.transformer.config import name_key, read_config, why_not_modeled
from topoopt.workloads.transformer.model import (
    Experts,
    Indexer,
    LatentAttention,
    Recurrence,
    TransformerModel,
)
from topoopt.workloads.transformer.parameters import ParameterCount, count_parameters, forward_flops

NEEDED = ("layers", "hidden", "heads")
VOCABULARY, SEQUENCE = 51200, 2048
"""Vocabulary and sequence of Megatron-LM's published GPT models (Narayanan et al. SC 2021)."""
_AMOUNTS = (
    *("experts", "shared_ffn", "capacity_factor", "mtp_layers", "route_groups", "groups_per_token"),
    *("window", "window_layers"),
)
_OF_EXPERTS = {
    "experts": "count",
    "experts_per_token": "per_token",
    "expert_ffn": "ffn",
    "shared_ffn": "shared_ffn",
    "capacity_factor": "capacity_factor",
    "route_groups": "route_groups",
    "groups_per_token": "groups_per_token",
}
"""Shapes of experts, and the fields of :class:`Experts` that they are."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """Shapes of a transformer; ``None`` for those taken from a known model, or the defaults.

    Attributes
    ----------
    layers, hidden, heads, kv_heads, head_dim, ffn, gated, vocabulary, tied
        See :class:`TransformerModel`.
    experts : int
        Routed experts of a layer; 0 for none.
    experts_per_token, expert_ffn, shared_ffn, capacity_factor, route_groups, groups_per_token
        See :class:`Experts`.
    mtp_layers : int
        Modules that predict further tokens; 0 for none.
    window, window_layers : int
        Tokens that a layer of sliding-window attention sees, 0 for all; layers with such a window.
    seq : int
        Tokens of a sequence.
    """

    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    ffn: int | None = None
    gated: bool | None = None
    vocabulary: int | None = None
    tied: bool | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    expert_ffn: int | None = None
    shared_ffn: int | None = None
    capacity_factor: float | None = None
    route_groups: int | None = None
    groups_per_token: int | None = None
    mtp_layers: int | None = None
    window: int | None = None
    window_layers: int | None = None
    seq: int | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is None or isinstance(value, bool):
                continue
            if one.name not in _AMOUNTS and value < 1:
                raise InvalidInput(f"{one.name}: expected an integer >= 1, got {value}")
            if not 0 <= value < float("inf"):
                raise InvalidInput(f"{one.name}: expected a number >= 0, got {value}")


_READ: Mapping[Any, Callable[[str], Any]] = {int: int, str: str, bool: lambda cell: cell == "yes"}


@dataclass(frozen=True, slots=True)
class TransformerEntry:
    """A model of the zoo: its shapes, aliases, and sources.

    ``published`` is the number of parameters: to the last one where an implementation counts them, or rounded
    as its makers write it.
    """

    model: TransformerModel
    aliases: tuple[str, ...]
    published: str
    source: str


OWNER = re.compile(r"^[\w.-]+/(?=[\w.-]+$)")
"""Owner before a name on Hugging Face."""
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
    if reason := why_not_modeled(key):
        raise InvalidInput(f"model: {name} is not a transformer that shapes tell of here: {reason}")
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
    """Return the key of a name, or, if unknown, of the name without its owner and tuning suffix."""
    plain, before = name.strip(), ""
    while plain != before and name_key(plain) not in _by_key():
        before, plain = plain, TUNED.sub("", OWNER.sub("", plain))
    return name_key(plain)


@cache
def _by_key() -> dict[str, TransformerEntry]:
    return {
        name_key(word): entry
        for entry in TRANSFORMERS.values()
        for word in (entry.model.name, *entry.aliases)
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
    """A transformer and quantities derived from its shapes.

    Attributes
    ----------
    forward_flops_per_token : float
    published : str
        Parameters as its makers write them; empty for a file.
    source : str
        Source of the shapes, or the file.
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
            **fields_of(self, "forward_flops_per_token", "published", "source"),
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
        return (_listed(TransformerEntry(read_config(name), (), "", name)),)
    return (_listed(TRANSFORMERS[find_transformer(name).name]),) if is_transformer(name) else ()


def _listed(entry: TransformerEntry) -> ListedTransformer:
    model = entry.model
    counted = count_parameters(model), forward_flops(model).total_flops
    return ListedTransformer(model, *counted, entry.aliases, entry.published, entry.source)


def model_of_shapes(shapes: Shapes) -> TransformerModel:
    """Return a GPT-like model of the given shapes: layer norms, biases, and a position per token of the sequence.

    Raises
    ------
    InvalidInput
        If layers, hidden size or heads are missing.
    """
    layers, hidden, heads = shapes.layers, shapes.hidden, shapes.heads
    if layers is None or hidden is None or heads is None:
        missing = ", ".join(name for name in NEEDED if getattr(shapes, name) is None)
        raise InvalidInput(
            f"model: name a transformer or a config.json, or give shapes by hand; missing: {missing}"
        )
    if shapes.head_dim is None and hidden % heads:
        raise InvalidInput(
            f"heads {heads}: does not divide the hidden size {hidden}; give the size of a head as head_dim"
        )
    sequence = shapes.seq or SEQUENCE
    ffn = shapes.ffn or 4 * hidden
    gated = bool(shapes.gated)
    return TransformerModel(
        name=f"{layers} layers of {hidden}",
        family="by hand",
        layers=layers,
        hidden=hidden,
        heads=heads,
        ffn=ffn,
        vocabulary=shapes.vocabulary or VOCABULARY,
        sequence=sequence,
        kv_heads=shapes.kv_heads or heads,
        head_dim=shapes.head_dim or hidden // heads,
        gated=gated,
        tied=shapes.tied is not False,
        positions=0 if gated else sequence,
        norm="rmsnorm" if gated else "layernorm",
        experts=_experts(shapes, None, ffn),
        mtp_layers=shapes.mtp_layers or 0,
        window=shapes.window or 0,
        window_layers=_window_layers(shapes, shapes.window or 0, 0, layers),
        **dict.fromkeys(("attention_bias", "output_bias", "mlp_bias"), not gated),  # type: ignore[arg-type]
    )


def changed_model(model: TransformerModel, shapes: Shapes) -> TransformerModel:
    """Return the model with the given shapes in place of its own.

    A size of heads that was ``hidden / heads`` stays so, and the heads of keys and values stay as many as
    those of queries where they were.

    Raises
    ------
    InvalidInput
        If the shapes do not go together.
    """
    names = {one.name: one.name for one in fields(shapes) if one.name not in _OF_EXPERTS}
    changes = _changes(shapes, {**names, "seq": "sequence"})
    hidden, heads = changes.get("hidden", model.hidden), changes.get("heads", model.heads)
    if model.latent is None and model.head_dim * model.heads == model.hidden and "head_dim" not in changes:
        if hidden % heads:
            raise InvalidInput(f"heads {heads}: does not divide the hidden size {hidden}")
        changes["head_dim"] = hidden // heads
    if model.kv_heads == model.heads:
        changes.setdefault("kv_heads", heads)
    if model.latent is not None and shapes.head_dim is not None:
        raise InvalidInput(f"head_dim: {model.name} has latent attention, whose head sizes are its own")
    layers = changes.get("layers", model.layers)
    whole = replace(model, layers=layers, window_layers=0)
    own = round(model.window_layers * whole.attention_layers / max(model.attention_layers, 1))
    changes["window_layers"] = _window_layers(
        shapes, changes.get("window", model.window), own, whole.attention_layers
    )
    changed = replace(
        model, **changes, experts=_experts(shapes, model.experts, changes.get("ffn", model.ffn))
    )
    same = changed in (model, replace(model, sequence=changed.sequence))
    return changed if same else replace(changed, name=f"{model.name}, changed")


def _window_layers(shapes: Shapes, window: int, own: int, most: int) -> int:
    """Return the layers with a window: those given, the model's own, or all if only now there is one."""
    if shapes.window_layers and not window:
        raise InvalidInput(f"window_layers {shapes.window_layers}: give the window, too, in tokens")
    if not window:
        return 0
    if shapes.window_layers is not None:
        return shapes.window_layers
    return own or most


def _changes(shapes: Shapes, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        field: getattr(shapes, name) for name, field in names.items() if getattr(shapes, name) is not None
    }


def _experts(shapes: Shapes, own: Experts | None, ffn: int) -> Experts | None:
    changes = _changes(shapes, _OF_EXPERTS)
    if own is not None and shapes.experts != 0:
        return replace(own, **changes)
    if shapes.experts:
        return Experts(**{"per_token": min(2, shapes.experts), "ffn": ffn, **changes})
    lonely = [name for name, field in _OF_EXPERTS.items() if name != "experts" and field in changes]
    if lonely:
        raise InvalidInput(f"{lonely[0]}: the model has no experts; say how many with experts")
    return None
