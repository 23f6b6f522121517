"""The time of a pipelined iteration without simulating it: every communication on its own links.

A communication takes its bytes over the bandwidth that the routes or rings of the fabric leave it, plus the fixed part
of the transfer law. With these seconds the passes are played through by the schedule: of p stages with m micro-batches
in v chunks each, forward and backward passes of F and B seconds a stage, it takes (m + (p - 1)/v)·(F + B) where stages
are equal and transfers free (Narayanan 2021, section 2.2). What the flow simulator adds is that communications of
different kinds may meet on a link.

References
----------
.. [1] W. Li et al., "Understanding Communication Characteristics of Distributed Training", APNet 2024: the formula for
   equal stages, including the sends of a micro-batch in each stage's turn.
.. [2] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from math import isnan
from operator import itemgetter

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.routing import Fabric
from topoopt.simulation.options import DEFAULT_OPTIONS, SimulationOptions
from topoopt.simulation.pipeline.pass_times import (
    Around,
    Key,
    LinkTime,
    Operations,
    PassTimes,
    Played,
    Queues,
    Seconds,
    operations,
    play,
)
from topoopt.simulation.pipeline.passes import BACKWARD, FORWARD, WEIGHTS
from topoopt.workloads.pipelined_step import PASSES, Chunk, PipelinedStep, Synchronization


class _Links:
    """Links that serve communications one after the other at full bandwidth."""

    def __init__(self, links: LinkTime) -> None:
        self._links = links
        self._free_s = np.zeros(len(links.capacity_bytes_per_s))

    def serve(self, parts: Sequence[tuple[Ints, float, float]]) -> list[float]:
        """Return the ends of parts that share links fairly; each part is a task, its start, and its share."""
        busy_s = [self._links.busy_s(tasks) * share for tasks, _, share in parts]
        for busy, (_, begin_s, _) in zip(busy_s, parts, strict=True):
            used = busy > 0
            self._free_s[used] = np.maximum(self._free_s[used], begin_s) + busy[used]
        return [
            float(self._free_s[busy > 0].max(initial=begin_s)) + self._links.fixed_s(tasks)
            for busy, (tasks, begin_s, _) in zip(busy_s, parts, strict=True)
        ]


Pass = tuple[int, int, int, int]
"""Place in its worker's order, direction, chunk and micro-batch."""
ROUNDS_TO_PLAY = 12
"""Rounds of as many micro-batches as stages, up to which all are played."""
IN_STEP = 1e-12
"""Tolerance, as a fraction of a round, when comparing how much later stages end: rounding."""


@dataclass(frozen=True, slots=True)
class PipelinedTime:
    """Seconds of one iteration; all but the first add up to it.

    Attributes
    ----------
    iteration_time_s : float
    compute_s : float
        Passes of the busiest worker, with all that stays inside a server.
    exchange_s : float
        Time added by exchanges inside passes.
    transfer_s : float
        Time added by sending between chunks, and by exchanges around passes that are not hidden.
    bubble_s : float
        Time that workers wait for each other while the pipeline fills and drains, with free communication.
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

    With free communication, only the schedule and unequal stages remain.
    """
    compute_s = step.micro_batches * sum(chunk.forward_s + chunk.backward_s for chunk in _busiest(step))
    return compute_s, _passes_s(step, np.zeros(step.pass_s.shape)) - compute_s


def free_time_s(step: PipelinedStep) -> float:
    """Return the seconds of an iteration with free communication: no fabric is faster."""
    return sum(compute_and_bubble(step)) + step.optimizer_s


def inside_servers_s(step: PipelinedStep) -> float:
    """Return the time of the busiest worker's collectives within a server, all micro-batches."""
    return step.micro_batches * sum(chunk.inside_s for chunk in _busiest(step))


def _busiest(step: PipelinedStep) -> tuple[Chunk, ...]:
    stages = (step.chunks_on(stage) for stage in range(step.stages))
    return max(stages, key=lambda chunks: sum(chunk.forward_s + chunk.backward_s for chunk in chunks))


def _passes_s(step: PipelinedStep, inside_s: Floats) -> float:
    """Return the end of the last pass if passes take ``inside_s`` longer and sending takes no time.

    For many micro-batches, a few rounds are played. Once each stage ends later by the same time every round, the
    rest is extrapolated.
    """
    times = _pass_times(step, inside_s, np.zeros((2, len(step.chunks))))
    a_round = step.stages
    length, ends = a_round + step.micro_batches % a_round, list[Floats]()
    while ROUNDS_TO_PLAY * a_round < step.micro_batches and length < step.micro_batches:
        few = replace(step, micro_batches=length)
        ends.append(np.array(_play(few, times, _no_queues(few)).stage_end_s))
        length += a_round
        if len(ends) > 2:
            moved = np.diff(ends[-3:], axis=0)
            if np.abs(moved - moved[-1, 0]).max() <= IN_STEP * moved[-1, 0]:
                left = (step.micro_batches - length + a_round) / a_round
                return float(ends[-1].max() + left * moved[-1, 0])
    return max(_play(step, times, _no_queues(step)).stage_end_s)


