"""Pipelined step of a transformer's configuration: its iteration, server by server."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice, pairwise

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.transformers.communication.iteration import communications
from topoopt.transformers.communication.message import Communication
from topoopt.transformers.communication.ranks import (
    ORDER,
    Places,
    place_ranks,
    rank_numbers,
    rank_parameters,
    server_groups,
    trained_parameters,
)
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.degrees import trained_layers
from topoopt.transformers.expert_loads import ExpertLoads
from topoopt.transformers.pipeline_chunks import (
    chunk_times,
    exchange_of,
    forwarding_s,
    hidden_and_not,
    hidden_shares,
    layers_of_chunks,
    merged,
    merged_exchanges,
    pass_exchanges,
)
from topoopt.transformers.step_time.calibration import Calibration
from topoopt.transformers.step_time.closed_form import ChunkTimes
from topoopt.transformers.step_time.collective_time import Links, machine_of
from topoopt.transformers.system import System, is_apart
from topoopt.workloads.pipelined_step import (
    COLLECTIVE_KINDS,
    ORDERS,
    Chunk,
    Exchange,
    PipelinedStep,
    Synchronization,
)
from topoopt.workloads.transformer import TransformerModel

EXPERTS = " of experts"
"""Suffix of the parts that belong to experts."""
WEIGHT_TURN = 1_000
"""Weights come after everything else inside a pass."""
ASYNCHRONOUS = ("zero-bubble", "dualpipe")
"""Schedules whose workers continue during their sends, as in their public codes (sail-sg's runtime of zero-bubble
pipelines; DualPipe, whose transfers hide behind the next passes)."""


def make_pipelined_step(
    model: TransformerModel,
    configuration: Configuration,
    system: System,
    calibration: Calibration,
    loads: ExpertLoads | None = None,
    order: str = ORDER,
) -> PipelinedStep:
    """Return the iteration of a configuration with ranks placed on servers by their numbers.

    With 1F1B a worker continues only when its send to another stage has arrived, as in Megatron-LM, which overlaps
    the transfers of interleaved schedules alone, unless the calibration's ``unfused`` has ``hops``; ``estimate``
    does so, too.

    Parameters
    ----------
    loads : ExpertLoads, optional
        Loads of the experts; even by default.
    order : str
        Order in which ranks are numbered, see :func:`~topoopt.transformers.rank_numbers`.

    Raises
    ------
    InvalidInput
        If the schedule is interleaved and the micro-batches are no multiple of the stages, or the loads or the order
        do not fit.
    """
    return pipelined_step(
        model,
        configuration,
        system,
        calibration,
        place_ranks(configuration.accelerators, system.accelerators_per_server),
        chunk_times(model, configuration, system, calibration, loads),
        communications(model, configuration, loads, order, calibration.unfused),
        order,
    )


def pipelined_step(
    model: TransformerModel,
    configuration: Configuration,
    system: System,
    calibration: Calibration,
    servers_of_rank: Ints,
    times: ChunkTimes,
    sent: Sequence[Communication],
    order: str = ORDER,
) -> PipelinedStep:
    """Return the iteration of a configuration.

    Parameters
    ----------
    servers_of_rank : int64 array, shape (ranks,)
        As returned by :func:`~topoopt.transformers.place_ranks`.
    times : ChunkTimes
        Times including all communication within a server.
    sent : sequence of Communication
        As returned by :func:`~topoopt.transformers.communications`, in the same order of ranks.
    """
    ranks, links = rank_numbers(configuration, order), Links(machine_of(system), calibration)
    replica = np.zeros(configuration.accelerators, np.int64)
    replica[ranks.dense] = np.arange(configuration.dp)[None, :, None, None]
    places = Places(np.asarray(servers_of_rank, np.int64), replica)
    parts = places.server[ranks.dense].reshape(configuration.pp, configuration.dp, -1)
    spread = int(np.ptp(parts, axis=2).max()) > 0  # else every worker is inside a server, and has one part
    setting = model, configuration, system, calibration
    hidden = hidden_shares(*setting)
    exchanges = pass_exchanges(
        sent,
        configuration.chunk_batches,
        places,
        links,
        hidden,
        forwarding_s(*setting),
        layers_of_chunks(model, configuration).reshape(-1, configuration.pp),
    )
    of_weights = weight_exchanges(model, configuration, sent, places, links, hidden.get("every", 0.0))
    return PipelinedStep(
        servers=int(places.server.max()) + 1,
        micro_batches=configuration.chunk_batches,
        chunks=_chunks(configuration, times, sent, 1 if spread else parts.shape[2], links, calibration),
        part_servers=parts if spread else parts[:, :, :1],
        exchanges=(*exchanges, *of_weights),
        synchronizations=synchronizations(configuration, sent, places, links, hidden),
        optimizer_s=times.step_s,
        schedule=configuration.schedule,
    )


def _chunks(
    configuration: Configuration,
    times: ChunkTimes,
    sent: Sequence[Communication],
    joined: int,
    links: Links,
    calibration: Calibration,
) -> tuple[Chunk, ...]:
    """Return the chunks; those from the other end of the pipeline take as long as those from the first stage."""
    if len(times.forward_s) != len(times.backward_s):
        raise InvalidInput("chunk times: there must be as many forward as backward passes")
    size = [0] * (configuration.ends * len(times.forward_s))
    for one in sent:
        if one.kind == "pp" and one.direction == "forward":
            size[one.chunk] = one.message_bytes
    waits = configuration.vpp == 1 or is_apart("hops", calibration.unfused)
    blocking = configuration.schedule not in ASYNCHRONOUS and waits
    whole = np.broadcast_to(times.weights_s, times.forward_s.shape)
    sent_s_per_byte = links.beyond_network_s_per_byte(2, 1.0, 1.0, "transfer")
    columns = times.forward_s, times.backward_s, times.inside_s, whole
    rows = zip(*(column.tolist() * configuration.ends for column in columns), size, strict=True)
    return tuple(
        Chunk(
            forward_s,
            backward_s,
            joined * output,
            output * sent_s_per_byte + links.starts_s(1) if output else 0.0,
            blocking,
            inside_s,
            weights_s,
        )
        for forward_s, backward_s, inside_s, weights_s, output in rows
    )


def synchronizations(
    configuration: Configuration,
    communications: Iterable[Communication],
    places: Places,
    links: Links,
    hidden: Mapping[str, float],
) -> tuple[Synchronization, ...]:
    """Return the synchronizations done once per iteration.

    Gradients of a stage leave together, with its last backward pass: so ``estimate`` has it, which
    fits published runs of interleaved schedules better than chunks that leave one by one. What tensor-parallel ranks
    and the two ends of a tied embedding add up comes after that of the replicas.

    Parameters
    ----------
    hidden : mapping
        As returned by :func:`~topoopt.transformers.pipeline_chunks.hidden_shares`.
    """
    rows = (
        row
        for one in communications
        if one.chunk < 0 and not _every_pass(one, configuration)
        for row in _once(one, configuration, places, links, hidden)
    )
    seconds = "delay_s", "nic_s", "gather_delay_s", "gather_nic_s"
    return merged(rows, ("size_bytes", "gather_bytes", *seconds))


def _once(
    one: Communication,
    configuration: Configuration,
    places: Places,
    links: Links,
    hidden: Mapping[str, float],
) -> Iterator[Synchronization]:
    """Yield the synchronizations of communication done once, by group of servers."""
    of_replicas, gathers = one.kind == "dp", one.collective == "all-gather"
    chunks = tuple(
        range(one.stage, configuration.ends * configuration.pp * configuration.vpp, configuration.pp)
    )
    if not of_replicas:
        last = configuration.pp * configuration.vpp - 1
        chunks = (0, last) if one.kind == "embedding" else _last_on(configuration, one.stage)
    total = one.message_bytes * one.count
    sharded = configuration.zero > 1
    kind = ("gather" if gathers else "reduce") if sharded else "once"
    for group in server_groups(one.groups, places, across=not of_replicas):
        whole = Synchronization(
            chunks,
            group.replicas,
            group.members,
            "reduce-scatter" if gathers else one.collective,
            total * group.groups,
            links.inside_ring_s(one.collective, group, total, 1),
            turn=0 if of_replicas else 1,
            overlap=min(max(hidden.get(kind, 0.0), 0.0), 1.0) if of_replicas else 0.0,
            nic_s=links.ring_nic_s(one.collective, group, total),
        )
        if gathers:
            later = {"gather_bytes": whole.size_bytes, "gather_delay_s": whole.delay_s}
            whole = replace(whole, size_bytes=0, delay_s=0.0, nic_s=0.0, gather_nic_s=whole.nic_s, **later)  # type: ignore[arg-type]
        yield whole


def _last_on(configuration: Configuration, stage: int) -> tuple[int]:
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
    """Return the exchanges of ZeRO 2 and 3 with every micro-batch.

    Gradients are reduced after each backward pass, or after that for the gradients of weights where it is split; with
    ZeRO 3, parameters are gathered before each forward and backward pass.

    Parameters
    ----------
    share : float
        Share of this that can hide behind other passes; the rest is inside the pass that it belongs to.
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
                    whole = replace(whole, nic_s=links.ring_nic_s(one.collective, group, size))
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
