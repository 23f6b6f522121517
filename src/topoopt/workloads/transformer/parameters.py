"""Parameters and floating-point operations of a transformer from its shapes, by layer and by cause."""

from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache

from topoopt.base.arrays import grouped
from topoopt.base.errors import InvalidInput
from topoopt.workloads.transformer.model import TransformerModel


@dataclass(frozen=True, slots=True)
class LayerKind:
    """Layers that differ at most in their windows.

    Attributes
    ----------
    model : TransformerModel
        The model as if all of its layers were of this kind.
    is_moe : bool
        Whether they have experts.
    mixer, feed_forward : str
        Values of :meth:`TransformerModel.mixer` and :meth:`TransformerModel.feed_forward`.
    layers : tuple of int
        Layer numbers, counted from 0.
    """

    model: TransformerModel
    is_moe: bool
    mixer: str
    feed_forward: str
    layers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LayerParameters:
    """Parameters of one layer.

    Attributes
    ----------
    attention : int
        Everything between the norm and the residual: projections, their biases, head norms, sinks; or the recurrence.
    attention_replicated : int
        The part of ``attention`` that every tensor-parallel rank holds whole: projections down to latent
        ranks and their norms, head norms, the bias of the output projection.
    mlp : int
        The dense feed-forward part; 0 in a layer with experts.
    shared : int
        Shared experts and their gate.
    router : int
    one_expert, experts : int
        One routed expert; all of them.
    norms : int
        Held whole by every tensor-parallel rank.
    active : int
        Parameters active per token: all but the experts that it is not routed to.
    """

    attention: int
    attention_replicated: int
    mlp: int
    shared: int
    router: int
    one_expert: int
    experts: int
    norms: int
    active: int

    @property
    def replicated(self) -> int:
        """Parameters that every tensor-parallel rank holds whole."""
        return self.attention_replicated + self.norms + self.router

    @property
    def split(self) -> int:
        """Parameters that tensor-parallel ranks split, without routed experts."""
        return self.attention - self.attention_replicated + self.mlp + self.shared

    @property
    def total(self) -> int:
        """All parameters of the layer."""
        return self.attention + self.mlp + self.shared + self.router + self.experts + self.norms


@dataclass(frozen=True, slots=True)
class ParameterCount:
    """Parameters of a model by cause; ``norms`` includes the last norm, ``output`` is 0 where it is tied."""

    embedding: int
    positions: int
    attention: int
    mlp: int
    router: int
    experts: int
    shared: int
    norms: int
    output: int
    extra: int
    active: int

    @property
    def by_cause(self) -> dict[str, int]:
        """All parameters, each once, in the order of a model."""
        causes = asdict(self)
        del causes["active"]
        return causes

    @property
    def total(self) -> int:
        """All parameters."""
        return sum(self.by_cause.values())


