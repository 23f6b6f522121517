"""Floating-point operations of a forward pass from the shapes: matrix products only, by cause, for one token."""

from dataclasses import dataclass, fields

from topoopt.workloads.transformer.model import TransformerModel
from topoopt.workloads.transformer.parameters import layer_kinds, projection_weights


@dataclass(frozen=True, slots=True)
class LayerFlops:
    """What one token costs in the forward pass of one layer; a multiplication and an addition are 2.

    Attributes
    ----------
    projection_flops : float
        To queries, keys and values, and out of attention.
    core_flops : float
        Scores and their products with values: grows with the sequence.
    mlp_flops, shared_flops, router_flops, experts_flops : float
        The dense feed-forward part; shared experts; the choice of experts; the experts that it goes to.
    """

    projection_flops: float
    core_flops: float
    mlp_flops: float
    shared_flops: float
    router_flops: float
    experts_flops: float

    @property
    def total_flops(self) -> float:
        """All of the layer."""
        feed_forward = self.mlp_flops + self.shared_flops + self.router_flops + self.experts_flops
        return self.projection_flops + self.core_flops + feed_forward


@dataclass(frozen=True, slots=True)
class ForwardFlops:
    """What one token costs in the forward pass of a model: its layers together, and the output layer."""

    layers: LayerFlops
    logits_flops: float

    @property
    def total_flops(self) -> float:
        """All of the forward pass; a backward pass costs twice as much."""
        return self.layers.total_flops + self.logits_flops


def layer_flops(
    model: TransformerModel, layer_is_moe: bool, sequence: int, windowed: bool = False, causal: bool = False
) -> LayerFlops:
    """Return what one token of a sequence costs in one layer, on average.

    Parameters
    ----------
    windowed : bool
        Whether the layer has the model's sliding window.
    causal : bool
        Count only the pairs of tokens that a causal mask leaves. Without it every token sees the whole
        sequence, as in the formulas of Megatron-LM (Narayanan et al. SC 2021) and as PyTorch counts.
    """
    mixed = core_flops(model, sequence, windowed, causal)
    return LayerFlops(2.0 * projection_weights(model), mixed, *_feed_forward(model, layer_is_moe))


def core_flops(model: TransformerModel, sequence: int, windowed: bool = False, causal: bool = False) -> float:
    """Return what one token costs on average between the projections of a layer, the model's first kind of layer.

    Attention: scores and their products with values, and what an indexer looks at. A recurrence: its products with
    the state, token by token (implementations that take chunks at once do more, on matrix units).
    """
    if model.mixer(0) == ".":
        return 0.0
    one = model.recurrence
    if model.mixer(0) == "M":
        assert one is not None
        return 2.0 * one.products * one.inner * one.key_dim
    latent, indexer = model.latent, model.indexer
    value_dim = model.head_dim if latent is None else latent.value_head_dim
    looked_at = 2.0 * indexer.heads * indexer.head_dim if indexer else 0.0
    chosen = 2.0 * model.heads * (model.head_dim + value_dim)
    whole = _tokens_seen(model, sequence, False, causal) * looked_at
    return _tokens_seen(model, sequence, windowed, causal) * chosen + whole


def forward_flops(model: TransformerModel, sequence: int | None = None, causal: bool = False) -> ForwardFlops:
    """Return what one token costs in the forward pass; in sequences of the model's own length if not said.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> round(512 * forward_flops(find_transformer("llama2-7b"), 512).total_flops / 1e12, 3)
    6.903
    """
    length = model.sequence if sequence is None else sequence
    total = dict.fromkeys((one.name for one in fields(LayerFlops)), 0.0)
    for kind in layer_kinds(model):
        with_window = model.window_layers if kind.mixer == "*" else 0
        share = with_window / model.attention_layers if with_window else 0.0
        for windowed, count in ((False, (1 - share) * len(kind.layers)), (True, share * len(kind.layers))):
            if count:
                one = layer_flops(kind.model, kind.is_moe, length, windowed, causal)
                total = {name: sum_ + count * getattr(one, name) for name, sum_ in total.items()}
    return ForwardFlops(LayerFlops(**total), 2.0 * model.hidden * model.vocabulary)


def _feed_forward(model: TransformerModel, layer_is_moe: bool) -> tuple[float, float, float, float]:
    """Return FLOP of a token in the dense part, the shared experts, the router, the experts."""
    per_size = 2.0 * model.hidden * (3 if model.gated else 2)
    experts = model.experts if layer_is_moe else None
    if experts is None:
        return 0.0 if model.feed_forwards == "." else per_size * model.ffn, 0.0, 0.0, 0.0
    gate = 2.0 * model.hidden * (experts.shared_gate + 2 * experts.width)
    router = 2.0 * model.hidden * experts.count
    routed = per_size * experts.ffn * experts.per_token
    if experts.width:
        routed *= experts.width / model.hidden
    return 0.0, per_size * experts.shared_ffn + gate, router, routed


def _tokens_seen(model: TransformerModel, sequence: int, windowed: bool, causal: bool) -> float:
    """Return the tokens that one token sees, itself among them, on average over the sequence."""
    window = min(model.window, sequence) if windowed and model.window else sequence
    if not causal:
        return window
    if model.chunked and windowed:
        whole, rest = divmod(sequence, window)
        return (whole * window * (window + 1) + rest * (rest + 1)) / 2 / sequence
    # The first `window` tokens see 1, 2, … window; all after them see `window`.
    return window * (window + 1) / 2 / sequence + (sequence - window) * window / sequence
