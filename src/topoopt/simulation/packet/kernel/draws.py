"""Random numbers without a state, the same as in :mod:`topoopt.routing.path_choice`.

The same question gets the same number, in any process and order.
"""

import numpy as np

from topoopt.base.kernel import inlined, mix


@inlined
def uniform(seed: int, number: int) -> float:
    """Return the number-th draw from [0, 1) of a seed."""
    bits = mix(mix(np.uint64(seed)) + np.uint64(number))
    return float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)
