"""All communication of an iteration: in the passes, and for the weights."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.transformers.communication.message import Communication, gradient_bytes, weight_bytes
from topoopt.transformers.communication.passes import Passes
from topoopt.transformers.communication.ranks import (
    ORDER,
    Ranks,
    rank_numbers,
    rank_parameters,
    trained_parameters,
)
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_table import NF4_BYTES
from topoopt.transformers.degrees import trained_layers
from topoopt.transformers.expert_loads import ExpertLoads, expert_layers, uniform_loads
from topoopt.transformers.system import is_apart
from topoopt.workloads.transformer import TransformerModel


def communications(
    model: TransformerModel,
    configuration: Configuration,
    loads: ExpertLoads | None = None,
    order: str = ORDER,
    unfused: str = "none",
) -> tuple[Communication, ...]:
    """Return everything that the ranks send each other in one iteration.

    Groups of one rank and idle communication are omitted. The configuration is not checked: callers check that of a
    user first with :func:`~topoopt.transformers.check_configuration`.

    Parameters
    ----------
    loads
        Loads of the experts; even by default.
    order
        Order in which ranks are numbered, see :func:`~topoopt.transformers.rank_numbers`.
    unfused
        Names in :data:`~topoopt.transformers.UNFUSED_PARTS` that the software runs whole or one by one, as given
        for a framework.

    Raises
    ------
    InvalidInput
        If the loads are not those of this model's layers, or for an unknown part.
    """
    ranks = rank_numbers(configuration, order)
    of_experts = _loads_of(model, loads)
    sent: list[Communication] = []
    for chunk, layers in enumerate(
        configuration.ends * trained_layers(model, configuration.pp * configuration.vpp)
    ):
        sent += Passes(model, configuration, ranks, of_experts, chunk, layers, unfused).communications()
    for stage in range(configuration.pp):
        sent += _weights(model, configuration, ranks, stage, is_apart("step", unfused))
    sent += _tied_embedding(model, configuration, ranks)
    return tuple(sent)


def _loads_of(model: TransformerModel, loads: ExpertLoads | None) -> ExpertLoads:
    if model.experts is None:
        if loads is not None:
            raise InvalidInput(f"loads: {model.name} has no experts")
        return ExpertLoads((), np.zeros((0, 0)))
    if loads is None:
        return uniform_loads(model)
    layers = expert_layers(model)
    if loads.layers != layers or loads.experts != model.experts.count:
        raise InvalidInput(
            f"loads: {model.name} has {model.experts.count} experts in each of {len(layers)} layers, "
            f"got {loads.experts} in {len(loads.layers)}"
        )
    return loads


def _weights(
    model: TransformerModel, configuration: Configuration, ranks: Ranks, stage: int, whole: bool
) -> Iterator[Communication]:
    """Yield the gradients and parameters of a stage that its ranks have in common, of DualPipe those of both stages.

    ``whole``: gradients are reduced whole with ZeRO 1, too. Frozen weights have no gradients; with ZeRO 3 they are
    gathered like all others.
    """
    held, trained = (of(model, configuration, stage) for of in (rank_parameters, trained_parameters))
    adapted, width = configuration.adapter_rank > 0, gradient_bytes(configuration)
    holders = (stage, configuration.pp - 1 - stage)[: configuration.ends]
    if configuration.sequence_parallel or adapted:
        part = "gradients of norms and what else is whole"
        for holder in holders:
            groups = ranks.stage_groups("tp", holder)
            yield from _some("tp", part, "allreduce", groups, trained.replicated * width, 1, holder)
    if len(holders) > 1 and stage and model.tied:  # the ranks of the first stage sum up the table of both
        held, trained = replace(held, embedding=0), replace(trained, embedding=0)
    for kind, of in (("dp", ""), ("expert-dp", " of experts")):
        alike = np.concatenate([ranks.stage_groups(kind, holder) for holder in holders], axis=1)
        groups, between = _shards(configuration, alike, kind)
        if between.shape[1] > 1:
            blocks = trained.experts if of else (*trained.dense, trained.embedding + trained.others)
            for size, count in _messages(configuration.zero, blocks):
                size_bytes = -(-size * width // groups.shape[1])
                yield from _some(
                    "dp", "gradients between shards" + of, "allreduce", between, size_bytes, count, stage
                )
        for collective, part, times in _shared_out(configuration, whole):
            all_of_them = adapted and configuration.zero == 3 and collective == "all-gather"
            for one in (held, trained) if all_of_them else (trained,):
                blocks = one.experts if of else (*one.dense, one.embedding + one.others)
                each: float = weight_bytes(configuration) if part == "parameters" else width
                if one is held and configuration.weights == "nf4":
                    each = NF4_BYTES  # gathered as they are kept, unpacked where they are read
                for size, count in _messages(configuration.zero, blocks):
                    size_bytes = ceil(size * each)
                    yield from _some("dp", part + of, collective, groups, size_bytes, count * times, stage)


def _shards(configuration: Configuration, groups: Ints, kind: str) -> tuple[Ints, Ints]:
    """Return the groups that share out, and those of the ranks that have the same share: with HSDP all shards of one.

    Experts are on fewer ranks, so that a shard has fewer of them.
    """
    inside = groups.shape[1]
    if configuration.shard and configuration.zero:
        owners = configuration.tp * configuration.shard // (configuration.ep * configuration.etp)
        inside = configuration.shard if kind == "dp" else max(owners, 1)
    cut = groups.reshape(len(groups), -1, inside)
    return cut.reshape(-1, inside), cut.swapaxes(1, 2).reshape(-1, cut.shape[1])


def _messages(zero: int, blocks: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the parameters of a message and how many such messages there are.

    With ZeRO 2 and 3 every block (a layer, or the parameters outside the layers) is separate, and communicates
    while the next one computes; otherwise all of them together.
    """
    if zero < 2:
        return [(sum(blocks), 1)]
    return [(size, blocks.count(size)) for size in dict.fromkeys(blocks)]


