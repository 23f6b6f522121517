"""The noun Way: a schedule of a collective on a wiring, as steps and bytes."""

from collections.abc import Callable
from dataclasses import dataclass

from topoopt.collectives.transfers import Transfers


@dataclass(frozen=True, eq=False)
class Way:
    """A collective takes ``steps`` · α + ``volume`` · M / B, where B is all of a server's bandwidth.

    Attributes
    ----------
    schedule : str
        Name in :data:`SCHEDULES`.
    detail : str
        Which of several: how many rings, how many chunks.
    steps : int
        One link after the other; a transfer over three links takes three.
    volume : float
        What the fullest ports carry, step by step, over all that a server's ports could.
    transfers : function
        Makes the schedule itself.
    """

    schedule: str
    detail: str
    steps: int
    volume: float
    transfers: Callable[[], Transfers]

    def time_s(self, size_bytes: float, alpha_s: float, server_bps: float) -> float:
        """Return the seconds for a message of so many bytes."""
        return self.steps * alpha_s + self.volume * size_bytes * 8.0 / server_bps
