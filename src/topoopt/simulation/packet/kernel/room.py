"""How much room the next event may need, so that arrays grow before it and never under way."""

from topoopt.base.arrays import Ints
from topoopt.base.kernel import shared
from topoopt.simulation.packet.kernel.layout import Count

SPARE_SLOTS = 2048
"""For the ring buffers of 256 packets at the most that an event may send."""

SPARE_TIMERS = 64


@shared
def slots_needed(count: Ints) -> int:
    """Return the slots in use and those of the rings that an event may double: of one link, or of a few if sprayed.

    One more is for an acknowledgment.
    """
    spread = count[Count.SPREAD]
    return count[Count.SLOTS_USED] + 2 * (spread + 1) * count[Count.LARGEST_RING] + 64 * spread + SPARE_SLOTS


@shared
def timers_needed(count: Ints, most_successors: int) -> int:
    """Return the timers that an event may set: of tasks it releases, links it resumes, senders it wakes."""
    return (
        most_successors
        + count[Count.MORE_TIMERS]
        + count[Count.PACED] * count[Count.OPEN_FLOWS]
        + SPARE_TIMERS
    )
