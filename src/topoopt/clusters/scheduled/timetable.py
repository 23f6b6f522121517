"""When the iterations of a job begin and end while the set of running jobs stays as it is."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats


@dataclass(frozen=True, eq=False)
class Timetable:
    """Iterations one after the other: the first ones as they were simulated, then all alike.

    Attributes
    ----------
    bounds_s : float64 array, shape (simulated + 1,)
        When each simulated iteration starts, and when the last one ends; at least one entry.
    marks : float64 array, shape (simulated,)
        Packets with ECN marks in each, estimated.
    steady_s, steady_marks : float
        Of every later iteration.
    """

    bounds_s: Floats
    marks: Floats
    steady_s: float
    steady_marks: float

    def bound_s(self, iterations: int) -> float:
        """Return when so many iterations are over, and the next one starts."""
        known = len(self.marks)
        return float(self.bounds_s[min(iterations, known)]) + max(iterations - known, 0) * self.steady_s

    def started_before(self, time_s: float, most: int) -> int:
        """Return how many iterations start before a time, at most so many."""
        if self.bound_s(most) <= time_s:
            return most
        known, last_s = len(self.marks), float(self.bounds_s[-1])
        if time_s <= last_s:
            return min(int(np.searchsorted(self.bounds_s[:-1], time_s, side="left")), most)
        return min(known + int(np.ceil((time_s - last_s) / self.steady_s - 1e-9)), most)

    def times_s(self, iterations: int) -> tuple[Floats, Floats]:
        """Return how long so many iterations take: times, and how often each."""
        times_s = np.diff(self.bounds_s[: iterations + 1])
        more = iterations - len(times_s)
        if more <= 0:
            return times_s, np.ones(len(times_s))
        return np.append(times_s, self.steady_s), np.append(np.ones(len(times_s)), more)

    def ecn_marks(self, iterations: int) -> float:
        """Return the marked packets of so many iterations."""
        more = max(iterations - len(self.marks), 0)
        return float(self.marks[:iterations].sum()) + more * self.steady_marks


def undisturbed(start_s: float, iteration_time_s: float) -> Timetable:
    """Return the timetable of a job that meets nobody on a link that could be short."""
    return Timetable(np.array([start_s]), np.zeros(0), iteration_time_s, 0.0)
