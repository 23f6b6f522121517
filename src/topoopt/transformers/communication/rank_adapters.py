"""Parameters of low-rank adapters that one rank holds of a pipeline stage: all that has gradients, if there are any."""

from topoopt.transformers.communication.rank_parameters import RankParameters, rank_parameters
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.degrees import trained_layers
from topoopt.workloads.transformer import TransformerModel, adapter_parameters, layer_kinds


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
