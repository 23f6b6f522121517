"""The noun Reconfiguration: how a fabric of optical circuits follows the traffic over time.

::

    0 ── first_change_s ──┤ delay_s: nothing moves ├── live_s: circuits carry ──┤ delay_s ├── live_s ── …

Demand is measured when a change begins, and the new circuits are there ``delay_s`` later. A change that finds
nothing to send does not take place, and costs nothing.
"""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput

LIVE_PER_DELAY = 4.0
LATEST_FIRST_CHANGE_S = 1e-3


@dataclass(frozen=True, slots=True)
class Reconfiguration:
    """When circuits change, what a server has for them, and who may use them.

    Attributes
    ----------
    degree : int
        Circuits that a server can send on, and as many to receive on.
    bandwidth_bps, latency_s : float
        Of one circuit, one way.
    delay_s : float
        How long a change takes; no circuit carries anything meanwhile.
    live_s : float
        From the end of a change to the beginning of the next.
    first_change_s : float
        When the first change begins; until then the fabric is wired at random.
    duplex : bool
        Whether a circuit has a way back, as with an optical switch, or goes one way, as a wavelength does.
    host_forwarding : bool
        Whether servers pass on what is for others; needs duplex circuits. If not, what has no circuit waits
        for one.
    seed : int
        Of the circuits at the start.
    """

    degree: int
    bandwidth_bps: float
    latency_s: float
    delay_s: float
    live_s: float
    first_change_s: float
    duplex: bool = True
    host_forwarding: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise InvalidInput(f"reconfiguration: degree must be at least 1, got {self.degree}")
        for name in ("bandwidth_bps", "live_s"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"reconfiguration: {name} must be positive, got {getattr(self, name)}")
        for name in ("latency_s", "delay_s", "first_change_s"):
            if not getattr(self, name) >= 0:
                raise InvalidInput(f"reconfiguration: {name} must be >= 0, got {getattr(self, name)}")
        if self.host_forwarding and not self.duplex:
            raise InvalidInput(
                "reconfiguration: servers can forward over duplex circuits only; switch host forwarding off"
            )

    @property
    def period_s(self) -> float:
        """From the beginning of one change to that of the next."""
        return self.delay_s + self.live_s

    def next_change_s(self, earliest_s: float) -> float:
        """Return when the first change at or after ``earliest_s`` may begin; changes keep their beat."""
        if earliest_s <= self.first_change_s:
            return self.first_change_s
        beats = -(-(earliest_s - self.first_change_s) // self.period_s)
        return self.first_change_s + beats * self.period_s


def beat(delay_s: float) -> tuple[float, float, float]:
    """Return the delay, how long circuits live and when the first change begins, which go with a delay.

    Circuits live four times as long as a change takes, so that they carry 80 % of the time, and the first
    change comes after the delay or a millisecond, whichever is less (TopoOpt, NSDI 2023, section 5.1: 10 ms,
    and demand measured every 50 ms).

    Examples
    --------
    >>> beat(0.01), beat(0.0005)
    ((0.01, 0.04, 0.001), (0.0005, 0.002, 0.0005))
    """
    return delay_s, LIVE_PER_DELAY * delay_s, min(delay_s, LATEST_FIRST_CHANGE_S)
