"""Task graph of a pipelined step: every pass, transfer and collective, in the order of the schedule."""

from math import ceil

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.simulation.pipeline.passes import (
    BACKWARD,
    FORWARD,
    Passes,
    StageTasks,
    Surroundings,
    add_order,
    add_passes,
    add_sends,
    add_surroundings,
)
from topoopt.simulation.task_graph import COMPUTE, MOST_TASKS, PHASES, TaskGraph, TaskRows, distinct
from topoopt.simulation.tasks.build_task_graph import Draft
from topoopt.workloads.pipelined_step import PipelinedStep, Synchronization

ALLREDUCE = PHASES.index("allreduce")
OPTIMIZER = "optimizer"


class _Turns:
    """Synchronizations of lower turns that each worker has."""

    def __init__(self, step: PipelinedStep) -> None:
        self._stage = step.chunk_stage.tolist()
        self._of_worker: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def before(self, sync: Synchronization) -> Ints:
        """Return the tasks of lower turns on the workers of a synchronization."""
        earlier = {
            task
            for worker in self._workers(sync)
            for turn, task in self._of_worker.get(worker, [])
            if turn < sync.turn
        }
        return np.array(sorted(earlier), np.int64)

    def done(self, sync: Synchronization, task: int) -> None:
        """Remember the task that ends a synchronization."""
        for worker in self._workers(sync):
            self._of_worker.setdefault(worker, []).append((sync.turn, task))

    def _workers(self, sync: Synchronization) -> list[tuple[int, int]]:
        return [(self._stage[chunk], replica) for chunk in sync.chunks for replica in sync.replicas]


def pipeline_task_graph(step: PipelinedStep, iterations: int = 1, *, one_by_one: bool = False) -> TaskGraph:
    """Return the task graph of ``iterations`` training iterations.

    A worker takes its passes strictly in the order of its schedule, and is occupied by the exchanges inside them. Its
    transfers to neighbors overlap with its next passes, unless chunks are blocking. In the next iteration a worker
    begins when its optimizer is done, and a chunk when its parameters are gathered.

    Parameters
    ----------
    one_by_one : bool
        Whether a pass is cut at every exchange inside it. Otherwise it computes first and then exchanges the bytes
        of all of them at once, which takes as long where nothing is shared, but for the latency of each.

    Raises
    ------
    InvalidInput
        If ``iterations`` is below 1, or there would be too many tasks.

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM",
       SC 2021, section 2.2.
    """
    if iterations < 1:
        raise InvalidInput(f"task graph: iterations must be >= 1, got {iterations}")
    refuse_too_many_tasks(step, iterations)
    draft = Draft()
    passes = add_passes(draft, step, one_by_one=one_by_one)
    stages = add_order(draft, step, passes)
    add_sends(draft, step, passes, stages)
    around = add_surroundings(draft, step, stages)
    add_end(draft, step, passes, stages, around)
    length = len(step.chunks) // step.ends
    ends = ("", " from the other end")
    chunk_names = [f"chunk {index % length}{ends[index // length]}" for index in range(len(step.chunks))]
    return draft.graph(step.servers, iterations, (*chunk_names, OPTIMIZER))


def add_end(
    draft: Draft, step: PipelinedStep, passes: Passes, stages: tuple[StageTasks, ...], around: Surroundings
) -> None:
    """Add synchronizations, optimizer and gathers, and let the next iteration's first passes wait for them."""
    end = np.stack([tasks.tail[:, -1] for tasks in stages])
    row = TaskRows(
        COMPUTE,
        step.stages * step.replicas,
        step.optimizer_s,
        server=step.part_servers[:, :, 0].ravel(),
        accelerator=step.worker_accelerator.ravel(),
        operator=len(step.chunks),
    )
    optimizer = draft.add(row).reshape(step.stages, step.replicas)
    draft.wait(end, optimizer)
    for one, tasks in around.last:
        draft.wait(tasks[:, None], optimizer[step.chunk_stage[one.chunk], list(one.replicas)])
    for one, tasks in around.first:
        draft.wait(
            optimizer[step.chunk_stage[one.chunk], list(one.replicas)][:, None], tasks, next_iteration=True
        )
    turns = _Turns(step)
    for sync in sorted(step.synchronizations, key=lambda one: one.turn):
        chunks, workers = _chunks(sync), _workers(step, sync)
        previous = turns.before(sync)
        upto = 0.0
        for share in sync.buckets:
            size = round(sync.size_bytes * (upto + share)) - round(sync.size_bytes * upto)
            upto += share
            piece = passes.piece[ceil(upto * len(passes.piece) - 1e-9) - 1]
            done = draft.add_collective(
                sync.collective, sync.members, size, sync.delay_s * share, 1, sync.chunks[0], ALLREDUCE
            )
            ready = np.concatenate([piece[chunks].ravel(), previous])[:, None]
            draft.wait(ready, done)
            least_s = (sync.nic_s + sync.delay_s) * share if sync.nic_s else 0.0
            previous = done = draft.no_sooner(ready, done, sync.members[0], least_s)
        turns.done(sync, int(done[0]))
        draft.wait(done, optimizer[workers])
    _add_gathers(draft, step, passes, optimizer)
    first = np.stack([tasks.head[:, 0] for tasks in stages])
    draft.wait(optimizer, first, next_iteration=True)


