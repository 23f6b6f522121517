"""How much of its activations each tensor-parallel rank sends to the next stage: one law, for times and for traffic.

Every rank of a group has all activations of its tokens, unless the sequence is split. Megatron-LM of 2021 sends a slice
from each, and puts the slices together again over the links inside a server [1]_, which is not counted. Other software
sends all of them from each: it has the word ``sends`` of :data:`~topoopt.transformers.UNFUSED_PARTS`.

References
----------
.. [1] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC'21, section 4.1.
"""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.transformers.columns import Bools


def sent_slices(
    tp: Floats | Ints | int, sequence_parallel: Bools | Ints | bool, whole: Bools | bool
) -> Floats | Ints | int:
    """Return how many ranks share what goes from stage to stage; all arguments may be columns.

    Parameters
    ----------
    whole
        Whether every rank sends all that it has.

    Examples
    --------
    >>> sent_slices(8, False, False), int(sent_slices(8, False, True)), int(sent_slices(8, True, True))
    (8, 1, 8)
    """
    if not np.any(whole):
        return tp
    return np.where(np.logical_and(whole, np.logical_not(sequence_parallel)), 1, tp)