def _play(step: PipelinedStep, times: PassTimes, queues: tuple[Queues, ...]) -> Played:
    return play_split(step, times, queues) if step.splits else play(step, times, queues)


def _replicas(step: PipelinedStep, known: Operations) -> tuple[Played, ...]:
    """Return the passes of every replica; replicas that exchange data with others run at the pace of the slowest."""
    sent_s = known.sent_s
    if any(len(one.replicas) > 1 for one in step.exchanges):
        sent_s = np.repeat(sent_s.max(axis=2, keepdims=True), step.replicas, axis=2)
    kinds, first, kind = np.unique(
        sent_s.reshape(-1, step.replicas).T, axis=0, return_index=True, return_inverse=True
    )
    played = [
        _play(step, _pass_times(step, known.inside_s, row.reshape(2, -1)), _queues(step, known, replica))
        for row, replica in zip(kinds, first.tolist(), strict=True)
    ]
    return tuple(played[index] for index in kind.ravel().tolist())


def _pass_times(step: PipelinedStep, inside_s: Floats, sent_s: Floats) -> PassTimes:
    return PassTimes((step.pass_s + inside_s).tolist(), *sent_s.tolist())


def _no_queues(step: PipelinedStep) -> tuple[Queues, ...]:
    return tuple(Queues(_order(step, stage)) for stage in range(step.stages))


def _order(step: PipelinedStep, stage: int) -> list[Key]:
    order = step.order_of(stage)
    return list(zip(order.direction.tolist(), order.chunk.tolist(), strict=True))


def _queues(step: PipelinedStep, known: Operations, replica: int) -> tuple[Queues, ...]:
    """Return the exchanges around passes that a replica takes part in, by stage."""
    around_s, by_stage = known.around_s, []
    for stage in range(step.stages):
        queues = Queues(_order(step, stage))
        for sync, beside_s in zip(step.synchronizations, known.beside_s, strict=True):
            for chunk in sync.chunks if beside_s and replica in sync.replicas else ():
                if step.chunk_stage[chunk] == stage:
                    place = queues.order.index((BACKWARD, chunk))
                    queues.fetched[place] = max(queues.fetched.get(place, 0.0), beside_s)
        kinds: dict[tuple[object, ...], dict[Key, Around]] = defaultdict(dict)
        for one, seconds in around_s.items():
            if step.chunk_stage[one.chunk] == stage and replica in one.replicas:
                group = one.moment, one.members, one.replicas
                kinds[group][PASSES.index(one.direction), one.chunk] = seconds
        for (moment, *_), of_pass in kinds.items():
            queues.add(of_pass, before=moment == "before")
        by_stage.append(queues)
    return tuple(by_stage)


def play_split(step: PipelinedStep, times: PassTimes, queues: tuple[Queues, ...]) -> Played:
    """Return the ends of one replica's workers, as :func:`~topoopt.simulation.pipeline.pass_times.play`."""
    stages, never = step.stages, float("nan")
    arrived = [[[never] * step.micro_batches for _ in step.chunks] for _ in (0, 1)]
    before, after = ([step.neighbor(chunk, way) for chunk in range(len(step.chunks))] for way in (-1, 1))
    orders = [_done_as_one(step, stage) for stage in range(stages)]
    free_s, at = [0.0] * stages, [0] * stages
    sent_s = [[0.0] * len(step.chunks) for _ in (0, 1)]
    begin_s, end_s = ([0.0] * len(step.chunks) for _ in (0, 1))

    def seconds_of(one: Pass) -> float:
        """Return the transfer time of a pass's output."""
        _, direction, chunk, _ = one
        to = (after, before)[direction][chunk]
        return 0.0 if to is None else (times.output_s, times.gradient_s)[direction][min(chunk, to)]

    stage = waiting = 0
    while waiting < stages:
        waiting += 1
        while at[stage] < len(orders[stage]):
            passes = orders[stage][at[stage]]
            ready_s = _ready_s(arrived, passes, before, after)
            if isnan(ready_s):
                break
            now_s = max(free_s[stage], ready_s)
            for place, direction, chunk, _ in passes:
                begin = max(now_s, queues[stage].fetched_s(place))
                now_s = begin + times.seconds[direction][chunk]
                queues[stage].finish(place, now_s)
                if direction == WEIGHTS:
                    begin_s[chunk], end_s[chunk] = begin, now_s
            free_s[stage] = now_s
            at[stage] += 1
            left = [one for one in passes if one[1] != WEIGHTS]
            sending_s = sum(seconds_of(one) for one in left)  # they have the same way, and share its links
            for one in left:
                _, direction, chunk, batch = one
                there_s = now_s
                if seconds_of(one):
                    there_s = max(sent_s[direction][chunk], now_s) + sending_s
                    sent_s[direction][chunk] = there_s
                    blocking = step.chunks[chunk if direction == FORWARD else chunk - 1].blocking
                    if blocking and at[stage] < len(orders[stage]):
                        free_s[stage] = max(free_s[stage], there_s)
                arrived[direction][chunk][batch] = there_s
            waiting = 0
        stage = (stage + 1) % stages
    assert at == [len(order) for order in orders], "a schedule never blocks"
    drained_s = [queue.drained_s() for queue in queues]
    return Played(free_s, drained_s, begin_s, end_s)


