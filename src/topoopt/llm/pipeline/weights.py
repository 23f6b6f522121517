"""What replicas do with gradients and parameters, as synchronizations and exchanges of a pipelined step."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from topoopt.llm.communication.layer_split import chunk_layers
from topoopt.llm.communication.message import Communication
from topoopt.llm.communication.rank_parameters import rank_parameters
from topoopt.llm.communication.server_groups import Places, ServerGroup, server_groups
from topoopt.llm.configuration import Configuration
from topoopt.llm.pipeline.exchanges import hidden_and_not, merged_exchanges
from topoopt.llm.step_time.inside_time import InsideTime
from topoopt.pipelined_step import COLLECTIVE_KINDS, PASSES, Exchange, Synchronization
from topoopt.transformer import TransformerModel

EXPERTS = " of experts"
"""How the parts of what concerns experts end."""

WEIGHT_TURN = 1_000
"""Weights come after all else that goes on inside a pass."""


def synchronizations(
    model: TransformerModel,
    configuration: Configuration,
    communications: Iterable[Communication],
    places: Places,
    inside: InsideTime,
) -> tuple[Synchronization, ...]:
    """Return what happens once an iteration.

    Gradients of a stage leave together, with its last backward pass: so :func:`~topoopt.llm.estimate` has it, which
    fits published runs of interleaved schedules better than chunks that leave one by one. What tensor-parallel ranks
    and the two ends of a tied embedding add up comes after that of the replicas.
    """
    merged: dict[Synchronization, Synchronization] = {}
    for row in _rows(model, configuration, communications, places, inside):
        key = replace(row, size_bytes=0, delay_s=0.0, gather_bytes=0, gather_delay_s=0.0)
        merged[key] = _added(merged[key], row) if key in merged else row
    return tuple(merged.values())


def _rows(
    model: TransformerModel,
    configuration: Configuration,
    communications: Iterable[Communication],
    places: Places,
    inside: InsideTime,
) -> Iterator[Synchronization]:
    for one in communications:
        if one.chunk >= 0 or (one.kind == "dp" and _every_pass(one, configuration)):
            continue
        total = one.message_bytes * one.count
        last = configuration.pp * configuration.vpp - 1
        for group in server_groups(one.groups, places, across=one.kind != "dp"):
            if one.kind == "dp":
                yield _synchronization(
                    one, group, tuple(range(one.stage, last + 1, configuration.pp)), total, inside, 0
                )
            else:
                of_stage = one.stage + configuration.pp * (configuration.vpp - 1)
                chunks = (0, last) if one.kind == "embedding" else (of_stage,)
                yield _synchronization(one, group, chunks, total, inside, 1)


def _added(one: Synchronization, other: Synchronization) -> Synchronization:
    return replace(
        one,
        size_bytes=one.size_bytes + other.size_bytes,
        delay_s=one.delay_s + other.delay_s,
        gather_bytes=one.gather_bytes + other.gather_bytes,
        gather_delay_s=one.gather_delay_s + other.gather_delay_s,
    )


def weight_exchanges(
    model: TransformerModel,
    configuration: Configuration,
    communications: Iterable[Communication],
    places: Places,
    inside: InsideTime,
    share: float,
) -> tuple[Exchange, ...]:
    """Return what ZeRO 2 and 3 do with every micro-batch.

    Gradients are reduced after each backward pass; with ZeRO 3, parameters are gathered before each pass.

    Parameters
    ----------
    share : float
        How much of this can hide behind other passes; the rest is inside the pass that it belongs to.
    """
    exchanges: list[Exchange] = []
    for one in communications:
        if one.chunk >= 0 or one.kind != "dp" or not _every_pass(one, configuration):
            continue
        gathers = one.collective == "all-gather"
        times = configuration.micro_batches * (2 if gathers else 1)
        for group in server_groups(one.groups, places, across=False):
            for chunk, size in _by_chunk(model, configuration, one, one.message_bytes * one.count // times):
                count = max(one.count // times // configuration.vpp, 1)
                whole = Exchange(
                    chunk,
                    "backward",
                    "inside",
                    group.replicas,
                    group.members,
                    one.collective,
                    size * group.groups,
                    count,
                    inside.ring_s(one.collective, group, size, count),
                    turn=WEIGHT_TURN + COLLECTIVE_KINDS.index(one.collective),
                )
                for direction in PASSES if gathers else PASSES[1:]:
                    moment = "before" if gathers else "after"
                    exchanges += hidden_and_not(replace(whole, direction=direction), share, moment)
    return merged_exchanges(exchanges)


def _every_pass(one: Communication, configuration: Configuration) -> bool:
    """Return whether weights are communicated with every micro-batch instead of once."""
    least = 3 if one.collective == "all-gather" else 2
    return configuration.zero >= least


def _synchronization(
    one: Communication,
    group: ServerGroup,
    chunks: tuple[int, ...],
    size_bytes: int,
    inside: InsideTime,
    turn: int,
) -> Synchronization:
    delay_s = inside.ring_s(one.collective, group, size_bytes, 1)
    total = size_bytes * group.groups
    if one.collective == "all-gather":
        return Synchronization(
            chunks, group.replicas, group.members, "reduce-scatter", 0, 0.0, total, delay_s, turn
        )
    return Synchronization(chunks, group.replicas, group.members, one.collective, total, delay_s, turn=turn)


def _by_chunk(
    model: TransformerModel, configuration: Configuration, one: Communication, total: int
) -> Iterator[tuple[int, int]]:
    """Yield the chunks of a stage with their part of its bytes, in whole bytes that add up to ``total``."""
    held = rank_parameters(model, configuration, one.stage)
    chunks = chunk_layers(model.layers, configuration.pp * configuration.vpp)
    numbers = range(one.stage, len(chunks), configuration.pp)
    of_layer = held.experts if one.part.endswith(EXPERTS) else held.dense
    weights, first = [], 0
    for chunk in numbers:
        weights.append(sum(of_layer[first : first + len(chunks[chunk])]))
        first += len(chunks[chunk])
    if not one.part.endswith(EXPERTS):
        ends = (
            0 if one.stage == 0 else -1
        )  # positions and a first embedding, or the last norm and the output layer
        weights[ends] += held.embedding
        weights[0 if configuration.pp > 1 and one.stage == 0 else -1] += held.others
    whole, before = sum(weights), 0
    for index, chunk in enumerate(numbers):
        upto = total * sum(weights[: index + 1]) // whole
        yield chunk, upto - before
        before = upto
