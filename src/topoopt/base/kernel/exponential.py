"""The exponential function with the same bits on every processor.

That of the C library differs in the last bit between processors that fuse a multiplication with an addition and those
that do not, and that of NumPy between widths of registers. Where prices of links decide between paths of equal length,
the last bit decides, and answers differ in their seventh digit. This one consists of operations that IEEE 754 rounds
exactly. Its error is below 1 ulp, and loops over arrays are vectorized.

References
----------
.. [1] Sun Microsystems, fdlibm, 1993: ``e_exp.c``.
"""

import numpy as np

from topoopt.base.kernel.compilation import shared

_LARGEST = 709.0
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_PER_LN2 = 1.4426950408889634


@shared
def exp(x: float) -> float:
    """Return e to the power of x: 0 below -708, infinity above 709.

    Examples
    --------
    >>> float(exp(0.0)), round(float(exp(1.0)), 12)
    (1.0, 2.718281828459)
    """
    if x > _LARGEST:
        return np.inf
    if x < 1.0 - _LARGEST:
        return 0.0
    power = np.int64(np.floor(x * _PER_LN2 + 0.5))
    high, low = x - power * _LN2_HIGH, power * _LN2_LOW
    r = high - low
    t = r * r
    c = 6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08)
    c = r - t * (1.66666666666666019037e-01 + t * (-2.77777777770155933842e-03 + t * c))
    near_1 = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    return near_1 * np.int64((power + np.int64(1023)) << np.int64(52)).view(np.float64)
