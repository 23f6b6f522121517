"""ZB-H1: 1F1B whose backward passes are split, so that gradients of weights fill what was idle.

References
----------
.. [1] P. Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2.2, Figure 2 and Table 2.
"""

import numpy as np

from topoopt.workloads.pipelined_step.schedule import Schedule, warm_up_passes

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
