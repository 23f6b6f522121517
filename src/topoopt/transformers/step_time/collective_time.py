"""How long collectives take in groups that lie inside a server, between servers, or both.

Ring of n ranks inside the server, then rings of equal ranks between servers (hierarchical): per collective a start,
per step of the ring a latency, and bytes over the rate that a collective reaches. The latency of a step inside a
server is NCCL's (hwLat of Ring/Simple over NVLINK: 3.4 µs, over NET: 14 µs, nccl v2.30 src/graph/tuning.cc,
Apache-2.0); beyond a few servers NCCL takes double binary trees, whose steps grow with the logarithm.
"""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.transformers.communication.ranks import ServerGroup
from topoopt.transformers.configuration_table import Bools
from topoopt.transformers.step_time.calibration import Calibration
from topoopt.transformers.step_time.machine import Machine
from topoopt.transformers.system import LARGEST_SERVER
from topoopt.workloads import RING_PASSES, bus_bandwidth_factor

SCALE_UP_STEP_S = 3.4e-6
NETWORK_STEP_S = 14e-6


class Links:
    """Rates and latencies of a machine under a calibration, for the collectives of many configurations."""

    def __init__(
        self, machine: Machine, calibration: Calibration, accelerators: Floats | Ints | None = None
    ) -> None:
        self.per_server = machine.per_server
        self.accelerators = accelerators
        self.start_s = calibration.collective_latency_s
        self.scale_up_s_per_byte = 1 / (machine.scale_up_bytes_per_s * calibration.scale_up_efficiency)
        self.network_s_per_byte = 1 / (machine.network_bytes_per_s * calibration.network_efficiency)
        self.exchange_s_per_byte = 1 / (machine.network_bytes_per_s * calibration.exchange_efficiency)
        self.network_step_s = NETWORK_STEP_S + machine.latency_s

    def members_inside(self, size: Floats, stride: Floats) -> Floats:
        """Return how many of ``size`` ranks, ``stride`` apart, share a server.

        Of groups that would fit into a rack but do not divide it, as 16 ranks do not divide 72, some lie half in one
        and half in the next, and the others wait for those.
        """
        inside: Floats = np.clip(np.floor(self.per_server / stride), 1.0, size)
        if self.accelerators is None or not np.any(self.per_server > LARGEST_SERVER):
            return inside
        span = size * stride
        straddles = (span <= self.per_server) & (self.per_server % span > 0)
        straddles = straddles & (self.per_server > LARGEST_SERVER) & (self.accelerators > self.per_server)
        return np.where(straddles, np.maximum(size / 2, 1.0), inside)

    def around_s_per_byte(self, size: Floats, inside: Floats) -> Floats:
        """Return the time of a byte on its way around a hierarchical ring."""
        inner = bus_bandwidth_factor("all-gather", inside) * self.scale_up_s_per_byte
        outer = (size / inside - 1) / size * self.network_s_per_byte
        return np.asarray(inner + outer, np.float64)

    def gather_s(self, size: Floats, stride: Floats, size_bytes: Floats) -> Floats:
        """Return the time of an all-gather or a reduce-scatter of ``size_bytes`` in all; 0 for groups of one."""
        inside = self.members_inside(size, stride)
        servers = size / inside
        steps = np.minimum(servers - 1, 2 * np.log2(servers))
        latency = self.start_s + SCALE_UP_STEP_S * (inside - 1) + self.network_step_s * steps
        return np.where(size > 1, latency + size_bytes * self.around_s_per_byte(size, inside), 0.0)

    def ring_gather_s(
        self,
        size: Floats,
        stride: Floats,
        size_bytes: Floats,
        messages: Ints | int = 1,
        flat: Bools | bool = False,
    ) -> Floats:
        """Return the time of an all-gather or a reduce-scatter as NCCL does them: rings of all ranks, never trees.

        Parameters
        ----------
        messages
            Collectives that the bytes are sent in.
        flat
            Whether there is one ring, which enters a server by one rank's network interface, instead of one for each.
        """
        inside = self.members_inside(size, stride)
        servers = size / inside
        hops = SCALE_UP_STEP_S * (size - servers) + self.network_step_s * (servers - 1)
        wire = self.around_s_per_byte(size, inside)
        if np.any(flat):
            one_ring = np.where(
                servers > 1, bus_bandwidth_factor("all-gather", size) * self.network_s_per_byte, wire
            )
            wire = np.where(flat, one_ring, wire)
        return np.where(size > 1, messages * (self.start_s + hops) + size_bytes * wire, 0.0)

    def ring_s(self, size: Floats, stride: Floats, size_bytes: Floats) -> Floats:
        """Return the time in which parts of ``size_bytes`` in all go round, from each member to the next at a time.

        Every hop is a transfer with a start of its own. Where the ring spans servers, one member of each sends to the
        next server at a time, over the links that all members of its server have; the hops inside go on meanwhile.
        """
        inside = self.members_inside(size, stride)
        spans = size / inside > 1
        hop = self.start_s + np.where(spans, self.network_step_s, SCALE_UP_STEP_S)
        outer = np.where(spans, self.network_s_per_byte / inside, 0.0)
        inner = np.where(inside > 1, self.scale_up_s_per_byte, 0.0)
        s_per_byte = bus_bandwidth_factor("all-gather", size) * np.maximum(inner, outer)
        return np.asarray((size - 1) * hop + size_bytes * s_per_byte, np.float64)

    def exchange_start_s(self, size: Floats, inside: Floats) -> Floats:
        """Return the time before the first byte of an all-to-all, of whose ranks so many share a server."""
        latency = self.start_s + SCALE_UP_STEP_S * (inside - 1) + self.network_step_s * (size > inside)
        return np.asarray(latency, np.float64)

    def exchange_s(self, size: Floats, stride: Floats, sent_bytes: Floats) -> Floats:
        """Return the time of an all-to-all in which each rank sends ``sent_bytes`` over all ranks evenly."""
        inside = self.members_inside(size, stride)
        between = (size - inside) / size
        inner = (inside - 1) / size * self.scale_up_s_per_byte
        wire = np.maximum(inner, between * self.network_s_per_byte)
        return np.where(size > 1, self.exchange_start_s(size, inside) + sent_bytes * wire, 0.0)

    def transfer_s(self, stride: Floats, size_bytes: Floats) -> Floats:
        """Return the time of a transfer to the rank ``stride`` further."""
        near = stride < self.per_server
        rate = np.where(near, self.scale_up_s_per_byte, self.network_s_per_byte)
        return self.start_s + np.where(near, SCALE_UP_STEP_S, self.network_step_s) + size_bytes * rate

    def inside_ring_s(self, collective: str, group: ServerGroup, size_bytes: float, count: int) -> float:
        """Return the seconds of ``count`` ring collectives of ``size_bytes`` of one rank in all, but for the network.

        The group is known server by server. Bytes on the network, and the latency of its links, are left out.
        """
        servers = len(group.members)
        steps = min(servers - 1, 2 * float(np.log2(servers)))
        latency = self.start_s + SCALE_UP_STEP_S * (group.inside - 1) + NETWORK_STEP_S * steps
        inner = bus_bandwidth_factor("all-gather", group.inside) * float(self.scale_up_s_per_byte)
        return RING_PASSES[collective] * (count * latency + size_bytes * inner)

    def starts_s(self, count: int) -> float:
        """Return the seconds that starting ``count`` transfers or all-to-alls between servers takes."""
        return count * (self.start_s + NETWORK_STEP_S)
