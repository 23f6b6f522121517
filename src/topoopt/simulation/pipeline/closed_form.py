"""The time of a pipelined iteration without simulating it: every communication on its own links.

A communication takes its bytes over the bandwidth that the routes or rings of the fabric leave it, plus the fixed part
of the transfer law. With these seconds the passes are played through by the schedule: of p stages with m micro-batches
in v chunks each, forward and backward passes of F and B seconds a stage, it takes (m + (p - 1)/v)·(F + B) where stages
are equal and transfers free (Narayanan 2021, section 2.2). What the flow simulator adds is that communications of
different kinds may meet on a link.

References
----------
.. [1] W. Li et al., "Understanding Communication Characteristics of Distributed Training", APNet 2024: the formula for
   equal stages, with what a micro-batch sends in each stage's turn.
.. [2] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021.
"""

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric
from topoopt.simulation.options import DEFAULT_OPTIONS, SimulationOptions
from topoopt.simulation.pipeline.operations import Operations, operations
from topoopt.simulation.pipeline.play import PassTimes, Played, play
from topoopt.simulation.pipeline.play_split import play_split
from topoopt.simulation.pipeline.queues import Around, Key, Queues
from topoopt.simulation.pipeline.wrap_up import wrap_up_s
from topoopt.workloads.pipelined_step import PASSES, Chunk, Exchange, PipelinedStep

ROUNDS_TO_PLAY = 12
"""Rounds of as many micro-batches as stages, up to which all are played."""

IN_STEP = 1e-12
"""Of the time of a round: what the times by which stages end later may differ by, which is rounding."""


@dataclass(frozen=True, slots=True)
class PipelinedTime:
    """Seconds of one iteration; all but the first add up to it.

    Attributes
    ----------
    iteration_time_s : float
    compute_s : float
        Passes of the busiest worker, with all that stays inside a server.
    exchange_s : float
        What exchanges inside passes add.
    transfer_s : float
        What sending between chunks adds, and exchanges around passes that are not hidden.
    bubble_s : float
        What workers wait for each other while the pipeline fills and drains, communication being free.
    gradient_s : float
        Gradients and parameters after the last pass.
    optimizer_s : float
    """

    iteration_time_s: float
    compute_s: float
    exchange_s: float
    transfer_s: float
    bubble_s: float
    gradient_s: float
    optimizer_s: float


def pipelined_time(
    step: PipelinedStep, fabric: Fabric, options: SimulationOptions = DEFAULT_OPTIONS
) -> PipelinedTime:
    """Return the iteration time of a step on a fabric.

    Raises
    ------
    InvalidInput
        If the fabric's circuits change over time.
    NoRoute
        If two servers that have to talk cannot reach each other.
    """
    if fabric.reconfiguration is not None:
        raise InvalidInput(
            f"fabric {fabric.name}: the closed form knows no circuits that change; simulate it"
        )
    known = operations(step, fabric, options)
    compute_s, bubble_s = compute_and_bubble(step)
    free_s, exchanged_s = compute_s + bubble_s, _passes_s(step, known.inside_s)
    played = _replicas(step, known)
    last_pass_s = max(max(each.stage_end_s) for each in played)
    end_s = wrap_up_s(step, known, played)
    return PipelinedTime(
        iteration_time_s=end_s,
        compute_s=compute_s,
        exchange_s=exchanged_s - free_s,
        transfer_s=last_pass_s - exchanged_s,
        bubble_s=bubble_s,
        gradient_s=end_s - last_pass_s - step.optimizer_s,
        optimizer_s=step.optimizer_s,
    )


def compute_and_bubble(step: PipelinedStep) -> tuple[float, float]:
    """Return the seconds in which the busiest worker computes, and those in which it waits for other stages.

    Communication is free: what is left is the schedule, and stages that are not equal.
    """
    compute_s = step.micro_batches * sum(chunk.forward_s + chunk.backward_s for chunk in _busiest(step))
    return compute_s, _passes_s(step, np.zeros(step.pass_s.shape)) - compute_s


