"""What passes wait for: the pass before on their worker, activations and gradients, and exchanges around them."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.simulation.draft import Draft
from topoopt.simulation.pipeline.passes import BACKWARD, FORWARD, SENDING_PHASE, Passes, add_exchange
from topoopt.simulation.task_graph import TRANSFER, TaskRows, distinct
from topoopt.workloads.pipelined_step import PASSES, Chunk, Exchange, PipelinedStep, Schedule


@dataclass(frozen=True, eq=False)
class StageTasks:
    """Tasks of the workers of one stage in their order, arrays of shape (replicas, passes)."""

    schedule: Schedule
    head: Ints
    tail: Ints


def add_order(draft: Draft, step: PipelinedStep, passes: Passes) -> tuple[StageTasks, ...]:
    """Let each worker take its passes in the order of the schedule, and return them so."""
    by_stage = []
    for stage in range(step.stages):
        order = step.order_of(stage)
        where = order.direction, order.chunk, slice(None), order.micro_batch
        tasks = StageTasks(order, passes.head[where].T, passes.tail[where].T)
        draft.wait(tasks.tail[:, :-1], tasks.head[:, 1:])
        by_stage.append(tasks)
    return tuple(by_stage)


def add_sends(draft: Draft, step: PipelinedStep, passes: Passes, stages: tuple[StageTasks, ...]) -> None:
    """Let every pass wait for what the neighboring chunk sends it, and the first backward pass for the last forward.

    What a worker sends to one server in one direction goes one after the other, as with NCCL.
    """
    for last in step.last_chunks:
        draft.wait(passes.done[FORWARD, last], passes.ready[BACKWARD, last])
    for direction in (FORWARD, BACKWARD):
        for stage in range(step.stages):
            tasks = stages[stage]
            place = _places(tasks.schedule, step)[direction]
            ways = (
                (chunk, step.neighbor(chunk, -1 if direction else 1))
                for chunk in np.flatnonzero(step.chunk_stage == stage).tolist()
            )
            sent = [
                _send(draft, step, passes, direction, (chunk, to), place[chunk], tasks)
                for chunk, to in ways
                if to is not None
            ]
            if sent:
                pair, moment, task = (np.concatenate(column) for column in zip(*sent, strict=True))
                order = np.lexsort((moment, pair))
                same = pair[order][1:] == pair[order][:-1]
                draft.wait(task[order][:-1][same], task[order][1:][same])


def _places(order: Schedule, step: PipelinedStep) -> Ints:
    """Return where in its worker's order each pass, with all done as one with it, ends.

    Shape (directions, chunks, micro_batches).
    """
    place = np.zeros((len(step.pass_s), len(step.chunks), step.micro_batches), np.int64)
    place[order.direction, order.chunk, order.micro_batch] = order.end
    return place


def _send(
    draft: Draft,
    step: PipelinedStep,
    passes: Passes,
    direction: int,
    way: tuple[int, int],
    place: Ints,
    own: StageTasks,
) -> tuple[Ints, Ints, Ints]:
    """Send from the workers of a chunk to another's; return pair of servers, place of the pass and task of each."""
    chunk, to = way
    servers = step.part_servers[step.chunk_stage[chunk]], step.part_servers[step.chunk_stage[to]]
    ends = passes.done[direction, chunk], passes.ready[direction, to]
    between = step.chunks[min(way)]
    owner, pair, tasks = add_transfers(draft, servers, between, direction, min(way), step.micro_batches)
    alone = np.setdiff1d(np.arange(step.replicas), owner)
    draft.wait(ends[0][alone], ends[1][alone])
    draft.wait(ends[0][owner], tasks)
    draft.wait(tasks, ends[1][owner])
    if between.blocking:
        more = np.flatnonzero(place + 1 < len(own.schedule))
        draft.wait(tasks[:, more], own.head[owner][:, place[more] + 1])
    return np.repeat(pair, step.micro_batches), np.tile(place, len(pair)), tasks.ravel()


