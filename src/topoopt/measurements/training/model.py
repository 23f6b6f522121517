"""The transformer of one row of a table of runs: from its shapes, from the zoo by its name, or from both."""

import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.measurements.cells import Row, number, text, whole
from topoopt.measurements.training.cells import switched_on
from topoopt.workloads.transformer import (
    Shapes,
    TransformerModel,
    changed_model,
    find_transformer,
    model_of_shapes,
)

GATED_FAMILIES = ("llama", "mistral", "mixtral", "qwen", "gemma", "deepseek", "olmo")
"""Words in the architecture or model of a row whose feed-forward parts have three matrices."""

FAMILIES_WITHOUT_BIASES = ("mpt",)
"""Of those with two matrices: MPT was trained with ``no_bias`` and without dropout."""

SHAPES = {
    "layers": "layers",
    "hidden": "hidden",
    "heads": "heads",
    "kv_heads": "kv_heads",
    "ffn": "ffn",
    "vocab": "vocabulary",
    "experts": "experts",
    "experts_per_token": "experts_per_token",
    "expert_ffn": "expert_ffn",
    "shared_ffn": "shared_ffn",
    "route_groups": "route_groups",
    "groups_per_token": "groups_per_token",
    "head_dim": "head_dim",
}
"""Columns about a model, and the :class:`~topoopt.workloads.transformer.Shapes` that they are."""

WITHOUT_MTP = r"\b(w/o|without|no) mtp\b"
"""In a model's name: its modules for further tokens are left out."""

USUAL = ("heads", "kv_heads", "ffn", "vocab")
"""Those that have a usual value where layers and hidden size are given."""


def run_model(row: Row) -> TransformerModel:
    """Return the model of a row.

    Rows with all shapes are models of their own. What is missing is that of the model that the row names, if the zoo
    has it, changed by the shapes that the row has; else heads of 128 and an inner size of 4 times the hidden size.

    Raises
    ------
    InvalidInput
        If there are neither shapes nor a known name.
    """
    shaped = bool(text(row, "layers") and text(row, "hidden"))
    mixture = "moe" in text(row, "arch").lower() or number(row, "ep", 1.0) > 1 or bool(text(row, "experts"))
    whole_shapes = all(text(row, column) for column in USUAL)
    if shaped and not mixture and whole_shapes:
        return _by_shapes(row)
    known = _named(row)
    if known is not None and (not shaped or mixture or whole(row, "hidden") == known.hidden):
        return _changed(known, row)
    if shaped and (not mixture or text(row, "experts")):
        return _by_shapes(row)
    why = "experts: not in the table" if shaped else "layers, hidden: missing"
    if not text(row, "model"):
        raise InvalidInput(f"{why}, and there is no model name to look up")
    raise InvalidInput(f'{why}, and the zoo has no model "{text(row, "model")}"')


def _named(row: Row) -> TransformerModel | None:
    name = text(row, "model")
    for word in (name, re.sub(r"\(.*?\)", "", name).strip()):
        with suppress(InvalidInput):
            known = find_transformer(word)
            return replace(known, mtp_layers=0) if re.search(WITHOUT_MTP, name.lower()) else known
    return None


def _changed(model: TransformerModel, row: Row) -> TransformerModel:
    """Return a known model with the shapes of a row: a part of its layers, other experts."""
    said: dict[str, Any] = {
        field: whole(row, column) for column, field in SHAPES.items() if text(row, column)
    }
    said |= {name: switched_on(row, name, False) for name in ("gated", "tied") if text(row, name)}
    if text(row, "capacity_factor"):
        said["capacity_factor"] = number(row, "capacity_factor")
    experts = model.experts
    if experts is not None and "ffn" in said and "expert_ffn" not in said:
        all_mixed = model.moe_layers == model.layers
        if all_mixed or said["ffn"] == experts.ffn:  # that column is of whatever size a table has
            said["expert_ffn"] = said.pop("ffn")
    return _with_dense_layers(changed_model(model, Shapes(**said)), row)


def _with_dense_layers(model: TransformerModel, row: Row) -> TransformerModel:
    if not text(row, "dense_layers"):
        return model
    if model.experts is None:
        raise InvalidInput("dense_layers: the model has no experts; leave it out")
    dense = 0 if number(row, "dense_layers") == 0 else whole(row, "dense_layers")
    if dense >= model.layers:
        raise InvalidInput(f"dense_layers: expected fewer than the {model.layers} layers, got {dense}")
    return replace(model, experts=replace(model.experts, first_dense_layers=dense))


def _by_shapes(row: Row) -> TransformerModel:
    hidden = whole(row, "hidden")
    heads = whole(row, "heads", max(1, hidden // 128))
    arch = f"{text(row, 'arch')} {text(row, 'model')}".lower()
    mixture: dict[str, Any] = {
        field: whole(row, column)
        for column, field in SHAPES.items()
        if "expert" in field + column or column in ("shared_ffn", "route_groups", "groups_per_token")
        if text(row, column)
    }
    if text(row, "capacity_factor"):
        mixture["capacity_factor"] = number(row, "capacity_factor")
    gated = switched_on(row, "gated", bool(mixture) or any(word in arch for word in GATED_FAMILIES))
    biases = not gated and not any(word in arch for word in FAMILIES_WITHOUT_BIASES)
    shapes = Shapes(
        layers=whole(row, "layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=whole(row, "kv_heads", heads),
        head_dim=whole(row, "head_dim", max(1, hidden // heads)),
        ffn=whole(row, "ffn", 4 * hidden),
        gated=gated,
        vocabulary=whole(row, "vocab", 51200),
        tied=switched_on(row, "tied", not gated),
        seq=whole(row, "seq", 2048),
        **mixture,
    )
    model = replace(model_of_shapes(shapes), name=text(row, "model") or "unnamed", positions=0)
    bias = dict.fromkeys(("attention_bias", "output_bias", "mlp_bias"), biases)
    family = replace(model, family=text(row, "arch") or "gpt", **bias)  # type: ignore[arg-type]
    return _with_dense_layers(family, row)
