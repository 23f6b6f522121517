"""Parameters that one rank holds of a pipeline stage, exactly: what is split, what is whole on every rank."""

from dataclasses import dataclass

from topoopt.transformers.configuration import Configuration
from topoopt.transformers.degrees import trained_layers
from topoopt.workloads.transformer import (
    LayerParameters,
    TransformerModel,
    adapter_parameters,
    layer_kinds,
    layer_parameters,
)


@dataclass(frozen=True, slots=True)
class RankParameters:
    """Parameters on one rank of a stage.

    Attributes
    ----------
    dense, experts : tuple of int
        Of each layer of the stage: what is not a routed expert, and the routed experts.
    embedding : int
        The share of the token embedding that the first stage, and a last one that is tied to it, has.
    others : int
        Position embedding on the first stage; last norm, output layer and what is outside the layers on the last.
    replicated : int
        The part of ``dense`` and of the last norm that all ranks of a tensor-parallel group hold whole, and whose
        gradients sequence parallelism leaves unsummed: norms, router, biases after a sum, projections down.
    """

    dense: tuple[int, ...]
    experts: tuple[int, ...]
    embedding: int
    others: int
    replicated: int

    @property
    def all_dense(self) -> int:
        """Everything but routed experts."""
        return sum(self.dense) + self.embedding + self.others

    @property
    def total(self) -> int:
        """Everything."""
        return self.all_dense + sum(self.experts)


def rank_parameters(model: TransformerModel, configuration: Configuration, stage: int) -> RankParameters:
    """Return the parameters on one rank of a stage, as Megatron-LM splits them.

    Matrices are split over tp, biases of the columns with them; norms, the biases of sums, positions and the router
    are whole on every rank. Where there are fewer heads of keys and values than tp, they are repeated. A vocabulary
    that tp does not divide is filled up.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> one = Configuration(tp=8, pp=1, dp=1, global_batch=1, sequence=2048)
    >>> rank_parameters(find_transformer("llama2-7b"), one, 0).total
    842534912
    """
    pp, tp = configuration.pp, configuration.tp
    chunks = trained_layers(model, pp * configuration.vpp)
    layers = [layer for chunk in chunks[stage::pp] for layer in chunk]
    of_layer = {
        layer: (kind.model, layer_parameters(kind.model, kind.is_moe))
        for kind in layer_kinds(model)
        for layer in kind.layers
    }
    rows = [of_layer[layer] for layer in layers]
    table, norm = -(-model.vocabulary // tp) * model.hidden, model.norm_parameters
    first, last = stage == 0, stage == pp - 1
    others = model.positions * model.hidden * first
    if last:
        others += norm + model.extra_parameters + (0 if model.tied else table)
        others += model.mtp_layers * (2 * model.hidden**2 // tp + 3 * norm)
    return RankParameters(
        dense=tuple(_dense(kind, row, tp) for kind, row in rows),
        experts=tuple(_experts(kind, row, configuration) for kind, row in rows),
        embedding=table if first or (last and model.tied) else 0,
        others=others,
        replicated=sum(_whole(kind, row) for kind, row in rows) + norm * last,
    )


def _dense(model: TransformerModel, layer: LayerParameters, tp: int) -> int:
    whole = _whole(model, layer)
    split = layer.total - layer.experts - whole
    repeated = 0
    if model.mixer(0) == "*" and model.latent is None and tp > model.kv_heads:
        one_head = 2 * model.head_dim * (model.hidden + model.attention_bias)
        repeated = one_head * (tp - model.kv_heads)
    return whole + (split + repeated) // tp


def _whole(model: TransformerModel, layer: LayerParameters) -> int:
    """Return the parameters outside experts that every tensor-parallel rank holds whole."""
    parts = (layer.mlp > 0) + (layer.shared > 0)
    gate = model.hidden * (layer.shared > 0 and model.experts is not None and model.experts.shared_gate)
    return layer.replicated + model.hidden * model.mlp_bias * parts + gate


def _experts(model: TransformerModel, layer: LayerParameters, configuration: Configuration) -> int:
    if layer.experts == 0:
        return 0
    assert model.experts is not None
    bias = (model.experts.width or model.hidden) * model.mlp_bias
    one = bias + (layer.one_expert - bias) // configuration.etp
    return layer.experts // layer.one_expert // configuration.ep * one


def trained_parameters(model: TransformerModel, configuration: Configuration, stage: int) -> RankParameters:
    """Return the parameters on one rank of a stage that have gradients: those of adapters, or without any, all."""
    rank = configuration.adapter_rank
    if rank == 0:
        return rank_parameters(model, configuration, stage)
    chunks = trained_layers(model, configuration.pp * configuration.vpp)
    layers = [layer for chunk in chunks[stage :: configuration.pp] for layer in chunk]
    of_layer = {
        layer: adapter_parameters(kind.model, kind.is_moe, configuration.adapters)
        for kind in layer_kinds(model)
        for layer in kind.layers
    }
    rows = [of_layer[layer] for layer in layers]
    ep, etp, tp = configuration.ep, configuration.etp, configuration.tp
    return RankParameters(
        dense=tuple(rank * (row.whole + row.split // tp) for row in rows),
        experts=tuple(rank * (row.expert_whole + row.expert_split // etp) // ep for row in rows),
        embedding=0,
        others=0,
        replicated=rank * sum(row.whole for row in rows),
    )
