"""The passes of all micro-batches through all chunks: computing, and the exchanges inside."""

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.simulation.task_graph import COMPUTE, PHASES, TRANSFER, TaskRows, distinct
from topoopt.simulation.tasks.build_task_graph import Draft
from topoopt.workloads.pipelined_step import PASSES, Chunk, Exchange, PipelinedStep, Schedule

FORWARD, BACKWARD, WEIGHTS = range(3)
COMPUTE_PHASE = tuple(PHASES.index(name) for name in PASSES)
SENDING_PHASE = PHASES.index("activation"), PHASES.index("gradient"), PHASES.index("gradient")


@dataclass(frozen=True, eq=False)
class Passes:
    """First and last tasks of passes.

    Attributes
    ----------
    head, tail : int64 arrays, shape (directions, chunks, replicas, micro_batches)
        Forward passes first.
    ready, done : int64 arrays, likewise
        The same including everything that runs as one with a pass: its inputs are needed before ``ready``, and its
        outputs exist after ``done``.
    piece : int64 array, shape (pieces, chunks, replicas)
        Tasks that end equal pieces of the last pass that makes gradients of weights.
    """

    head: Ints
    tail: Ints
    ready: Ints
    done: Ints
    piece: Ints


def add_passes(draft: Draft, step: PipelinedStep, *, one_by_one: bool) -> Passes:
    """Add the tasks of all passes; those of one pass wait for each other in turn.

    Parameters
    ----------
    one_by_one : bool
        Whether a pass is cut at every exchange inside it, or exchanges all its bytes at its end.
    """
    shape = (len(step.pass_s), len(step.chunks), step.replicas, step.micro_batches)
    head, tail = np.zeros((2, *shape), np.int64)
    pieces = max((len(one.buckets) for one in step.synchronizations), default=1)
    piece = np.zeros((pieces, *shape[1:3]), np.int64)
    last = np.array([step.micro_batches - 1])
    for direction, chunk in np.ndindex(shape[:2]):
        place = chunk, PASSES[direction], "inside"
        inside = tuple(one for one in step.exchanges if (one.chunk, one.direction, one.moment) == place)
        cut = _Cut(
            direction, chunk, max((one.count for one in inside), default=1) if one_by_one else 1, inside
        )
        apart = direction == len(step.pass_s) - 1 and pieces > 1
        batches = np.arange(step.micro_batches - apart)
        tails = _add_pieces(draft, step, cut, batches, head[direction, chunk])
        tail[direction, chunk][:, batches] = tails[-1]
        if apart:
            finer = replace(cut, pieces=max(cut.pieces, pieces))
            tails = _add_pieces(draft, step, finer, last, head[direction, chunk])
            tail[direction, chunk][:, last] = tails[-1]
            for part in range(pieces):
                piece[part, chunk] = tails[-(-(part + 1) * finer.pieces // pieces) - 1][:, 0]
    if pieces == 1:
        piece[0] = tail[-1, :, :, -1]
    if step.ends == 1:
        done_as_one = head, tail
    else:
        ready, done = head.copy(), tail.copy()
        for stage in range(step.stages):
            order = step.order_of(stage)
            where = order.direction, order.chunk, slice(None), order.micro_batch
            ready[where] = head[where][order.begin]
            done[where] = tail[where][order.end]
        done_as_one = ready, done
    return Passes(head, tail, *done_as_one, piece)


@dataclass(frozen=True, slots=True)
class _Cut:
    """Pieces of computing that passes through one chunk are cut into, and the exchanges between them."""

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


def _add_pieces(draft: Draft, step: PipelinedStep, cut: _Cut, batches: Ints, head: Ints) -> list[Ints]:
    """Add the passes of some micro-batches, and return the tasks that end each piece; record those that begin them."""
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
    delay_s, least_s = (seconds * operations / one.count for seconds in (one.delay_s, one.nic_s))
    least_s += delay_s * (least_s > 0)
    if not one.pair_bytes:
        size = one.size_bytes * operations // one.count
        done = draft.add_collective(one.collective, one.members, size, delay_s, count, one.chunk, phase)
        draft.wait(ready, done)
        return draft.no_sooner(ready, done, one.members[0], least_s)
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
    return draft.no_sooner(ready, end, one.members[0], least_s)


@dataclass(frozen=True, eq=False)
class StageTasks:
    """Tasks of the workers of one stage in their order, arrays of shape (replicas, passes)."""

    schedule: Schedule
    head: Ints
    tail: Ints


def add_order(draft: Draft, step: PipelinedStep, passes: Passes) -> tuple[StageTasks, ...]:
    """Order each worker's passes by the schedule, and return them so."""
    by_stage = []
    for stage in range(step.stages):
        order = step.order_of(stage)
        where = order.direction, order.chunk, slice(None), order.micro_batch
        tasks = StageTasks(order, passes.head[where].T, passes.tail[where].T)
        draft.wait(tasks.tail[:, :-1], tasks.head[:, 1:])
        by_stage.append(tasks)
    return tuple(by_stage)


def add_sends(draft: Draft, step: PipelinedStep, passes: Passes, stages: tuple[StageTasks, ...]) -> None:
    """Add the dependencies of every pass on the neighboring chunk, and of the first backward pass on the last forward.

    Transfers of a worker to one server in one direction are sequential, as with NCCL.
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
    """Return the end position of each pass, including everything run as one with it, in its worker's order.

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
    """Send the bytes of ``sent`` from each part of the workers to the same part, ``count`` times.

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
        Exchanges before the first passes: nothing of this iteration comes before them.
    last : list of (exchange, tasks)
        Exchanges after the last passes: the optimizer waits for them.
    """

    first: list[tuple[Exchange, Ints]]
    last: list[tuple[Exchange, Ints]]


def add_surroundings(draft: Draft, step: PipelinedStep, stages: tuple[StageTasks, ...]) -> Surroundings:
    """Add the exchanges before and after passes.

    One before a pass begins when the pass before that one may begin. Those of one group and moment go one after the
    other. At the two ends of an iteration, where there is no other pass to hide behind, all operations but one go
    on beside the pass that they belong to.
    """
    queues: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
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
        queues[one.moment, one.members, one.replicas] += rows
    for queue in queues.values():
        numbers = np.array([task for _, task in sorted(queue)], np.int64)
        draft.wait(numbers[:-1], numbers[1:])
    return around


def _before(draft: Draft, one: Exchange, tasks: StageTasks, mine: Ints) -> tuple[list[tuple[int, int]], Ints]:
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
    tails, last = tasks.tail[list(one.replicas)], len(tasks.schedule) - 1
    other = mine[mine < last]
    done = add_exchange(draft, one, one.count, tails[:, other])
    rows = list(zip(other.tolist(), done.tolist(), strict=True))
    if last in mine:
        if one.count > 1:
            rows.append((last, int(add_exchange(draft, one, one.count - 1, tails[:, [last - 1]])[0])))
        rows.append((last, int(add_exchange(draft, one, 1, tails[:, [last]])[0])))
    return rows
