"""How many tasks a pipelined iteration is made of, before they are made: too many are refused."""

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.simulation.task_graph import MOST_TASKS, distinct
from topoopt.workloads.pipelined_step import PipelinedStep


def tasks_of_micro_batch(step: PipelinedStep) -> int:
    """Return the tasks of one micro-batch of every replica: passes, what chunks send each other, exchanges."""
    passes = len(step.pass_s) * len(step.chunks) * step.replicas
    sent = 2 * sum(_transfers(step, chunk) for chunk in range(len(step.chunks)))
    exchanged = (2 + len(one.members) ** 2 if one.pair_bytes else 1 for one in step.exchanges)
    return passes + sent + sum(exchanged)


def refuse_too_many_tasks(step: PipelinedStep, iterations: int = 1) -> None:
    """Refuse a step that would be more than :data:`~topoopt.simulation.task_graph.MOST_TASKS` tasks.

    Raises
    ------
    InvalidInput
        With the number of micro-batches that would do.
    """
    parts = len(step.chunks) * step.replicas + len(step.synchronizations)
    cut = step.gradient_buckets * parts * iterations
    if cut > MOST_TASKS:
        raise InvalidInput(
            f"gradient_buckets: {step.gradient_buckets:,} would be {cut:,} tasks to simulate, more than "
            f"{MOST_TASKS:,}; at most {MOST_TASKS // (parts * iterations):,}"
        )
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
    """Return how many transfers take the output of a chunk to the next, each replica's equal ends together."""
    after = step.neighbor(chunk, 1)
    if after is None or not step.chunks[chunk].output_bytes:
        return 0
    src, dst = (step.part_servers[step.chunk_stage[index]].astype(np.int64) for index in (chunk, after))
    replica = np.arange(step.replicas)[:, None]
    key = (replica * step.servers + src) * step.servers + dst
    return len(distinct(key[src != dst]))
