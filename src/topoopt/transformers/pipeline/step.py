"""From a configuration of a transformer to a pipelined step: what its iteration does, server by server."""

from collections.abc import Sequence

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.transformers.communication.iteration import communications
from topoopt.transformers.communication.message import Communication
from topoopt.transformers.communication.ranks import ORDER, place_ranks, rank_numbers
from topoopt.transformers.communication.server_groups import Places
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.experts.loads import ExpertLoads
from topoopt.transformers.pipeline.exchanges import pass_exchanges
from topoopt.transformers.pipeline.weights import synchronizations, weight_exchanges
from topoopt.transformers.software import is_apart
from topoopt.transformers.step_time.chunk_times import chunk_times, forwarding_s, hidden_shares
from topoopt.transformers.step_time.collective_time import Links
from topoopt.transformers.step_time.machine import machine_of
from topoopt.transformers.step_time.parameters import Calibration
from topoopt.transformers.step_time.times import ChunkTimes
from topoopt.transformers.system import System
from topoopt.workloads.pipelined_step import Chunk, PipelinedStep
from topoopt.workloads.transformer import TransformerModel

MOST_BUCKETS = 8

ASYNCHRONOUS = ("zero-bubble", "dualpipe")
"""Schedules whose workers go on while what they send is under way, as their public codes do (sail-sg's runtime of
zero-bubble pipelines; DualPipe, whose transfers hide behind the next passes)."""


def make_pipelined_step(
    model: TransformerModel,
    configuration: Configuration,
    system: System,
    calibration: Calibration,
    loads: ExpertLoads | None = None,
    order: str = ORDER,
) -> PipelinedStep:
    """Return the iteration of a configuration with ranks placed on servers by their numbers.

    With 1F1B a worker goes on only when what it sends to another stage has arrived, as in Megatron-LM, which overlaps
    the transfers of interleaved schedules alone, unless the calibration's ``unfused`` has ``hops``;
    :func:`~topoopt.llm.estimate` has it so, too.

    Parameters
    ----------
    loads : ExpertLoads, optional
        Of the experts; even if not given.
    order : str
        In which the ranks are numbered, see :func:`~topoopt.transformers.rank_numbers`.

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
        As of :func:`~topoopt.transformers.place_ranks`.
    times : ChunkTimes
        With all that stays inside a server.
    sent : sequence of Communication
        As of :func:`~topoopt.transformers.communications`, in the same order of ranks.
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
        sent, configuration.chunk_batches, places, links, hidden, forwarding_s(*setting)
    )
    of_weights = weight_exchanges(model, configuration, sent, places, links, hidden.get("dp", 0.0))
    return PipelinedStep(
        servers=int(places.server.max()) + 1,
        micro_batches=configuration.chunk_batches,
        chunks=_chunks(configuration, times, sent, 1 if spread else parts.shape[2], links, calibration),
        part_servers=parts if spread else parts[:, :, :1],
        exchanges=(*exchanges, *of_weights),
        synchronizations=synchronizations(configuration, sent, places, links),
        gradient_buckets=gradient_buckets(calibration),
        optimizer_s=times.step_s,
        schedule=configuration.schedule,
    )


def gradient_buckets(calibration: Calibration) -> int:
    """Return in how many buckets gradients leave: of k, all but the last can hide behind the last backward pass.

    Whole gradients of a step that is not fused leave after it, in one.
    """
    if is_apart("step", calibration.unfused):
        return 1
    return min(round(1 / max(1 - calibration.gradient_overlap, 1 / MOST_BUCKETS)), MOST_BUCKETS)


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
    columns = times.forward_s, times.backward_s, times.inside_s, whole
    rows = zip(*(column.tolist() * configuration.ends for column in columns), size, strict=True)
    return tuple(
        Chunk(
            forward_s,
            backward_s,
            joined * output,
            links.starts_s(1) if output else 0.0,
            blocking,
            inside_s,
            weights_s,
        )
        for forward_s, backward_s, inside_s, weights_s, output in rows
    )
