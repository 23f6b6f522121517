"""Weights of options that leave the fullest resource as empty as they can: links of paths, classes of coins."""

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.routing.option_weights_kernel import Options, shift_weights


def balance(
    option_first: Ints,
    entry_first: Ints,
    resource: Ints32,
    amount: Floats,
    capacity: Floats,
    load: Floats,
    weight: Floats,
    sharpness: Floats,
) -> float:
    """Shift weight between the options of each group until the highest utilisation is low; return it.

    Each sweep prices a resource exponentially in its utilisation, with ``sharpness[sweep]`` as the
    exponent of the fullest one, and moves weight from a group's dearest option to its cheapest by a
    Newton step. ``load`` enters as the background and leaves as the total; ``weight`` leaves as the best
    seen, so it is never worse than it was. :mod:`topoopt.routing.option_weights_kernel` describes the arrays.
    """
    options = Options(option_first, entry_first, resource, amount, capacity)
    price, best_load, best_weight = np.empty(len(load)), np.empty(len(load)), np.empty(len(weight))
    return float(shift_weights(options, load, weight, sharpness, price, best_load, best_weight))
