"""Pipeline bubble of each schedule: the time in which the busiest stage is idle.

A pipeline idles while it fills and drains. With forward and backward passes of F and B seconds in each of p stages,
and W of B for the weight gradients, which no other stage waits for, equal stages are idle for:

========== ==========================
1F1B       (p - 1)·(F + B)
ZB-H1      (p - 1)·(F + B - 2W)
DualPipe   (p/2 - 1)·(F&B + B - 3W)
========== ==========================

Interleaving v chunks divides that of 1F1B by v. F&B is a forward and a backward pass of two micro-batches at once.

References
----------
.. [1] P. Qi et al., "Zero Bubble Pipeline Parallelism", 2023, section 2.2 and Table 2 (ZB-H1).
.. [2] DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.2.1 and Table 2.
.. [3] github.com/deepseek-ai/DualPipe: the order of the passes of each rank.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.configuration_table import ConfigurationTable


@dataclass(frozen=True, slots=True)
class StagePasses:
    """Seconds of one micro-batch in the busiest stage, and in all others together, as columns.

    Attributes
    ----------
    paired_s, others_paired_s : array
        Forward and backward pass of two micro-batches at once.
    others_s : array
        Time of one micro-batch through the other stages in sequence, with all waits.
    others_backward_s : array
        The backward pass alone, with its waits.
    weights_s, others_weights_s : array
        The part of it that makes the gradients of weights.
    """

    paired_s: Floats
    weights_s: Floats
    others_s: Floats
    others_paired_s: Floats
    others_backward_s: Floats
    others_weights_s: Floats


def split_bubble_s(table: ConfigurationTable, passes: StagePasses, hop_s: Floats, usual_s: Floats) -> Floats:
    """Return the idle time of the busiest stage, ``usual_s`` by 1F1B.

    A stage with more work than the others is idle for less time. ZB-H1: as the last stage, it begins when the
    first micro-batch has come through the others, and fills its wait at the end with its own gradients of weights.
    DualPipe: as the first or the last stage, which are alike, it fills its gaps with its additional work, twice
    for each other stage, except for gaps in which inputs are missing (so the order of [3]_ results if it is
    simulated, within a twentieth of the formula above where W is as long as F, and an eighth where it is shorter).

    Parameters
    ----------
    hop_s : array
        Time of the transfers of one micro-batch between two stages, forward and backward.
    """
    others, pairs = np.maximum(table.pp - 1, 1), np.maximum(table.pp / 2 - 1, 0)
    inputs_s = passes.others_backward_s - passes.others_weights_s
    later_s = passes.weights_s * table.pp - passes.others_weights_s / others
    zero = passes.others_s - passes.others_backward_s + np.maximum(inputs_s - later_s, 0.0) + others * hop_s
    gap_s = (inputs_s - passes.others_weights_s) / others
    more_s = (others * passes.paired_s - passes.others_paired_s) / np.maximum(table.pp - 2, 1)
    from_both = (passes.others_paired_s - passes.others_weights_s) / others + gap_s
    filled = pairs * from_both - 2 * others * np.maximum(more_s, 0.0)
    dual = np.maximum(filled, pairs * np.maximum(gap_s, 0.0)) + pairs * hop_s
    kinds = [table.has_word("schedule", "zero-bubble"), table.has_word("schedule", "dualpipe")]
    return np.asarray(np.select(kinds, [zero, dual], usual_s), np.float64)


def hidden_transfers(table: ConfigurationTable) -> Floats:
    """Return the share of the transfers between stages that hide behind passes while the pipeline is full.

    With ZB-H1 the gradients of weights that come between passes give them time. DualPipe's hide where two micro-batches
    are at work.
    """
    if not np.any(table.schedule):
        return np.zeros(())
    dual = table.has_word("schedule", "dualpipe") * paired_share(table)
    return np.where(table.has_word("schedule", "zero-bubble"), 1.0, dual)


def paired_share(table: ConfigurationTable) -> Floats:
    """Return the share of the micro-batches whose forward pass overlaps a backward pass of another one.

    While a pipeline fills there is no overlap. Stage i of interleaved 1F1B begins with 2(p - i - 1) + (v - 1)p chunks
    and one more; rank i of DualPipe has 3p/2 - 1 - i forward passes alone, of which those of the last rank of a half
    are fewest (its code, steps 1 to 3). Both on average over the ranks; without stages one micro-batch is alone.
    """
    batches = np.maximum(table.global_batch / (table.dp * table.micro_batch), 1.0)
    alone = np.where(table.pp > 1, table.pp - 1 + (table.vpp - 1) * table.pp + 1, 1) / table.vpp
    alone = np.where(table.has_word("schedule", "dualpipe"), 1.25 * table.pp - 0.5, alone)
    return np.asarray(np.maximum(1 - alone / batches, 0.0), np.float64)
