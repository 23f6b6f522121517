"""Numbers as short words, for the ticks of an axis and for sentences."""


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


def usd(price: float | None) -> str:
    """Return ``$1.23 M``, ``$83.3 k``, ``$12`` or a dash where there is no price."""
    if price is None:
        return "–"
    for unit, scale in (("M", 1e6), ("k", 1e3)):
        if price >= scale:
            return f"${price / scale:.3g} {unit}"
    return f"${price:,.0f}"


def counted(count: int, thing: str) -> str:
    """Return ``1 ring`` or ``4 rings``."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def runs(numbers: "tuple[int, ...] | list[int]") -> str:
    """Return ``0–3, 7`` for (0, 1, 2, 3, 7).

    Examples
    --------
    >>> runs((0, 1, 2, 3, 7))
    '0–3, 7'
    """
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in found)
