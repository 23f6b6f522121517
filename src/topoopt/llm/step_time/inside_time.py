"""What a collective between servers takes besides its bytes on the network: its start, and its part inside servers.

The same law as in :mod:`topoopt.llm.step_time.collective_time`, for groups that are known server by server.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.llm.calibration.parameters import Calibration
from topoopt.llm.communication.server_groups import ServerGroup
from topoopt.llm.step_time.collective_time import NETWORK_STEP_S, SCALE_UP_STEP_S
from topoopt.llm.system import System
from topoopt.pipelined_step import SWEEPS


@dataclass(frozen=True, slots=True)
class InsideTime:
    """Rates inside servers under a calibration."""

    start_s: float
    s_per_byte: float

    def ring_s(self, collective: str, group: ServerGroup, size_bytes: float, count: int) -> float:
        """Return the seconds of ``count`` collectives of ``size_bytes`` of one rank in all, network bytes left out."""
        servers = len(group.members)
        steps = min(servers - 1, 2 * float(np.log2(servers)))
        latency = self.start_s + SCALE_UP_STEP_S * (group.inside - 1) + NETWORK_STEP_S * steps
        inner = (group.inside - 1) / group.inside * self.s_per_byte
        return SWEEPS[collective] * (count * latency + size_bytes * inner)

    def pair_s(self, count: int) -> float:
        """Return the seconds that starting ``count`` transfers or all-to-alls takes."""
        return count * (self.start_s + NETWORK_STEP_S)


def inside_time(system: System, calibration: Calibration) -> InsideTime:
    """Return the rates inside the servers of a system."""
    rate = system.scale_up_bandwidth_bps / 8 * calibration.scale_up_efficiency
    return InsideTime(calibration.collective_latency_s, 1 / rate)
