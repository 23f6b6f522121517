"""The table of schedules: what each is called, how it goes through a pipeline, and in which order passes are taken.

ZB-H1: 1F1B whose backward passes are split, so that gradients of weights fill what was idle.

References
----------
.. [1] P. Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2.2, Figure 2 and Table 2.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.workloads.pipelined_step.dualpipe import check_dualpipe, dualpipe_schedule
from topoopt.workloads.pipelined_step.schedule import Schedule, check_schedule, stage_schedule, warm_up_passes

FORWARD, BACKWARD, WEIGHTS = range(3)


def zero_bubble_schedule(stage: int, stages: int, micro_batches: int) -> Schedule:
    """Return the passes of a stage's worker: 1F1B, and gradients of weights as many micro-batches later as its number.

    So every worker holds at most ``stages`` micro-batches from their forward pass to the gradients of their weights,
    as many as the first one of 1F1B. Forward passes of F seconds, backward ones of B and W for the weights, W no
    longer than F and B, leave a bubble of (stages - 1)·(F + B - W).

    Examples
    --------
    >>> order = zero_bubble_schedule(1, 2, 3)
    >>> ["FBW"[d] + str(i) for d, i in zip(order.direction, order.micro_batch)]
    ['F0', 'B0', 'F1', 'B1', 'W0', 'F2', 'B2', 'W1', 'W2']
    """
    number = np.arange(micro_batches)
    warm_up = warm_up_passes(stage, stages, 1, micro_batches)
    # Round b is a forward pass, the backward pass of micro-batch b and gradients of weights; those left come last.
    rounds = np.concatenate((number - warm_up, number, np.minimum(number + stage, micro_batches)))
    direction = np.repeat((FORWARD, BACKWARD, WEIGHTS), micro_batches)
    batch = np.tile(number, 3)
    order = np.lexsort((batch, direction, rounds))
    place = np.arange(3 * micro_batches)
    return Schedule(direction[order], np.full(3 * micro_batches, stage), batch[order], place, place)


@dataclass(frozen=True, slots=True)
class Order:
    """A schedule.

    Attributes
    ----------
    of_stage : function of stage, stages, chunks per stage and micro-batches
        Returns the passes of the stage's worker.
    check : function of stages, chunks per stage and micro-batches
        Refuses what the schedule cannot take.
    splits : bool
        Whether gradients of weights are passes of their own.
    ends : int
        From how many ends micro-batches enter the pipeline.
    """

    of_stage: Callable[[int, int, int, int], Schedule]
    check: Callable[[int, int, int], None]
    splits: bool = False
    ends: int = 1


def _check_zero_bubble(stages: int, chunks_per_stage: int, micro_batches: int) -> None:
    if chunks_per_stage > 1:
        raise InvalidInput(
            f"pipelined step: zero-bubble has one chunk for each of {stages} stages, got {chunks_per_stage * stages}"
        )


def _check_dualpipe(stages: int, chunks_per_stage: int, micro_batches: int) -> None:
    check_dualpipe(stages, micro_batches)
    if chunks_per_stage != 2:
        raise InvalidInput(
            f"pipelined step: dualpipe has a chunk for each of {stages} stages and its mirror image, got "
            f"{chunks_per_stage * stages}"
        )


ORDERS: Mapping[str, Order] = {
    "1f1b": Order(stage_schedule, check_schedule),
    "zero-bubble": Order(
        lambda stage, stages, _, micro_batches: zero_bubble_schedule(stage, stages, micro_batches),
        _check_zero_bubble,
        splits=True,
    ),
    "dualpipe": Order(
        lambda stage, stages, _, micro_batches: dualpipe_schedule(stage, stages, micro_batches),
        _check_dualpipe,
        splits=True,
        ends=2,
    ),
}
"""1F1B, interleaved with several chunks; the gradients of weights fill the bubble (ZB-H1 of Qi 2023); from both ends at
once (DeepSeek-V3, section 3.2.1)."""
