"""ByteCurve: cumulative bytes of a link over time, from a simulation or from recorded counters."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import LARGEST_NUMBER
from topoopt.schema.files import headed_rows, read_text, write_csv


@dataclass(frozen=True, eq=False)
class ByteCurve:
    """Bytes sent by moments; between two of them the rate is the mean.

    Attributes
    ----------
    times_s : float64 array, shape (moments,)
        Ascending, at least two.
    sent_bytes : float64 array, shape (moments,)
        Never falling.
    """

    times_s: Floats
    sent_bytes: Floats

    def __post_init__(self) -> None:
        assert len(self.times_s) == len(self.sent_bytes) >= 2, "a curve has two ends"
        assert (np.diff(self.times_s) > 0).all(), "moments ascend"

    @property
    def duration_s(self) -> float:
        """Time from the first sample to the last."""
        return float(self.times_s[-1] - self.times_s[0])

    @property
    def rates_bps(self) -> Floats:
        """Mean rates between moments, shape (moments-1,)."""
        return np.diff(self.sent_bytes) * 8 / np.diff(self.times_s)

    def at(self, times_s: Floats) -> Floats:
        """Return the bytes sent by other moments; before the first and after the last nothing is sent."""
        return np.interp(times_s, self.times_s, self.sent_bytes)

    def folded(self, starts_s: Floats, period_s: float) -> "ByteCurve":
        """Return the mean of iterations that begin at these moments, over one period from 0.

        Its corners are those of all iterations, so that nothing is lost where the rate changes.
        """
        into = [(self.times_s - start)[self._within(start, period_s)] for start in starts_s]
        corners = np.unique(np.concatenate([np.array([0.0, period_s]), *into]))
        corners = corners[np.concatenate(([True], np.diff(corners) > 1e-9 * period_s))]
        corners[-1] = period_s
        sent = [self.at(start + corners) - self.at(np.array([start])) for start in starts_s]
        return ByteCurve(corners, np.mean(sent, axis=0))

    def _within(self, start_s: float, period_s: float) -> NDArray[np.bool_]:
        return (self.times_s > start_s) & (self.times_s < start_s + period_s)


TIMES = {"time_s": 1.0, "time_ms": 1e-3, "time_us": 1e-6}
COUNTERS = {"sent_bytes": 1.0}
RATES = {"rate_bps": 1.0, "rate_mbps": 1e6, "rate_gbps": 1e9}
LINK = "link"
COLUMNS = (*TIMES, LINK, *COUNTERS, *RATES)
"""Columns that a file may have: one time, one counter or rate, and the link where there are several."""
WRAP = 2.0**32
"""Modulus at which 32-bit counters wrap."""
Sample = tuple[float, float, int]
"""Seconds, bytes or bits a second, and the line."""


def read_counters(path: str | Path) -> Mapping[str, ByteCurve]:
    """Return the cumulative bytes of each link over time; the link of a file without names is ``""``.

    A rate holds until the next row of its link, that of the last row for as long as the one before it. A counter of
    32 bits may begin again.

    Raises
    ------
    InvalidInput
        In one line with file, line and column: for another column, a cell that is no number, times that do not
        ascend, a counter that falls, and links of fewer than three rows.
    """
    place = str(path)
    expected = "a header row such as time_s,sent_bytes"
    header, rows = headed_rows(read_text(path), place, COLUMNS, expected)
    time, value = _columns(header, place)
    samples: dict[str, list[Sample]] = {}
    for line, here, cells in rows:
        when = _number(cells[time], f"{here}: {time}") * TIMES[time]
        amount = _number(cells[value], f"{here}: {value}", 0.0)
        samples.setdefault(cells.get(LINK, ""), []).append(
            (when, amount * {**COUNTERS, **RATES}[value], line)
        )
    return {name: _curve(rows, place, name, value in RATES) for name, rows in samples.items()}


def write_counters(path: str | os.PathLike[str], rows: Iterable[tuple[float, str, float]]) -> None:
    """Write moments in seconds, links and their bytes as :func:`read_counters` reads them, whole or not at all."""
    write_csv(path, ("time_s", LINK, "sent_bytes"), rows)


def _columns(header: Sequence[str], place: str) -> tuple[str, str]:
    """Return the names of the columns of time and of the value."""
    found = []
    for kinds in (tuple(TIMES), (*COUNTERS, *RATES)):
        of_kind = [name for name in header if name in kinds]
        if len(of_kind) != 1:
            got = " and ".join(of_kind) or "none"
            raise InvalidInput(f"{place}: expected one column of {', '.join(kinds)}, got {got}")
        found.append(of_kind[0])
    return found[0], found[1]


def _number(cell: str, place: str, least: float = -math.inf) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not (abs(value) <= LARGEST_NUMBER and value >= least):
        wanted = "a number >= 0" if least == 0 else "a number"
        raise InvalidInput(f"{place}: expected {wanted}, got {shown(cell)}")
    return value


def _curve(samples: Sequence[Sample], place: str, name: str, are_rates: bool) -> ByteCurve:
    of_link = f" of link {name}" if name else ""
    if len(samples) < 3:
        raise InvalidInput(f"{place}: expected at least 3 rows{of_link}, got {len(samples)}; measure longer")
    times_s, values = (np.array(column) for column in list(zip(*samples, strict=True))[:2])
    backward = np.flatnonzero(np.diff(times_s) <= 0)
    if len(backward):
        line = samples[backward[0] + 1][2]
        raise InvalidInput(f"{place}: line {line}: time{of_link} does not ascend; sort the rows by time")
    if are_rates:
        times_s = np.append(times_s, 2 * times_s[-1] - times_s[-2])
        return ByteCurve(times_s, np.concatenate(([0.0], np.cumsum(values * np.diff(times_s) / 8))))
    grown = np.diff(values)
    wraps = (grown < -WRAP / 2) & (values[:-1] < WRAP)
    falls = np.flatnonzero((grown < 0) & ~wraps)
    if len(falls):
        line = samples[falls[0] + 1][2]
        raise InvalidInput(
            f"{place}: line {line}: sent_bytes{of_link} falls; a counter only grows: keep the rows since it began anew"
        )
    return ByteCurve(times_s, np.concatenate(([0.0], np.cumsum(np.where(wraps, grown + WRAP, grown)))))