def _add_gathers(draft: Draft, step: PipelinedStep, passes: Passes, optimizer: Ints) -> None:
    turns = _Turns(step)
    for sync in sorted(step.synchronizations, key=lambda one: one.turn):
        if sync.gather_bytes or sync.gather_delay_s:
            hidden = round(sync.gather_bytes * sync.overlap)
            whole = "all-gather", sync.members
            late = sync.gather_bytes - hidden, sync.gather_delay_s * (1 - sync.overlap)
            done = draft.add_collective(*whole, *late, 1, sync.chunks[0], ALLREDUCE)
            ready = np.concatenate([optimizer[_workers(step, sync)].ravel(), turns.before(sync)])[:, None]
            draft.wait(ready, done)
            least_s = late[1] + sync.gather_nic_s * (1 - sync.overlap) if sync.gather_nic_s else 0.0
            done = draft.no_sooner(ready, done, sync.members[0], least_s)
            draft.wait(done, passes.head[FORWARD][_chunks(sync)][..., 0], next_iteration=True)
            turns.done(sync, int(done[0]))
            if sync.overlap:
                beside = hidden, sync.gather_delay_s * sync.overlap
                done = draft.add_collective(*whole, *beside, 1, sync.chunks[0], ALLREDUCE)
                draft.wait(optimizer[_workers(step, sync)], done, next_iteration=True)
                draft.wait(done, passes.head[BACKWARD][_chunks(sync)][..., 0])


def _chunks(sync: Synchronization) -> tuple[Ints, Ints]:
    return np.ix_(sync.chunks, sync.replicas)  # type: ignore[return-value]


def _workers(step: PipelinedStep, sync: Synchronization) -> tuple[Ints, Ints]:
    stages = sorted({int(step.chunk_stage[chunk]) for chunk in sync.chunks})
    return np.ix_(stages, sync.replicas)  # type: ignore[return-value]


def tasks_of_micro_batch(step: PipelinedStep) -> int:
    """Return the tasks of one micro-batch of every replica: passes, transfers between chunks, exchanges."""
    passes = len(step.pass_s) * len(step.chunks) * step.replicas
    sent = 2 * sum(_transfers(step, chunk) for chunk in range(len(step.chunks)))
    exchanged = (
        (2 + len(one.members) ** 2 if one.pair_bytes else 1) + 2 * (one.nic_s > 0) for one in step.exchanges
    )
    return passes + sent + sum(exchanged)


def refuse_too_many_tasks(step: PipelinedStep, iterations: int = 1) -> None:
    """Refuse a step that would be more than :data:`~topoopt.simulation.task_graph.MOST_TASKS` tasks.

    Raises
    ------
    InvalidInput
        With the number of micro-batches that would do.
    """
    each = tasks_of_micro_batch(step) * iterations
    total = each * step.micro_batches
    if total > MOST_TASKS:
        rounds = step.stages if step.chunks_per_stage > step.ends else 1
        most = max(MOST_TASKS // each // rounds, 1) * rounds
        batches = step.ends * step.micro_batches
        raise InvalidInput(
            f"global_batch: {batches:,} micro-batches of {step.replicas} replicas each would be {total:,} "
            f"tasks to simulate, more than {MOST_TASKS:,}; give fewer sequences ({most / step.micro_batches:.2g} × as "
            "many would do), or larger micro-batches"
        )


def _transfers(step: PipelinedStep, chunk: int) -> int:
    """Return the number of transfers of a chunk's output to the next, merging a replica's equal ends."""
    after = step.neighbor(chunk, 1)
    if after is None or not step.chunks[chunk].output_bytes:
        return 0
    src, dst = (step.part_servers[step.chunk_stage[index]].astype(np.int64) for index in (chunk, after))
    replica = np.arange(step.replicas)[:, None]
    key = (replica * step.servers + src) * step.servers + dst
    return len(distinct(key[src != dst]))
