"""The passes of all micro-batches through all chunks: computing, and the exchanges inside."""

from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.simulation.draft import Draft
from topoopt.simulation.task_graph import COMPUTE, PHASES, TRANSFER, TaskRows
from topoopt.workloads.pipelined_step import PASSES, Exchange, PipelinedStep

FORWARD, BACKWARD, WEIGHTS = range(3)
COMPUTE_PHASE = tuple(PHASES.index(name) for name in PASSES)
SENDING_PHASE = PHASES.index("activation"), PHASES.index("gradient"), PHASES.index("gradient")


@dataclass(frozen=True, eq=False)
class Passes:
    """Tasks that passes begin and end with.

    Attributes
    ----------
    head, tail : int64 arrays, shape (directions, chunks, replicas, micro_batches)
        Forward passes first.
    ready, done : int64 arrays, likewise
        The same of all that is done as one with a pass: what it needs has to be there before ``ready``, and what it
        makes is there after ``done``.
    bucket : int64 array, shape (buckets, chunks, replicas)
        After which task of the last pass that makes gradients of weights each gradient bucket is there.
    """

    head: Ints
    tail: Ints
    ready: Ints
    done: Ints
    bucket: Ints


def add_passes(draft: Draft, step: PipelinedStep, *, one_by_one: bool) -> Passes:
    """Add the tasks of all passes; those of one pass wait for each other in turn.

    Parameters
    ----------
    one_by_one : bool
        Whether a pass is cut at every exchange inside it, or exchanges all its bytes at its end.
    """
    shape = (len(step.pass_s), len(step.chunks), step.replicas, step.micro_batches)
    head, tail = np.zeros((2, *shape), np.int64)
    bucket = np.zeros((step.gradient_buckets, *shape[1:3]), np.int64)
    last = np.array([step.micro_batches - 1])
    for direction, chunk in np.ndindex(shape[:2]):
        cut = _cut(step, direction, chunk, one_by_one=one_by_one)
        apart = direction == len(step.pass_s) - 1 and step.gradient_buckets > 0
        batches = np.arange(step.micro_batches - apart)
        tails = _add_pieces(draft, step, cut, batches, head[direction, chunk])
        tail[direction, chunk][:, batches] = tails[-1]
        if apart:
            finer = replace(cut, pieces=max(cut.pieces, step.gradient_buckets))
            tails = _add_pieces(draft, step, finer, last, head[direction, chunk])
            tail[direction, chunk][:, last] = tails[-1]
            for part in range(step.gradient_buckets):
                leaves = -(-(part + 1) * finer.pieces // step.gradient_buckets) - 1
                bucket[part, chunk] = tails[leaves][:, 0]
    return Passes(head, tail, *_done_as_one(step, head, tail), bucket)


def _done_as_one(step: PipelinedStep, head: Ints, tail: Ints) -> tuple[Ints, Ints]:
    """Return the task that the first of the passes done as one begins with, and the one that the last ends with."""
    if step.ends == 1:
        return head, tail
    ready, done = head.copy(), tail.copy()
    for stage in range(step.stages):
        order = step.order_of(stage)
        where = order.direction, order.chunk, slice(None), order.micro_batch
        ready[where] = head[where][order.begin]
        done[where] = tail[where][order.end]
    return ready, done


@dataclass(frozen=True, slots=True)
class _Cut:
    """How passes through one chunk are cut into pieces of computing, and the exchanges inside them."""

    direction: int
    chunk: int
    pieces: int
    inside: tuple[Exchange, ...]

    def turns(self, piece: int) -> list[list[tuple[Exchange, int]]]:
        """Return the exchanges after a piece with their operations, those of one turn together."""
        due: dict[int, list[tuple[Exchange, int]]] = {}
        for one in self.inside:
            operations = one.count * (piece + 1) // self.pieces - one.count * piece // self.pieces
            if operations:
                due.setdefault(one.turn, []).append((one, operations))
        return [due[turn] for turn in sorted(due)]


def _cut(step: PipelinedStep, direction: int, chunk: int, *, one_by_one: bool) -> _Cut:
    place = chunk, PASSES[direction], "inside"
    inside = tuple(one for one in step.exchanges if (one.chunk, one.direction, one.moment) == place)
    return _Cut(direction, chunk, max((one.count for one in inside), default=1) if one_by_one else 1, inside)


def _add_pieces(draft: Draft, step: PipelinedStep, cut: _Cut, batches: Ints, head: Ints) -> list[Ints]:
    """Add the passes of some micro-batches, and return the tasks that end each piece; note those that begin them."""
    stage = step.chunk_stage[cut.chunk]
    row = TaskRows(
        COMPUTE,
        step.replicas * len(batches),
        float(step.pass_s[cut.direction, cut.chunk]) / cut.pieces,
        server=np.repeat(step.part_servers[stage, :, 0], len(batches)),
        accelerator=np.repeat(step.worker_accelerator[stage], len(batches)),
        operator=cut.chunk,
        phase=COMPUTE_PHASE[cut.direction],
    )
    tails: list[Ints] = []
    for piece in range(cut.pieces):
        tail = draft.add(row).reshape(step.replicas, len(batches))
        if tails:
            draft.wait(tails[-1], tail)
        else:
            head[:, batches] = tail
        for due in cut.turns(piece):
            tail = _add_turn(draft, step, due, tail)
        tails.append(tail)
    return tails


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
