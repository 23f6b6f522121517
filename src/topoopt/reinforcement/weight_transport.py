"""The noun WeightTransport: what software adds to the time in which weights are brought over."""

from dataclasses import dataclass
from functools import cache
from math import inf

from topoopt.base.errors import check_known
from topoopt.reinforcement.weight_move import WeightTraffic
from topoopt.schema.files import packaged_rows

GATHERED_AT_ONCE, BY_MATRIX = "gloo", "gloo-by-matrix"


@dataclass(frozen=True, slots=True)
class WeightTransport:
    """How fast software takes weights in, whatever the network.

    Attributes
    ----------
    fixed_s : float
        Handshakes, metadata, waking the engine.
    bytes_per_s : float
        At which all weights together come to where they are used; infinite where only the network is in the way.
    note : str
        What was measured, and how many rows.
    """

    name: str
    fixed_s: float
    bytes_per_s: float
    note: str

    @property
    def by_network(self) -> bool:
        """Whether only the network says how long it takes."""
        return self.bytes_per_s == inf

    def software_s(self, size_bytes: float) -> float:
        """Return the seconds on a network that costs nothing."""
        return self.fixed_s + size_bytes / self.bytes_per_s

    def sync_s(self, size_bytes: float, network_s: float) -> float:
        """Return the seconds over a network that needs so long: bytes are taken in while others are on their way."""
        return self.fixed_s + max(size_bytes / self.bytes_per_s, network_s)


@cache
def weight_transports() -> dict[str, WeightTransport]:
    """Return the known ones by name."""
    rows = packaged_rows("reinforcement", "weight_transports")
    return {
        row["name"]: WeightTransport(
            row["name"], float(row["fixed_s"]), float(row["bytes_per_s"]), row["note"]
        )
        for row in rows
    }


def find_weight_transport(name: str) -> WeightTransport:
    """Return the transport of this name; an unknown one is an :class:`InvalidInput` with the nearest."""
    check_known("transport", name, weight_transports())
    return weight_transports()[name]


def transport_for(name: str, size_bytes: float, memory_bytes: float) -> WeightTransport:
    """Return the transport as it goes with weights of a size.

    Over gloo all of them are gathered at once where one accelerator has room for that, else matrix by matrix.
    """
    if name == GATHERED_AT_ONCE and size_bytes > memory_bytes:
        return find_weight_transport(BY_MATRIX)
    return find_weight_transport(name)


def least_network_s(traffic: WeightTraffic, server_bandwidth_bps: float, latency_s: float) -> float:
    """Return the seconds on a network that gives every server all of its bandwidth to anybody."""
    if not traffic.busiest_bytes:  # all of it stays in servers
        return 0.0
    return traffic.busiest_bytes * 8 / server_bandwidth_bps + traffic.rounds * latency_s
