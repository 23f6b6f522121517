"""The noun Schedule, and 1F1B with its interleaved form: the order in which the worker of a stage takes its passes.

References
----------
.. [1] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021,
   section 2.2: the schedules with and without interleaving, and Figure 4.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Schedule:
    """Passes of one worker in their order, each array of shape (passes,).

    Attributes
    ----------
    direction : int64 array
        Index into :data:`~topoopt.workloads.pipelined_step.PASSES`.
    chunk : int64 array
        Of all chunks of the pipeline.
    micro_batch : int64 array
        Of those that pass through the chunk.
    begin, end : int64 arrays
        Places of the first and the last pass of those that are done as one: they begin when all of them can, and what
        they make leaves when all of them are done. The place itself for a pass that is alone.
    """

    direction: Ints
    chunk: Ints
    micro_batch: Ints
    begin: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.chunk)


def warm_up_passes(stage: int, stages: int, chunks_per_stage: int, micro_batches: int) -> int:
    """Return how many forward passes a worker does before it alternates.

    Examples
    --------
    >>> [warm_up_passes(stage, 4, 1, 8) for stage in range(4)], warm_up_passes(0, 4, 2, 8)
    ([3, 2, 1, 0], 10)
    """
    after = stages - 1 - stage
    most = after if chunks_per_stage == 1 else 2 * after + (chunks_per_stage - 1) * stages
    return min(most, chunks_per_stage * micro_batches)


def check_schedule(stages: int, chunks_per_stage: int, micro_batches: int) -> None:
    """Refuse micro-batches that the schedule cannot take.

    Raises
    ------
    InvalidInput
        If the schedule is interleaved and the micro-batches are no multiple of the stages.
    """
    if chunks_per_stage > 1 and micro_batches % stages:
        lower = micro_batches // stages * stages
        near = " or ".join(str(value) for value in (lower, lower + stages) if value)
        raise InvalidInput(
            f"micro-batches: the interleaved schedule needs a multiple of the {stages} stages, "
            f"got {micro_batches}; nearest: {near}"
        )


def stage_schedule(stage: int, stages: int, chunks_per_stage: int, micro_batches: int) -> Schedule:
    """Return the passes of a stage's worker: some forward, then one forward and one backward, then the rest.

    Interleaved, a worker takes ``stages`` micro-batches through one of its chunks before it turns to the next.

    Raises
    ------
    InvalidInput
        If the schedule is interleaved and the micro-batches are no multiple of the stages.

    Examples
    --------
    >>> order = stage_schedule(0, 2, 1, 3)
    >>> ["FB"[d] + str(i) for d, i in zip(order.direction, order.micro_batch)]
    ['F0', 'F1', 'B0', 'F2', 'B1', 'B2']
    """
    check_schedule(stages, chunks_per_stage, micro_batches)
    total = chunks_per_stage * micro_batches
    number = np.arange(total)
    warm_up = warm_up_passes(stage, stages, chunks_per_stage, micro_batches)
    forward_place = number + np.maximum(number - warm_up, 0)
    backward_place = number + np.minimum(number + warm_up + 1, total)
    local, micro_batch = _interleaved(number, stages, chunks_per_stage)
    backward, chunk, batch = np.zeros((3, 2 * total), np.int64)
    backward[backward_place] = 1
    for place, own in ((forward_place, local), (backward_place, chunks_per_stage - 1 - local)):
        chunk[place] = own * stages + stage
        batch[place] = micro_batch
    place = np.arange(2 * total)
    return Schedule(backward, chunk, batch, place, place)


def _interleaved(number: Ints, stages: int, chunks_per_stage: int) -> tuple[Ints, Ints]:
    """Return which of its chunks a worker's n-th forward pass is of, and the micro-batch."""
    if chunks_per_stage == 1:
        return np.zeros_like(number), number
    group, place = np.divmod(number, stages * chunks_per_stage)
    return place // stages, group * stages + place % stages
