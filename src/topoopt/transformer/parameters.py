"""Parameters of a transformer from its shapes: by layer, by cause, and those that one token meets."""

from dataclasses import dataclass

from topoopt.errors import InvalidInput
from topoopt.transformer.model import Experts, TransformerModel


@dataclass(frozen=True, slots=True)
class LayerParameters:
    """Parameters of one layer.

    Attributes
    ----------
    attention : int
        Everything between the norm and the residual: projections, their biases, head norms, sinks.
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
        What one token meets: all but the experts that it is not sent to.
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
    shared: int
    router: int
    experts: int
    norms: int
    output: int
    extra: int
    active: int

    @property
    def total(self) -> int:
        """All parameters, each once."""
        inside = self.attention + self.mlp + self.shared + self.router + self.experts + self.norms
        return self.embedding + self.positions + inside + self.output + self.extra


def layer_parameters(model: TransformerModel, layer_is_moe: bool) -> LayerParameters:
    """Return the parameters of a layer, with experts or with a dense feed-forward part.

    Raises
    ------
    InvalidInput
        If experts are asked for and the model has none.
    """
    attention, replicated = _attention(model)
    norms = model.norms_per_layer * _norm(model)
    if not layer_is_moe:
        mlp = feed_forward_parameters(model, model.ffn)
        active = attention + mlp + norms
        return LayerParameters(attention, replicated, mlp, 0, 0, 0, 0, norms, active)
    experts = _experts_of(model)
    one = feed_forward_parameters(model, experts.ffn)
    shared = feed_forward_parameters(model, experts.shared_ffn) + experts.shared_gate * model.hidden
    router = experts.count * (model.hidden + experts.router_bias)
    active = attention + shared + router + experts.per_token * one + norms
    return LayerParameters(attention, replicated, 0, shared, router, one, experts.count * one, norms, active)


def feed_forward_parameters(model: TransformerModel, ffn: int) -> int:
    """Return the parameters of a feed-forward part of inner size ``ffn``: two matrices, or three if gated."""
    into = 2 if model.gated else 1
    biases = (into * ffn + model.hidden) * (model.mlp_bias and ffn > 0)
    return (into + 1) * model.hidden * ffn + biases


def count_parameters(model: TransformerModel) -> ParameterCount:
    """Return the parameters of a model by cause.

    Examples
    --------
    >>> from topoopt.transformer import find_transformer
    >>> count_parameters(find_transformer("llama2-7b")).total
    6738415616
    """
    moe = model.moe_layers
    kinds = [(model.layers - moe, layer_parameters(model, False))]
    if moe:
        kinds.append((moe, layer_parameters(model, True)))

    def over_layers(name: str) -> int:
        return sum(count * int(getattr(layer, name)) for count, layer in kinds)

    table = model.vocabulary * model.hidden
    positions = model.positions * model.hidden
    output = 0 if model.tied else table
    outside = table + positions + output + _norm(model) + model.extra_parameters
    return ParameterCount(
        embedding=table,
        positions=positions,
        attention=over_layers("attention"),
        mlp=over_layers("mlp"),
        shared=over_layers("shared"),
        router=over_layers("router"),
        experts=over_layers("experts"),
        norms=over_layers("norms") + _norm(model),
        output=output,
        extra=model.extra_parameters,
        active=over_layers("active") + outside,
    )


def _experts_of(model: TransformerModel) -> Experts:
    if model.experts is None:
        raise InvalidInput(f"{model.name}: has no experts, so none of its layers has")
    return model.experts


def _norm(model: TransformerModel) -> int:
    return model.hidden * (2 if model.norm == "layernorm" else 1)


def _attention(model: TransformerModel) -> tuple[int, int]:
    """Return the parameters of attention, and how many of them every tensor-parallel rank holds whole."""
    if model.latent is not None:
        return _latent_attention(model)
    hidden, queries, keys = model.hidden, model.heads * model.head_dim, model.kv_heads * model.head_dim
    into = queries + 2 * keys
    split = hidden * into + queries * hidden
    split += into * model.attention_bias + model.heads * model.attention_sinks
    whole = hidden * model.output_bias + 2 * model.head_dim * model.head_norms
    return split + whole, whole


def _latent_attention(model: TransformerModel) -> tuple[int, int]:
    latent = model.latent
    assert latent is not None
    hidden, heads = model.hidden, model.heads
    query_dim = latent.nope_head_dim + latent.rope_head_dim
    down = hidden * (latent.key_value_rank + latent.rope_head_dim) + latent.key_value_rank
    up = latent.key_value_rank * heads * (latent.nope_head_dim + latent.value_head_dim)
    if latent.query_rank:
        down += hidden * latent.query_rank + latent.query_rank
        up += latent.query_rank * heads * query_dim
    else:
        up += hidden * heads * query_dim
    # Biases, where a model has them, are those of the projections down and of the output.
    biases = model.attention_bias * (latent.query_rank + latent.key_value_rank + latent.rope_head_dim)
    whole = down + biases + model.output_bias * hidden
    return up + heads * latent.value_head_dim * hidden + whole, whole
