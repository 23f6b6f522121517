"""A transformer of shapes that are given as flags, alone or as changes to a known model."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.cli.transformer_arguments import TransformerArguments
    from topoopt.transformer import Experts, TransformerModel

NEEDED = ("layers", "hidden", "heads")
VOCABULARY, SEQUENCE = 51200, 2048
"""Those of Megatron-LM's published GPT models (Narayanan et al. SC 2021)."""


def model_by_hand(said: "TransformerArguments") -> "TransformerModel":
    """Return a GPT-like model of the given shapes: layer norms, biases, as many positions as the sequence.

    Raises
    ------
    InvalidInput
        If layers, hidden size or heads are missing.
    """
    from topoopt.transformer import TransformerModel

    _check_positive(said)
    layers, hidden, heads = (getattr(said, name) for name in NEEDED)
    if layers is None or hidden is None or heads is None:
        missing = ", ".join(f"--{name}" for name in NEEDED if getattr(said, name) is None)
        raise InvalidInput(
            f"MODEL: name a transformer or a config.json, or give shapes by hand; missing: {missing}"
        )
    if said.head_dim is None and hidden % heads:
        raise InvalidInput(
            f"--heads {heads}: does not divide the hidden size {hidden}; give the size of a head with --head-dim"
        )
    sequence = said.seq or SEQUENCE
    ffn = said.ffn or 4 * hidden
    gated = bool(said.gated)
    return TransformerModel(
        name=f"{layers} layers of {hidden}",
        family="by hand",
        layers=layers,
        hidden=hidden,
        heads=heads,
        ffn=ffn,
        vocabulary=said.vocabulary or VOCABULARY,
        sequence=sequence,
        kv_heads=said.kv_heads or heads,
        head_dim=said.head_dim or hidden // heads,
        gated=gated,
        tied=said.tied is not False,
        positions=0 if gated else sequence,
        norm="rmsnorm" if gated else "layernorm",
        attention_bias=not gated,
        output_bias=not gated,
        mlp_bias=not gated,
        experts=_experts(said, None, ffn),
    )


def changed_model(model: "TransformerModel", said: "TransformerArguments") -> "TransformerModel":
    """Return the model with the given shapes instead of its own; all that is not given stays.

    A size of heads that was ``hidden / heads`` stays so, and the heads of keys and values stay as many as
    those of queries where they were.
    """
    _check_positive(said)
    plain = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "gated", "vocabulary", "tied")
    said_so = {name: getattr(said, name) for name in plain if getattr(said, name) is not None}
    if said.seq is not None:
        said_so["sequence"] = said.seq
    hidden, heads = said_so.get("hidden", model.hidden), said_so.get("heads", model.heads)
    if model.latent is None and model.head_dim * model.heads == model.hidden and "head_dim" not in said_so:
        if hidden % heads:
            raise InvalidInput(f"--heads {heads}: does not divide the hidden size {hidden}")
        said_so["head_dim"] = hidden // heads
    if model.kv_heads == model.heads:
        said_so.setdefault("kv_heads", heads)
    if model.latent is not None and said.head_dim is not None:
        raise InvalidInput(f"--head-dim: {model.name} has latent attention, whose head sizes are its own")
    layers = said_so.get("layers", model.layers)
    said_so["window_layers"] = round(model.window_layers * layers / model.layers)
    changed = replace(model, **said_so, experts=_experts(said, model.experts, said_so.get("ffn", model.ffn)))
    return changed if changed in (model, replace(model, sequence=changed.sequence)) else _renamed(changed)


def _renamed(model: "TransformerModel") -> "TransformerModel":
    return replace(model, name=f"{model.name}, changed")


def _check_positive(said: "TransformerArguments") -> None:
    names = (*NEEDED, "kv_heads", "head_dim", "ffn", "vocabulary", "seq", "experts_per_token", "expert_ffn")
    for name in names:
        value = getattr(said, name)
        if value is not None and value < 1:
            raise InvalidInput(f"--{name.replace('_', '-')}: expected an integer >= 1, got {value}")
    for name in ("experts", "shared_ffn", "capacity_factor"):
        value = getattr(said, name)
        if value is not None and not 0 <= value < float("inf"):
            raise InvalidInput(f"--{name.replace('_', '-')}: expected a number >= 0, got {value}")


def _experts(said: "TransformerArguments", own: "Experts | None", ffn: int) -> "Experts | None":
    from topoopt.transformer import Experts

    flags: dict[str, Any] = {
        "count": said.experts,
        "per_token": said.experts_per_token,
        "ffn": said.expert_ffn,
        "shared_ffn": said.shared_ffn,
        "capacity_factor": said.capacity_factor,
    }
    given = {key: value for key, value in flags.items() if value is not None}
    if own is not None and said.experts != 0:
        return replace(own, **given)
    if said.experts:
        return Experts(**{"per_token": min(2, said.experts), "ffn": ffn, **given})
    given.pop("count", None)
    if given:
        names = {"per_token": "experts-per-token", "ffn": "expert-ffn"}
        key = next(iter(given))
        flag = names.get(key, key.replace("_", "-"))
        raise InvalidInput(f"--{flag}: the model has no experts; say how many with --experts")
    return None
