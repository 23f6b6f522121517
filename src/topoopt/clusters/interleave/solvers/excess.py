"""The excess demand for every rotation of one job at once, by FFT over the level sets of its demand."""

import numpy as np

from topoopt.base.arrays import Floats


def excess_by_shift(base: Floats, demand: Floats, samples: int) -> Floats:
    """Return the excess for each shift of a job on top of what others send.

    Excess is not linear, so that a correlation of the two demands would be wrong. At the angles where the job sends
    ``b``, though, the excess is ``max(0, base + b - 1)``, whatever the job sends elsewhere: so it is a sum, over
    the levels b, of correlations of that with the set of angles at which the job sends b.

    Parameters
    ----------
    base : array of (..., angles)
        What others send, in capacities; many cases at once.
    demand : array of (angles,)
        Of the job, unrotated; it repeats after so many ``samples``.

    Returns
    -------
    array of (..., samples)
        Summed over the angles, in capacities, to about 1e-13 of an angle's.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, section 3, has the objective; the level sets are this house's.

    Examples
    --------
    >>> import numpy as np
    >>> excess_by_shift(np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0]), 4).round(9)
    array([1., 1., 0., 0.])
    """
    once = demand[:samples]
    excess = np.zeros((*base.shape[:-1], samples))
    for level in np.unique(once):
        over = np.maximum(base + (level - 1), 0.0)
        folded = over.reshape(*base.shape[:-1], -1, samples).sum(axis=-2)
        at_level = np.fft.rfft(np.where(once == level, 1.0, 0.0))
        excess += np.fft.irfft(np.fft.rfft(folded) * at_level.conj(), samples)
    return np.maximum(excess, 0.0)
