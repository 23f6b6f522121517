"""What replicas do with gradients and parameters, as synchronizations and exchanges of a pipelined step."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, islice, pairwise

from topoopt.transformers.communication.message import Communication
from topoopt.transformers.communication.rank_adapters import trained_parameters
from topoopt.transformers.communication.rank_parameters import rank_parameters
from topoopt.transformers.communication.server_groups import Places, server_groups
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.degrees import trained_layers
from topoopt.transformers.pipeline.exchanges import exchange_of, hidden_and_not, merged, merged_exchanges
from topoopt.transformers.step_time.collective_time import Links
from topoopt.workloads.pipelined_step import COLLECTIVE_KINDS, ORDERS, Exchange, Synchronization
from topoopt.workloads.transformer import TransformerModel

EXPERTS = " of experts"
"""How the parts of what concerns experts end."""

WEIGHT_TURN = 1_000
"""Weights come after all else that goes on inside a pass."""


def synchronizations(
    configuration: Configuration, communications: Iterable[Communication], places: Places, links: Links
) -> tuple[Synchronization, ...]:
    """Return what happens once an iteration.

    Gradients of a stage leave together, with its last backward pass: so :func:`~topoopt.llm.estimate` has it, which
    fits published runs of interleaved schedules better than chunks that leave one by one. What tensor-parallel ranks
    and the two ends of a tied embedding add up comes after that of the replicas.
    """
    rows = (
        row
        for one in communications
        if one.chunk < 0 and not _every_pass(one, configuration)
        for row in _once(one, configuration, places, links)
    )
    return merged(rows, {"size_bytes": 0, "delay_s": 0.0, "gather_bytes": 0, "gather_delay_s": 0.0})


def _once(
    one: Communication, configuration: Configuration, places: Places, links: Links
) -> Iterator[Synchronization]:
    """Yield the synchronizations of what is communicated once, a group of servers after the other."""
    of_replicas, gathers = one.kind == "dp", one.collective == "all-gather"
    chunks = tuple(
        range(one.stage, configuration.ends * configuration.pp * configuration.vpp, configuration.pp)
    )
    if not of_replicas:
        last = configuration.pp * configuration.vpp - 1
        chunks = (0, last) if one.kind == "embedding" else _last_on(configuration, one.stage)
    total = one.message_bytes * one.count
    for group in server_groups(one.groups, places, across=not of_replicas):
        whole = Synchronization(
            chunks,
            group.replicas,
            group.members,
            "reduce-scatter" if gathers else one.collective,
            total * group.groups,
            links.inside_ring_s(one.collective, group, total, 1),
            turn=0 if of_replicas else 1,
        )
        if gathers:
            later = {"gather_bytes": whole.size_bytes, "gather_delay_s": whole.delay_s}
            whole = replace(whole, size_bytes=0, delay_s=0.0, **later)  # type: ignore[arg-type]
        yield whole


def _last_on(configuration: Configuration, stage: int) -> tuple[int]:
    """Return the last chunk on a stage."""
    chunks = range(configuration.ends * configuration.pp * configuration.vpp)
    return (max(chunk for chunk in chunks if configuration.stage_of(chunk) == stage),)


def weight_exchanges(
    model: TransformerModel,
    configuration: Configuration,
    communications: Iterable[Communication],
    places: Places,
    links: Links,
    share: float,
) -> tuple[Exchange, ...]:
    """Return what ZeRO 2 and 3 do with every micro-batch.

    Gradients are reduced after each backward pass, or after that for the gradients of weights where it is split; with
    ZeRO 3, parameters are gathered before each forward and backward pass.

    Parameters
    ----------
    share : float
        How much of this can hide behind other passes; the rest is inside the pass that it belongs to.
    """
    exchanges: list[Exchange] = []
    reducing = "weights" if ORDERS[configuration.schedule].splits else "backward"
    for one in communications:
        if one.chunk >= 0 or not _every_pass(one, configuration):
            continue
        gathers = one.collective == "all-gather"
        times = configuration.micro_batches * (2 if gathers else 1)
        count = max(one.count // times // configuration.vpp, 1)
        turn = WEIGHT_TURN + COLLECTIVE_KINDS.index(one.collective)
        moment, directions = ("before", ("forward", "backward")) if gathers else ("after", (reducing,))
        for group in server_groups(one.groups, places, across=False):
            for chunk, size in _by_chunk(model, configuration, one, one.message_bytes * one.count // times):
                delay_s = links.inside_ring_s(one.collective, group, size, count)
                for direction in directions:
                    here = replace(one, chunk=chunk, direction=direction)
                    total = size * group.groups
                    whole = exchange_of(here, group, one.collective, total, count, delay_s, turn)
                    exchanges += hidden_and_not(whole, share, moment)
    return merged_exchanges(exchanges)


def _every_pass(one: Communication, configuration: Configuration) -> bool:
    """Return whether replicas communicate weights with every micro-batch instead of once."""
    from_stage = {"all-gather": 3, "reduce-scatter": 2}  # an AllReduce is that of gradients, once
    return one.kind == "dp" and configuration.zero >= from_stage.get(one.collective, 4)


def _by_chunk(
    model: TransformerModel, configuration: Configuration, one: Communication, total: int
) -> Iterator[tuple[int, int]]:
    """Yield the chunks of a stage with their part of its bytes, in whole bytes that add up to ``total``."""
    of_stage = rank_parameters if one.collective == "all-gather" else trained_parameters
    held = of_stage(model, configuration, one.stage)
    chunks = trained_layers(model, configuration.pp * configuration.vpp)[one.stage :: configuration.pp]
    of_experts = one.part.endswith(EXPERTS)
    of_layer = iter(held.experts if of_experts else held.dense)
    weights = [sum(islice(of_layer, len(layers))) for layers in chunks]
    if not of_experts:  # positions and a first embedding, or the last norm and the output layer
        weights[0 if one.stage == 0 else -1] += held.embedding
        weights[0 if configuration.pp > 1 and one.stage == 0 else -1] += held.others
    ends = [total * upto // sum(weights) for upto in accumulate(weights, initial=0)]
    for index, (begin, end) in enumerate(pairwise(ends)):
        yield one.stage + index * configuration.pp, end - begin