def free_time_s(step: PipelinedStep) -> float:
    """Return the seconds of an iteration with free communication: no fabric is faster."""
    return sum(compute_and_bubble(step)) + step.optimizer_s


def inside_servers_s(step: PipelinedStep) -> float:
    """Return how long the busiest worker's collectives among accelerators of one server take, of all micro-batches."""
    return step.micro_batches * sum(chunk.inside_s for chunk in _busiest(step))


def _busiest(step: PipelinedStep) -> tuple[Chunk, ...]:
    stages = (step.chunks_on(stage) for stage in range(step.stages))
    return max(stages, key=lambda chunks: sum(chunk.forward_s + chunk.backward_s for chunk in chunks))


def _passes_s(step: PipelinedStep, inside_s: Floats) -> float:
    """Return when the last pass ends if passes take longer by ``inside_s`` and sending takes no time.

    Of many micro-batches a few rounds are played. Once each stage ends as much later with every round, so it goes on.
    """
    times = _pass_times(step, inside_s, np.zeros((2, len(step.chunks))))
    a_round = step.stages
    length, ends = a_round + step.micro_batches % a_round, list[Floats]()
    while ROUNDS_TO_PLAY * a_round < step.micro_batches and length < step.micro_batches:
        few = replace(step, micro_batches=length)
        ends.append(np.array(_play(few, times, _queues(few, {}, 0)).stage_end_s))
        length += a_round
        if len(ends) > 2:
            moved = np.diff(ends[-3:], axis=0)
            if np.abs(moved - moved[-1, 0]).max() <= IN_STEP * moved[-1, 0]:
                left = (step.micro_batches - length + a_round) / a_round
                return float(ends[-1].max() + left * moved[-1, 0])
    return max(_play(step, times, _queues(step, {}, 0)).stage_end_s)


def _play(step: PipelinedStep, times: PassTimes, queues: tuple[Queues, ...]) -> Played:
    return play_split(step, times, queues) if step.splits else play(step, times, queues)


def _replicas(step: PipelinedStep, known: Operations) -> tuple[Played, ...]:
    """Return the passes of every replica; those that exchange something with others go at the pace of the slowest."""
    sent_s = known.sent_s
    if any(len(one.replicas) > 1 for one in step.exchanges):
        sent_s = np.repeat(sent_s.max(axis=2, keepdims=True), step.replicas, axis=2)
    kinds, first, kind = np.unique(
        sent_s.reshape(-1, step.replicas).T, axis=0, return_index=True, return_inverse=True
    )
    played = [
        _play(
            step,
            _pass_times(step, known.inside_s, row.reshape(2, -1)),
            _queues(step, known.around_s, replica),
        )
        for row, replica in zip(kinds, first.tolist(), strict=True)
    ]
    return tuple(played[index] for index in kind.ravel().tolist())


def _pass_times(step: PipelinedStep, inside_s: Floats, sent_s: Floats) -> PassTimes:
    return PassTimes((step.pass_s + inside_s).tolist(), *sent_s.tolist())


def _queues(step: PipelinedStep, around_s: dict[Exchange, Around], replica: int) -> tuple[Queues, ...]:
    """Return the exchanges around passes that a replica takes part in, by stage."""
    by_stage = []
    for stage in range(step.stages):
        order = step.order_of(stage)
        queues = Queues(list(zip(order.direction.tolist(), order.chunk.tolist(), strict=True)))
        kinds: dict[tuple[str, tuple[int, ...]], dict[Key, Around]] = defaultdict(dict)
        for one, seconds in around_s.items():
            if step.chunk_stage[one.chunk] == stage and replica in one.replicas:
                kinds[one.moment, one.members][PASSES.index(one.direction), one.chunk] = seconds
        for (moment, _), of_pass in kinds.items():
            queues.add(of_pass, before=moment == "before")
        by_stage.append(queues)
    return tuple(by_stage)
