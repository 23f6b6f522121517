"""Progress of a search, and drafts: the best answer so far."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from topoopt.search.candidates.candidate import Candidate, iteration_bounds
from topoopt.search.candidates.wiring_choice import wiring_name


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer that a longer search may beat.

    Attributes
    ----------
    time_s : float
        Simulated, of an iteration.
    wiring : str
        Family of wirings that it is of.
    lower_bound_s : float or None
        Of its strategy on any network of these ports; None where its simulation is too large to be kept.
    """

    time_s: float
    wiring: str
    lower_bound_s: float | None

    @property
    def gap(self) -> float | None:
        """How far it is above the bound."""
        return self.time_s / self.lower_bound_s - 1 if self.lower_bound_s else None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "iteration_time_s": self.time_s,
            "wiring": self.wiring,
            "lower_bound_s": self.lower_bound_s,
            "gap": self.gap,
        }


Found = Callable[[Candidate], None]
"""Called with each candidate that was simulated."""


def drafts_for(on_draft: Callable[[Draft], None] | None) -> Found:
    """Return what a search tells its candidates: whoever listens hears of each that is faster than all before it.

    Where nobody listens no bound is worked out.
    """
    best_s = float("inf")

    def found(row: Candidate) -> None:
        nonlocal best_s
        if on_draft is None or row.time_s >= best_s:
            return
        best_s = row.time_s
        least = (
            iteration_bounds(row.job, row.strategy, row.kept).lower_bound_s if row.kept is not None else None
        )
        on_draft(Draft(row.time_s, wiring_name(row), least))

    return found
