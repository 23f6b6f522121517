"""What waits for gradients of weights where the schedule makes them later: nothing of it can be given up before.

A pass for the gradients of weights needs what entered the matrix products, and the gradients of what left them: 14 and
18 s·b·h bytes of a GPT layer, 32 of the 34 that it keeps in all, which counts as everything here. What is computed
again in the backward pass is there until then, too.
"""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.transformers.memory.stages import Stage, two_way


def longer_kept(
    table: ConfigurationTable, stage: Stage, everything: Floats, computed_again: Floats, kept: Floats
) -> Floats:
    """Return what a stage keeps more than ``kept``, bytes per token.

    ZB-H1: stage i makes gradients of weights i micro-batches later, so that i + 1 wait when a backward pass ends.
    DualPipe: rank i makes those of its last min(i, p - 1 - i) + 1 micro-batches at the end, when few others are left.

    Parameters
    ----------
    everything, computed_again : float array
        Of all layers of the stage for one micro-batch: what they keep without recomputation, and what of it is computed
        again.
    """
    zero, dual = table.has_word("schedule", "zero-bubble"), two_way(table)
    later = np.minimum(stage.index + 1.0, stage.in_flight)
    last = np.minimum(stage.index, table.pp - 1 - stage.index) + 1.0
    at_the_end = last * everything / 2  # of one of the two stages that a rank has
    return np.asarray(zero * later * computed_again + dual * np.maximum(at_the_end - kept, 0.0), np.float64)


def inner_stages(table: ConfigurationTable, layers: int) -> tuple[Ints, Ints]:
    """Return which stages between the first and the last may have most that waits.

    Those in the middle and the last but one, or the last of those that have a layer more than others.
    """
    before = np.maximum(table.pp - 2, 0)
    return np.where(two_way(table), table.pp // 2, before), np.where(
        layers % table.pp, layers % table.pp - 1, before
    )
