"""The noun LoadOptimum: how low the fullest link can be for given demands, whatever the routing."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoadOptimum:
    """The least possible highest link load, as a certified interval.

    The load of a link is the seconds it needs for its bytes. Bytes may be split over any ways at will
    (fractional multicommodity flow), so no routing whatever is better than ``lower_bound_s``.

    Attributes
    ----------
    max_load_s : float
        Reached by a routing that was found.
    lower_bound_s : float
        Proven: at most ``max_load_s``, and equal to it where ``exact``.
    exact : bool
        Whether the two meet, to rounding.
    method : str
        ``lp``, ``columns`` (circulant, demand by distance), ``rerouting``, ``prices`` (of a routing that is there) or
        ``none``.
    """

    max_load_s: float
    lower_bound_s: float
    exact: bool
    method: str

    @property
    def gap(self) -> float:
        """Width of the interval over its lower end, 0 where nothing has to be carried."""
        return self.max_load_s / self.lower_bound_s - 1 if self.lower_bound_s > 0 else 0.0


def interval(max_load_s: float, lower_bound_s: float, method: str) -> LoadOptimum:
    """Return the optimum from both ends, which rounding may have swapped."""
    exact = lower_bound_s >= max_load_s * (1 - 1e-6)
    return LoadOptimum(max_load_s, min(lower_bound_s, max_load_s), exact, method)