def _ready_s(
    arrived: list[list[Seconds]], passes: list[Pass], before: list[int | None], after: list[int | None]
) -> float:
    """Return the arrival of the inputs of passes; nan where not known yet."""
    ready_s = 0.0
    for _, direction, chunk, batch in passes:
        if direction == WEIGHTS:
            continue
        of = (before, after)[direction][chunk]
        if of is not None:
            input_s = arrived[direction][of][batch]
        else:
            input_s = arrived[FORWARD][chunk][batch] if direction else 0.0
        if isnan(input_s):
            return input_s
        ready_s = max(ready_s, input_s)
    return ready_s


def _done_as_one(step: PipelinedStep, stage: int) -> list[list[Pass]]:
    order = step.order_of(stage)
    columns = order.direction.tolist(), order.chunk.tolist(), order.micro_batch.tolist()
    passes = list(zip(range(len(order)), *columns, strict=True))
    begins = np.unique(order.begin)
    return [passes[begin : int(order.end[begin]) + 1] for begin in begins.tolist()]


def wrap_up_s(step: PipelinedStep, known: Operations, played: Sequence[Played]) -> float:
    """Return the end of the iteration.

    Parameters
    ----------
    played : sequence of Played
        One per replica.
    """
    links = _Links(known.links)
    done_s = np.array([each.stage_end_s for each in played]).T
    ready_s = np.maximum(done_s, np.array([each.drained_s for each in played]).T)
    for turn in _turns(step):
        requests = [
            (max(ready, float(done_s[_workers(step, sync)].max()) if turn else 0.0), index, bucket)
            for index, sync in enumerate(step.synchronizations)
            if sync.turn == turn
            for bucket, ready in enumerate(_wrap_up_ready_s(sync, played))
        ]
        delays_s = [(one.delay_s, one.nic_s) for one in step.synchronizations]
        shares = [one.buckets for one in step.synchronizations]
        ends = _served(links, known.gradients, requests, delays_s, shares)
        _note(step, ends, done_s)
    ready_s = np.maximum(ready_s, done_s) + step.optimizer_s
    done_s = ready_s.copy()
    for turn in _turns(step):
        requests = [
            (float((done_s if turn else ready_s)[_workers(step, sync)].max()), index, 0)
            for index, sync in enumerate(step.synchronizations)
            if sync.turn == turn and (sync.gather_bytes or sync.gather_delay_s)
        ]
        delays_s = [(one.gather_delay_s, one.gather_nic_s) for one in step.synchronizations]
        late = [(1 - one.overlap,) for one in step.synchronizations]
        ends = _served(links, known.parameters, requests, delays_s, late)
        _note(step, ends, done_s)
    return float(done_s.max())


def _turns(step: PipelinedStep) -> list[int]:
    return sorted({one.turn for one in step.synchronizations})


def _workers(step: PipelinedStep, sync: Synchronization) -> tuple[Ints, ...]:
    return np.ix_(sorted({int(step.chunk_stage[chunk]) for chunk in sync.chunks}), sync.replicas)


def _wrap_up_ready_s(sync: Synchronization, played: Sequence[Played]) -> list[float]:
    """Return the time at which each bucket of gradients is complete on all its workers."""
    workers = [(played[replica], chunk) for replica in sync.replicas for chunk in sync.chunks]
    return [
        max(upto * each.last_end_s[chunk] + (1 - upto) * each.last_begin_s[chunk] for each, chunk in workers)
        for upto in accumulate(sync.buckets)
    ]


def _served(
    links: "_Links",
    tasks: Sequence[Ints],
    requests: list[tuple[float, int, int]],
    delays_s: Sequence[tuple[float, float]],
    shares: Sequence[Sequence[float]],
) -> dict[int, float]:
    """Return the end of each synchronization.

    Parameters
    ----------
    requests : list of (float, int, int)
        Time at which each part is ready, the number of its synchronization, and the index into its ``shares``.
    delays_s : sequence of (float, float)
        Delay of each synchronization inside the servers, and the time that an accelerator's NIC needs for it.
    """
    ends: dict[int, float] = {}
    for ready, together in groupby(sorted(requests), key=itemgetter(0)):
        asked = [
            (max(ready, ends.get(index, 0.0)) + delays_s[index][0] * shares[index][bucket], index, bucket)
            for _, index, bucket in together
        ]
        asked.sort()
        served = [(tasks[index], begin_s, shares[index][bucket]) for begin_s, index, bucket in asked]
        ends |= {
            index: max(end_s, begin_s + delays_s[index][1] * shares[index][bucket])
            for (begin_s, index, bucket), end_s in zip(asked, links.serve(served), strict=True)
        }
    return ends


def _note(step: PipelinedStep, ends: dict[int, float], done_s: Floats) -> None:
    for index, end in ends.items():
        rows = _workers(step, step.synchronizations[index])
        done_s[rows] = np.maximum(done_s[rows], end)
