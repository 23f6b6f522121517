"""What a pipeline waits for while it fills and drains, by the order in which its stages take their passes.

With forward and backward passes of F and B seconds in each of p stages, and W of B for the gradients of weights, which
no other stage waits for, a stage is idle for so long:

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

from topoopt.llm.columns import Floats
from topoopt.llm.configuration_table import ConfigurationTable


@dataclass(frozen=True, slots=True)
class StagePasses:
    """Seconds of one micro-batch in the busiest stage, as columns.

    Attributes
    ----------
    both_s : array
        Forward and backward pass one after the other, with all waits.
    paired_s : array
        Forward and backward pass of two micro-batches at once.
    backward_s : array
        The backward pass alone, with its waits.
    weights_s : array
        The part of it that makes the gradients of weights.
    others_s : array
        Both passes in all other stages together.
    """

    both_s: Floats
    paired_s: Floats
    backward_s: Floats
    weights_s: Floats
    others_s: Floats


def bubble_s(table: ConfigurationTable, passes: StagePasses, hop_s: Floats) -> Floats:
    """Return the idle time of the busiest stage.

    Parameters
    ----------
    hop_s : array
        Of what one micro-batch sends from stage to stage and back.
    """
    hops = (table.pp - 1) * hop_s
    usual: Floats = (passes.others_s + hops) / table.vpp
    if not np.any(table.schedule):
        return usual
    busy_share = np.minimum(2 * passes.weights_s / passes.both_s, 1.0)
    zero = passes.others_s * (1 - busy_share) + hops
    from_both = np.maximum(passes.paired_s + passes.backward_s - 3 * passes.weights_s, 0.0) + hop_s
    dual = np.maximum(table.pp / 2 - 1, 0) * from_both
    kinds = [table.has_word("schedule", "zero-bubble"), table.has_word("schedule", "dualpipe")]
    return np.asarray(np.select(kinds, [zero, dual], usual), np.float64)


def paired_share(table: ConfigurationTable) -> Floats:
    """Return the share of the micro-batches whose forward pass goes on beside a backward pass of another one.

    While a pipeline fills there is none to go beside. Stage i of interleaved 1F1B begins with 2(p - i - 1) + (v - 1)p
    chunks and one more; rank i of DualPipe has 3p/2 - 1 - i forward passes alone, of which those of the last rank of
    a half are fewest (its code, steps 1 to 3). Both on average over the ranks; without stages one micro-batch is alone.
    """
    batches = np.maximum(table.global_batch / (table.dp * table.micro_batch), 1.0)
    alone = np.where(table.pp > 1, table.pp - 1 + (table.vpp - 1) * table.pp + 1, 1) / table.vpp
    alone = np.where(table.has_word("schedule", "dualpipe"), 1.25 * table.pp - 0.5, alone)
    return np.asarray(np.maximum(1 - alone / batches, 0.0), np.float64)