def add_transfers(
    draft: Draft, servers: tuple[Ints, Ints], sent: Chunk, direction: int, chunk: int, count: int
) -> tuple[Ints, Ints, Ints]:
    """Send what ``sent`` says from each part of the workers to the like part, ``count`` times.

    Parts of equal ends send together; inside a server nothing is sent.

    Returns
    -------
    int64 arrays, shapes (transfers,), (transfers,) and (transfers, count)
        The replica of each transfer, a number of replica, source and destination, and its tasks.
    """
    src, dst = servers
    replica = np.repeat(np.arange(len(src)), src.shape[1])
    far = ((src != dst) & (sent.output_bytes > 0)).ravel()
    width = int(max(src.max(), dst.max())) + 1
    key = ((replica * width + src.ravel()) * width + dst.ravel())[far]
    merged = distinct(key)
    parts = np.bincount(np.searchsorted(merged, key), minlength=len(merged))
    row = TaskRows(
        TRANSFER,
        len(merged) * count,
        sent.output_delay_s,
        src=np.repeat(merged // width % width, count),
        dst=np.repeat(merged % width, count),
        size_bytes=np.repeat(parts * sent.output_bytes, count),
        operator=chunk,
        phase=SENDING_PHASE[direction],
    )
    return merged // width**2, merged, draft.add(row).reshape(len(merged), count)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Exchanges before and after passes that the optimizer has to do with, each with its replicas.

    Attributes
    ----------
    first : list of (exchange, tasks)
        Before the first passes: nothing of this iteration comes before them.
    last : list of (exchange, tasks)
        After the last passes: the optimizer waits for them.
    """

    first: list[tuple[Exchange, Ints]]
    last: list[tuple[Exchange, Ints]]


def add_surroundings(draft: Draft, step: PipelinedStep, stages: tuple[StageTasks, ...]) -> Surroundings:
    """Add the exchanges before and after passes.

    One before a pass begins when the pass before that one may begin. Those of equal members and moment go one after
    the other. At the two ends of an iteration, where there is no other pass to hide behind, all operations but one go
    on beside the pass that they belong to.
    """
    queues: dict[tuple[str, tuple[int, ...]], list[tuple[int, int]]] = defaultdict(list)
    around = Surroundings([], [])
    for one in step.exchanges:
        if one.moment == "inside":
            continue
        tasks = stages[step.chunk_stage[one.chunk]]
        order = tasks.schedule
        mine = np.flatnonzero((order.chunk == one.chunk) & (order.direction == PASSES.index(one.direction)))
        if one.moment == "after":
            rows = _after(draft, one, tasks, mine)
            around.last.append((one, np.array([rows[-1][1]])))
        else:
            rows, early = _before(draft, one, tasks, mine)
            around.first.append((one, early))
        queues[one.moment, one.members] += rows
    for queue in queues.values():
        numbers = np.array([task for _, task in sorted(queue)], np.int64)
        draft.wait(numbers[:-1], numbers[1:])
    return around


def _before(draft: Draft, one: Exchange, tasks: StageTasks, mine: Ints) -> tuple[list[tuple[int, int]], Ints]:
    """Return places and tasks of the exchanges before some passes, and those that nothing comes before."""
    heads, tails = tasks.head[list(one.replicas)], tasks.tail[list(one.replicas)]
    first = mine[mine == 0]
    nothing = np.zeros((0, 1), np.int64)
    parts = [(place, add_exchange(draft, one, 1, nothing), place) for place in first]
    if one.count > 1:
        parts += [(place, add_exchange(draft, one, one.count - 1, nothing), place + 1) for place in first]
    parts += [(place, add_exchange(draft, one, one.count, nothing), place) for place in mine[mine == 1]]
    rows = []
    for place, done, needed in parts:
        draft.wait(done, heads[:, [needed]])
        rows.append((int(place), int(done[0])))
    early = np.array([task for _, task in rows], np.int64)
    later = mine[mine > 1]
    done = add_exchange(draft, one, one.count, tails[:, later - 2])
    draft.wait(done, heads[:, later])
    return rows + list(zip(later.tolist(), done.tolist(), strict=True)), early


def _after(draft: Draft, one: Exchange, tasks: StageTasks, mine: Ints) -> list[tuple[int, int]]:
    """Return places and tasks of the exchanges after some passes."""
    tails, last = tasks.tail[list(one.replicas)], len(tasks.schedule) - 1
    other = mine[mine < last]
    done = add_exchange(draft, one, one.count, tails[:, other])
    rows = list(zip(other.tolist(), done.tolist(), strict=True))
    if last in mine:
        if one.count > 1:
            rows.append((last, int(add_exchange(draft, one, one.count - 1, tails[:, [last - 1]])[0])))
        rows.append((last, int(add_exchange(draft, one, 1, tails[:, [last]])[0])))
    return rows
