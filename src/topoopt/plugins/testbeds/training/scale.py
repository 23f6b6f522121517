"""The noun Scale: by how much a testbed is smaller and slower than what a plan is for."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Scale:
    """A plan's numbers over those of its testbed.

    All links are slower by one factor and all messages smaller by another, so every message takes ``time`` times as
    long as in the plan; computing is as many times longer. Whatever the shape of an iteration, it takes ``time``
    times what the plan says. Latency is no part of it: that is the kernel's, and far below a plan's once it is
    divided by ``time``.

    Attributes
    ----------
    bandwidth : float
        Bits per second of a link of the plan, over those of the testbed.
    size : float
        Bytes of a message of the plan, over those on the testbed.
    """

    bandwidth: float
    size: float

    def __post_init__(self) -> None:
        for name, value in (("bandwidth", self.bandwidth), ("size", self.size)):
            if not 0 < value < float("inf"):
                raise InvalidInput(f"scale: {name} must be positive, got {value}")

    @property
    def time(self) -> float:
        """Seconds on the testbed for each second of the plan."""
        return self.bandwidth / self.size


def scale_for(
    iteration_time_s: float, link_bandwidth_bps: float, scaled_bandwidth_bps: float, wanted_s: float
) -> Scale:
    """Return the scale at which a link has a given bandwidth and an iteration takes a given time.

    Parameters
    ----------
    iteration_time_s, link_bandwidth_bps : float
        Of the plan.
    scaled_bandwidth_bps, wanted_s : float
        On the testbed. The longer an iteration, the less of it is what Linux and Python take for each message.

    Examples
    --------
    >>> scale_for(0.4, 25e9, 50e6, 4.0)
    Scale(bandwidth=500.0, size=50.0)
    """
    bandwidth = link_bandwidth_bps / scaled_bandwidth_bps
    return Scale(bandwidth, bandwidth * iteration_time_s / wanted_s)
