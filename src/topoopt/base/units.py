"""SI inside, friendly text at the edge: ``"100 Gbps"`` becomes ``100e9`` and back."""

import re
from math import isfinite

from topoopt.base.errors import InvalidInput, decimal_hint

_PREFIX = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_BINARY_PREFIX = {"ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40}
_TIME = {
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "ns": 1e-9,
    "ps": 1e-12,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
MOST_DELAY_S = 1_000
"""Longest latency, reconfiguration time or timeout: the packet simulator counts picoseconds in 64 bits."""
_LARGEST = 1e24
"""Bits per second, or bytes."""
_NUMBER = re.compile(
    r"^\s*+([-+]?(?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?)\s*+([A-Za-zµ/]*+)\s*+$"
)


def finite_or_none(value: float) -> float | None:
    """Return a number, None where it is infinite: JSON has no infinity."""
    return value if isfinite(value) else None


def parse_bandwidth(text: str, place: str = "bandwidth") -> float:
    """Return bits per second from ``100Gbps``, ``100G``, ``100GbE``, ``100 Gb/s``, ``25 GB/s`` (a B alone is bytes).

    Raises
    ------
    InvalidInput
        If the unit is missing or unknown, or the value is not positive.

    Examples
    --------
    >>> parse_bandwidth("100Gbps"), parse_bandwidth("25 GB/s"), parse_bandwidth("400G")
    (100000000000.0, 200000000000.0, 400000000000.0)
    """
    value, unit = _split(text, place, "a number with a unit, such as 100Gbps or 25 GB/s")
    match = re.fullmatch(r"([kKMGTP]?i?)(bps|bit/s|b/s|bE|b|B/s|Bps|(?<=[GT]))", unit)
    if match is None:
        what = "missing unit" if not unit else f'unknown unit "{unit}"'
        raise InvalidInput(f'{place}: {what} in "{text}"; write for example {value or 100:g}Gbps or 25 GB/s')
    scale = {**_PREFIX, **_BINARY_PREFIX}[match[1].lower()] * (8 if match[2].startswith("B") else 1)
    if 0 < value * scale < 1:
        raise InvalidInput(f'{place}: expected at least 1 bps, got "{text}"')
    return _positive(value * scale, text, place)


def parse_bytes(text: str, place: str = "size") -> float:
    """Return bytes from ``80 GB``, ``4KiB`` or ``512 B``.

    Examples
    --------
    >>> parse_bytes("80 GB"), parse_bytes("4KiB")
    (80000000000.0, 4096.0)
    """
    value, unit = _split(text, place, "a number with a unit, such as 80 GB or 4 KiB")
    match = re.fullmatch(r"([kKMGTP]?i?)B", unit)
    if match is None:
        raise InvalidInput(f'{place}: unknown or missing unit in "{text}"; write for example 80 GB or 4 KiB')
    return _positive(value * {**_PREFIX, **_BINARY_PREFIX}[match[1].lower()], text, place)


def parse_time(text: str, place: str = "time", most_s: float = 1e12) -> float:
    """Return seconds from ``1us``, ``25 ms``, ``2 s`` or ``3 h``; zero is allowed, and at most thirty thousand years.

    Examples
    --------
    >>> parse_time("1us"), parse_time("3 h")
    (1e-06, 10800.0)
    """
    value, unit = _split(text, place, "a number with a unit, such as 1us")
    if unit not in _TIME:
        raise InvalidInput(f'{place}: unknown or missing unit in "{text}"; allowed: {", ".join(_TIME)}')
    if value < 0:
        raise InvalidInput(f'{place}: must not be negative, got "{text}"')
    time_s = value * _TIME[unit]
    if time_s > most_s:
        raise InvalidInput(f'{place}: expected a time of at most {most_s:.0f} s, got "{text}"')
    return time_s


def parse_delay(text: str, place: str = "delay") -> float:
    """Return seconds as :func:`parse_time` does, at most :data:`MOST_DELAY_S`."""
    return parse_time(text, place, MOST_DELAY_S)


def format_bandwidth(bandwidth_bps: float) -> str:
    """Return ``100 Gb/s`` for ``100e9``."""
    return _scaled(bandwidth_bps, ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "Pb/s"))


def format_bytes(size_bytes: float) -> str:
    """Return ``1.23 GB`` for ``1.2251e9``."""
    return _scaled(size_bytes, ("B", "kB", "MB", "GB", "TB", "PB"))


def format_memory(size_bytes: float) -> str:
    """Return ``80 GiB`` for ``80 * 2**30``: memory is counted in binary units.

    Examples
    --------
    >>> format_memory(80 * 2**30), format_memory(3 * 2**20)
    ('80 GiB', '3 MiB')
    """
    for unit, scale in (("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10)):
        if abs(size_bytes) >= scale:
            return f"{format_digits(size_bytes / scale, 3)} {unit}"
    return f"{format_digits(size_bytes, 3)} B"


def format_size(size_bytes: float) -> str:
    """Return a size in decimal or binary units, whichever is exact and shorter; by default decimal.

    Examples
    --------
    >>> [format_size(size) for size in (4 * 2**20, 128e6, 64e3, 1024, 1000)]
    ['4 MiB', '128 MB', '64 kB', '1 KiB', '1 kB']
    """
    decimal, binary = format_bytes(size_bytes), format_memory(size_bytes)
    return min(
        (text for text in (decimal, binary) if parse_bytes(text) == size_bytes), key=len, default=decimal
    )


def format_time(time_s: float, digits: int = 4) -> str:
    """Return ``20.1 ms`` for ``0.0201``, with the given number of digits.

    Examples
    --------
    >>> format_time(0.0201), format_time(3e-6), format_time(0), format_time(1063, 3)
    ('20.1 ms', '3 µs', '0 s', '1060 s')
    """
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(time_s) >= scale:
            return f"{format_digits(time_s / scale, digits)} {unit}"
    return f"{time_s / 1e-9:.{digits}g} ns" if time_s else "0 s"


def format_digits(value: float, digits: int) -> str:
    """Return a number with the given number of digits, padded with zeros instead of an exponent.

    Examples
    --------
    >>> format_digits(3.14159, 3), format_digits(1000, 3), format_digits(5.6e7, 4)
    ('3.14', '1000', '56,000,000')
    """
    text = f"{value:.{digits}g}"
    if "e+" not in text or abs(value) >= 1e15:
        return text
    return f"{float(text):,.0f}" if abs(value) >= 1e4 else f"{float(text):.0f}"


def measured_within(time_s: float, share: float) -> tuple[float, float]:
    """Return the range of measured times for an estimate with this relative error.

    Examples
    --------
    >>> measured_within(11.0, 0.1)[0], round(measured_within(9.0, 0.1)[1], 9)
    (10.0, 10.0)
    """
    return time_s / (1 + share), time_s / (1 - share)


def interval_s(name: str, time_s: float, share: float | None) -> dict[str, float | None]:
    """Return the same by names of fields; None where no share is known.

    Examples
    --------
    >>> interval_s("step", 11.0, 0.1)["step_low_s"], interval_s("step", 11.0, None)
    (10.0, {'step_low_s': None, 'step_high_s': None})
    """
    low, high = measured_within(time_s, share) if share else (None, None)
    return {f"{name}_low_s": low, f"{name}_high_s": high}


def interval_words(time_s: float, share: float) -> str:
    """Return the same in words.

    Examples
    --------
    >>> interval_words(11.0, 0.1)
    '80%: 10 s to 12.2 s'
    """
    low, high = (format_time(end_s, 3) for end_s in measured_within(time_s, share))
    return f"80%: {low} to {high}"


def time_within(time_s: float, share: float | None) -> str:
    """Return a time with the interval that 80% of measured runs are in, if the error ``share`` is known."""
    return format_time(time_s) + (f" ({interval_words(time_s, share)})" if share else "")


def _split(text: str, place: str, expected: str) -> tuple[float, str]:
    match = _NUMBER.match(text)
    if match is None:
        raise InvalidInput(f'{place}: expected {expected}, got "{text}"{decimal_hint(text)}')
    if not isfinite(float(match[1])):
        raise InvalidInput(f'{place}: larger than anything there is, got "{text}"')
    return float(match[1]), match[2]


def _positive(value: float, text: str, place: str) -> float:
    if not value > 0:
        raise InvalidInput(f'{place}: must be positive, got "{text}"')
    if value > _LARGEST:
        raise InvalidInput(f'{place}: larger than anything there is, got "{text}"')
    return value


def _scaled(value: float, units: tuple[str, ...]) -> str:
    step = 0
    while abs(value) >= 1000 and step < len(units) - 1:
        value, step = value / 1000, step + 1
    return f"{value:.4g} {units[step]}"
