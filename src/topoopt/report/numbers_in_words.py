"""Numbers as short words, for the ticks of an axis."""


def short_number(value: float) -> str:
    """Return ``20``, ``0.5``, ``40 k`` or ``337 M``.

    Examples
    --------
    >>> [short_number(value) for value in (0, 0.25, 128, 40_000, 337e6)]
    ['0', '0.25', '128', '40 k', '337 M']
    """
    for unit, scale in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= max(scale, 1e4):
            return f"{value / scale:.4g} {unit}".replace("-", "−")
    if value and abs(value) < 1e-4:
        mantissa, exponent = f"{value:.3e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}".replace("-", "−")
    return f"{value:.6g}".replace("-", "−")