def _shared_out(configuration: Configuration, whole: bool) -> tuple[tuple[str, str, int], ...]:
    """Return the collectives of the weights by the stage of ZeRO (Rajbhandari 2020), and how often each is done.

    Who keeps only a slice of the gradients reduces those of every micro-batch at once, in an interleaved pipeline those
    of as many as there are stages, which go through a chunk one after the other; who keeps only a slice of the
    parameters gathers them for every forward and every backward pass.
    """
    often = configuration.micro_batches
    in_turns = configuration.pp > 1 and configuration.vpp > 1
    turns = -(-often // configuration.pp) if in_turns else often
    return (
        (("allreduce", "gradients", 1),),
        (("allreduce" if whole else "reduce-scatter", "gradients", 1), ("all-gather", "parameters", 1)),
        (("reduce-scatter", "gradients", turns), ("all-gather", "parameters", 1)),
        (("reduce-scatter", "gradients", often), ("all-gather", "parameters", 2 * often)),
    )[configuration.zero]


def _tied_embedding(
    model: TransformerModel, configuration: Configuration, ranks: Ranks
) -> Iterator[Communication]:
    """Yield the AllReduce of the gradients of an embedding that the first and the last stage share.

    With DualPipe either rank holds both stages, and they are replicas of each other.
    """
    if model.tied and configuration.pp > 1 and configuration.adapter_rank == 0 and configuration.ends == 1:
        width = gradient_bytes(configuration)
        size = rank_parameters(model, configuration, 0).embedding * width
        groups = ranks.groups("embedding")
        yield from _some("embedding", "tied embedding", "allreduce", groups, size, 1, 0)


def _some(
    kind: str, part: str, collective: str, groups: Ints, size: int, count: int, stage: int
) -> Iterator[Communication]:
    if groups.shape[1] > 1 and size > 0:
        yield Communication(kind, part, collective, groups, size, count, stage)