@dataclass(frozen=True, slots=True)
class LayerFlops:
    """FLOPs per token in the forward pass of one layer; a multiplication and an addition are 2.

    Attributes
    ----------
    projection_flops : float
        Projections to queries, keys and values, and out of attention.
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
    """FLOPs per token in the forward pass of a model: its layers together, and the output layer."""

    layers: LayerFlops
    logits_flops: float

    @property
    def total_flops(self) -> float:
        """All of the forward pass; a backward pass costs twice as much."""
        return self.layers.total_flops + self.logits_flops


def layer_flops(
    model: TransformerModel, layer_is_moe: bool, sequence: int, windowed: bool = False, causal: bool = False
) -> LayerFlops:
    """Return the mean FLOPs per token of a sequence in one layer.

    Parameters
    ----------
    windowed : bool
        Whether the layer has the model's sliding window.
    causal : bool
        Count only the pairs of tokens that a causal mask leaves. Without it every token sees the whole
        sequence, as in the formulas of Megatron-LM (Narayanan et al. SC 2021) and as PyTorch counts.
    """
    mixed = core_flops(model, sequence, windowed, causal)
    per_size = 2.0 * model.hidden * (3 if model.gated else 2)
    experts = model.experts if layer_is_moe else None
    if experts is None:
        feed_forward = 0.0 if model.feed_forwards == "." else per_size * model.ffn, 0.0, 0.0, 0.0
    else:
        gate = 2.0 * model.hidden * (experts.shared_gate + 2 * experts.width)
        router = 2.0 * model.hidden * experts.count
        routed = per_size * experts.ffn * experts.per_token
        if experts.width:
            routed *= experts.width / model.hidden
        feed_forward = 0.0, per_size * experts.shared_ffn + gate, router, routed
    return LayerFlops(2.0 * projection_weights(model), mixed, *feed_forward)


def core_flops(model: TransformerModel, sequence: int, windowed: bool = False, causal: bool = False) -> float:
    """Return the mean FLOPs per token between the projections of a layer, the model's first kind of layer.

    Attention: scores and their products with values, and those of an indexer. A recurrence: its products with
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
    """Return the forward FLOPs per token; by default in sequences of the model's own length.

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


def layer_parameters(model: TransformerModel, layer_is_moe: bool) -> LayerParameters:
    """Return the parameters of a layer, with experts or with a dense feed-forward part.

    Where layers mix tokens in different ways, the result is their rounded mean; :func:`layer_kinds` has each of
    them.

    Raises
    ------
    InvalidInput
        If experts are requested and the model has none.
    """
    if not model.is_uniform:
        kinds = [kind for kind in layer_kinds(model) if kind.is_moe == layer_is_moe]
        rows = [(len(kind.layers), layer_parameters(kind.model, layer_is_moe)) for kind in kinds]
        layers = max(sum(count for count, _ in rows), 1)
        names = [one.name for one in fields(LayerParameters)]
        sums = {name: sum(count * getattr(row, name) for count, row in rows) for name in names}
        return LayerParameters(**{name: round(value / layers) for name, value in sums.items()})
    attention, replicated = _mixer(model)
    norms = model.norms_per_layer * model.norm_parameters
    if not layer_is_moe:
        mlp = 0 if model.feed_forwards == "." else feed_forward_parameters(model, model.ffn)
        active = attention + mlp + norms
        return LayerParameters(attention, replicated, mlp, 0, 0, 0, 0, norms, active)
    experts = model.experts
    if experts is None:
        raise InvalidInput(f"{model.name}: has no experts, so none of its layers has")
    one = feed_forward_parameters(model, experts.ffn, experts.width)
    shared = feed_forward_parameters(model, experts.shared_ffn) + experts.shared_gate * model.hidden
    shared += 2 * model.hidden * experts.width
    router = experts.count * (model.hidden + experts.router_bias)
    active = attention + shared + router + experts.per_token * one + norms
    return LayerParameters(attention, replicated, 0, shared, router, one, experts.count * one, norms, active)


def feed_forward_parameters(model: TransformerModel, ffn: int, width: int = 0) -> int:
    """Return the parameters of a feed-forward part of inner size ``ffn``: two matrices, or three if gated.

    ``width`` is the size of its input and output where that is not the hidden size.
    """
    into, outside = 2 if model.gated else 1, width or model.hidden
    biases = (into * ffn + outside) * (model.mlp_bias and ffn > 0)
    return (into + 1) * outside * ffn + biases


def count_parameters(model: TransformerModel) -> ParameterCount:
    """Return the parameters of a model by cause.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> count_parameters(find_transformer("llama2-7b")).total
    6738415616
    """
    kinds = [(len(kind.layers), layer_parameters(kind.model, kind.is_moe)) for kind in layer_kinds(model)]
    layers = {
        name: sum(count * getattr(layer, name) for count, layer in kinds)
        for name in ("attention", "mlp", "router", "experts", "shared", "norms", "active")
    }
    table = model.vocabulary * model.hidden
    outside = {
        "embedding": table,
        "positions": model.positions * model.hidden,
        "output": 0 if model.tied else table,
        "extra": model.extra_parameters,
    }
    layers["norms"] += model.norm_parameters
    layers["active"] += model.norm_parameters + sum(outside.values())
    return ParameterCount(**layers, **outside)


def projection_weights(model: TransformerModel) -> int:
    """Return the entries of the matrices around the core in one layer, without biases and norms."""
    hidden, heads, latent = model.hidden, model.heads, model.latent
    if model.mixer(0) == ".":
        return 0
    if model.mixer(0) == "M":
        assert model.recurrence is not None
        return model.recurrence.projection_weights(hidden)
    if latent is None:
        into = heads * (1 + model.attention_gate)
        return hidden * model.head_dim * (into + heads + 2 * model.kv_heads)
    query_dim = latent.nope_head_dim + latent.rope_head_dim
    rank = latent.query_rank
    queries = rank * (hidden + heads * query_dim) if rank else hidden * heads * query_dim
    keys = hidden * (latent.key_value_rank + latent.rope_head_dim)
    keys += latent.key_value_rank * heads * (latent.nope_head_dim + latent.value_head_dim)
    return queries + keys + heads * latent.value_head_dim * hidden + _indexer_weights(model)


def _mixer(model: TransformerModel) -> tuple[int, int]:
    """Return the parameters of the token mixer, and those replicated on every tensor-parallel rank."""
    if model.mixer(0) == ".":
        return 0, 0
    if model.mixer(0) == "M":
        assert model.recurrence is not None
        return model.recurrence.parameters(model.hidden)
    weights, latent, output_bias = projection_weights(model), model.latent, model.hidden * model.output_bias
    if latent is None:
        into = model.heads * (1 + model.attention_gate)
        biases = (into + 2 * model.kv_heads) * model.head_dim * model.attention_bias
        wide = (model.heads + model.kv_heads) * model.head_dim * model.wide_head_norms
        whole = output_bias + 2 * model.head_dim * model.head_norms
        return weights + biases + wide + model.heads * model.attention_sinks + whole, whole
    ranks = latent.query_rank + latent.key_value_rank
    down = model.hidden * (ranks + latent.rope_head_dim)
    # Each rank has a norm; biases, where a model has them, are those of the projections down and of the output.
    others = ranks + model.attention_bias * (ranks + latent.rope_head_dim) + output_bias
    norm = 2 * model.indexer.head_dim if model.indexer else 0
    return weights + others + norm, down + others + _indexer_weights(model) + norm


def _indexer_weights(model: TransformerModel) -> int:
    """Return the entries of the indexer's matrices: to its queries, its one key, and the weights of its heads."""
    one, latent = model.indexer, model.latent
    if one is None or latent is None:
        return 0
    return latent.query_rank * one.heads * one.head_dim + model.hidden * (one.head_dim + one.heads)


@lru_cache(maxsize=256)
def layer_kinds(model: TransformerModel) -> tuple[LayerKind, ...]:
    """Return the kinds of layers of a model, in the order in which they first come.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> [(kind.is_moe, len(kind.layers)) for kind in layer_kinds(find_transformer("deepseek-v3"))]
    [(False, 3), (True, 58)]
    """
    found = grouped(((model.mixer(layer), model.feed_forward(layer)), layer) for layer in range(model.layers))
    return tuple(
        LayerKind(_only(model, *kind), kind[1] == "E", *kind, tuple(layers)) for kind, layers in found.items()
    )


def _only(model: TransformerModel, mixer: str, feed_forward: str) -> TransformerModel:
    """Return the model with these layers only; itself where its layers differ by their experts only."""
    if not model.mixers and not model.feed_forwards:
        return model
    with_windows = model.window_layers if mixer == "*" else 0
    return replace(model, mixers=mixer, feed_forwards=feed_forward, window_layers=with_windows)
