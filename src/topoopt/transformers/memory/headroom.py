"""What memory that stays free may cost in time."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.jobs import TIGHT

WORTH_HEADROOM = 1.01
"""What is tight is ranked as if it took so many times as long: headroom that costs less is taken."""


def weighed_s(seconds: Floats | float, needed_bytes: Floats | float, capacity_bytes: float) -> Floats:
    """Return the times by which ways of training are ranked: what leaves no memory free has to be a percent faster.

    Examples
    --------
    >>> weighed_s(10.0, 79e9, 80e9).item(), weighed_s(10.0, 70e9, 80e9).item()
    (10.1, 10.0)
    """
    tight = (needed_bytes > TIGHT * capacity_bytes) & (needed_bytes <= capacity_bytes)
    return np.asarray(np.where(tight, WORTH_HEADROOM, 1.0) * seconds)
