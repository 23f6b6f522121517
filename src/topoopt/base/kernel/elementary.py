"""Elementary functions with the same bits on every processor.

Those of the C library and of NumPy differ in the last digit between processors, by whether these multiply and add at
once. Where such a number decides between equals, as between paths of equal price, the difference becomes a large one.
These consist of single operations that IEEE 754 rounds exactly, and kernels inline them, which makes them faster.

References
----------
.. [1] Sun Microsystems, fdlibm, 1993: ``e_exp.c``, ``e_log.c``, ``k_cos.c`` and ``k_sin.c``, whose polynomials these
   are; errors are below 1 ulp.
"""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.kernel.compilation import shared

_LARGEST = 709.0
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_PER_LN2 = 1.4426950408889634
_QUARTER_HIGH, _QUARTER_LOW = 1.57079632673412561417e00, 6.07710050650619224932e-11
_PER_QUARTER = 0.6366197723675814
_SQRT2 = 1.4142135623730951


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


@shared
def log(x: float) -> float:
    """Return the natural logarithm of a positive number that is not subnormal.

    Examples
    --------
    >>> float(log(1.0)), round(float(log(10.0)), 12)
    (0.0, 2.302585092994)
    """
    bits = np.float64(x).view(np.int64)
    power = (bits >> np.int64(52)) - np.int64(1023)
    mantissa = np.int64((bits & np.int64(0xFFFFFFFFFFFFF)) | np.int64(0x3FF0000000000000)).view(np.float64)
    if mantissa > _SQRT2:
        mantissa *= 0.5
        power += np.int64(1)
    f = mantissa - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    even = 1.818357216161805012e-01 + w * 1.479819860511658591e-01
    even = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * even))
    half = 0.5 * f * f
    return power * _LN2_HIGH - ((half - (s * (half + odd + even) + power * _LN2_LOW)) - f)


@shared
def cbrt(x: float) -> float:
    """Return the cube root of a number that is not negative.

    Examples
    --------
    >>> float(cbrt(0.0)), float(cbrt(27.0))
    (0.0, 3.0)
    """
    if x == 0.0:
        return 0.0
    root = exp(log(x) / 3.0)
    return root - (root * root * root - x) / (3.0 * root * root)


@shared
def cos(x: float) -> float:
    """Return the cosine of an angle of at most some turns.

    Examples
    --------
    >>> float(cos(0.0)), round(float(cos(1.0)), 12)
    (1.0, 0.540302305868)
    """
    quarter = np.int64(np.floor(x * _PER_QUARTER + 0.5))
    r = (x - quarter * _QUARTER_HIGH) - quarter * _QUARTER_LOW
    z = r * r
    if quarter & np.int64(1):
        near_0 = 2.75573137070700676789e-06 + z * (
            -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
        )
        near_0 = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * near_0)
        found = -(r + z * r * (-1.66666666666666324348e-01 + z * near_0))
    else:
        near_1 = -2.75573143513906633035e-07 + z * (
            2.08757232129817482790e-09 + z * -1.13596475577881948265e-11
        )
        near_1 = -1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * near_1)
        found = 1.0 - (0.5 * z - z * z * (4.16666666666666019037e-02 + z * near_1))
    return -found if quarter & np.int64(2) else found


def geometric(first: float, last: float, count: int) -> Floats:
    """Return numbers in a constant ratio, as ``numpy.geomspace`` does, the same on every processor.

    Examples
    --------
    >>> geometric(1.0, 8.0, 4).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    step = (log(last) - log(first)) / (count - 1)
    between = [float(exp(log(first) + step * place)) for place in range(1, count - 1)]
    return np.array([first, *between, last], np.float64)
