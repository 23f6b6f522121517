"""The passes of all micro-batches through all chunks: computing, and the exchanges inside."""

from dataclasses import dataclass

import numpy as np

from topoopt.pipelined_step import PASSES, Exchange, PipelinedStep
from topoopt.simulate.pipeline.draft import Draft
from topoopt.simulate.task_graph import COMPUTE, PHASES, TRANSFER, Ints, TaskRows

FORWARD, BACKWARD = range(2)
COMPUTE_PHASE = tuple(PHASES.index(name) for name in PASSES)
SENDING_PHASE = PHASES.index("activation"), PHASES.index("gradient")


@dataclass(frozen=True, eq=False)
class Passes:
    """Tasks that passes begin and end with.

    Attributes
    ----------
    head, tail : int64 arrays, shape (2, chunks, replicas, micro_batches)
        Forward passes first.
    bucket : int64 array, shape (buckets, chunks, replicas)
        After which task of the last backward pass each gradient bucket is there.
    """

    head: Ints
    tail: Ints
    bucket: Ints


def add_passes(draft: Draft, step: PipelinedStep, *, one_by_one: bool) -> Passes:
    """Add the tasks of all passes; those of one pass wait for each other in turn.

    Parameters
    ----------
    one_by_one : bool
        Whether a pass is cut at every exchange inside it, or exchanges all its bytes at its end.
    """
    shape = (2, len(step.chunks), step.replicas, step.micro_batches)
    passes = Passes(
        np.zeros(shape, np.int64),
        np.zeros(shape, np.int64),
        np.zeros((step.gradient_buckets, *shape[1:3]), np.int64),
    )
    last = step.micro_batches - 1
    for direction, word in enumerate(PASSES):
        for chunk in range(len(step.chunks)):
            inside = [
                one
                for one in step.exchanges
                if (one.chunk, one.direction, one.moment) == (chunk, word, "inside")
            ]
            pieces = max([one.count for one in inside], default=1) if one_by_one else 1
            ordinary = np.arange(last if direction and step.gradient_buckets > 1 else last + 1)
            _add_pieces(draft, step, passes, (direction, chunk), ordinary, pieces, inside)
            if len(ordinary) == last:
                pieces = max(pieces, step.gradient_buckets)
                _add_pieces(draft, step, passes, (direction, chunk), np.array([last]), pieces, inside)
    if step.gradient_buckets == 1:
        passes.bucket[0] = passes.tail[BACKWARD, :, :, last]
    return passes


def _add_pieces(
    draft: Draft,
    step: PipelinedStep,
    passes: Passes,
    where: tuple[int, int],
    batches: Ints,
    pieces: int,
    inside: list[Exchange],
) -> None:
    """Add the passes of some micro-batches through one chunk, each cut into so many pieces of computing."""
    direction, chunk = where
    stage, replicas, buckets = chunk % step.stages, step.replicas, len(passes.bucket)
    duration_s = (step.chunks[chunk].forward_s, step.chunks[chunk].backward_s)[direction]
    tail = np.full((replicas, len(batches)), -1)
    for piece in range(pieces):
        row = TaskRows(
            COMPUTE,
            tail.size,
            duration_s / pieces,
            server=np.repeat(step.part_servers[stage, :, 0], len(batches)),
            accelerator=np.repeat(step.worker_accelerator[stage], len(batches)),
            operator=chunk,
            phase=COMPUTE_PHASE[direction],
        )
        tasks = draft.add(row).reshape(tail.shape)
        if piece:
            draft.wait(tail, tasks)
        else:
            passes.head[direction, chunk][:, batches] = tasks
        tail = tasks
        for turn in sorted({one.turn for one in inside}):
            due = [
                (one, one.count * (piece + 1) // pieces - one.count * piece // pieces)
                for one in inside
                if one.turn == turn
            ]
            tail = _add_turn(draft, step, [row for row in due if row[1]], tail)
        if direction == BACKWARD and pieces >= buckets > 1 and len(batches) == 1:
            leaving = [b for b in range(buckets) if -(-(b + 1) * pieces // buckets) == piece + 1]
            passes.bucket[leaving, chunk] = tail[:, 0]
    passes.tail[direction, chunk][:, batches] = tail


def _add_turn(draft: Draft, step: PipelinedStep, due: list[tuple[Exchange, int]], tail: Ints) -> Ints:
    """Add exchanges that take place at once, each with its operations, and return the tasks that end them.

    ``tail`` and the answer have shape (replicas, micro-batches). A replica that takes part in several waits for all.
    """
    tail = tail.copy()
    ended: list[list[Ints]] = [[] for _ in range(step.replicas)]
    for one, operations in due:
        done = add_exchange(draft, one, operations, tail[list(one.replicas)])
        for replica in one.replicas:
            ended[replica].append(done)
    for replica, tasks in enumerate(ended):
        if len(tasks) > 1:
            both = draft.add_barrier(int(step.part_servers[0, replica, 0]), tail.shape[1])
            draft.wait(np.stack(tasks), both)
            tail[replica] = both
        elif tasks:
            tail[replica] = tasks[0]
    return tail


def add_exchange(draft: Draft, one: Exchange, operations: int, ready: Ints) -> Ints:
    """Add some operations of an exchange at once, for several micro-batches.

    Parameters
    ----------
    ready : int64 array, shape (waited for, micro-batches)

    Returns
    -------
    int64 array, shape (micro-batches,)
        The tasks that end the exchange.
    """
    count = ready.shape[1]
    phase = SENDING_PHASE[PASSES.index(one.direction)]
    delay_s = one.delay_s * operations / one.count
    if not one.pair_bytes:
        size = one.size_bytes * operations // one.count
        done = draft.add_collective(one.collective, one.members, size, delay_s, count, one.chunk, phase)
        draft.wait(ready, done)
        return done
    begin = draft.add_collective(one.collective, one.members[:1], 0, delay_s, count, one.chunk, phase)
    draft.wait(ready, begin)
    end = draft.add_barrier(one.members[0], count)
    draft.wait(begin, end)
    sizes = np.array(one.pair_bytes, np.int64) * operations // one.count
    src, dst = np.nonzero(sizes * (1 - np.eye(len(sizes), dtype=np.int64)))
    members = np.array(one.members)
    row = TaskRows(
        TRANSFER,
        len(src) * count,
        src=np.repeat(members[src], count),
        dst=np.repeat(members[dst], count),
        size_bytes=np.repeat(sizes[src, dst], count),
        operator=one.chunk,
        phase=phase,
    )
    sent = draft.add(row).reshape(len(src), count)
    draft.wait(begin, sent)
    draft.wait(sent, end)
    return end
