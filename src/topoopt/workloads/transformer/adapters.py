"""Low-rank adapters (LoRA): which linear layers have one, and how many parameters that is."""

from dataclasses import dataclass, fields

from topoopt.workloads.transformer.model import TransformerModel
from topoopt.workloads.transformer.parameters import layer_kinds

ADAPTERS = ("every-matrix", "all-linear", "attention", "qkv")
"""Linear layers that have an adapter: every matrix but those of the router and the output layer (Hugging Face's PEFT);
the same with one adapter for queries, keys and values together, and one for gate and up (Megatron's all-linear);
those of attention; or the projections to queries, keys and values alone, as in NVIDIA's performance recipes (Megatron
Bridge, llama3_70b LoRA). The first is the default."""

EVERYWHERE = ("all-linear", "every-matrix")
"""Targets in attention, in feed-forward parts and in experts."""


@dataclass(frozen=True, slots=True)
class AdapterParameters:
    """Parameters of the adapters of one layer, for each of their rank.

    An adapter of a matrix from ``in`` to ``out`` has ``rank·(in + out)`` (Hu et al. 2021). Of a matrix whose columns
    are split the half at its input is whole on every rank of the group, of one whose rows are split the half at its
    output: sums over the group then go along with those of the matrix itself.

    Attributes
    ----------
    whole, split : int
        Parameters replicated on every tensor-parallel rank, and parameters split over the ranks.
    expert_whole, expert_split : int
        The same for all routed experts together, by the ranks over which an expert is split.
    """

    whole: int
    split: int
    expert_whole: int
    expert_split: int


def adapter_parameters(model: TransformerModel, layer_is_moe: bool, adapters: str) -> AdapterParameters:
    """Return the adapter parameters of a layer.

    Queries, keys and values share an adapter, and so do the two matrices of a gated feed-forward part, as these
    are one matrix each in Megatron; but for ``every-matrix``. Every routed expert has its own. Of a model whose
    layers mix tokens in different ways: the mean of those with experts, or without.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> llama = find_transformer("llama3-70b")
    >>> adapter_parameters(llama, False, "qkv")
    AdapterParameters(whole=8192, split=10240, expert_whole=0, expert_split=0)
    """
    if len(set(model.mixers)) > 1 or len(set(model.feed_forwards)) > 1:
        kinds = [kind for kind in layer_kinds(model) if kind.is_moe == layer_is_moe]
        rows = [(len(kind.layers), adapter_parameters(kind.model, layer_is_moe, adapters)) for kind in kinds]
        layers = max(sum(count for count, _ in rows), 1)
        names = [one.name for one in fields(AdapterParameters)]
        sums = {name: sum(count * getattr(row, name) for count, row in rows) for name in names}
        return AdapterParameters(**{name: round(value / layers) for name, value in sums.items()})
    whole, split = _mixer(model, adapters)
    if adapters not in EVERYWHERE:
        return AdapterParameters(whole, split, 0, 0)
    experts = model.experts if layer_is_moe else None
    ffn = model.ffn if experts is None else experts.shared_ffn
    into = 2 if model.gated else 1
    inputs = into if adapters == "every-matrix" else 1
    if ffn and model.feed_forwards != ".":
        whole, split = whole + (inputs + 1) * model.hidden, split + (into + 1) * ffn
    if experts is None:
        return AdapterParameters(whole, split, 0, 0)
    outside = experts.count * (inputs + 1) * (experts.width or model.hidden)
    return AdapterParameters(whole, split, outside, experts.count * (into + 1) * experts.ffn)


def _mixer(model: TransformerModel, adapters: str) -> tuple[int, int]:
    """Return the parameters held whole and those split by tensor parallel ranks; a recurrence has all linear layers."""
    if model.mixer(0) == "*":
        latent, hidden = model.latent, model.hidden
        value = model.head_dim if latent is None else latent.value_head_dim
        output = (0, 0) if adapters == "qkv" else (hidden, model.heads * value)
        if latent is None:
            heads = model.heads * (1 + model.attention_gate) + 2 * model.kv_heads
            return (3 if adapters == "every-matrix" else 1) * hidden + output[
                0
            ], heads * model.head_dim + output[1]
        # Projections down to the ranks are whole everywhere, in and out.
        queries = model.heads * (latent.nope_head_dim + latent.rope_head_dim)
        up = queries + model.heads * (latent.nope_head_dim + latent.value_head_dim)
        down = hidden + latent.key_value_rank + latent.rope_head_dim
        down += hidden + latent.query_rank if latent.query_rank else 0
        inputs = latent.key_value_rank + (latent.query_rank or hidden)
        return down + inputs + output[0], up + output[1]
    one = model.recurrence if model.mixer(0) == "M" and adapters in EVERYWHERE else None
    return (0, 0) if one is None else (2 * model.hidden, one.projected + one.inner)
