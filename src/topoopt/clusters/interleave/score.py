"""The compatibility score: how much of what jobs send together exceeds a link."""

import numpy as np
from numpy.typing import NDArray


def compatibility_score(demand_bps: NDArray[np.float64], capacity_bps: float) -> float:
    """Return 1 less the mean excess demand in capacities.

    It is 1 where the link carries all at every angle. It has no lower end: many jobs that exceed a link at all
    angles have a negative one.

    Parameters
    ----------
    demand_bps : array of (angles,)
        Of all jobs together.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, equation 2.

    Examples
    --------
    >>> import numpy as np
    >>> compatibility_score(np.array([50e9, 100e9, 0.0, 50e9]), 50e9)
    0.75
    """
    excess = np.maximum(demand_bps / capacity_bps - 1, 0.0)
    return float(1 - excess.sum() / len(excess))
