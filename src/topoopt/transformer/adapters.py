"""Low-rank adapters (LoRA): which linear layers have one, and how many parameters that is."""

from dataclasses import dataclass

from topoopt.transformer.model import TransformerModel

ADAPTERS = ("all-linear", "attention", "qkv")
"""Linear layers that have an adapter: all but router and output layer; those of attention; the projections to queries,
keys and values alone, as in NVIDIA's performance recipes (Megatron Bridge, llama3_70b LoRA)."""


@dataclass(frozen=True, slots=True)
class AdapterParameters:
    """Parameters of the adapters of one layer, for each of their rank.

    An adapter of a matrix from ``in`` to ``out`` has ``rank·(in + out)`` (Hu et al. 2021). Of a matrix whose columns
    are split the half at its input is whole on every rank of the group, of one whose rows are split the half at its
    output: sums over the group then go along with those of the matrix itself.

    Attributes
    ----------
    whole, split : int
        What tensor parallel ranks hold whole, and what they split.
    expert_whole, expert_split : int
        The same of all routed experts together, by the ranks that an expert is cut over.
    """

    whole: int
    split: int
    expert_whole: int
    expert_split: int


def adapter_parameters(model: TransformerModel, layer_is_moe: bool, adapters: str) -> AdapterParameters:
    """Return the adapter parameters of a layer.

    Queries, keys and values share an adapter, and so do the two matrices of a gated feed-forward part, as these
    are one matrix each in Megatron. Every routed expert has its own.

    Examples
    --------
    >>> from topoopt.transformer import find_transformer
    >>> llama = find_transformer("llama3-70b")
    >>> adapter_parameters(llama, False, "qkv")
    AdapterParameters(whole=8192, split=10240, expert_whole=0, expert_split=0)
    """
    whole, split = _attention(model, adapters)
    if adapters != "all-linear":
        return AdapterParameters(whole, split, 0, 0)
    experts = model.experts if layer_is_moe else None
    ffn = model.ffn if experts is None else experts.shared_ffn
    into = 2 if model.gated else 1
    if ffn:
        whole, split = whole + 2 * model.hidden, split + (into + 1) * ffn
    if experts is None:
        return AdapterParameters(whole, split, 0, 0)
    return AdapterParameters(
        whole, split, experts.count * 2 * model.hidden, experts.count * (into + 1) * experts.ffn
    )


def _attention(model: TransformerModel, adapters: str) -> tuple[int, int]:
    latent, hidden = model.latent, model.hidden
    value = model.head_dim if latent is None else latent.value_head_dim
    output = (0, 0) if adapters == "qkv" else (hidden, model.heads * value)
    if latent is None:
        return hidden + output[0], (model.heads + 2 * model.kv_heads) * model.head_dim + output[1]
    # Projections down to the ranks are whole everywhere, in and out.
    queries = model.heads * (latent.nope_head_dim + latent.rope_head_dim)
    up = queries + model.heads * (latent.nope_head_dim + latent.value_head_dim)
    down = hidden + latent.key_value_rank + latent.rope_head_dim
    down += hidden + latent.query_rank if latent.query_rank else 0
    inputs = latent.key_value_rank + (latent.query_rank or hidden)
    return down + inputs + output[0], up + output[1]
